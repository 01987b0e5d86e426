// SPDX-License-Identifier: MIT
//! A drive that stops in the middle of its work, because it has failed or is taken out of it.

use super::buffer::{ReadSegment, WriteSegment};
use super::Drive;
use crate::command::EIO;
use crate::shared::Shared;
use crate::time::to_ns;
use crate::trace::{Hit, Line, Medium};

impl Drive {
    /// Ends all commands with an I/O error at once and forgets what the buffer holds; the drive
    /// never holds its bus again. Commands that come later do not get here.
    pub fn fail(&mut self, shared: &mut Shared) {
        let now_ns = to_ns(shared.now_ps);
        let (commands, waiting) = self.commands.drain();
        let mut ended = Vec::new();
        for (slot, command) in commands {
            let line = Line {
                medium: Medium::None,
                hit: Hit::Failed,
                ..command.line(slot)
            };
            ended.push((command.serial, command.cookie, line));
        }
        // In the order of their arrival; behind them what had no tag yet.
        ended.sort_unstable_by_key(|(serial, ..)| *serial);
        let mut ended: Vec<_> = ended.into_iter().map(|(_, c, l)| (c, l)).collect();
        for (waiting, depth) in waiting.into_iter().zip(ended.len() as u32 + 1..) {
            let line = Line {
                op: waiting.op,
                lbn: waiting.lbn,
                sectors: waiting.sectors,
                slot: 0,
                arrival_ns: now_ns,
                start_ns: now_ns,
                medium: Medium::None,
                depth,
                hit: Hit::Failed,
            };
            ended.push((waiting.cookie, line));
        }
        self.stop();
        shared.trace.abandon(self.unit);
        shared.forget(self.unit, self.bus);
        for (cookie, line) in ended {
            let acknowledged_ns = shared.complete(self.unit, cookie, EIO);
            shared.trace.push(self.unit, acknowledged_ns, line);
        }
    }

    /// Drops all work, without an acknowledgement; events of it that wait must be dropped too.
    pub fn stop(&mut self) {
        self.commands.drain();
        self.decode.clear();
        self.ordered.clear();
        self.held.clear();
        self.reads.clear();
        self.writes.clear();
        self.flushes.clear();
        self.read_segments.fill(ReadSegment::default());
        let clean = self.write_segments.iter_mut();
        clean.for_each(|s| *s = WriteSegment::default());
        self.open_writes.clear();
        self.dirty_segments = 0;
        (self.job, self.writing) = (None, None);
        (self.ahead, self.held_ahead, self.paused) = (None, None, None);
    }
}
