// SPDX-License-Identifier: MIT
//! The drive's processor: it decodes one command at a time, for the overhead of its kind, holds
//! back what an ordered tag keeps from starting, and starts the rest.

use super::destage::Flush;
use super::Drive;
use crate::command::Op;
use crate::entries::ReadAheadAbort;
use crate::event::Event;
use crate::shared::Shared;
use crate::time::to_ns;
use crate::trace::Hit;

impl Drive {
    pub(super) fn start_decode(&mut self, shared: &mut Shared) {
        let Some(&slot) = self.decode.front() else {
            return;
        };
        self.catch_up(shared.now_ps);
        let command = self.command(slot);
        let (start, end) = (command.lbn, command.end());
        let op = command.op;
        let goes_on = op == Op::Read && self.streaming(start).is_some();
        if self.model().file.read_ahead_abort.value == ReadAheadAbort::Command && !goes_on {
            (self.ahead, self.held_ahead) = (None, None);
        }
        let file = &self.model().file;
        let overhead = match op {
            Op::Read if goes_on || self.buffered(start, end).is_some() => {
                &file.overhead_read_hit_ns
            }
            Op::Read => &file.overhead_read_miss_ns,
            Op::Write if self.caches(start) => &file.overhead_write_hit_ns,
            Op::Write | Op::WriteFua => &file.overhead_write_miss_ns,
            Op::Flush => &file.overhead_read_hit_ns,
        };
        let overhead_ns = overhead.value[usize::from(self.wrote_last)];
        let writes = matches!(op, Op::Write | Op::WriteFua);
        let lets_go = file.overhead_write_disconnect_ns.as_ref();
        let lets_go = lets_go.filter(|_| writes && self.wrote_last && start != self.wrote_end);
        let overhead_ps = lets_go.map_or(overhead_ns, |e| e.value[0]) as i64 * 1000;
        let disconnects = lets_go.is_some();
        self.command_mut(slot).disconnects = disconnects;
        self.wrote_last = writes;
        self.wrote_end = end;
        shared.schedule(
            shared.now_ps + overhead_ps,
            Event::Decoded { unit: self.unit },
        );
    }

    pub fn decoded(&mut self, shared: &mut Shared) {
        let slot = self.decode.pop_front().expect("a command is being decoded");
        self.catch_up(shared.now_ps);
        if self.may_start(slot) {
            self.start(slot, shared);
        } else {
            self.held.push_back(slot);
        }
        self.kick(shared);
        self.start_decode(shared);
    }

    /// A decoded command finds its data or room in the buffer, or waits for the arm.
    fn start(&mut self, slot: u32, shared: &mut Shared) {
        let (op, start, end) = {
            let command = self.command(slot);
            (command.op, command.lbn, command.end())
        };
        match op {
            Op::Read | Op::Write | Op::WriteFua if !self.buffered => self.reads.push(slot),
            Op::Read => match self.buffered(start, end) {
                Some(segment) => self.read_hit(slot, segment, shared),
                None => self.reads.push(slot),
            },
            Op::Write | Op::WriteFua => {
                let cached = op == Op::Write && self.caches(start);
                self.command_mut(slot).hit = if cached { Hit::Cached } else { Hit::Through };
                let lag_ps = self.write_lag_ps(slot);
                if lag_ps == 0 {
                    return self.take_data(slot, shared);
                }
                // The arm need not wait for the data.
                (self.ahead, self.held_ahead, self.paused) = (None, None, None);
                self.command_mut(slot).leave_ps = Some(shared.now_ps);
                let unit = self.unit;
                shared.schedule(shared.now_ps + lag_ps, Event::DataReady { unit, slot });
            }
            Op::Flush => {
                self.command_mut(slot).start_ns = Some(to_ns(shared.now_ps));
                self.flushes.push(Flush {
                    slot,
                    admitted: self.admitted,
                });
                self.finish_flushes(shared);
            }
        }
    }

    /// Whether no ordered tag holds the command back.
    fn may_start(&self, slot: u32) -> bool {
        let Some(&barrier) = self.ordered.front() else {
            return true;
        };
        let serial = self.command(slot).serial;
        // The barrier itself waits until it is the oldest.
        serial < barrier
            || serial == barrier && self.commands.iter().all(|(_, c)| c.serial >= barrier)
    }

    /// Lets go of what is no longer held back.
    fn release_held(&mut self, shared: &mut Shared) {
        while let Some(&slot) = self.held.front().filter(|&&slot| self.may_start(slot)) {
            self.held.pop_front();
            self.start(slot, shared);
        }
    }

    /// A command is complete that may have held others back.
    pub fn released(&mut self, shared: &mut Shared) {
        self.catch_up(shared.now_ps);
        self.release_held(shared);
        self.kick(shared);
    }
}
