//! Columns of a kernel matrix kept under a byte budget.
//!
//! Columns are computed eight at a time and live in groups of eight; groups are what is evicted, the least recently used first.
//! The memory is taken in large pieces and used again: a fresh page costs as much as the arithmetic that fills it.

use std::collections::HashMap;

use crate::linalg::memory::zeros;

/// Columns of a group.
pub(super) const GROUP: usize = 8;
/// Bytes of one piece of memory.
const PIECE: usize = 64 << 20;

#[derive(Clone, Debug, Default)]
struct Group {
    points: Vec<usize>,
    last_used: u64,
}

/// The cache. A column is a vector over all points.
#[derive(Debug)]
pub(super) struct ColumnCache {
    /// Entries of a column.
    n: usize,
    budget: usize,
    clock: u64,
    groups_per_piece: usize,
    pieces: Vec<Vec<f64>>,
    groups: Vec<Group>,
    /// Group and row of every column that is here.
    place: HashMap<usize, (usize, usize)>,
}

impl ColumnCache {
    /// For columns of `n` entries, `budget` bytes of them at most.
    pub(super) fn new(n: usize, budget: usize) -> Self {
        Self {
            n,
            budget,
            clock: 0,
            groups_per_piece: groups_per_piece(n, budget),
            pieces: Vec::new(),
            groups: Vec::new(),
            place: HashMap::new(),
        }
    }

    /// Changes the budget; memory beyond it is given back.
    pub(super) fn set_budget(&mut self, budget: usize) {
        self.budget = budget;
        while self.pieces.len() * self.piece_bytes() > budget && !self.pieces.is_empty() {
            self.pieces.pop();
            let first = self.pieces.len() * self.groups_per_piece;
            for group in first..self.groups.len() {
                self.vacate(group);
            }
            self.groups.truncate(first);
        }
        if self.pieces.is_empty() {
            self.groups_per_piece = groups_per_piece(self.n, budget);
        }
    }

    pub(super) fn contains(&self, point: usize) -> bool {
        self.place.contains_key(&point)
    }

    /// A column that is here.
    pub(super) fn get(&self, point: usize) -> Option<&[f64]> {
        let &(group, row) = self.place.get(&point)?;
        let (piece, at) = (group / self.groups_per_piece, group % self.groups_per_piece);
        self.pieces[piece].get((at * GROUP + row) * self.n..(at * GROUP + row + 1) * self.n)
    }

    /// Begins a new pass over columns: what the pass touches is not evicted during it.
    pub(super) fn begin_pass(&mut self, points: &[usize]) {
        self.clock += 1;
        for point in points {
            if let Some(&(group, _)) = self.place.get(point) {
                self.groups[group].last_used = self.clock;
            }
        }
    }

    /// Makes room for up to `n_groups` groups, without evicting what this pass touched. Returns the groups, vacated.
    pub(super) fn make_room(&mut self, n_groups: usize) -> Vec<usize> {
        while self.vacant().count() < n_groups
            && (self.pieces.len() + 1) * self.piece_bytes() <= self.budget
        {
            self.pieces.push(zeros(self.groups_per_piece * GROUP * self.n));
            self.groups.resize(self.pieces.len() * self.groups_per_piece, Group::default());
        }
        let mut old: Vec<usize> =
            (0..self.groups.len()).filter(|&g| self.groups[g].last_used < self.clock).collect();
        old.sort_by_key(|&g| (self.groups[g].last_used, g));
        old.truncate(n_groups);
        for &group in &old {
            self.vacate(group);
        }
        old
    }

    /// The memory of some groups (ascending or not), each with its place in `groups`.
    pub(super) fn buffers(&mut self, groups: &[usize]) -> Vec<(usize, &mut [f64])> {
        let order: HashMap<usize, usize> =
            groups.iter().enumerate().map(|(k, &g)| (g, k)).collect();
        let size = (GROUP * self.n).max(1);
        let all = self.pieces.iter_mut().flat_map(|piece| piece.chunks_exact_mut(size));
        all.enumerate().filter_map(|(g, buffer)| order.get(&g).map(|&k| (k, buffer))).collect()
    }

    /// Notes which columns a group now holds.
    pub(super) fn occupy(&mut self, group: usize, points: &[usize]) {
        for (row, &point) in points.iter().enumerate() {
            self.place.insert(point, (group, row));
        }
        self.groups[group] = Group { points: points.to_vec(), last_used: self.clock };
    }

    fn piece_bytes(&self) -> usize {
        self.groups_per_piece * GROUP * self.n * size_of::<f64>()
    }

    fn vacant(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.groups.len()).filter(|&g| self.groups[g].points.is_empty())
    }

    fn vacate(&mut self, group: usize) {
        for point in std::mem::take(&mut self.groups[group].points) {
            self.place.remove(&point);
        }
        self.groups[group].last_used = 0;
    }
}

/// Groups of a piece: a small budget is taken in small pieces, or nothing of it could be used.
fn groups_per_piece(n: usize, budget: usize) -> usize {
    let group_bytes = (GROUP * n * size_of::<f64>()).max(1);
    (PIECE.min(budget / 8) / group_bytes).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns so long that a piece is one group.
    const N: usize = PIECE / (GROUP * 8);

    fn fill(cache: &mut ColumnCache, points: &[usize]) -> usize {
        cache.begin_pass(points);
        let groups = cache.make_room(points.len().div_ceil(GROUP));
        let parts: Vec<&[usize]> = points.chunks(GROUP).collect();
        for (k, buffer) in cache.buffers(&groups) {
            for (row, &point) in buffer.chunks_exact_mut(N).zip(parts[k]) {
                row[0] = point as f64;
                row[N - 1] = -(point as f64);
            }
        }
        for (&group, part) in groups.iter().zip(&parts) {
            cache.occupy(group, part);
        }
        groups.len()
    }

    #[test]
    fn the_budget_holds_and_the_oldest_goes_first() {
        let mut cache = ColumnCache::new(N, 2 * PIECE);
        assert_eq!(fill(&mut cache, &[1, 2]), 1);
        assert_eq!(fill(&mut cache, &[3, 4, 5]), 1);
        assert_eq!(cache.pieces.len(), 2);
        cache.begin_pass(&[1]);
        assert_eq!(fill(&mut cache, &[6]), 1);
        assert!(cache.contains(1) && cache.contains(2) && !cache.contains(3) && cache.contains(6));
        for point in [1, 2, 6] {
            let column = cache.get(point).expect("it is here");
            assert_eq!((column[0], column[N - 1]), (point as f64, -(point as f64)));
        }
        assert_eq!(
            fill(&mut cache, &(10..40).collect::<Vec<_>>()),
            2,
            "more than fits: as much as fits"
        );
        cache.set_budget(PIECE);
        assert_eq!(cache.pieces.len(), 1);
        assert!(cache.place.len() <= GROUP);
        cache.set_budget(0);
        assert!(cache.place.is_empty() && fill(&mut cache, &[1]) == 0);
    }

    #[test]
    fn a_small_budget_is_used_too() {
        let n = 100;
        let group = GROUP * n * 8;
        for budget in [group, 3 * group + 1, 20 * group] {
            let mut cache = ColumnCache::new(n, 0);
            assert!(cache.make_room(1).is_empty());
            cache.set_budget(budget);
            cache.begin_pass(&[]);
            assert!(cache.make_room(100).len() >= (budget / group).next_power_of_two() / 2);
            assert!(cache.pieces.len() * cache.piece_bytes() <= budget);
        }
    }

    #[test]
    fn what_the_pass_uses_stays() {
        let mut cache = ColumnCache::new(N, PIECE);
        fill(&mut cache, &[1, 2]);
        cache.begin_pass(&[1, 7]);
        assert!(cache.make_room(1).is_empty() && cache.contains(2));
    }
}
