//! Deleting rows and columns.
//!
//! Without row and column p the rows below keep their product with themselves but have one entry too many; rotations of
//! column p into the columns behind it remove it again. Rotation j is fixed by the diagonal of row j and then turns all rows
//! below, so the panels are walked from top to bottom once. Several deletions walk one panel behind another, so that the
//! factor is read from memory once for all of them.

use super::panel::{
    Column, LANES, Rotation, panel_start, panel_width, rotate, rotate_columns, rotate_vector,
    rotation,
};
use super::{PackedCholesky, Pending};
use crate::linalg::simd::{Routine, dispatch};

/// Deletions that walk together; more would push one another's panels out of the cache.
const TOGETHER: usize = 8;

impl PackedCholesky {
    /// Removes the rows and columns at `positions` (ascending, without repetition). `rhs` are vectors v = L^-1 b and
    /// `pending` the rows L^-1 B that wait to be appended: both become what they would be with the new factor and b
    /// without these entries.
    ///
    /// # Panics
    /// If a position is not below `len()`, or a vector does not have `len()` entries.
    pub fn delete(
        &mut self,
        positions: &[usize],
        rhs: &mut [&mut Vec<f64>],
        mut pending: Option<&mut Pending>,
    ) {
        debug_assert!(positions.windows(2).all(|w| w[0] < w[1]));
        // From the last to the first, so that the positions of those to come stay what they are.
        for group in positions.rchunks(TOGETHER) {
            self.delete_together(group);
            for (stage, &position) in group.iter().rev().enumerate() {
                let rotations = &self.rotations[stage];
                for v in rhs.iter_mut() {
                    rotate_vector(v, position, rotations);
                }
                if let Some(pending) = pending.as_deref_mut() {
                    pending.rotate(position, rotations);
                }
            }
        }
    }

    fn delete_together(&mut self, positions: &[usize]) {
        let stages = positions.len();
        assert!(positions.iter().all(|&p| p < self.len));
        while self.rotations.len() < stages {
            self.rotations.push(Vec::new());
        }
        for rotations in &mut self.rotations[..stages] {
            rotations.clear();
        }
        let n_panels = self.n_panels();
        let first = positions[0] / LANES;
        for wave in first..n_panels + stages - 1 {
            for (stage, &position) in positions.iter().rev().enumerate() {
                // Stage s needs the panel below as stage s - 1 left it, hence the distance of one panel.
                let Some(panel) = wave.checked_sub(stage) else {
                    continue;
                };
                // Earlier stages may have emptied the last panel.
                let len = self.len - stage;
                if panel >= position / LANES && panel < len.div_ceil(LANES) {
                    dispatch(DeleteInPanel {
                        columns: &mut self.columns
                            [panel_start(panel)..panel_start((panel + 2).min(n_panels))],
                        rotations: &mut self.rotations[stage],
                        position,
                        panel,
                        len,
                    });
                }
            }
        }
        self.len -= stages;
        self.columns.truncate(panel_start(self.n_panels()));
    }
}

impl Pending {
    /// Carries the waiting rows through one deletion. What the rotations push out of a row was part of its square, so
    /// the Schur complement takes it back.
    fn rotate(&mut self, position: usize, rotations: &[Rotation]) {
        let width = self.width;
        let left: Vec<Column> = self
            .panels
            .iter_mut()
            .map(|panel| rotate_columns(&mut panel[..width], position, rotations))
            .collect();
        self.width -= 1;
        let size = self.len();
        for i in 0..size {
            for j in 0..size {
                self.schur[i * size + j] += left[i / LANES][i % LANES] * left[j / LANES][j % LANES];
            }
        }
    }
}

/// One deletion in one panel. `columns` holds this panel and, if there is one, the panel below, whose first row moves up.
struct DeleteInPanel<'a> {
    columns: &'a mut [Column],
    rotations: &'a mut Vec<Rotation>,
    position: usize,
    panel: usize,
    /// Rows before this deletion.
    len: usize,
}

impl Routine for DeleteInPanel<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let start = LANES * self.panel;
        let width = panel_width(self.panel);
        let (this, below) = self.columns.split_at_mut(width);
        // Rows above the deleted one stay where they are.
        let kept = self.position.saturating_sub(start);
        if kept > 0 {
            Self::first::<FMA>(this, below, self.rotations, self.position, start, self.len);
            return;
        }
        let zero = [0.0; LANES];
        let moved_up = |column: &Column, below: &Column| -> Column {
            [column[1], column[2], column[3], column[4], column[5], column[6], column[7], below[0]]
        };
        let has_below = !below.is_empty();
        // Columns before the deleted one only move up by a row.
        let p = self.position;
        let mut w;
        if has_below {
            for j in 0..p {
                this[j] = moved_up(&this[j], &below[j]);
            }
            w = moved_up(&this[p], &below[p]);
            for j in p..start {
                let a = moved_up(&this[j + 1], &below[j + 1]);
                let [c, s] = self.rotations[j - p];
                this[j] = rotate::<FMA>(c, s, &a, &mut w);
            }
        } else {
            for j in 0..p {
                this[j] = moved_up(&this[j], &zero);
            }
            w = moved_up(&this[p], &zero);
            for j in p..start {
                let a = moved_up(&this[j + 1], &zero);
                let [c, s] = self.rotations[j - p];
                this[j] = rotate::<FMA>(c, s, &a, &mut w);
            }
        }
        // The diagonal block fixes the rotations of its own rows.
        for j in start.max(p)..(start + LANES).min(self.len - 1) {
            let up = if has_below { below[j + 1] } else { zero };
            let here = if j + 1 < width { this[j + 1] } else { zero };
            Self::fix::<FMA>(this, self.rotations, &mut w, &moved_up(&here, &up), j, j - start);
        }
        // A row that does not exist any more leaves zeros behind.
        for j in self.len - 1..width {
            this[j] = zero;
        }
    }
}

impl DeleteInPanel<'_> {
    /// The panel that holds the deleted row, behind other rows: as above, lane by lane.
    #[inline(always)]
    fn first<const FMA: bool>(
        this: &mut [Column],
        below: &[Column],
        rotations: &mut Vec<Rotation>,
        p: usize,
        start: usize,
        len: usize,
    ) {
        let kept = p - start;
        let width = this.len();
        let moved_up = |j: usize, this: &[Column]| -> Column {
            let mut out = if j < width { this[j] } else { [0.0; LANES] };
            for l in kept..LANES - 1 {
                out[l] = if j < width { this[j][l + 1] } else { 0.0 };
            }
            out[LANES - 1] = if below.is_empty() { 0.0 } else { below[j][0] };
            out
        };
        let mut w = moved_up(p, this);
        for value in &mut w[..kept] {
            *value = 0.0;
        }
        for j in 0..p {
            this[j] = moved_up(j, this);
        }
        for j in p..(start + LANES).min(len - 1) {
            let a = moved_up(j + 1, this);
            Self::fix::<FMA>(this, rotations, &mut w, &a, j, j - start);
        }
        for j in len - 1..width {
            this[j] = [0.0; LANES];
        }
    }

    /// Fixes the rotation of column j by the row in `lane` and turns the rows below it.
    #[inline(always)]
    fn fix<const FMA: bool>(
        this: &mut [Column],
        rotations: &mut Vec<Rotation>,
        w: &mut Column,
        a: &Column,
        j: usize,
        lane: usize,
    ) {
        let ([c, s], r) = rotation(a[lane], w[lane]);
        rotations.push([c, s]);
        let mut turned = rotate::<FMA>(c, s, a, w);
        turned[lane] = r;
        w[lane] = 0.0;
        // Above the diagonal there is nothing.
        for value in &mut turned[..lane] {
            *value = 0.0;
        }
        this[j] = turned;
    }
}
