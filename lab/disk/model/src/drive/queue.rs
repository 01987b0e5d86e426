// SPDX-License-Identifier: MIT
//! The queue algorithm: which of the reads and the dirty extents that wait the arm goes for next,
//! and which of the writes that wait for room gets it. No order may hold a command up for longer
//! than the drive's age limit, if it has one. A drive may look at the oldest only, its window, and
//! may need time to choose.

use super::buffer::WriteSegment;
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

/// What the drive looks at as it chooses the arm's next work.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// Of `reads`, as many from the front.
    reads: usize,
    /// Of the dirty extents, those whose first piece is not younger: arrival and admission.
    youngest: (u64, u64),
}

/// A drive that looks at all that waits.
const ALL: Window = Window {
    reads: usize::MAX,
    youngest: (u64::MAX, u64::MAX),
};

/// The cost of what has waited for longer than the drive lets anything wait.
const OVERDUE: i64 = i64::MIN;
/// The cost of a read to whose data the head is on its way.
const STREAMING: i64 = OVERDUE + 1;

impl Drive {
    pub(super) fn choose(&mut self, now_ps: i64) -> Option<Choice> {
        if self.reads.is_empty() && self.dirty_segments == 0 {
            return None;
        }
        let window = if self.window == usize::MAX && self.selection_ps == 0 {
            ALL
        } else {
            self.look(now_ps)
        };
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
                .filter(|(_, s)| self.may_write(s))
            {
                let piece = &segment.pieces[0];
                if (piece.serial, piece.admitted) > window.youngest {
                    continue;
                }
                let target = self.mechanics.target(&self.head.track, piece.lbn);
                let cost = if self.overdue(piece.arrival_ns, &leave) {
                    OVERDUE
                } else {
                    self.cost(&target, piece.lbn, &leave, true, piece.arrival_ns)
                };
                let serial = (piece.serial, piece.admitted);
                offer(&mut best, cost, serial, Choice::Write(i));
            }
        }
        if self.reads_may_go() {
            let sptf = self.queue == QueueAlgorithm::Sptf;
            let streams = self.ahead.filter(|_| self.queue != QueueAlgorithm::Fcfs);
            let stream = streams.map(|a| self.read_segments[a.segment].start..=a.limit);
            let seen = &self.reads[..self.reads.len().min(window.reads)];
            for (i, &slot) in seen.iter().enumerate() {
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

    /// What the drive looks at now. It looks while the arm is at its work; the arm waits for what
    /// does not fit into that.
    fn look(&mut self, now_ps: i64) -> Window {
        let may_go = |slot: &u32| {
            let command = self.command(*slot);
            let blocked = self.dirty_segments > 0 && self.blocked(command.lbn, command.end());
            (!blocked).then_some((command.serial, 0))
        };
        let reads = self.reads.iter().filter(|_| self.reads_may_go());
        let ready = self.write_segments.iter().filter(|s| self.may_write(s));
        let ready = ready.map(|s| (s.pieces[0].serial, s.pieces[0].admitted));
        // One more than it looks at, to know that there is one.
        let most = self.window.saturating_add(1);
        let mut ages: Vec<_> = reads.filter_map(may_go).take(most).collect();
        debug_assert!(ages.is_sorted(), "reads wait in the order of their arrival");
        ages.extend(ready);
        if !ages.is_empty() {
            let chosen_ps = self.chosen_ps(ages.len() + self.writes.len());
            self.head.settled_ps = self.head.settled_ps.max(chosen_ps);
            self.chooses_from_ps = now_ps;
        }
        if ages.len() <= self.window {
            return ALL;
        }
        let (_, &mut youngest, _) = ages.select_nth_unstable(self.window - 1);
        let older = |slot: &&u32| self.command(**slot).serial <= youngest.0;
        Window {
            reads: self.reads.iter().take_while(older).count(),
            youngest,
        }
    }

    /// Whether the arm may go for the first piece of a segment.
    fn may_write(&self, segment: &WriteSegment) -> bool {
        segment.ready() && (!self.exclusive() || segment.all_here())
    }

    /// When the drive has looked at so many of the commands that wait.
    pub(super) fn chosen_ps(&self, waiting: usize) -> i64 {
        let looked = waiting.min(self.window);
        let needs_ps = looked as i64 * self.selection_ps;
        self.chooses_from_ps + if looked > 1 { needs_ps } else { 0 }
    }

    /// A flush comes before reads, or an endless stream of near reads could hold it up.
    fn reads_may_go(&self) -> bool {
        self.flushes.is_empty() || self.dirty_segments == 0
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
