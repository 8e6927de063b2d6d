//! The storage of the factor: rows in panels of eight.
//!
//! Panel p holds rows 8p .. 8p + 7 for the columns 0 .. 8p + 7, column by column: eight rows of one column are
//! adjacent and form one vector. Entries above the diagonal and of rows that do not exist are zero. The storage is
//! packed by panels, an append touches only its end, and every operation on the factor works on eight rows at once
//! without a horizontal sum or a stride.

use crate::linalg::simd::{Routine, dispatch, fma};

/// Rows of a panel.
pub const LANES: usize = 8;

/// One column of a panel.
pub type Column = [f64; LANES];

/// A plane rotation: cosine and sine.
pub type Rotation = [f64; 2];

/// Where panel p starts, in columns.
pub const fn panel_start(p: usize) -> usize {
    LANES * p * (p + 1) / 2
}

/// Columns of panel p.
pub const fn panel_width(p: usize) -> usize {
    LANES * (p + 1)
}

/// The rotation that turns (a, w) into (r, 0), and r.
#[inline(always)]
pub(super) fn rotation(a: f64, w: f64) -> (Rotation, f64) {
    let r = (a * a + w * w).sqrt();
    if r > 0.0 { ([a / r, w / r], r) } else { ([1.0, 0.0], 0.0) }
}

/// Rotates the columns `from + 1 ..` of eight rows into the columns `from ..`: column j becomes c a + s w, where a is column
/// j + 1 and w starts as column `from`. Returns what is left of w. `rotations[k]` belongs to column `from + k`.
pub(super) fn rotate_columns(
    columns: &mut [Column],
    from: usize,
    rotations: &[Rotation],
) -> Column {
    dispatch(RotateColumns { columns: &mut columns[from..], rotations })
}

struct RotateColumns<'a> {
    columns: &'a mut [Column],
    rotations: &'a [Rotation],
}

impl Routine for RotateColumns<'_> {
    type Output = Column;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> Column {
        let mut w = self.columns[0];
        for (k, &[c, s]) in self.rotations.iter().enumerate() {
            let a = self.columns[k + 1];
            self.columns[k] = rotate::<FMA>(c, s, &a, &mut w);
        }
        w
    }
}

/// One rotation of eight rows: returns c a + s w and leaves c w - s a in w.
#[inline(always)]
pub(super) fn rotate<const FMA: bool>(c: f64, s: f64, a: &Column, w: &mut Column) -> Column {
    let mut out = [0.0; LANES];
    for l in 0..LANES {
        // The chain runs through w alone: s a is formed off it.
        let turned = fma::<FMA>(c, a[l], s * w[l]);
        w[l] = fma::<FMA>(c, w[l], -(s * a[l]));
        out[l] = turned;
    }
    out
}

/// The same for one row, held as a plain vector; the last element is dropped and returned rotated.
pub(super) fn rotate_vector(v: &mut Vec<f64>, from: usize, rotations: &[Rotation]) {
    let mut w = v[from];
    for (k, &[c, s]) in rotations.iter().enumerate() {
        let a = v[from + k + 1];
        v[from + k] = c * a + s * w;
        w = c * w - s * a;
    }
    v.pop();
}

/// sum over the columns j of `left[j][r] * right[j][..]`, for eight rows r at once: the product of two panels.
pub(super) fn panel_product(left: &[Column], right: &[Column]) -> [Column; LANES] {
    dispatch(PanelProduct { left, right })
}

struct PanelProduct<'a> {
    left: &'a [Column],
    right: &'a [Column],
}

impl Routine for PanelProduct<'_> {
    type Output = [Column; LANES];
    #[inline(always)]
    fn run<const FMA: bool>(self) -> [Column; LANES] {
        let mut out = [[0.0; LANES]; LANES];
        // Four rows at a time: eight accumulators of AVX2 leave registers for the operands.
        for r in (0..LANES).step_by(4) {
            let mut acc = [[0.0; LANES]; 4];
            for (a, b) in self.left.iter().zip(self.right) {
                for q in 0..4 {
                    for l in 0..LANES {
                        acc[q][l] = fma::<FMA>(a[r + q], b[l], acc[q][l]);
                    }
                }
            }
            out[r..r + 4].copy_from_slice(&acc);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_follow_one_another() {
        for p in 0..20 {
            assert_eq!(panel_start(p) + panel_width(p), panel_start(p + 1));
        }
    }

    #[test]
    fn rotation_keeps_the_length() {
        let ([c, s], r) = rotation(3.0, 4.0);
        assert!((r - 5.0).abs() < 1e-15 && (c - 0.6).abs() < 1e-15 && (s - 0.8).abs() < 1e-15);
        assert_eq!(rotation(0.0, 0.0), ([1.0, 0.0], 0.0));
    }

    #[test]
    fn with_and_without_fused_operations_they_agree_to_rounding() {
        let column =
            |k: usize| -> Column { std::array::from_fn(|l| ((8 * k + l) as f64 * 0.9).sin()) };
        let columns: Vec<Column> = (0..23).map(column).collect();
        let close = |a: &Column, b: &Column| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14);
        let product = |fused: bool| {
            let product = PanelProduct { left: &columns, right: &columns[..] };
            if fused { product.run::<true>() } else { product.run::<false>() }
        };
        assert!(product(false).iter().zip(&product(true)).all(|(a, b)| close(a, b)));
        let rotations: Vec<Rotation> = (1..23).map(|k| rotation(f64::from(k), 2.0).0).collect();
        let (mut plain, mut fused) = (columns.clone(), columns.clone());
        let left = RotateColumns { columns: &mut plain, rotations: &rotations }.run::<false>();
        let same = RotateColumns { columns: &mut fused, rotations: &rotations }.run::<true>();
        assert!(close(&left, &same) && plain.iter().zip(&fused).all(|(a, b)| close(a, b)));
        // Turning keeps the length of every row; the last column is the one that was left over before.
        plain[22] = left;
        for l in 0..LANES {
            let square = |columns: &[Column]| columns.iter().map(|c| c[l] * c[l]).sum::<f64>();
            assert!((square(&plain) - square(&columns)).abs() < 1e-13);
        }
    }
}
