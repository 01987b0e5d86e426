// SPDX-License-Identifier: MIT
//! The queue algorithm: which of the reads and the dirty extents that wait the arm goes for next,
//! and which of the writes that wait for room gets it. No order may hold a command up for longer
//! than the drive's age limit, if it has one.

use super::Drive;
use crate::command::Op;
use crate::entries::{value_or, QueueAlgorithm};
use crate::mechanics::{From, Target};

/// What the arm could do next.
#[derive(Debug, Clone, Copy)]
pub(super) enum Choice {
    /// Index into `reads` (without a buffer, of all commands).
    Read(usize),
    /// Index of a write segment.
    Write(usize),
}

/// When the arm can leave for its next work, and the angle under it then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leave {
    pub at_ps: i64,
    pub angle_ps: i64,
    /// What came before this has waited for longer than the drive lets anything wait.
    overdue_ns: i64,
}

/// By how much waiting makes a command cheaper under aged SPTF, in ps of positioning for a ns of
/// waiting (thousandths), unless the drive's file says otherwise.
///
/// D. Jacobson, J. Wilkes, Disk scheduling algorithms based on rotational position, HPL-CSP-91-7,
/// 1991, recommend weights near 6 ms of positioning for a second of waiting (recalled, not
/// verified; a named assumption).
const AGED_SPTF_PERMILLE: u32 = 6;

/// The cost of what has waited for longer than the drive lets anything wait.
const OVERDUE: i64 = i64::MIN;
/// The cost of a read to whose data the head is on its way.
const STREAMING: i64 = OVERDUE + 1;

impl Drive {
    pub(super) fn choose(&self, now_ps: i64) -> Option<Choice> {
        let leave = self.leave(now_ps);
        let mut best: Option<(i64, (u64, u64), Choice)> = None;
        // Equal costs: the older command, and of one command the part that came first.
        let offer = |best: &mut Option<(i64, (u64, u64), Choice)>, cost, serial, choice| {
            if best.is_none_or(|(c, s, _)| (cost, serial) < (c, s)) {
                *best = Some((cost, serial, choice));
            }
        };
        if self.dirty_segments > 0 {
            for (i, segment) in self
                .write_segments
                .iter()
                .enumerate()
                .filter(|(_, s)| s.ready() && (!self.exclusive() || s.all_here()))
            {
                let piece = &segment.pieces[0];
                let target = self.mechanics.target(piece.lbn);
                let cost = if self.overdue(piece.arrival_ns, &leave) {
                    OVERDUE
                } else {
                    self.cost(&target, piece.lbn, &leave, true, piece.arrival_ns)
                };
                let serial = (piece.serial, piece.admitted);
                offer(&mut best, cost, serial, Choice::Write(i));
            }
        }
        // A flush comes before reads, or an endless stream of near reads could hold it up.
        if self.flushes.is_empty() || self.dirty_segments == 0 {
            let sptf = self.queue == QueueAlgorithm::Sptf;
            let streams = self.ahead.filter(|_| self.queue != QueueAlgorithm::Fcfs);
            let stream = streams.map(|a| self.read_segments[a.segment].start..=a.limit);
            for (i, &slot) in self.reads.iter().enumerate() {
                let command = self.command(slot);
                if self.dirty_segments > 0 && self.blocked(command.lbn, command.end()) {
                    continue;
                }
                let cost = if self.overdue(command.arrival_ns, &leave) {
                    OVERDUE
                } else if stream.as_ref().is_some_and(|s| s.contains(&command.lbn)) {
                    STREAMING
                } else {
                    // Most of many are out of the question before it is known how far the arm goes.
                    let least = self.mechanics.turn_ps(leave.angle_ps, &command.target);
                    if sptf && best.is_some_and(|(cost, ..)| cost < least) {
                        continue;
                    }
                    let write = command.op != Op::Read;
                    self.cost(
                        &command.target,
                        command.lbn,
                        &leave,
                        write,
                        command.arrival_ns,
                    )
                };
                offer(&mut best, cost, (command.serial, 0), Choice::Read(i));
            }
        }
        best.map(|(.., choice)| choice)
    }

    /// Whether a read must wait because newer data for it has not reached the medium.
    fn blocked(&self, start: u64, end: u64) -> bool {
        self.write_segments
            .iter()
            .any(|s| s.dirty_overlaps(start, end))
    }

    /// Where and when the arm would leave.
    pub(super) fn leave(&self, now_ps: i64) -> Leave {
        let at_ps = now_ps.max(self.head.settled_ps);
        let angle_ps = self.mechanics.angle_at(at_ps);
        Leave {
            at_ps,
            angle_ps,
            overdue_ns: at_ps / 1000 - self.age_limit_ns,
        }
    }

    /// Whether something has waited for longer than the drive lets anything wait.
    #[inline]
    pub(super) fn overdue(&self, arrival_ns: i64, leave: &Leave) -> bool {
        arrival_ns < leave.overdue_ns
    }

    /// The cost by which the queue algorithm compares what is not overdue; the smallest goes first.
    #[inline(always)]
    pub(super) fn cost(
        &self,
        target: &Target,
        lbn: u64,
        leave: &Leave,
        write: bool,
        arrival_ns: i64,
    ) -> i64 {
        let positioning = || {
            let from = From {
                place: self.head.track.place,
                angle_ps: leave.angle_ps,
                goes_on: self.head.goes_on(lbn, leave.at_ps),
            };
            self.mechanics.positioning_ps(from, target, write)
        };
        let ahead = lbn as i64 - self.head.lbn as i64;
        match self.queue {
            QueueAlgorithm::Sptf => positioning(),
            QueueAlgorithm::AgedSptf => {
                let permille = value_or(&self.model().file.aged_sptf_permille, AGED_SPTF_PERMILLE);
                let age_ns = leave.at_ps / 1000 - arrival_ns;
                positioning().saturating_sub(age_ns.saturating_mul(i64::from(permille)))
            }
            QueueAlgorithm::Sstf => {
                let here = self.head.track.place.cylinder;
                i64::from(here.abs_diff(target.place.cylinder))
            }
            // Behind the head means after everything before it.
            QueueAlgorithm::Clook if ahead < 0 => (1 << 60) + lbn as i64,
            QueueAlgorithm::Clook => lbn as i64,
            QueueAlgorithm::Look => match if self.inwards { ahead } else { -ahead } {
                // The arm turns for the nearest of those behind it.
                behind if behind < 0 => (1 << 60) - behind,
                ahead => ahead,
            },
            QueueAlgorithm::Fcfs => 0,
        }
    }
}
