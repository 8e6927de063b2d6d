//! The threads that one call may use.
//!
//! Work is cut into fixed chunks whose results do not depend on which thread computes them, so the number of threads
//! changes nothing but the time. Pools are kept between calls: starting threads costs more than a small fit.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// A number of threads, with a pool behind it where that is more than one.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    pool: Option<Arc<ThreadPool>>,
}

/// Threads that are granted on a machine with fewer cores.
const MOST_BEYOND_CORES: usize = 16;

/// Pools by process and size: a forked child must not use its parent's, whose threads did not come along.
static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

impl Threads {
    /// Uses `n` threads, or one where the system refuses more. More threads than cores are of no use and more than a few of harm, so
    /// that what is asked for is cut at the number of cores, or 16 on machines with fewer.
    pub fn new(n: usize) -> Self {
        if n <= 1 {
            return Self { pool: None };
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let n = n.min(cores.max(MOST_BEYOND_CORES));
        let key = (std::process::id(), n);
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        let pools = pools.get_or_insert_with(HashMap::new);
        if let Some(pool) = pools.get(&key) {
            return Self { pool: Some(Arc::clone(pool)) };
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(n)
            .thread_name(|i| format!("exactsvm-{i}"))
            .build()
            .ok()
            .map(Arc::new);
        if let Some(pool) = &pool {
            pools.insert(key, Arc::clone(pool));
        }
        Self { pool }
    }

    /// How many threads there are.
    pub fn len(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Whether the calling thread is the only one.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// Runs `work` on `n` threads of the pool while `watch` runs on the calling one, which receives what they send and sees the end
    /// of it when all are done. Without a pool nothing works.
    pub(crate) fn beside<M: Send, R>(
        &self,
        n: usize,
        work: impl Fn(&Sender<M>) + Sync,
        watch: impl FnOnce(Receiver<M>) -> R,
    ) -> R {
        let (sender, receiver) = channel();
        let Some(pool) = &self.pool else {
            drop(sender);
            return watch(receiver);
        };
        pool.in_place_scope(|scope| {
            for _ in 0..n {
                let (sender, work) = (sender.clone(), &work);
                scope.spawn(move |_| work(&sender));
            }
            drop(sender);
            watch(receiver)
        })
    }

    /// Calls `f(k, chunk)` for the chunks of `data`, on several threads if `parallel`.
    pub fn for_each_chunk<T: Send>(
        &self,
        data: &mut [T],
        chunk: usize,
        parallel: bool,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        match &self.pool {
            Some(pool) if parallel && data.len() > chunk => pool.install(|| {
                data.par_chunks_mut(chunk)
                    .with_max_len(1)
                    .enumerate()
                    .for_each(|(k, part)| f(k, part));
            }),
            _ => data.chunks_mut(chunk).enumerate().for_each(|(k, part)| f(k, part)),
        }
    }
}
