//! Large buffers.

/// Bytes from which a buffer is worth huge pages.
#[cfg(target_os = "linux")]
const WORTH_IT: usize = 8 << 20;

/// A zeroed buffer. Where the system offers huge pages on request, large buffers ask for them: a fresh gigabyte of small
/// pages costs as much as computing what goes into it (measured: 0.7 s against 0.12 s).
pub fn zeros(len: usize) -> Vec<f64> {
    let buffer = vec![0.0; len];
    #[cfg(target_os = "linux")]
    advise_huge_pages(&buffer);
    buffer
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn advise_huge_pages(buffer: &[f64]) {
    const PAGE: usize = 4096;
    let bytes = size_of_val(buffer);
    if bytes < WORTH_IT {
        return;
    }
    let start = (buffer.as_ptr() as usize).next_multiple_of(PAGE);
    let end = (buffer.as_ptr() as usize + bytes) / PAGE * PAGE;
    // SAFETY: the range lies inside the buffer, which is alive; the advice changes how pages are backed, never what they
    // hold. A refusal is no error: the pages stay small.
    unsafe {
        libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
    }
}
