// SPDX-License-Identifier: MIT
//! Arm and spindle: how long it takes to bring a head over a sector, and to pass over sectors.

use crate::entries::{value_or, DriveModel};
use crate::geometry::{Place, Track};

/// Where a sector is, in the form that positioning needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Target {
    /// Cylinder and head.
    pub place: Place,
    /// Angle at which it begins, in ps.
    pub angle_ps: i64,
}

/// The head above its track: sector `lbn` begins to pass it at `at_ps`.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// The next sector; may be the end of the track.
    pub lbn: u64,
    /// When it begins to pass.
    pub at_ps: i64,
    /// The track.
    pub track: Track,
    /// From when on the head is on this track.
    pub settled_ps: i64,
}

impl Head {
    /// Whether an access to `lbn` that leaves at `depart_ps` goes on where the head is.
    #[inline]
    pub fn goes_on(&self, lbn: u64, depart_ps: i64) -> bool {
        lbn == self.lbn && depart_ps <= self.at_ps
    }
}

/// Where positioning starts.
#[derive(Debug, Clone, Copy)]
pub struct From {
    /// Cylinder and head of the arm.
    pub place: Place,
    /// Angle under the head, in ps.
    pub angle_ps: i64,
    /// Whether the access continues where the head is.
    pub goes_on: bool,
}

/// What [`Mechanics::access`] is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// First sector.
    pub lbn: u64,
    /// Past the last sector.
    pub end: u64,
    /// When the first may pass at the earliest.
    pub earliest_ps: i64,
    /// Whether the order on the first track is free.
    pub any_order: bool,
}

/// When the first sector of an access began to pass, and when all had passed.
#[derive(Debug, Clone, Copy)]
pub struct Passed {
    /// The first one begins.
    pub first_ps: i64,
    /// All are over.
    pub done_ps: i64,
}

/// The moving parts of a drive and its spindle phase.
#[derive(Debug)]
pub struct Mechanics {
    /// The drive.
    pub model: DriveModel,
    head_switch_ps: [i64; 2],
    /// Least time to take up an access that does not go on where the head is: reads, writes.
    least_ps: [i64; 2],
    phase_ps: i64,
}

impl Mechanics {
    /// The mechanics of `model`, its spindle mark at the head at time 0.
    pub fn new(model: DriveModel) -> Self {
        let switch_ps = model.file.head_switch_ns.value as i64 * 1000;
        let settle_ps = model.file.write_settle_ns.value * 1000;
        let write_min_ns = value_or(&model.file.write_seek_min_ns, 0);
        Self {
            // A fitted settle time may be negative, a switch may not.
            head_switch_ps: [switch_ps, (switch_ps + settle_ps).max(0)],
            least_ps: [
                model.resettle_ns as i64 * 1000,
                model.resettle_ns.max(write_min_ns) as i64 * 1000,
            ],
            model,
            phase_ps: 0,
        }
    }

    /// Sets the spindle's angle at time 0.
    pub fn set_phase(&mut self, phase_ps: i64) {
        self.phase_ps = phase_ps;
    }

    /// A head at rest at cylinder 0, head 0.
    pub fn parked(&self, now_ps: i64) -> Head {
        let track = self.model.geometry.track(0);
        Head {
            lbn: 0,
            at_ps: now_ps,
            track,
            settled_ps: now_ps,
        }
    }

    /// The target of positioning to `lbn`; `known` is a track that may hold it, such as the head's.
    #[inline]
    pub fn target(&self, known: &Track, lbn: u64) -> Target {
        let track = self.model.geometry.track_beside(known, lbn);
        Target {
            place: track.place,
            angle_ps: self.model.geometry.angle_ps(&track, lbn),
        }
    }

    /// Seek and head switch from one place to another, settling included. `goes_on` if the access
    /// continues where the head is: only then it need not settle again on its track.
    #[inline(always)]
    pub fn move_ps(&self, from: Place, to: Place, write: bool, goes_on: bool) -> i64 {
        let distance = from.cylinder.abs_diff(to.cylinder);
        let switch_ps = if from.head == to.head {
            0
        } else {
            self.head_switch_ps[usize::from(write)]
        };
        let least_ps = if goes_on {
            0
        } else {
            self.least_ps[usize::from(write)]
        };
        let switch_ps = switch_ps.max(least_ps);
        if distance == 0 {
            return switch_ps;
        }
        let table = if write {
            &self.model.seek_write
        } else {
            &self.model.seek_read
        };
        // Head switch and seek overlap.
        (i64::from(table.ns(distance)) * 1000).max(switch_ps)
    }

    /// Angle under the head at `at_ps`, in ps.
    #[inline]
    pub fn angle_at(&self, at_ps: i64) -> i64 {
        (at_ps + self.phase_ps) % self.model.geometry.revolution_ps
    }

    /// Time until the target turns under an arm that is there already, under which the angle is
    /// `angle_ps` now. Positioning takes as long at least.
    #[inline(always)]
    pub fn turn_ps(&self, angle_ps: i64, to: &Target) -> i64 {
        let ahead_ps = to.angle_ps - angle_ps;
        if ahead_ps < 0 {
            ahead_ps + self.model.geometry.revolution_ps
        } else {
            ahead_ps
        }
    }

    /// Time from now until the target passes the head: of the times at which it does, a revolution
    /// apart, the first at which the arm is there. Asked for each command that waits, so without a
    /// division.
    #[inline(always)]
    pub fn positioning_ps(&self, from: From, to: &Target, write: bool) -> i64 {
        let revolution_ps = self.model.geometry.revolution_ps;
        let From {
            place,
            angle_ps,
            goes_on,
        } = from;
        let move_ps = self.move_ps(place, to.place, write, goes_on);
        let mut passes_ps = self.turn_ps(angle_ps, to);
        while passes_ps < move_ps {
            passes_ps += revolution_ps;
        }
        passes_ps
    }

    /// Brings `head` to `lbn`, leaving at `now_ps` or when it has settled.
    pub fn position(&self, head: &Head, now_ps: i64, lbn: u64, write: bool) -> Head {
        let depart_ps = now_ps.max(head.settled_ps);
        let geometry = &self.model.geometry;
        let track = geometry.track(lbn);
        let to = Target {
            place: track.place,
            angle_ps: geometry.angle_ps(&track, lbn),
        };
        let from = From {
            place: head.track.place,
            angle_ps: self.angle_at(depart_ps),
            goes_on: head.goes_on(lbn, depart_ps),
        };
        let at_ps = depart_ps + self.positioning_ps(from, &to, write);
        let settled_ps = depart_ps + self.move_ps(from.place, track.place, write, from.goes_on);
        Head {
            lbn,
            at_ps,
            track,
            settled_ps,
        }
    }

    /// Brings `head` to `lbn` and passes it over all sectors up to `end`, the first of them not
    /// before `earliest_ps`. With `any_order`, the sectors of the first track are taken from where
    /// the head lands among them, so that they never take more than a revolution.
    pub fn access(&self, head: &mut Head, now_ps: i64, span: Span, write: bool) -> Passed {
        let Span {
            lbn,
            end,
            earliest_ps,
            any_order,
        } = span;
        let revolution_ps = self.model.geometry.revolution_ps;
        *head = self.position(head, now_ps, lbn, write);
        let landed_ps = head.settled_ps.max(earliest_ps);
        if head.at_ps < earliest_ps {
            let late = earliest_ps - head.at_ps;
            head.at_ps += (late + revolution_ps - 1) / revolution_ps * revolution_ps;
        }
        let first_ps = head.at_ps;
        // Of the sectors of this track, those that have passed when the first one comes.
        let inside_ps = landed_ps + revolution_ps - first_ps;
        let stop = end.min(head.track.end);
        let geometry = &self.model.geometry;
        let long = || geometry.slot_ps(&head.track, stop) - geometry.slot_ps(&head.track, lbn);
        let long_ps = if any_order { long() } else { 0 };
        if inside_ps <= 0 || inside_ps >= long_ps {
            self.pass(head, end, write);
            return Passed {
                first_ps,
                done_ps: head.at_ps,
            };
        }
        // The sector in which the head lands is cut, and comes last; unless it lands at its start.
        let slot_ps = geometry.slot_ps(&head.track, lbn) + inside_ps;
        let landed = geometry.lbn_at(&head.track, slot_ps);
        let whole = geometry.slot_ps(&head.track, landed) == slot_ps;
        let cut = (landed + u64::from(!whole)).min(stop);
        let cut_ps = geometry.slot_ps(&head.track, cut) - geometry.slot_ps(&head.track, lbn);
        let around_ps = first_ps + cut_ps;
        if stop == end {
            // Where the last sector ends, as always; but all is done before.
            head.lbn = end;
            head.at_ps = first_ps + long_ps;
            return Passed {
                first_ps,
                done_ps: around_ps,
            };
        }
        *head = self.position(head, around_ps, stop, write);
        self.pass(head, end, write);
        Passed {
            first_ps,
            done_ps: head.at_ps,
        }
    }

    /// The first sector of a run up to `lbn` on its track that passes after `head`, which is
    /// about to read `lbn`, has landed there.
    pub fn first_after_landing(&self, head: &Head) -> u64 {
        let geometry = &self.model.geometry;
        let waited_ps = head.at_ps - head.settled_ps;
        let from_ps = geometry.slot_ps(&head.track, head.lbn) - waited_ps;
        if from_ps <= geometry.slot_ps(&head.track, head.track.first) {
            return head.track.first;
        }
        let cut = geometry.lbn_at(&head.track, from_ps);
        let whole = geometry.slot_ps(&head.track, cut) == from_ps;
        (cut + u64::from(!whole)).min(head.lbn)
    }

    /// Passes over all sectors up to `end`, across tracks; afterwards `head.at_ps` is the time at
    /// which the last one has passed.
    pub fn pass(&self, head: &mut Head, end: u64, write: bool) {
        let geometry = &self.model.geometry;
        loop {
            let stop = end.min(head.track.end);
            head.at_ps +=
                geometry.slot_ps(&head.track, stop) - geometry.slot_ps(&head.track, head.lbn);
            head.lbn = stop;
            if stop == end {
                return;
            }
            *head = self.position(head, head.at_ps, stop, write);
        }
    }

    /// Passes (reading) over the sectors up to `limit` that are over by `now_ps`.
    pub fn pass_until(&self, head: &mut Head, now_ps: i64, limit: u64) {
        let geometry = &self.model.geometry;
        while head.at_ps <= now_ps && head.lbn < limit {
            // A revolution passes all of the track. More is not asked for: it would overflow after
            // some seconds without a request.
            let since_ps = (now_ps - head.at_ps).min(geometry.revolution_ps);
            if head.lbn < head.track.end && geometry.within_sector(&head.track, since_ps) {
                // Asked for again at the same time, mostly: nothing more is over.
                return;
            }
            let slot_ps = geometry.slot_ps(&head.track, head.lbn);
            let passed = geometry.lbn_at(&head.track, slot_ps + since_ps);
            let stop = passed.min(limit).min(head.track.end);
            head.at_ps += geometry.slot_ps(&head.track, stop) - slot_ps;
            head.lbn = stop;
            if stop < head.track.end || stop == limit {
                return;
            }
            *head = self.position(head, head.at_ps, stop, false);
        }
    }
}
