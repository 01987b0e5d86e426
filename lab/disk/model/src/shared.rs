// SPDX-License-Identifier: MIT
//! What the units of a lab share: the present, the pending events, the buses, the trace, and the
//! completions that the caller takes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::bus::{move_ps, Bus, Phase, Turn};
use crate::command::{Completion, Request};
use crate::entries::HostBus;
use crate::event::Event;
use crate::time::to_ns;
use crate::trace::Trace;

/// All that units share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub now_ps: i64,
    pub trace: Trace,
    pub events: BinaryHeap<Reverse<(i64, u64, Event)>>,
    serial: u64,
    pub buses: Vec<Bus>,
    host: Option<HostBus>,
    pub host_free_ps: i64,
    /// By bus: from when to when its turn under way has the host's bus.
    host_turns: Vec<(i64, i64)>,
    pub completions: VecDeque<Completion>,
    pub outstanding: usize,
    completed: u64,
    /// By unit: the array that it is a member of.
    pub array_of: Vec<Option<usize>>,
    /// Commands for members, each with its unit, and those that are done; their completions are
    /// counted apart.
    pub member_ops: VecDeque<(u32, Request)>,
    pub member_done: VecDeque<Completion>,
    /// By unit: its data crosses the controller of its array as it moves.
    cut_through: Vec<bool>,
    /// Commands of such members whose data has started to move: unit and cookie.
    pub member_moves: VecDeque<(u32, u64)>,
    member_completed: u64,
}

impl Shared {
    /// Of units with these names, at time 0; `array_of` says by unit which array it is a member of,
    /// and `cut_through` whether that array's controller passes its data through.
    pub fn new(
        names: Vec<String>,
        buses: Vec<Bus>,
        host: Option<HostBus>,
        array_of: Vec<Option<usize>>,
        cut_through: Vec<bool>,
    ) -> Self {
        Self {
            now_ps: 0,
            trace: Trace::new(names),
            events: BinaryHeap::new(),
            serial: 0,
            host,
            host_free_ps: 0,
            host_turns: vec![(0, 0); buses.len()],
            buses,
            completions: VecDeque::new(),
            outstanding: 0,
            completed: 0,
            array_of,
            member_ops: VecDeque::new(),
            member_done: VecDeque::new(),
            cut_through,
            member_moves: VecDeque::new(),
            member_completed: 0,
        }
    }

    pub fn schedule(&mut self, at_ps: i64, event: Event) {
        assert!(at_ps >= self.now_ps, "an event cannot lie in the past");
        self.events.push(Reverse((at_ps, self.serial, event)));
        self.serial += 1;
    }

    pub fn bus_ask(&mut self, bus: usize, turn: Turn) {
        self.buses[bus].ask(turn);
        self.bus_grant(bus);
    }

    pub fn bus_release(&mut self, bus: usize, unit: u32) {
        self.buses[bus].release(unit);
        self.bus_grant(bus);
    }

    pub fn drop_events(&mut self, dropped: Event) {
        self.events.retain(|Reverse((.., event))| *event != dropped);
    }

    /// Drops what a drive has scheduled and asked of its bus.
    pub fn forget(&mut self, unit: u32, bus: usize) {
        let number = bus as u32;
        let mine = self.buses[bus].drop_unit(unit);
        self.events.retain(|Reverse((.., event))| {
            event.unit() != Some(unit) && !(mine && *event == Event::BusDone { bus: number })
        });
        // Nobody has asked for the host's bus behind it: what it will not move keeps nobody.
        let (from_ps, to_ps) = self.host_turns[bus];
        if mine && to_ps == self.host_free_ps {
            self.host_free_ps = from_ps.max(self.now_ps);
        }
        self.bus_grant(bus);
    }

    /// Time that `bytes` of a read take on a bus, in ps.
    pub fn bus_read_ps(&self, bus: usize, bytes: u64) -> i64 {
        self.buses[bus].data_ps(bytes, false, self.host_of(bus).as_ref())
    }

    /// The host's bus over a bus.
    fn host_of(&self, bus: usize) -> Option<HostBus> {
        self.host.filter(|_| !self.buses[bus].inside)
    }

    /// Takes the host's bus for a turn, from `from_ps` at the earliest; returns the end.
    fn take_host(&mut self, bus: usize, from_ps: i64, for_ps: i64) -> i64 {
        let start_ps = from_ps.max(self.host_free_ps);
        self.host_free_ps = start_ps + for_ps;
        self.host_turns[bus] = (start_ps, self.host_free_ps);
        self.host_free_ps
    }

    pub fn bus_grant(&mut self, bus: usize) {
        let Some(turn) = self.buses[bus].grant() else {
            return;
        };
        let host = self.host_of(bus);
        let (before, in_all) = self.buses[bus].turn_ps(&turn, host.as_ref());
        let mut end = self.now_ps + in_all;
        match (turn.phase, host) {
            (Phase::Data { bytes, .. }, Some(host)) => {
                let for_ps = move_ps(bytes, host.rate_of(turn.inbound));
                end = end.max(self.take_host(bus, self.now_ps + before, for_ps));
            }
            (Phase::Command, Some(host)) if host.request_ns > 0 => {
                let for_ps = host.request_ns as i64 * 1000;
                end = end.max(self.take_host(bus, self.now_ps, for_ps));
            }
            _ => {}
        }
        if turn.tell {
            let moves = Event::DataMoves {
                unit: turn.unit,
                slot: turn.slot,
                first_ps: self.now_ps + before,
                end_ps: end,
            };
            self.schedule(self.now_ps, moves);
        }
        self.schedule(end, Event::BusDone { bus: bus as u32 });
    }

    /// Whether a unit's data crosses the controller of its array as it moves.
    pub fn cuts_through(&self, unit: u32) -> bool {
        self.cut_through[unit as usize]
    }

    /// Data of a unit's command starts to move: who passes it through has to know.
    pub fn data_moves(&mut self, unit: u32, cookie: u64) {
        if self.cuts_through(unit) {
            self.member_moves.push_back((unit, cookie));
        }
    }

    pub fn bus_seize(&mut self, bus: usize, unit: u32) -> bool {
        self.buses[bus].seize(unit)
    }

    /// The number that the next completion gets.
    pub fn next_ordinal(&self, unit: u32) -> u64 {
        match self.array_of[unit as usize] {
            Some(_) => self.member_completed,
            None => self.completed,
        }
    }

    pub fn complete(&mut self, unit: u32, cookie: u64, status: i32) -> i64 {
        let acknowledged_ns = to_ns(self.now_ps);
        let completion = Completion {
            cookie,
            unit,
            status,
            acknowledged_ns,
            ordinal: self.next_ordinal(unit),
        };
        if self.array_of[unit as usize].is_some() {
            self.member_done.push_back(completion);
            self.member_completed += 1;
        } else {
            self.completions.push_back(completion);
            self.completed += 1;
            self.outstanding -= 1;
        }
        acknowledged_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also in a release, which is what QEMU links: `cargo test --release`.
    #[test]
    #[should_panic(expected = "an event cannot lie in the past")]
    fn no_event_lies_in_the_past() {
        let mut shared = Shared::new(Vec::new(), Vec::new(), None, Vec::new(), Vec::new());
        shared.now_ps = 1000;
        shared.schedule(999, Event::Decoded { unit: 0 });
    }

    #[test]
    #[should_panic(expected = "overflow")]
    fn a_number_that_does_not_fit_is_no_result() {
        let mut shared = Shared::new(Vec::new(), Vec::new(), None, Vec::new(), Vec::new());
        shared.serial = std::hint::black_box(u64::MAX);
        shared.schedule(0, Event::Decoded { unit: 0 });
    }
}
