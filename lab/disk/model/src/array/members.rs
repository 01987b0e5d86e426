// SPDX-License-Identifier: MIT
//! The members of an array, and the commands that its controller gives them.

use super::layout::{Level, Part};
use super::{Array, Work};
use crate::command::{Op, Request, Tag};
use crate::entries::MemberQueue;
use crate::shared::Shared;

/// A drive behind the controller.
#[derive(Debug)]
pub(super) struct Device {
    pub unit: u32,
    failed: bool,
    max_tags: u32,
    /// Commands at the drive.
    outstanding: u32,
    /// Commands that it has not had yet: number and first sector.
    queue: Vec<(u64, u64)>,
    /// Commands that are not done, wherever they are.
    pub pending: u32,
    /// Where the last read given to it ends, and where the last command handed over did.
    pub at: u64,
    handed: u64,
}

impl Device {
    pub fn new(unit: u32, max_tags: u32) -> Self {
        Self {
            unit,
            failed: false,
            max_tags,
            outstanding: 0,
            queue: Vec::new(),
            pending: 0,
            at: 0,
            handed: 0,
        }
    }

    /// Nothing is under way, and the arm at rest.
    pub fn rest(&mut self) {
        let failed = self.failed;
        *self = Self::new(self.unit, self.max_tags);
        self.failed = failed;
    }
}

/// A place in the layout, and the device that fills it.
#[derive(Debug)]
pub(super) struct Role {
    pub device: Option<usize>,
    /// The device holds what it should in the rows before this one.
    pub valid_rows: u64,
    /// Its rebuild met a row that is lost.
    pub stopped: bool,
}

impl Role {
    pub fn whole(device: usize) -> Self {
        Self {
            device: Some(device),
            valid_rows: u64::MAX,
            stopped: false,
        }
    }
}

/// Who a command to a member is for.
#[derive(Debug)]
pub(super) enum Owner {
    Read { slot: u32, parts: Vec<Part> },
    Job(u64),
    Flush { slot: u32 },
}

/// A command to a member.
#[derive(Debug)]
pub(super) struct MemberCommand {
    device: usize,
    op: Op,
    lbn: u64,
    end: u64,
    owner: Owner,
    /// Its data has started to move.
    moves: bool,
}

impl Array {
    /// The device that holds a member's unit of a row.
    pub(super) fn device(&self, member: u32, row: u64) -> Option<usize> {
        let role = &self.roles[member as usize];
        role.device.filter(|_| row < role.valid_rows)
    }

    /// Whether the parity and all other data can stand for a part that its own member has not.
    pub(super) fn can_stand_for(&self, part: Part) -> bool {
        let member = self.layout.copies(part.row, part.index).start;
        self.layout.level() == Level::Raid5
            && self
                .layout
                .sources(part.row, member)
                .into_iter()
                .all(|m| self.device(m, part.row).is_some())
    }

    /// Gives a command to a member, by way of the processor.
    pub(super) fn issue(
        &mut self,
        device: usize,
        op: Op,
        lbn: u64,
        end: u64,
        owner: Owner,
        shared: &mut Shared,
    ) {
        self.serial += 1;
        let command = MemberCommand {
            device,
            op,
            lbn,
            end,
            owner,
            moves: false,
        };
        self.member_commands.insert(self.serial, command);
        self.devices[device].pending += 1;
        self.work(
            Work::Member(self.serial),
            self.file.member_command_ns.value,
            shared,
        );
    }

    /// The processor is done with a command to a member.
    pub(super) fn hand_over(&mut self, id: u64, shared: &mut Shared) {
        let command = &self.member_commands[&id];
        let device = command.device;
        if self.devices[device].failed {
            return self.command_done(id, false, 0, shared);
        }
        self.devices[device].queue.push((id, command.lbn));
        self.dispatch(device, shared);
    }

    fn dispatch(&mut self, number: usize, shared: &mut Shared) {
        let device = &mut self.devices[number];
        while device.outstanding < device.max_tags && !device.queue.is_empty() {
            let handed = device.handed;
            let places = 0..device.queue.len();
            let place = match self.file.member_queue.value {
                MemberQueue::Fcfs => 0,
                MemberQueue::Clook => places
                    .min_by_key(|p| {
                        let (id, lbn) = device.queue[*p];
                        (lbn < handed, lbn, id)
                    })
                    .expect("it is not empty"),
            };
            let (id, _) = device.queue.remove(place);
            device.outstanding += 1;
            let command = &self.member_commands[&id];
            if command.op != Op::Flush {
                device.handed = command.end;
            }
            let sectors = command.end - command.lbn;
            let request = Request::new(command.op, command.lbn, sectors, id, Tag::Simple);
            shared.member_ops.push_back((device.unit, request));
        }
    }

    /// A member has answered.
    pub fn member_done(
        &mut self,
        unit: u32,
        id: u64,
        status: i32,
        ordinal: u64,
        shared: &mut Shared,
    ) {
        let device = self.devices.iter().position(|d| d.unit == unit);
        let device = device.expect("it is a member of this array");
        self.devices[device].outstanding -= 1;
        self.command_done(id, status == 0, ordinal, shared);
        self.dispatch(device, shared);
    }

    fn command_done(&mut self, id: u64, well: bool, ordinal: u64, shared: &mut Shared) {
        let command = self.member_commands.remove(&id).expect("it was given");
        let device = &mut self.devices[command.device];
        device.pending -= 1;
        let unit = device.unit;
        match command.owner {
            Owner::Read { slot, parts } if well => {
                self.parts_here(slot, parts.len() as u64, shared)
            }
            Owner::Read { slot, parts } => self.read_parts(slot, parts, shared),
            Owner::Job(job) => self.job_step(job, well, (unit, ordinal), shared),
            Owner::Flush { slot } => self.member_flushed(slot, shared),
        }
    }

    /// The commands of the host whose data a member has just started to move, and how many sectors
    /// of it; nothing the second time. What goes to several members comes once.
    pub(super) fn take_moving(&mut self, id: u64) -> Vec<(u32, u64)> {
        let command = self.member_commands.get_mut(&id).expect("it is under way");
        if std::mem::replace(&mut command.moves, true) {
            return Vec::new();
        }
        match command.owner {
            Owner::Read { slot, .. } => vec![(slot, command.end - command.lbn)],
            Owner::Job(job) => self.take_pieces(job),
            Owner::Flush { .. } => Vec::new(),
        }
    }

    /// A member has failed; what it has had ends by itself.
    pub fn member_failed(&mut self, unit: u32, shared: &mut Shared) {
        let number = self.devices.iter().position(|d| d.unit == unit);
        let number = number.expect("it is a member of this array");
        self.devices[number].failed = true;
        if let Some(role) = self.roles.iter_mut().find(|r| r.device == Some(number)) {
            (role.device, role.valid_rows) = (None, 0);
        }
        self.rebuild = self.rebuild.take().filter(|r| r.device != number);
        self.say_failed(number, shared);
        for (id, _) in std::mem::take(&mut self.devices[number].queue) {
            self.command_done(id, false, 0, shared);
        }
        self.start_rebuild(shared);
    }

    /// A spare that nothing uses.
    pub(super) fn free_spare(&self) -> Option<usize> {
        let used = |d: &usize| self.roles.iter().any(|r| r.device == Some(*d));
        (self.roles.len()..self.devices.len()).find(|d| !self.devices[*d].failed && !used(d))
    }
}
