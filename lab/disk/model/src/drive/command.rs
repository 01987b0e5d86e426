// SPDX-License-Identifier: MIT
//! Commands and their slots: how one arrives, waits for a tag, and ends with its acknowledgement
//! and its line in the trace.

use std::collections::VecDeque;

use super::Drive;
use crate::bus::Phase;
use crate::command::{Op, Request, Tag};
use crate::event::Event;
use crate::mechanics::Target;
use crate::shared::Shared;
use crate::time::to_ns;
use crate::trace::{Hit, Key, Line, Medium};

/// A command at the drive.
#[derive(Debug)]
pub(super) struct Command {
    pub op: Op,
    pub lbn: u64,
    pub sectors: u64,
    pub cookie: u64,
    /// Order of arrival.
    pub serial: u64,
    pub arrival_ns: i64,
    pub start_ns: Option<i64>,
    pub medium: Medium,
    pub depth: u32,
    pub hit: Hit,
    /// Where it (or the rest of a long write) begins on the medium.
    pub target: Target,
    /// Writes: from when on the arm may go, if that is before their data comes.
    pub leave_ps: Option<i64>,
    /// Writes: the drive lets go of the bus before it takes the data.
    pub disconnects: bool,
    /// Writes: first sector that has no room in the buffer yet.
    pub next: u64,
    /// Writes: turns of data on the bus still to come, in order: segment and piece.
    pub moving: VecDeque<(usize, u64)>,
}

impl Command {
    pub fn end(&self) -> u64 {
        self.lbn + self.sectors
    }

    /// Its line in the trace.
    pub fn line(&self, slot: u32) -> Line {
        Line {
            op: self.op,
            lbn: self.lbn,
            sectors: self.sectors,
            slot,
            arrival_ns: self.arrival_ns,
            start_ns: self.start_ns.unwrap_or(self.arrival_ns),
            medium: self.medium,
            depth: self.depth,
            hit: self.hit,
        }
    }
}

impl Drive {
    pub fn submit(&mut self, request: Request, shared: &mut Shared) {
        if let Some(tagged) = self.commands.admit(request) {
            self.arrive(tagged, shared);
        }
    }

    fn arrive(&mut self, new: Request, shared: &mut Shared) {
        let target = match new.op {
            Op::Flush => Target::default(),
            _ => self.mechanics.target(&self.head.track, new.lbn),
        };
        let serial = self.serial;
        let slot = self.commands.put(|depth| Command {
            op: new.op,
            lbn: new.lbn,
            sectors: new.sectors,
            cookie: new.cookie,
            serial,
            arrival_ns: to_ns(shared.now_ps),
            start_ns: None,
            medium: Medium::None,
            depth,
            hit: Hit::None,
            target,
            leave_ps: None,
            disconnects: false,
            next: new.lbn,
            moving: VecDeque::new(),
        });
        if new.tag == Tag::Ordered {
            self.ordered.push_back(serial);
        }
        self.serial += 1;
        self.ask_bus(slot, Phase::Command, shared);
    }

    /// Acknowledges a command; returns the key of its trace line.
    pub(super) fn complete(&mut self, slot: u32, shared: &mut Shared) -> Key {
        let command = self.commands.take(slot);
        if command.op == Op::Read {
            self.drop_read(command.lbn, command.end());
            self.release_ahead(shared.now_ps);
        }
        let acknowledged_ns = shared.complete(self.unit, command.cookie, 0);
        assert!(
            acknowledged_ns >= command.arrival_ns,
            "acknowledged before it arrived"
        );
        let key = shared
            .trace
            .push(self.unit, acknowledged_ns, command.line(slot));
        if self.hold || !self.buffered {
            shared.bus_release(self.bus, self.unit);
        }
        if self.ordered.front() == Some(&command.serial) {
            self.ordered.pop_front();
        }
        if !self.held.is_empty() {
            // Not from here, where the caller is in the middle of its own work.
            shared.schedule(shared.now_ps, Event::Released { unit: self.unit });
        }
        if let Some(next) = self.commands.next() {
            self.arrive(next, shared);
        }
        key
    }

    pub(super) fn command(&self, slot: u32) -> &Command {
        &self.commands[slot]
    }

    pub(super) fn command_mut(&mut self, slot: u32) -> &mut Command {
        &mut self.commands[slot]
    }
}
