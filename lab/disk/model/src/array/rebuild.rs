// SPDX-License-Identifier: MIT
//! A spare takes the place of a member that has failed, row by row.

use super::cache::Waiter;
use super::layout::Level;
use super::Array;
use crate::event::Event;
use crate::geometry::SECTOR_BYTES;
use crate::shared::Shared;

/// A rebuild on its way.
#[derive(Debug)]
pub(super) struct Rebuild {
    pub member: u32,
    pub device: usize,
    /// The next row.
    pub row: u64,
    /// At work on it, or waiting for it.
    pub busy: bool,
    started_ps: i64,
}

impl Array {
    /// Begins with the first member that is missing, if there is a spare for it.
    pub(super) fn start_rebuild(&mut self, shared: &mut Shared) {
        let possible = self.layout.level() != Level::Raid0 && self.file.rebuild_kib_s.value > 0;
        if self.rebuild.is_some() || !possible {
            return;
        }
        let missing = |r: &super::Role| r.device.is_none() && !r.stopped;
        let member = self.roles.iter().position(missing);
        let (Some(member), Some(device)) = (member, self.free_spare()) else {
            return;
        };
        self.roles[member].device = Some(device);
        self.roles[member].valid_rows = 0;
        self.rebuild = Some(Rebuild {
            member: member as u32,
            device,
            row: 0,
            busy: false,
            started_ps: shared.now_ps,
        });
        self.say_began(device, shared);
        shared.schedule(shared.now_ps, Event::ArrayRebuild { unit: self.unit });
    }

    /// It is time for the next row.
    pub fn rebuild_step(&mut self, shared: &mut Shared) {
        let rows = self.layout.rows();
        let Some(rebuild) = self.rebuild.as_mut().filter(|r| !r.busy) else {
            return; // An event of an earlier one.
        };
        if rebuild.row == rows {
            let member = rebuild.member as usize;
            self.roles[member].valid_rows = u64::MAX;
            self.rebuild = None;
            return self.start_rebuild(shared);
        }
        rebuild.busy = true;
        rebuild.started_ps = shared.now_ps;
        let row = rebuild.row;
        if self.cache.lock(row, Waiter::Rebuild) {
            self.rebuild_row(shared);
        }
    }

    /// A row of `device` is made, or cannot be: a row that is lost stays lost, and the rest with it.
    pub(super) fn rebuilt_row(&mut self, row: u64, device: usize, well: bool, shared: &mut Shared) {
        let rate = self.file.rebuild_kib_s.value;
        let bytes = self.layout.unit_sectors() * SECTOR_BYTES;
        let Some(rebuild) = self.rebuild.as_mut().filter(|r| r.device == device) else {
            return; // The spare has failed.
        };
        rebuild.busy = false;
        if !well {
            self.roles[rebuild.member as usize].stopped = true;
            self.rebuild = None;
            return self.start_rebuild(shared);
        }
        rebuild.row = row + 1;
        self.roles[rebuild.member as usize].valid_rows = row + 1;
        let filled = row + 1 == self.layout.rows();
        // 1 KB/s is 1024 bytes a second.
        let pace_ps = (u128::from(bytes) * 1_000_000_000_000 / (u128::from(rate) * 1024)) as i64;
        let at_ps = (rebuild.started_ps + pace_ps).max(shared.now_ps);
        shared.schedule(at_ps, Event::ArrayRebuild { unit: self.unit });
        if filled {
            self.say_filled(device, shared);
        }
    }
}
