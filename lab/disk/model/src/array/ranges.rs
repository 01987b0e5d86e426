// SPDX-License-Identifier: MIT
//! Sets of sectors, as sorted ranges that neither overlap nor touch.

/// A set of sectors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// The sectors of `start..end`.
    pub fn of(start: u64, end: u64) -> Self {
        let mut ranges = Self::default();
        ranges.insert(start, end);
        ranges
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many sectors are in it.
    pub fn sectors(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    /// Its ranges, rising.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Adds `start..end`.
    pub fn insert(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        let first = self.0.partition_point(|r| r.1 < start);
        let last = self.0.partition_point(|r| r.0 <= end);
        if first < last {
            start = start.min(self.0[first].0);
            end = end.max(self.0[last - 1].1);
        }
        self.0.splice(first..last, [(start, end)]);
    }

    /// Takes out `start..end`.
    pub fn remove(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let first = self.0.partition_point(|r| r.1 <= start);
        let last = self.0.partition_point(|r| r.0 < end);
        if first >= last {
            return;
        }
        let left = (self.0[first].0, start);
        let right = (end, self.0[last - 1].1);
        let rest = [left, right].into_iter().filter(|(s, e)| s < e);
        self.0.splice(first..last, rest.collect::<Vec<_>>());
    }

    /// Whether all of `start..end` is in it.
    pub fn contains(&self, start: u64, end: u64) -> bool {
        let place = self.0.partition_point(|r| r.1 <= start);
        start >= end
            || self
                .0
                .get(place)
                .is_some_and(|r| r.0 <= start && end <= r.1)
    }

    /// Whether any of `start..end` is in it.
    pub fn overlaps(&self, start: u64, end: u64) -> bool {
        let place = self.0.partition_point(|r| r.1 <= start);
        start < end && self.0.get(place).is_some_and(|r| r.0 < end)
    }

    /// What of `start..end` is in it.
    pub fn within(&self, start: u64, end: u64) -> Self {
        let cut = self.0.iter().map(|r| (r.0.max(start), r.1.min(end)));
        Self(cut.filter(|r| r.0 < r.1).collect())
    }

    /// What of `start..end` is not in it.
    pub fn missing(&self, start: u64, end: u64) -> Self {
        let mut rest = Self::of(start, end);
        rest.subtract(self);
        rest
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        other
            .iter()
            .for_each(|(start, end)| self.insert(start, end));
    }

    /// Takes out all of `other`.
    pub fn subtract(&mut self, other: &Self) {
        other
            .iter()
            .for_each(|(start, end)| self.remove(start, end));
    }

    /// The same, `by` sectors further down.
    pub fn less(&self, by: u64) -> Self {
        Self(self.0.iter().map(|r| (r.0 - by, r.1 - by)).collect())
    }
}
