// SPDX-License-Identifier: MIT
//! The drive at its bus: what it asks the bus to carry (command, data, status), how long that
//! takes it, and what it does when it is done.

use super::Drive;
use crate::bus::{Phase, Turn};
use crate::command::Op;
use crate::entries::value_or;
use crate::event::Event;
use crate::geometry::SECTOR_BYTES;
use crate::shared::Shared;
use crate::trace::Hit;

impl Drive {
    pub fn bus_done(&mut self, slot: u32, phase: Phase, shared: &mut Shared) {
        match phase {
            Phase::Command => {
                self.decode.push_back(slot);
                if self.decode.len() == 1 {
                    self.start_decode(shared);
                }
            }
            Phase::Data { last, .. } => {
                if self.command(slot).op != Op::Read {
                    self.data_here(slot, last, shared);
                } else if last {
                    self.complete(slot, shared);
                } else {
                    self.finish_later(slot, shared);
                }
            }
            Phase::Status => {
                self.status_here(slot, shared);
            }
        }
    }

    pub(super) fn ask_bus(&self, slot: u32, phase: Phase, shared: &mut Shared) {
        let bytes = match phase {
            Phase::Data { bytes, .. } => bytes,
            _ => 0,
        };
        let inbound = bytes > 0 && self.command(slot).op != Op::Read;
        shared.bus_ask(
            self.bus,
            Turn {
                unit: self.unit,
                slot,
                phase,
                hold: self.hold,
                inbound,
                data_ps: self.transfer_ps(bytes),
                tell: inbound || bytes > 0 && shared.cuts_through(self.unit),
            },
        );
    }

    /// Time that the drive itself needs to move `bytes` over any bus, in ps.
    pub(super) fn transfer_ps(&self, bytes: u64) -> i64 {
        let sector_ns = value_or(&self.model().file.sector_transfer_ns, 0);
        ((bytes / SECTOR_BYTES) * sector_ns) as i64 * 1000
    }

    /// The time from the end of a write's overhead, when the arm may go, to its data, in ps.
    pub(super) fn write_lag_ps(&self, slot: u32) -> i64 {
        let file = &self.model().file;
        let ns = match &file.overhead_write_disconnect_ns {
            Some(entry) if self.command(slot).disconnects => entry.value[1],
            _ => value_or(&file.overhead_write_data_ns, 0),
        };
        ns as i64 * 1000
    }

    /// The time in which the drive comes back to the bus for the status of a write that waited for
    /// the medium, in ps.
    fn come_back_ps(&self, slot: u32) -> i64 {
        let file = &self.model().file;
        let ns = match &file.overhead_write_disconnect_ns {
            Some(entry) if self.command(slot).disconnects => entry.value[2],
            _ => value_or(&file.overhead_write_status_ns, 0),
        };
        ns as i64 * 1000
    }

    /// A write that was acknowledged from nowhere yet is on the medium.
    pub(super) fn finish_through(&self, slot: u32, shared: &mut Shared) {
        let at_ps = shared.now_ps + self.come_back_ps(slot);
        let at_ps = at_ps + self.completion_ps(self.command(slot).op);
        let unit = self.unit;
        shared.schedule(at_ps, Event::Finished { unit, slot });
    }

    /// The drive is ready to move the data of a command.
    pub fn data_ready(&mut self, slot: u32, shared: &mut Shared) {
        if self.command(slot).op != Op::Read {
            self.catch_up(shared.now_ps);
            self.take_data(slot, shared);
            return self.kick(shared);
        }
        let bytes = self.command(slot).sectors * SECTOR_BYTES;
        let last = self.completion_ps(Op::Read) == 0;
        self.ask_bus(slot, Phase::Data { bytes, last }, shared);
    }

    /// The time that the drive takes between data and status, in ps.
    pub(super) fn completion_ps(&self, op: Op) -> i64 {
        let overhead = value_or(&self.model().file.overhead_completion_ns, [0, 0]);
        overhead[usize::from(matches!(op, Op::Write | Op::WriteFua))] as i64 * 1000
    }

    pub(super) fn finish_later(&self, slot: u32, shared: &mut Shared) {
        let at_ps = shared.now_ps + self.completion_ps(self.command(slot).op);
        let unit = self.unit;
        shared.schedule(at_ps, Event::Finished { unit, slot });
    }

    /// The drive is ready to send the status of a command.
    pub fn finished(&mut self, slot: u32, shared: &mut Shared) {
        self.ask_bus(slot, Phase::Status, shared);
    }

    fn status_here(&mut self, slot: u32, shared: &mut Shared) {
        let command = self.command(slot);
        if command.hit == Hit::Cached {
            self.acknowledge_cached(slot, shared);
            self.admit_writes(shared);
            self.kick(shared);
        } else {
            self.complete(slot, shared);
        }
    }
}
