// SPDX-License-Identifier: MIT
//! A bus: one transfer at a time, first come, first served.
//!
//! SCSI-2 gives a free bus to the highest ID that asks, and the host adapter has the highest. Here
//! waiting turns are served in the order in which they asked, as devices with fair arbitration do:
//! by ID, new commands would always overtake data, for one drive too, and no trace of 2000 tells
//! how often that happened.

use std::collections::VecDeque;

use crate::entries::{value_or, BusFile, BusKind, HostBus};

/// What a unit uses the bus for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Selection and command.
    Command,
    /// Reconnection and data; with status after the last data of a command.
    Data {
        /// Bytes to move.
        bytes: u64,
        /// Whether the status follows.
        last: bool,
    },
    /// Reconnection and status without data.
    Status,
}

/// A use of the bus, asked for or granted.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// Unit number.
    pub unit: u32,
    /// The unit's command.
    pub slot: u32,
    /// What for.
    pub phase: Phase,
    /// Whether the unit keeps the bus until its command is complete.
    pub hold: bool,
    /// Whether data goes to the unit.
    pub inbound: bool,
    /// Time that the unit itself needs for the data at the least, in ps.
    pub data_ps: i64,
    /// Whether the unit wants to know when its data starts to move.
    pub tell: bool,
}

/// Time that `bytes` take at a rate in 10^3 bytes a second, in ps.
pub(crate) fn move_ps(bytes: u64, rate_kb_s: u64) -> i64 {
    // 1 KB/s is one byte a millisecond. The 4 GiB of the longest command fit into 63 bits.
    (bytes * 1_000_000_000 / rate_kb_s) as i64
}

/// The state of a bus.
#[derive(Debug)]
pub struct Bus {
    /// Its kind.
    pub kind: BusKind,
    /// Behind an array's controller: what moves on it does not pass the host's bus.
    pub inside: bool,
    rate_kb_s: u64,
    write_rate_kb_s: u64,
    command_ps: i64,
    reconnect_ps: i64,
    status_ps: i64,
    owner: Option<u32>,
    current: Option<Turn>,
    queue: VecDeque<Turn>,
}

impl Bus {
    /// A free bus.
    pub fn new(file: &BusFile) -> Self {
        let ps = |ns: u64| ns.min(1_000_000_000) as i64 * 1000;
        let rate_mb_s = file.rate_mb_s.value;
        let write_rate_mb_s = value_or(&file.write_rate_mb_s, rate_mb_s);
        Self {
            kind: file.kind.value,
            inside: false,
            rate_kb_s: rate_mb_s.saturating_mul(1000),
            write_rate_kb_s: write_rate_mb_s.saturating_mul(1000),
            command_ps: ps(file.command_ns.value),
            reconnect_ps: ps(file.reconnect_ns.value),
            status_ps: ps(file.status_ns.value),
            owner: None,
            current: None,
            queue: VecDeque::new(),
        }
    }

    /// Time that `bytes` take to (`inbound`) or from a unit on the bus, below the host's, in ps.
    pub fn data_ps(&self, bytes: u64, inbound: bool, host: Option<&HostBus>) -> i64 {
        let own_kb_s = if inbound {
            self.write_rate_kb_s
        } else {
            self.rate_kb_s
        };
        let rate_kb_s = host.map_or(own_kb_s, |h| h.rate_of(inbound).min(own_kb_s));
        move_ps(bytes, rate_kb_s)
    }

    /// Queues a turn.
    pub fn ask(&mut self, turn: Turn) {
        self.queue.push_back(turn);
    }

    /// Takes the next turn that may start now, if the bus is free.
    pub fn grant(&mut self) -> Option<Turn> {
        if self.current.is_some() {
            return None;
        }
        let next = match self.owner {
            None => 0,
            Some(owner) => self.queue.iter().position(|t| t.unit == owner)?,
        };
        let turn = self.queue.remove(next)?;
        if turn.hold {
            self.owner = Some(turn.unit);
        }
        self.current = Some(turn);
        Some(turn)
    }

    /// How long a turn takes without a host bus in the way: before its data, and in all, in ps.
    pub fn turn_ps(&self, turn: &Turn, host: Option<&HostBus>) -> (i64, i64) {
        match turn.phase {
            Phase::Command => (self.command_ps, self.command_ps),
            Phase::Status => (self.reconnect_ps, self.reconnect_ps + self.status_ps),
            Phase::Data { bytes, last } => {
                let status = if last { self.status_ps } else { 0 };
                let data = self.data_ps(bytes, turn.inbound, host).max(turn.data_ps);
                (self.reconnect_ps, self.reconnect_ps + data + status)
            }
        }
    }

    /// The turn under way.
    pub fn current(&self) -> Option<Turn> {
        self.current
    }

    /// The current turn is over.
    pub fn finish(&mut self) -> Turn {
        self.current.take().expect("a bus event belongs to a turn")
    }

    /// Takes a free bus outside the queue, for data that cannot wait; false if it is not free.
    pub fn seize(&mut self, unit: u32) -> bool {
        let free = self.current.is_none() && self.owner.is_none();
        if free {
            self.owner = Some(unit);
        }
        free
    }

    /// Drops all that `unit` asked for or has under way; true if a turn of it was under way.
    pub fn drop_unit(&mut self, unit: u32) -> bool {
        self.queue.retain(|t| t.unit != unit);
        self.release(unit);
        self.current.take_if(|t| t.unit == unit).is_some()
    }

    /// A unit that held the bus is done with its command.
    pub fn release(&mut self, unit: u32) {
        if self.owner == Some(unit) {
            self.owner = None;
        }
    }
}
