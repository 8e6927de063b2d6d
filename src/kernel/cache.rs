//! Columns of a kernel matrix kept under a byte budget.
//!
//! The memory is taken in large pieces and used again: a fresh page costs as much as the arithmetic that fills it. Therefore a slot
//! whose column nobody will ask for is taken before memory that was never touched.

use crate::linalg::memory::zeros;
use crate::linalg::real::Real;

/// Bytes of one piece of memory.
const PIECE: usize = 64 << 20;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    point: Option<usize>,
    last_used: u64,
}

/// The cache. A column is a vector over all points, of doubles or of singles.
#[derive(Debug)]
pub(super) struct ColumnCache {
    /// Entries of a column.
    n: usize,
    entry_bytes: usize,
    budget: usize,
    costly: bool,
    clock: u64,
    slots_per_piece: usize,
    pieces: Vec<Vec<f64>>,
    slots: Vec<Slot>,
    /// Slots that were ever used; the memory of the others is untouched.
    n_touched: usize,
    /// Slot of every point's column, if it is here.
    place: Vec<Option<u32>>,
    /// Whether a point's column will be asked for; empty if any may be.
    hot: Vec<bool>,
    /// Whether a point's column was asked for, in this width, because it moved.
    moved: Vec<bool>,
}

impl ColumnCache {
    /// For columns of `n` doubles, `budget` bytes of them at most. Columns that are `costly` are worth fresh memory, whether or not they
    /// will be asked for.
    pub(super) fn new(n: usize, budget: usize, costly: bool) -> Self {
        let mut cache = Self {
            n,
            entry_bytes: size_of::<f64>(),
            budget,
            costly,
            clock: 0,
            slots_per_piece: 1,
            pieces: Vec::new(),
            slots: Vec::new(),
            n_touched: 0,
            place: vec![None; n],
            hot: Vec::new(),
            moved: vec![false; n],
        };
        cache.lay_out();
        cache
    }

    /// Changes the budget; memory beyond it is given back.
    pub(super) fn set_budget(&mut self, budget: usize) {
        self.budget = budget;
        while self.pieces.len() * self.piece_bytes() > budget && !self.pieces.is_empty() {
            self.pieces.pop();
            let first = self.pieces.len() * self.slots_per_piece;
            for slot in first..self.slots.len() {
                self.vacate(slot);
            }
            self.slots.truncate(first);
            self.n_touched = self.n_touched.min(first);
        }
        if self.pieces.is_empty() {
            self.lay_out();
        }
    }

    /// Says which columns will be asked for; the others' slots are the first to be used again.
    pub(super) fn set_hot(&mut self, points: &[usize]) {
        self.hot.clear();
        self.hot.resize(self.n, false);
        for &point in points {
            self.hot[point] = true;
        }
    }

    pub(super) fn budget(&self) -> usize {
        self.budget
    }

    /// Whether columns are worth fresh memory.
    pub(super) fn is_costly(&self) -> bool {
        self.costly
    }

    /// Whether a column may be asked for again.
    pub(super) fn is_hot(&self, point: usize) -> bool {
        self.hot.get(point).is_none_or(|hot| *hot)
    }

    /// Makes the entries those of R. What is kept in the other width is forgotten, its memory used again.
    pub(super) fn set_entries<R: Real>(&mut self) {
        if self.entry_bytes == size_of::<R>() {
            return;
        }
        let touched = self.n_touched * self.column_words();
        self.entry_bytes = size_of::<R>();
        self.place.fill(None);
        self.moved.fill(false);
        self.slots.clear();
        let words = self.column_words();
        if self.pieces.iter().any(|piece| piece.len() < words) {
            self.pieces.clear();
            self.lay_out();
        }
        if let Some(piece) = self.pieces.first() {
            self.slots_per_piece = piece.len() / words;
        }
        self.slots.resize(self.pieces.len() * self.slots_per_piece, Slot::default());
        self.n_touched = touched.div_ceil(words).min(self.slots.len());
    }

    /// Notes whose columns were asked for because they moved.
    pub(super) fn note_moved(&mut self, points: &[usize]) {
        for &point in points {
            self.moved[point] = true;
        }
    }

    pub(super) fn has_moved(&self, point: usize) -> bool {
        self.moved[point]
    }

    pub(super) fn contains(&self, point: usize) -> bool {
        self.place[point].is_some()
    }

    /// A column that is here.
    pub(super) fn get<R: Real>(&self, point: usize) -> Option<&[R]> {
        debug_assert_eq!(self.entry_bytes, size_of::<R>());
        let slot = self.place[point]? as usize;
        let words = self.column_words();
        let (piece, at) = (slot / self.slots_per_piece, slot % self.slots_per_piece);
        R::view(&self.pieces[piece][at * words..(at + 1) * words]).get(..self.n)
    }

    /// Begins a new pass over columns: what the pass touches is not evicted during it.
    pub(super) fn begin_pass(&mut self, points: &[usize]) {
        self.clock += 1;
        for point in points {
            if let Some(slot) = self.place[*point] {
                self.slots[slot as usize].last_used = self.clock;
            }
        }
    }

    /// Makes room for up to `n_columns` columns, without evicting what this pass touched. Returns the slots, vacated, ascending.
    pub(super) fn make_room(&mut self, n_columns: usize) -> Vec<usize> {
        if n_columns == 0 {
            return Vec::new();
        }
        let mut room: Vec<usize> = (0..self.n_touched)
            .filter(|&s| self.slots[s].last_used < self.clock && self.is_idle(s))
            .take(n_columns)
            .collect();
        while self.slots.len() - self.n_touched < n_columns - room.len()
            && (self.pieces.len() + 1) * self.piece_bytes() <= self.budget
        {
            self.pieces.push(zeros(self.piece_bytes() / size_of::<f64>()));
            self.slots.resize(self.pieces.len() * self.slots_per_piece, Slot::default());
        }
        let fresh = (n_columns - room.len()).min(self.slots.len() - self.n_touched);
        if fresh < n_columns - room.len() {
            // The budget is exhausted: what was not used for longest goes, even if it may be asked for again.
            let mut old: Vec<usize> = (0..self.n_touched)
                .filter(|&s| self.slots[s].last_used < self.clock && !self.is_idle(s))
                .collect();
            old.sort_by_key(|&s| (self.slots[s].last_used, s));
            room.extend(old.into_iter().take(n_columns - room.len() - fresh));
        }
        room.extend(self.n_touched..self.n_touched + fresh);
        self.n_touched += fresh;
        room.sort_unstable();
        for &slot in &room {
            self.vacate(slot);
        }
        room
    }

    /// The memory of some slots, ascending.
    pub(super) fn buffers<R: Real>(&mut self, slots: &[usize]) -> Vec<&mut [R]> {
        debug_assert_eq!(self.entry_bytes, size_of::<R>());
        let (words, per_piece, n) = (self.column_words(), self.slots_per_piece, self.n);
        let mut wanted = slots.iter().copied().peekable();
        let mut buffers = Vec::with_capacity(slots.len());
        for (k, piece) in self.pieces.iter_mut().enumerate() {
            let (mut columns, mut next) = (piece.chunks_exact_mut(words), k * per_piece);
            while let Some(slot) = wanted.next_if(|slot| slot / per_piece == k) {
                if let Some(column) = columns.nth(slot - next) {
                    buffers.push(&mut R::view_mut(column)[..n]);
                }
                next = slot + 1;
            }
        }
        buffers
    }

    /// Notes which columns slots now hold.
    pub(super) fn occupy(&mut self, slots: &[usize], points: &[usize]) {
        for (&slot, &point) in slots.iter().zip(points) {
            self.place[point] = u32::try_from(slot).ok();
            self.slots[slot] = Slot { point: Some(point), last_used: self.clock };
        }
    }

    /// Whether nobody will miss what a slot holds.
    fn is_idle(&self, slot: usize) -> bool {
        let missed = |point| self.costly || self.is_hot(point);
        !self.slots[slot].point.is_some_and(missed)
    }

    /// Words of a column.
    fn column_words(&self) -> usize {
        (self.n * self.entry_bytes).div_ceil(size_of::<f64>()).max(1)
    }

    fn piece_bytes(&self) -> usize {
        self.slots_per_piece * self.column_words() * size_of::<f64>()
    }

    fn vacate(&mut self, slot: usize) {
        if let Some(point) = self.slots[slot].point.take() {
            self.place[point] = None;
        }
    }

    /// A small budget is taken in small pieces, or nothing of it could be used; and few points need few columns: the allocator may have to
    /// clear a piece.
    fn lay_out(&mut self) {
        let column_bytes = self.column_words() * size_of::<f64>();
        let most = (self.n / 8).max(16);
        self.slots_per_piece = (PIECE.min(self.budget / 8) / column_bytes).clamp(1, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns so long that a piece is eight of them.
    const N: usize = PIECE / 8 / 8;

    fn fill(cache: &mut ColumnCache, points: &[usize]) -> usize {
        cache.begin_pass(points);
        let slots = cache.make_room(points.len());
        for (buffer, &point) in cache.buffers::<f64>(&slots).into_iter().zip(points) {
            buffer[0] = point as f64;
            buffer[N - 1] = -(point as f64);
        }
        cache.occupy(&slots, points);
        slots.len()
    }

    #[test]
    fn the_budget_holds_and_the_oldest_goes_first() {
        let mut cache = ColumnCache::new(N, 2 * PIECE, false);
        // A small share of the budget makes a piece: the budget is what counts.
        let room = 2 * PIECE / (8 * N);
        assert_eq!(fill(&mut cache, &(0..room).collect::<Vec<_>>()), room);
        cache.begin_pass(&[0]);
        assert_eq!(fill(&mut cache, &[100]), 1);
        assert!(!cache.contains(1) || !cache.contains(0), "somebody had to go");
        assert!(cache.contains(100));
        for point in (0..room).chain([100]).filter(|&p| cache.contains(p)).collect::<Vec<_>>() {
            let column = cache.get::<f64>(point).expect("it is here");
            assert_eq!((column[0], column[N - 1]), (point as f64, -(point as f64)));
        }
        let many: Vec<usize> = (200..300).collect();
        assert_eq!(fill(&mut cache, &many), room, "more than fits: as much as fits");
        cache.set_budget(PIECE);
        assert!(cache.place.iter().flatten().count() <= room / 2);
        assert!(cache.pieces.len() * cache.piece_bytes() <= PIECE);
        cache.set_budget(0);
        assert!(cache.place.iter().all(Option::is_none) && fill(&mut cache, &[1]) == 0);
    }

    #[test]
    fn what_nobody_asks_for_gives_its_slot_before_new_memory_is_touched() {
        let mut cache = ColumnCache::new(N, 4 * PIECE, false);
        fill(&mut cache, &[1, 2, 3]);
        let (first, pieces) = (cache.place[2], cache.pieces.len());
        cache.set_hot(&[1, 3, 4]);
        assert_eq!(fill(&mut cache, &[4]), 1);
        assert_eq!((cache.place[4], cache.pieces.len()), (first, pieces));
        assert!(cache.contains(1) && !cache.contains(2) && cache.contains(3));
    }

    #[test]
    fn singles_take_half_the_room() {
        let (n, budget) = (1001, 1 << 20);
        let mut cache = ColumnCache::new(n, budget, false);
        cache.begin_pass(&[]);
        let doubles = cache.make_room(1000);
        cache.occupy(&doubles, &(0..doubles.len()).collect::<Vec<_>>());
        cache.set_entries::<f32>();
        assert!(cache.place.iter().all(Option::is_none), "doubles are not singles");
        cache.begin_pass(&[]);
        let slots = cache.make_room(1000);
        assert!(slots.len() > doubles.len() * 19 / 10);
        assert!(slots.len() * n * 4 <= budget);
        for (k, column) in cache.buffers::<f32>(&slots).into_iter().enumerate() {
            assert_eq!(column.len(), n);
            column.fill(k as f32);
        }
        cache.occupy(&slots, &(0..slots.len()).collect::<Vec<_>>());
        for k in 0..slots.len() {
            assert_eq!(cache.get::<f32>(k).expect("it is here"), vec![k as f32; n]);
        }
        cache.set_entries::<f64>();
        assert!(!cache.contains(0) && !cache.make_room(1).is_empty());
    }

    #[test]
    fn a_small_budget_is_used_too() {
        let n = 100;
        for budget in [n * 8, 3 * n * 8 + 1, 20 * n * 8] {
            let mut cache = ColumnCache::new(n, 0, false);
            cache.begin_pass(&[]);
            assert!(cache.make_room(1).is_empty());
            cache.set_budget(budget);
            assert!(cache.make_room(100).len() >= (budget / (n * 8)).next_power_of_two() / 2);
            assert!(cache.pieces.len() * cache.piece_bytes() <= budget);
        }
    }

    #[test]
    fn what_the_pass_uses_stays() {
        let mut cache = ColumnCache::new(N, N * 8, false);
        fill(&mut cache, &[1]);
        cache.begin_pass(&[1, 7]);
        assert!(cache.make_room(1).is_empty() && cache.contains(1));
    }
}
