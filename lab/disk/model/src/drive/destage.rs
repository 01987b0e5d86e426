// SPDX-License-Identifier: MIT
//! A write from the buffer to the medium: the arm's way with a piece, and whom it concerns that
//! the piece is there: the write it belongs to, newer data, flushes.

use super::arm::Job;
use super::buffer::Piece;
use super::command::Command;
use super::Drive;
use crate::bus::Phase;
use crate::entries::value_or;
use crate::event::Event;
use crate::mechanics::{Head, Span};
use crate::shared::Shared;
use crate::time::to_ns;
use crate::trace::{Key, Medium};

/// A write of which something is not on the medium yet.
#[derive(Debug)]
pub(super) struct OpenWrite {
    pub serial: u64,
    /// Pieces that are not on the medium, those without room in the buffer included.
    pub left: u64,
    /// Write-through: the command to acknowledge once all is on the medium.
    pub through: Option<u32>,
    /// Write-back: the trace line that waits for the medium, and the number of the completion,
    /// once acknowledged.
    pub line: Option<(Key, u64)>,
}

/// A flush that waits until all pieces admitted before `admitted` are on the medium.
#[derive(Debug)]
pub(super) struct Flush {
    pub slot: u32,
    pub admitted: u64,
}

impl Drive {
    pub(super) fn start_write(&mut self, number: usize, shared: &mut Shared) {
        let piece = &self.write_segments[number].pieces[0];
        let (lbn, end) = (piece.lbn, piece.end);
        let leave_ps = piece.leave_ps.map(|ps| ps.max(self.free_ps));
        let leave_ps = leave_ps.unwrap_or(shared.now_ps).min(shared.now_ps);
        // What passed on the way to here has passed unwritten.
        let not_before_ps = if leave_ps < shared.now_ps {
            shared.now_ps
        } else {
            i64::MIN
        };
        let (first_here_ps, all_here_ps) = piece.comes_ps.expect("only known data is written");
        let any_order = value_or(&self.model().file.zero_latency_write, false);
        let geometry = &self.model().geometry;
        let sector_ps = geometry.revolution_ps / i64::from(geometry.track(lbn).sectors);
        // The medium must not run out of data: it ends at least a sector after the bus.
        let bus_sector_ps = (all_here_ps - first_here_ps) / (end - lbn) as i64;
        let chase_ps = all_here_ps - (end - lbn - 1) as i64 * sector_ps;
        let span = Span {
            lbn,
            end,
            earliest_ps: if any_order {
                all_here_ps
            } else {
                chase_ps.max(first_here_ps + bus_sector_ps)
            }
            .max(not_before_ps),
            any_order,
        };
        let passed = self.mechanics.access(&mut self.head, leave_ps, span, true);
        // In free order what has passed is not known by sector: nothing is safe until all is.
        self.writing = (!any_order).then(|| {
            let track = self.model().geometry.track(lbn);
            let begins = Head {
                lbn,
                at_ps: passed.first_ps,
                track,
                settled_ps: passed.first_ps,
            };
            (begins, end)
        });
        shared.schedule(passed.done_ps, Event::ArmDone { unit: self.unit });
        self.job = Some(Job::Write { segment: number });
        (self.ahead, self.held_ahead, self.paused) = (None, None, None);
    }

    /// The arm has written the first piece of a segment.
    pub(super) fn write_done(&mut self, number: usize, shared: &mut Shared) {
        let segment = &mut self.write_segments[number];
        let piece = segment.pieces.pop_front().expect("it was being written");
        if !segment.dirty() {
            self.dirty_segments -= 1;
        }
        self.piece_on_medium(&piece, shared);
        self.settle_overwrites(number, shared);
        self.finish_flushes(shared);
        self.admit_writes(shared);
    }

    pub(super) fn piece_on_medium(&mut self, piece: &Piece, shared: &mut Shared) {
        let index = self
            .open_writes
            .iter()
            .position(|w| w.serial == piece.serial);
        let index = index.expect("a write is open until all its pieces are on the medium");
        self.open_writes[index].left -= 1;
        if self.open_writes[index].left > 0 {
            return;
        }
        let done = self.open_writes.remove(index);
        let ns = to_ns(shared.now_ps);
        if let Some(slot) = done.through {
            self.command_mut(slot).medium = Medium::At(ns);
            self.finish_through(slot, shared);
        } else if let Some((line, _)) = done.line {
            shared.trace.on_medium(line, ns);
        } else {
            // Its status is still being prepared.
            let its = |(_, c): &(u32, &Command)| c.serial == done.serial;
            let slot = self.commands.iter().find(its).map(|(slot, _)| slot);
            let slot = slot.expect("a write lives until its status");
            self.command_mut(slot).medium = Medium::At(ns);
        }
    }

    pub(super) fn settle_overwrites(&mut self, number: usize, shared: &mut Shared) {
        let segment = &mut self.write_segments[number];
        let written = segment.dirty_start();
        let all = std::mem::take(&mut segment.overwrites);
        let (done, left): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|o| o.here && o.end <= written);
        segment.overwrites = left;
        for piece in done {
            self.piece_on_medium(&piece, shared);
        }
    }

    pub(super) fn finish_flushes(&mut self, shared: &mut Shared) {
        let oldest = self
            .write_segments
            .iter()
            .flat_map(|s| s.pieces.front().into_iter().chain(s.overwrites.iter()))
            .map(|p| p.admitted)
            .min()
            .unwrap_or(u64::MAX);
        let (done, left) = std::mem::take(&mut self.flushes)
            .into_iter()
            .partition(|f| f.admitted <= oldest);
        self.flushes = left;
        let done: Vec<Flush> = done;
        for flush in done {
            self.ask_bus(flush.slot, Phase::Status, shared);
        }
    }
}
