// SPDX-License-Identifier: MIT
//! A drive without a buffer: its transfers are locked to the medium, and a channel that is busy
//! when the first sector comes under the head costs a revolution.

use super::arm::Job;
use super::Drive;
use crate::command::Op;
use crate::event::Event;
use crate::shared::Shared;
use crate::time::to_ns;
use crate::trace::{Hit, Medium};

impl Drive {
    pub(super) fn start_locked(&mut self, index: usize, shared: &mut Shared) {
        let slot = self.reads.remove(index);
        let (lbn, write) = (self.command(slot).lbn, self.command(slot).op != Op::Read);
        self.head = self
            .mechanics
            .position(&self.head, shared.now_ps, lbn, write);
        self.command_mut(slot).start_ns = Some(to_ns(shared.now_ps));
        self.job = Some(Job::Locked { slot });
        shared.schedule(self.head.at_ps, Event::Landed { unit: self.unit });
    }

    /// The first sector of a transfer that is locked to the medium comes under the head.
    pub fn landed(&mut self, shared: &mut Shared) {
        let Some(Job::Locked { slot }) = self.job else {
            unreachable!("only a drive without a buffer waits for its channel");
        };
        if !shared.bus_seize(self.bus, self.unit) {
            self.head.at_ps += self.model().geometry.revolution_ps;
            shared.schedule(self.head.at_ps, Event::Landed { unit: self.unit });
            return;
        }
        let (end, write) = (self.command(slot).end(), self.command(slot).op != Op::Read);
        self.mechanics.pass(&mut self.head, end, write);
        shared.schedule(self.head.at_ps, Event::ArmDone { unit: self.unit });
    }

    /// The transfer is over.
    pub(super) fn locked_done(&mut self, slot: u32, shared: &mut Shared) {
        self.command_mut(slot).medium = Medium::At(to_ns(shared.now_ps));
        self.command_mut(slot).hit = match self.command(slot).op {
            Op::Read => Hit::Miss,
            _ => Hit::Through,
        };
        self.finish_later(slot, shared);
    }
}
