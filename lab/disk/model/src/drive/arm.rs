// SPDX-License-Identifier: MIT
//! What the arm is doing: the one work at a time that it has, how it gets it and how it ends. What
//! comes next is chosen in `queue`; what a read or a write does there is in `read` and `destage`.

use super::queue::Choice;
use super::Drive;
use crate::shared::Shared;

/// What the arm is doing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Job {
    Read {
        segment: usize,
        limit: u64,
    },
    Write {
        segment: usize,
    },
    /// Without a buffer: the command in this slot waits for the channel or moves its data.
    Locked {
        slot: u32,
    },
}

impl Drive {
    /// Gives the arm its next work, if it is free for it.
    pub(super) fn kick(&mut self, shared: &mut Shared) {
        if self.job.is_some() {
            return;
        }
        let ahead = self.ahead;
        self.catch_up(shared.now_ps);
        if let Some(ahead) = ahead.filter(|_| !self.reads.is_empty()) {
            // A read that newer data keeps from the arm can be overtaken by read-ahead.
            self.serve_hits(ahead.segment, shared);
        }
        let from = self.head.lbn;
        match self.choose(shared.now_ps) {
            Some(Choice::Read(index)) if !self.buffered => self.start_locked(index, shared),
            Some(Choice::Read(index)) => self.start_read(index, shared),
            Some(Choice::Write(segment)) => self.start_write(segment, shared),
            None => return,
        }
        if self.head.lbn != from {
            self.inwards = self.head.lbn > from;
        }
    }

    pub fn arm_done(&mut self, shared: &mut Shared) {
        match self.job.take().expect("the arm was busy") {
            Job::Read { segment, limit } => self.read_done(segment, limit, shared),
            Job::Write { segment } => self.write_done(segment, shared),
            Job::Locked { slot } => self.locked_done(slot, shared),
        }
        self.free_ps = shared.now_ps;
        self.kick(shared);
    }
}
