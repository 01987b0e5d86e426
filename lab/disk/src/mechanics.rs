// SPDX-License-Identifier: MIT
//! Arm and spindle: how long it takes to bring a head over a sector, and to pass over sectors.

use crate::catalogue::DriveModel;
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

/// The moving parts of a drive and its spindle phase.
#[derive(Debug)]
pub struct Mechanics {
    /// The drive.
    pub model: DriveModel,
    head_switch_ps: [i64; 2],
    phase_ps: i64,
}

impl Mechanics {
    /// The mechanics of `model`, its spindle mark at the head at time 0.
    pub fn new(model: DriveModel) -> Self {
        let switch_ps = model.file.head_switch_ns.value as i64 * 1000;
        let settle_ps = model.file.write_settle_ns.value as i64 * 1000;
        Self {
            model,
            head_switch_ps: [switch_ps, switch_ps + settle_ps],
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

    /// The target of positioning to `lbn`.
    #[inline]
    pub fn target(&self, lbn: u64) -> Target {
        let track = self.model.geometry.track(lbn);
        Target {
            place: track.place,
            angle_ps: self.model.geometry.angle_ps(&track, lbn),
        }
    }

    /// Seek and head switch from one place to another, settling included.
    #[inline]
    pub fn move_ps(&self, from: Place, to: Place, write: bool) -> i64 {
        let distance = from.cylinder.abs_diff(to.cylinder);
        let switch_ps = if from.head == to.head {
            0
        } else {
            self.head_switch_ps[usize::from(write)]
        };
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

    /// Time from now until the target passes the head, the arm at `from` and the spindle at
    /// `angle_ps` now.
    #[inline]
    pub fn positioning_ps(&self, from: Place, angle_ps: i64, to: &Target, write: bool) -> i64 {
        let revolution_ps = self.model.geometry.revolution_ps;
        let move_ps = self.move_ps(from, to.place, write);
        let here = (angle_ps + move_ps) % revolution_ps;
        let wait = to.angle_ps - here;
        move_ps + if wait < 0 { wait + revolution_ps } else { wait }
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
        let angle = self.angle_at(depart_ps);
        let at_ps = depart_ps + self.positioning_ps(head.track.place, angle, &to, write);
        let settled_ps = depart_ps + self.move_ps(head.track.place, track.place, write);
        Head {
            lbn,
            at_ps,
            track,
            settled_ps,
        }
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
            let slot_ps = geometry.slot_ps(&head.track, head.lbn);
            let passed = geometry.lbn_at(&head.track, slot_ps + now_ps - head.at_ps);
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
