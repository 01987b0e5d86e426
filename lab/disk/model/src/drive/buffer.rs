// SPDX-License-Identifier: MIT
//! The buffer's segments, each one extent of sectors: what they hold, whether a read finds its data
//! there, and which older data a write drops. Write segments are of one size, or share a pool of
//! sectors as they need it.

use std::collections::VecDeque;

use super::Drive;
use crate::entries::{value_or, SegmentAccess};

/// A read segment: one extent of sectors, `start..end`.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadSegment {
    pub start: u64,
    pub end: u64,
    pub used: u64,
}

/// A part of an extent that one command wrote.
#[derive(Debug)]
pub(super) struct Piece {
    pub lbn: u64,
    pub end: u64,
    /// Arrival order of its command.
    pub serial: u64,
    /// Order of admission to the buffer, over the whole drive.
    pub admitted: u64,
    /// When its command arrived.
    pub arrival_ns: i64,
    /// From when on the arm may go for it, if that was before its data moved.
    pub leave_ps: Option<i64>,
    /// Its data has crossed the bus.
    pub here: bool,
    /// When its first sector and all of it are here, once it is on its way.
    pub comes_ps: Option<(i64, i64)>,
}

/// A write segment: one extent, of which the pieces are not on the medium yet.
#[derive(Debug, Default)]
pub(super) struct WriteSegment {
    /// First sector still in the buffer.
    pub start: u64,
    /// End of what has crossed the bus.
    pub here: u64,
    /// End of what has been given room.
    pub end: u64,
    /// Dirty pieces, contiguous, ending at `end`.
    pub pieces: VecDeque<Piece>,
    /// Newer data for sectors of `pieces`.
    pub overwrites: Vec<Piece>,
    pub used: u64,
}

impl WriteSegment {
    pub fn dirty(&self) -> bool {
        !self.pieces.is_empty()
    }

    pub fn dirty_start(&self) -> u64 {
        self.pieces.front().map_or(self.end, |p| p.lbn)
    }

    pub fn dirty_overlaps(&self, start: u64, end: u64) -> bool {
        self.dirty() && start < self.end && self.dirty_start() < end
    }

    /// Whether the arm may go for the first piece: it is here or will be at a known time, and no
    /// newer data for the extent is on its way.
    pub fn ready(&self) -> bool {
        self.pieces.front().is_some_and(|p| p.comes_ps.is_some())
            && self.overwrites.iter().all(|o| o.here)
    }

    /// Whether no data for it is on its way.
    pub fn all_here(&self) -> bool {
        self.pieces.iter().all(|p| p.here)
    }
}

impl Drive {
    /// Most sectors that a write segment can hold.
    pub(super) fn write_segment_sectors(&self) -> u64 {
        self.write_pool
            .unwrap_or(self.model().file.segment_sectors.value)
    }

    /// Written data that is on the medium makes way in the pool: what was used longest ago first,
    /// and last what lies before dirty data.
    pub(super) fn fit_into_pool(&mut self) {
        let Some(pool) = self.write_pool else { return };
        let held: u64 = self.write_segments.iter().map(|s| s.end - s.start).sum();
        let mut excess = held.saturating_sub(pool);
        while excess > 0 {
            let written = self.write_segments.iter_mut();
            let written = written.filter(|s| s.start < s.dirty_start());
            let oldest = written.min_by_key(|s| (s.dirty(), s.used));
            let segment = oldest.expect("dirty data is given room only where it fits");
            let dropped = excess.min(segment.dirty_start() - segment.start);
            segment.start += dropped;
            excess -= dropped;
        }
    }

    /// Whether medium and host are never at a segment at the same time.
    pub(super) fn exclusive(&self) -> bool {
        self.access != SegmentAccess::Overlapped
    }

    /// The segment that holds all of `start..end`: a read segment, or a write segment, whose
    /// numbers follow.
    pub(super) fn buffered(&self, start: u64, end: u64) -> Option<usize> {
        let reads = self.read_segments.iter();
        let found = reads.clone().position(|s| s.start <= start && end <= s.end);
        found.or_else(|| {
            if !value_or(&self.model().file.read_hits_writes, true) {
                return None;
            }
            let writes = self.write_segments.iter();
            let i = writes
                .clone()
                .position(|s| s.start <= start && end <= s.here)?;
            Some(self.read_segments.len() + i)
        })
    }

    pub(super) fn touch(&mut self, segment: usize) {
        self.use_clock += 1;
        self.read_segments[segment].used = self.use_clock;
    }

    /// What the host has had of a segment makes room at once, if the drive does not keep it.
    pub(super) fn drop_read(&mut self, start: u64, end: u64) {
        if value_or(&self.model().file.read_data_kept, true) {
            return;
        }
        for segment in &mut self.read_segments {
            if segment.start <= start && end <= segment.end {
                segment.start = end;
            }
        }
    }

    /// Drops what read segments hold of `start..end`, which is being written.
    pub(super) fn invalidate(&mut self, start: u64, end: u64) {
        for i in 0..self.read_segments.len() {
            let segment = &mut self.read_segments[i];
            if segment.start < end && start < segment.end {
                *segment = ReadSegment::default();
                self.ahead = self.ahead.filter(|a| a.segment != i);
                self.held_ahead = self.held_ahead.filter(|a| a.segment != i);
                self.paused = self.paused.filter(|&p| p != i);
            }
        }
        for segment in &mut self.write_segments {
            if !segment.dirty() && segment.start < end && start < segment.here {
                *segment = WriteSegment {
                    used: segment.used,
                    ..WriteSegment::default()
                };
            }
        }
        let both = [&mut self.ahead, &mut self.held_ahead];
        for ahead in both.into_iter().flatten() {
            if end > self.read_segments[ahead.segment].end {
                ahead.limit = ahead
                    .limit
                    .min(start.max(self.read_segments[ahead.segment].end));
            }
        }
    }
}
