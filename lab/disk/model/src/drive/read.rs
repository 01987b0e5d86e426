// SPDX-License-Identifier: MIT
//! The path of a read: out of the buffer, or from the medium into a segment and out as it comes.

use super::arm::Job;
use super::buffer::ReadSegment;
use super::read_ahead::Ahead;
use super::Drive;
use crate::entries::{value_or, SegmentAccess};
use crate::event::Event;
use crate::geometry::SECTOR_BYTES;
use crate::mechanics::Span;
use crate::shared::Shared;
use crate::time::to_ns;
use crate::trace::{Hit, Medium};

impl Drive {
    /// Sends what waits for the arm and has come into a segment meanwhile.
    pub(super) fn serve_hits(&mut self, number: usize, shared: &mut Shared) {
        let segment = &self.read_segments[number];
        let (start, end) = (segment.start, segment.end);
        let mut i = 0;
        while i < self.reads.len() {
            let command = self.command(self.reads[i]);
            if (start..end).contains(&command.lbn) && command.end() <= end {
                let slot = self.reads.remove(i);
                self.read_hit(slot, number, shared);
            } else {
                i += 1;
            }
        }
    }

    pub(super) fn read_hit(&mut self, slot: u32, segment: usize, shared: &mut Shared) {
        let now_ps = shared.now_ps;
        let command = self.command_mut(slot);
        command.start_ns = Some(to_ns(now_ps));
        command.hit = Hit::Full;
        let (start, end) = (command.lbn, command.end());
        self.data_ready(slot, shared);
        if segment >= self.read_segments.len() {
            return;
        }
        self.touch(segment);
        let limit = self.limit(start, end);
        let read_to = self.read_segments[segment].end;
        if let Some(ahead) = self.ahead.as_mut().filter(|a| a.segment == segment) {
            ahead.limit = ahead.limit.max(limit);
            if self.exclusive() {
                self.held_ahead = self.ahead.take();
            }
        } else if self.paused == Some(segment)
            && self.job.is_none()
            && self.model().file.read_ahead_resume.value
            && read_to < limit
        {
            self.head = self.mechanics.position(&self.head, now_ps, read_to, false);
            self.ahead = Some(Ahead { segment, limit });
            self.paused = None;
        }
    }

    /// Lets read-ahead go on that stood still for the host.
    pub(super) fn release_ahead(&mut self, now_ps: i64) {
        if self.job.is_some() {
            return;
        }
        if let Some(ahead) = self.held_ahead.take() {
            let read_to = self.read_segments[ahead.segment].end;
            self.head = self.mechanics.position(&self.head, now_ps, read_to, false);
            self.ahead = Some(ahead);
        }
    }

    pub(super) fn start_read(&mut self, index: usize, shared: &mut Shared) {
        let slot = self.reads.remove(index);
        let (start, end) = (self.command(slot).lbn, self.command(slot).end());
        let now_ps = shared.now_ps;
        let streaming = self.streaming(start);
        let number = streaming.map(|a| a.segment).unwrap_or_else(|| {
            let held = |s: &ReadSegment| s.start <= start && start <= s.end && s.start < s.end;
            self.read_segments.iter().position(held).unwrap_or_else(|| {
                let lru = self
                    .read_segments
                    .iter()
                    .enumerate()
                    .min_by_key(|(_, s)| s.used);
                let number = lru.expect("a drive has a read segment").0;
                self.read_segments[number] = ReadSegment {
                    start,
                    end: start,
                    used: 0,
                };
                number
            })
        });
        self.touch(number);
        let from = self.read_segments[number].end;
        debug_assert!(from < end);
        let file = &self.model().file;
        let any_order = value_or(&file.zero_latency_read, false);
        let on_arrival = value_or(&file.read_on_arrival, false);
        let (first_ps, done_ps) = if streaming.is_some() {
            let first_ps = self.head.at_ps;
            self.mechanics.pass(&mut self.head, end, false);
            (first_ps, self.head.at_ps)
        } else {
            let span = Span {
                lbn: from,
                end,
                earliest_ps: 0,
                any_order,
            };
            if on_arrival && self.read_segments[number].start == from {
                let landed = self.mechanics.position(&self.head, now_ps, from, false);
                self.read_segments[number].start = self.mechanics.first_after_landing(&landed);
            }
            let passed = self.mechanics.access(&mut self.head, now_ps, span, false);
            (passed.first_ps, passed.done_ps)
        };
        debug_assert_eq!(self.head.lbn, end);
        let limit = self.limit(start, end);
        let least = match self.access {
            SegmentAccess::MediumFirst => limit,
            _ => end + self.model().file.read_ahead_min_sectors.value,
        };
        if least.min(limit) > end {
            self.mechanics.pass(&mut self.head, least.min(limit), false);
        }
        let filled_ps = if self.head.lbn == end {
            done_ps
        } else {
            self.head.at_ps
        };

        let bytes = (end - start) * SECTOR_BYTES;
        let data_ps = |bytes| {
            shared
                .bus_read_ps(self.bus, bytes)
                .max(self.transfer_ps(bytes))
        };
        let (bus_ps, sector_ps) = (data_ps(bytes), data_ps(SECTOR_BYTES));
        let track = &self.head.track;
        let first_here_ps =
            first_ps + self.model().geometry.revolution_ps / i64::from(track.sectors);
        let file = &self.model().file;
        let prepare_ps = value_or(&file.overhead_data_ready_ns, 0) as i64 * 1000;
        let permille = i64::from(value_or(&file.read_water_mark_permille, 0).min(1000));
        let pass_ps = done_ps - first_ps;
        // What the water mark asks for, of the time in which the medium reads the request.
        let mark_ps = if value_or(&file.read_water_mark_of_segment, false) {
            let missing = (end - from) as i64;
            let sectors = file.segment_sectors.value as i64 * permille / 1000;
            pass_ps / missing * sectors.min(missing)
        } else {
            pass_ps / 1000 * permille
        };
        // What the buffer holds already moves while the rest is on its way.
        let lead_ps = if from > start {
            data_ps((from - start) * SECTOR_BYTES)
        } else {
            0
        };
        let command = self.command_mut(slot);
        command.start_ns = Some(to_ns(now_ps));
        command.medium = Medium::At(to_ns(done_ps));
        command.hit = if from > start { Hit::Part } else { Hit::Miss };
        // The transfer runs beside the medium and ends one sector after it; a bus slower than
        // the medium starts so that it finds the first sector read when it comes to it.
        let first_ready_ps = first_here_ps.max(first_ps + mark_ps) + prepare_ps - lead_ps;
        let ready_ps = if self.exclusive() {
            filled_ps + prepare_ps
        } else {
            let last_ps = done_ps - bus_ps + sector_ps;
            last_ps.max(first_ready_ps).max(now_ps)
        };
        shared.schedule(
            ready_ps,
            Event::DataReady {
                unit: self.unit,
                slot,
            },
        );
        shared.schedule(filled_ps, Event::ArmDone { unit: self.unit });
        self.job = Some(Job::Read {
            segment: number,
            limit,
        });
        (self.ahead, self.held_ahead, self.paused) = (None, None, None);
    }

    /// The arm has read what it was to read, and goes on by itself if it may.
    pub(super) fn read_done(&mut self, number: usize, limit: u64, shared: &mut Shared) {
        let size = self.model().file.segment_sectors.value;
        let segment = &mut self.read_segments[number];
        segment.end = self.head.lbn;
        segment.start = segment.start.max(segment.end.saturating_sub(size));
        if segment.end < limit {
            let ahead = Ahead {
                segment: number,
                limit,
            };
            if self.exclusive() {
                self.held_ahead = Some(ahead);
            } else {
                self.ahead = Some(ahead);
            }
        } else {
            self.paused = Some(number);
        }
        self.serve_hits(number, shared);
    }
}
