// SPDX-License-Identifier: MIT
//! Read-ahead: how far it goes, how far it has come, and what lies in its path. It is no work of
//! the arm's: it goes on while the arm has none, and is only brought up to date when somebody asks.

use super::buffer::ReadSegment;
use super::Drive;
use crate::entries::{value_or, ReadAheadStop};

/// Read-ahead in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ahead {
    pub segment: usize,
    pub limit: u64,
}

impl Drive {
    /// The read-ahead in whose path a read from `start` lies.
    pub(super) fn streaming(&self, start: u64) -> Option<Ahead> {
        let ahead = self.ahead?;
        let segment = &self.read_segments[ahead.segment];
        (segment.start <= start && start <= ahead.limit).then_some(ahead)
    }

    /// How far a read of `start..end` lets the drive read ahead.
    pub(super) fn limit(&self, start: u64, end: u64) -> u64 {
        let geometry = &self.model().geometry;
        let file = &self.model().file;
        let track = || geometry.track_beside(&self.head.track, end - 1);
        let stop = match file.read_ahead_stop.value {
            ReadAheadStop::Request => end,
            ReadAheadStop::Track => track().end,
            ReadAheadStop::Stream => self.stream_end(start, end),
            ReadAheadStop::Cylinder => geometry.cylinder_end(&track()),
            ReadAheadStop::Segment => u64::MAX,
        };
        // The request itself stays in the segment, or gives way to what is read ahead.
        let over = value_or(&file.read_ahead_over_requested, false);
        let full = if over { end } else { start } + file.segment_sectors.value;
        let most = end.saturating_add(file.read_ahead_max_sectors.value);
        // What is newer in the write segments is not read from the medium.
        let dirty = self.write_segments.iter().filter(|s| s.dirty());
        let dirty = dirty.filter(|s| s.end > end).map(|s| s.dirty_start()).min();
        let mut limit = stop.min(full).min(most);
        if value_or(&file.read_ahead_wraps, false) {
            // The rest of the track comes in whatever the segment holds of it in the end.
            limit = limit.max(track().end.min(stop));
        }
        let limit = limit.min(dirty.unwrap_or(u64::MAX)).max(end);
        limit.min(geometry.sectors)
    }

    /// End of the track of a read, or of the next one if its segment began on an earlier track.
    fn stream_end(&self, start: u64, end: u64) -> u64 {
        let geometry = &self.model().geometry;
        let track = geometry.track_beside(&self.head.track, end - 1);
        let holds = |s: &&ReadSegment| s.start <= start && start <= s.end && s.start < s.end;
        let began = self
            .read_segments
            .iter()
            .find(holds)
            .map_or(start, |s| s.start);
        if began < track.first && track.end < geometry.sectors {
            geometry.track(track.end).end
        } else {
            track.end
        }
    }

    /// Brings read-ahead up to date.
    pub(super) fn catch_up(&mut self, now_ps: i64) {
        let Some(ahead) = self.ahead else { return };
        debug_assert!(self.job.is_none());
        self.mechanics
            .pass_until(&mut self.head, now_ps, ahead.limit);
        let size = self.model().file.segment_sectors.value;
        let segment = &mut self.read_segments[ahead.segment];
        segment.end = self.head.lbn;
        segment.start = segment.start.max(segment.end.saturating_sub(size));
        if self.head.lbn >= ahead.limit {
            self.ahead = None;
            self.paused = Some(ahead.segment);
        }
    }
}
