// SPDX-License-Identifier: MIT
//! What a controller holds of its rows: clean data, data that waits for the members, and who works
//! on a row.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::ranges::Ranges;

/// A part of a row that one host command wrote; offsets in the row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub write: u64,
    pub row: u64,
    pub start: u64,
    pub end: u64,
}

/// Who waits for a row of his own.
#[derive(Debug, Clone, Copy)]
pub(super) enum Waiter {
    /// A read of a missing member: number of the job.
    Job(u64),
    /// The rebuild.
    Rebuild,
}

/// A row of which something is held or done.
#[derive(Debug, Default)]
pub(super) struct Row {
    valid: Ranges,
    pub dirty: Ranges,
    flying: Ranges,
    pub pieces: Vec<Piece>,
    used: u64,
    written_ps: i64,
    /// To be written out at once, or now that nothing more is expected.
    urgent: bool,
    ready: bool,
    /// Jobs at it, and whether the one has it for itself.
    jobs: u32,
    exclusive: bool,
    waiting: VecDeque<Waiter>,
}

impl Row {
    fn held(&self) -> u64 {
        let mut held = self.dirty.clone();
        held.add(&self.flying);
        held.sectors()
    }
}

/// The rows, and which are to be written next.
#[derive(Debug)]
pub(super) struct Cache {
    rows: BTreeMap<u64, Row>,
    /// By time of last use.
    order: BTreeMap<u64, u64>,
    clock: u64,
    /// Sectors in it; those that are not on the members; those that are on their way from the host.
    valid: u64,
    held: u64,
    reserved: u64,
    capacity: u64,
    row_sectors: u64,
    /// Whether a row takes several writes at a time.
    side_by_side: bool,
    /// Rows with dirty data that can be written now, and those of them that should.
    dirty: BTreeSet<u64>,
    urgent: BTreeSet<u64>,
    ready: BTreeSet<u64>,
    /// Writes by time, for rows that nothing more comes to.
    written: VecDeque<(i64, u64)>,
    /// Where the sweep over the rows is.
    sweep: u64,
}

/// A piece waits for older data of the same sectors: what is on its way to the members, and what
/// itself has to wait.
fn waits(piece: &Piece, flying: &Ranges, left: &[Piece]) -> bool {
    flying.overlaps(piece.start, piece.end)
        || left
            .iter()
            .any(|l| l.start < piece.end && piece.start < l.end)
}

impl Cache {
    pub fn new(capacity: u64, row_sectors: u64, side_by_side: bool) -> Self {
        Self {
            rows: BTreeMap::new(),
            order: BTreeMap::new(),
            clock: 0,
            valid: 0,
            held: 0,
            reserved: 0,
            capacity,
            row_sectors,
            side_by_side,
            dirty: BTreeSet::new(),
            urgent: BTreeSet::new(),
            ready: BTreeSet::new(),
            written: VecDeque::new(),
            sweep: 0,
        }
    }

    /// Sectors that are not on the members.
    pub fn held(&self) -> u64 {
        self.held + self.reserved
    }

    /// Gives room to a write of `sectors`, if there is some.
    pub fn reserve(&mut self, sectors: u64) -> bool {
        let held = self.held + self.reserved;
        // Without a cache there are buffers for what is under way.
        let fits = self.capacity == 0 || held == 0 || held + sectors <= self.capacity;
        if fits {
            self.reserved += sectors;
        }
        fits
    }

    /// The parts of `start..end` of a row that are not held.
    pub fn missing(&mut self, row: u64, start: u64, end: u64) -> Ranges {
        self.touch(row);
        match self.rows.get(&row) {
            Some(held) => held.valid.missing(start, end),
            None => Ranges::of(start, end),
        }
    }

    /// What of a row is held as it is, or will be after a job that writes `ranges`, on the members.
    pub fn on_members(&self, row: u64, ranges: &Ranges) -> Ranges {
        let row = &self.rows[&row];
        let mut held = row.valid.clone();
        held.subtract(&row.dirty);
        held.add(ranges);
        held
    }

    /// Data of a write has come.
    pub fn write(&mut self, piece: Piece, now_ps: i64, urgent: bool) {
        let (start, end) = (piece.start, piece.end);
        self.reserved -= end - start;
        let row = self.rows.entry(piece.row).or_default();
        let (held, valid) = (row.held(), row.valid.sectors());
        row.dirty.insert(start, end);
        row.valid.insert(start, end);
        row.pieces.push(piece);
        row.written_ps = now_ps;
        row.urgent |= urgent;
        row.ready |= row.dirty.sectors() == self.row_sectors;
        self.held += row.held() - held;
        self.valid += row.valid.sectors() - valid;
        if !urgent {
            self.written.push_back((now_ps, piece.row));
        }
        self.touch(piece.row);
        self.classify(piece.row);
        self.evict();
    }

    /// Data that was read from the members is kept.
    pub fn fill(&mut self, row: u64, start: u64, end: u64) {
        if self.capacity == 0 {
            return;
        }
        let entry = self.rows.entry(row).or_default();
        let valid = entry.valid.sectors();
        entry.valid.insert(start, end);
        self.valid += entry.valid.sectors() - valid;
        self.touch(row);
        self.evict();
    }

    /// All that is dirty now is to be written out.
    pub fn hurry(&mut self) {
        let dirty: Vec<u64> = self
            .rows
            .iter()
            .filter(|(_, r)| !r.dirty.is_empty())
            .map(|(n, _)| *n)
            .collect();
        for row in dirty {
            self.rows.get_mut(&row).expect("it is dirty").urgent = true;
            self.classify(row);
        }
    }

    /// Rows that nothing was written to since `before_ps` become ready; returns when the next
    /// could.
    pub fn expire(&mut self, before_ps: i64) -> Option<i64> {
        while let Some(&(at_ps, number)) = self.written.front() {
            let row = self.rows.get_mut(&number);
            let row = row.filter(|r| r.written_ps == at_ps && !r.dirty.is_empty());
            if let Some(row) = row {
                if at_ps > before_ps {
                    return Some(at_ps);
                }
                row.ready = true;
                self.classify(number);
            }
            self.written.pop_front();
        }
        None
    }

    /// The row to write next: what somebody waits for, then what is ready, then, if `all`, any;
    /// each in one sweep over the addresses.
    pub fn choose(&mut self, all: bool) -> Option<u64> {
        let from = self.sweep;
        let next = |set: &BTreeSet<u64>| set.range(from..).next().or_else(|| set.first()).copied();
        let row = next(&self.urgent).or_else(|| next(&self.ready));
        let row = row.or_else(|| if all { next(&self.dirty) } else { None })?;
        self.sweep = row;
        Some(row)
    }

    /// Takes what is to be written of a row; it is on its way then.
    pub fn take(&mut self, number: u64) -> (Ranges, Vec<Piece>) {
        let row = self.rows.get_mut(&number).expect("it is dirty");
        let mut taken = Vec::new();
        let mut left: Vec<Piece> = Vec::new();
        for piece in std::mem::take(&mut row.pieces) {
            if waits(&piece, &row.flying, &left) {
                left.push(piece);
            } else {
                taken.push(piece);
            }
        }
        let mut ranges = Ranges::default();
        taken.iter().for_each(|p| ranges.insert(p.start, p.end));
        row.dirty.subtract(&ranges);
        // Newer data of the same sectors is still dirty.
        left.iter().for_each(|p| row.dirty.insert(p.start, p.end));
        row.flying.add(&ranges);
        row.pieces = left;
        row.jobs += 1;
        row.urgent &= !row.dirty.is_empty();
        row.ready &= !row.dirty.is_empty();
        self.classify(number);
        (ranges, taken)
    }

    /// What a job took is on the members, or lost.
    pub fn written(&mut self, number: u64, ranges: &Ranges) {
        let row = self.rows.get_mut(&number).expect("a job was at it");
        let held = row.held();
        row.flying.subtract(ranges);
        self.held -= held - row.held();
        if self.capacity == 0 {
            let valid = row.valid.sectors();
            let mut gone = ranges.clone();
            gone.subtract(&row.dirty);
            row.valid.subtract(&gone);
            self.valid -= valid - row.valid.sectors();
        }
    }

    /// What could not be written is not kept either.
    pub fn forget(&mut self, number: u64, start: u64, end: u64) {
        let row = self.rows.get_mut(&number).expect("a job was at it");
        let valid = row.valid.sectors();
        let mut gone = Ranges::of(start, end);
        gone.subtract(&row.dirty);
        row.valid.subtract(&gone);
        self.valid -= valid - row.valid.sectors();
    }

    /// Takes a row for one alone; false: `waiter` has to wait.
    pub fn lock(&mut self, number: u64, waiter: Waiter) -> bool {
        let row = self.rows.entry(number).or_default();
        let free = row.jobs == 0;
        if free {
            (row.jobs, row.exclusive) = (1, true);
        } else {
            row.waiting.push_back(waiter);
        }
        self.classify(number);
        free
    }

    /// A job at a row is done; returns who has it now.
    pub fn unlock(&mut self, number: u64) -> Option<Waiter> {
        let row = self.rows.get_mut(&number).expect("a job was at it");
        row.jobs -= 1;
        row.exclusive = false;
        let mut next = None;
        if row.jobs == 0 {
            next = row.waiting.pop_front();
            if next.is_some() {
                (row.jobs, row.exclusive) = (1, true);
            }
        }
        self.classify(number);
        self.drop_empty(number);
        next
    }

    /// Puts a row into the sets that it belongs to.
    fn classify(&mut self, number: u64) {
        let row = &self.rows[&number];
        // Who waits for a row of his own must not wait for ever.
        let free = !row.exclusive && row.waiting.is_empty();
        let starts = free && (row.jobs == 0 || self.side_by_side);
        let mut left = Vec::new();
        let any = row.pieces.iter().any(|piece| {
            let waits = waits(piece, &row.flying, &left);
            left.push(*piece);
            !waits
        });
        let (starts, urgent, ready) = (starts && any, row.urgent, row.ready);
        for (set, wanted) in [
            (&mut self.dirty, starts),
            (&mut self.urgent, starts && urgent),
            (&mut self.ready, starts && ready),
        ] {
            if wanted {
                set.insert(number);
            } else {
                set.remove(&number);
            }
        }
    }

    fn touch(&mut self, number: u64) {
        if let Some(row) = self.rows.get_mut(&number) {
            self.order.remove(&row.used);
            self.clock += 1;
            row.used = self.clock;
            self.order.insert(self.clock, number);
        }
    }

    /// Drops what was not used for longest until all fits.
    fn evict(&mut self) {
        if self.capacity == 0 {
            return;
        }
        let mut after = 0;
        while self.valid > self.capacity {
            let Some((&clock, &number)) = self.order.range(after..).next() else {
                return;
            };
            after = clock + 1;
            let row = self.rows.get_mut(&number).expect("it is in the order");
            let valid = row.valid.sectors();
            row.valid = row.dirty.clone();
            row.valid.add(&row.flying);
            self.valid -= valid - row.valid.sectors();
            self.drop_empty(number);
        }
    }

    fn drop_empty(&mut self, number: u64) {
        let row = &self.rows[&number];
        if row.valid.is_empty() && row.jobs == 0 && row.pieces.is_empty() {
            let row = self.rows.remove(&number).expect("just seen");
            self.order.remove(&row.used);
        }
    }

    /// Pieces that no job has taken.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.rows.values().flat_map(|r| &r.pieces)
    }
}
