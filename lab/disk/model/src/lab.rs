// SPDX-License-Identifier: MIT
//! The lab: all units and buses of one topology, and the one order of their events.

mod marker;
mod power;

use std::cmp::Reverse;
use std::collections::VecDeque;

use self::power::volatile;
use crate::array::Array;
use crate::bus::Bus;
use crate::command::{Completion, Op, Request, Tag, EIO};
use crate::drive::Drive;
use crate::error::Error;
use crate::event::Event;
use crate::faults::{Faults, Refused};
use crate::shared::Shared;
use crate::time::{to_ns, NEVER, TIME_MAX_NS};
use crate::topology::{queue_of, Topology, UnitKind};
use crate::trace::{Hit, Line, Medium};

/// How long a failed unit takes to refuse a command.
const REFUSAL_PS: i64 = 1_000_000;

/// Most sectors in one command: what a 32-bit byte count can move.
const COMMAND_SECTORS_MAX: u64 = 1 << 23;

#[derive(Debug)]
enum Unit {
    Drive(Box<Drive>),
    Null { latency_ps: i64 },
}

/// One lab; see the crate's documentation for how it is driven.
#[derive(Debug)]
pub struct Lab {
    units: Vec<Unit>,
    /// Their numbers follow those of the units.
    arrays: Vec<Array>,
    names: Vec<String>,
    tags: Vec<u32>,
    shared: Shared,
    /// Of the commands outstanding, those of null units.
    null_outstanding: usize,
    submitted: bool,
    /// After a power cut.
    dead: bool,
    faults: Faults,
}

impl Lab {
    /// A lab at time 0 with its drives at rest: arms at cylinder 0, caches empty, spindle phases 0.
    pub fn new(topology: Topology) -> Self {
        let mut buses: Vec<Bus> = topology.buses.iter().map(Bus::new).collect();
        let mut units = Vec::new();
        let faults = Faults::new(topology.faults, topology.units.len());
        let mut names: Vec<String> = topology.units.iter().map(|u| u.name.clone()).collect();
        let mut tags: Vec<u32> = topology.units.iter().map(|u| u.max_tags).collect();
        let mut array_of = vec![None; names.len() + topology.arrays.len()];
        let mut cut_through = vec![false; array_of.len()];
        for (number, spec) in topology.units.into_iter().enumerate() {
            units.push(match spec.kind {
                UnitKind::Null { latency_ns } => Unit::Null {
                    latency_ps: latency_ns as i64 * 1000,
                },
                UnitKind::Drive {
                    model,
                    bus,
                    queue,
                    write_cache,
                } => Unit::Drive(Box::new(
                    Drive::new(*model, number as u32, bus, buses[bus].kind, spec.max_tags)
                        .with(queue, write_cache),
                )),
            });
        }
        let mut arrays = Vec::new();
        // Cards with several arrays, and the buses between them and the host.
        let mut cards: Vec<(Option<String>, usize)> = Vec::new();
        for spec in topology.arrays {
            names.push(spec.name.clone());
            for &member in spec.members.iter().chain(&spec.spares) {
                array_of[member as usize] = Some(arrays.len());
                cut_through[member as usize] = spec.model.file.cuts_through();
                if let Unit::Drive(drive) = &units[member as usize] {
                    buses[drive.bus()].inside = true;
                }
            }
            let same = cards
                .iter()
                .find(|(card, _)| spec.card.is_some() && *card == spec.card);
            let host_bus = same.map_or(buses.len(), |(_, bus)| *bus);
            if host_bus == buses.len() {
                buses.push(Bus::new(&spec.model.host_bus));
                cards.push((spec.card.clone(), host_bus));
            }
            let (number, max_tags) = (names.len() as u32 - 1, spec.max_tags);
            arrays.push(Array::new(spec, number, host_bus, |m| tags[m as usize]));
            tags.push(max_tags);
        }
        let shared = Shared::new(
            names.clone(),
            buses,
            topology.host_bus,
            array_of,
            cut_through,
        );
        Self {
            units,
            arrays,
            names,
            tags,
            shared,
            null_outstanding: 0,
            submitted: false,
            dead: false,
            faults,
        }
    }

    /// Number of the unit called `name`.
    ///
    /// # Errors
    /// No unit has that name.
    pub fn unit(&self, name: &str) -> Result<u32, Error> {
        self.names
            .iter()
            .position(|n| n == name)
            .map(|i| i as u32)
            .ok_or_else(|| {
                Error::Call(format!(
                    "the topology has no unit \"{name}\"; it has: {}",
                    self.names.join(", ")
                ))
            })
    }

    /// Number of units.
    pub fn units(&self) -> u32 {
        self.names.len() as u32
    }

    /// Capacity in sectors; 0 for a null unit or an unknown number.
    pub fn sectors(&self, unit: u32) -> u64 {
        match self.units.get(unit as usize) {
            Some(Unit::Drive(drive)) => drive.sectors(),
            Some(Unit::Null { .. }) => 0,
            None => {
                let array = self.arrays.get(unit as usize - self.units.len());
                array.map_or(0, Array::sectors)
            }
        }
    }

    /// Commands that can be outstanding at the unit; 0 for an unknown number.
    pub fn max_tags(&self, unit: u32) -> u32 {
        self.tags.get(unit as usize).copied().unwrap_or(0)
    }

    /// Changes a setting (`queue` or `write-cache`) before the first command.
    ///
    /// # Errors
    /// An unknown unit, key or value, a null unit, or a call after the first command.
    pub fn set(&mut self, unit: u32, key: &str, value: &str) -> Result<(), Error> {
        let name = self.name(unit)?.to_string();
        let wrong = |message: String| Err(Error::Call(format!("unit \"{name}\": {message}")));
        if self.submitted {
            return wrong(format!("{key} can only be set before the first command"));
        }
        let units = self.units.len();
        let drive = match self.units.get_mut(unit as usize) {
            Some(Unit::Drive(drive)) => drive,
            Some(Unit::Null { .. }) => return wrong(format!("a null unit has no {key}")),
            None => {
                let array = &mut self.arrays[unit as usize - units];
                let done = match (key, value) {
                    ("write-cache", "on") => array.set_write_back(true),
                    ("write-cache", "off") => array.set_write_back(false),
                    _ => Err(format!(
                        "an array has no {key} \"{value}\"; there is: write-cache on or off"
                    )),
                };
                return done.or_else(wrong);
            }
        };
        match (key, value) {
            ("queue", name) => match queue_of(drive.model(), name) {
                Ok(queue) => drive.set_queue(queue),
                Err(message) => return wrong(format!("queue: {message}")),
            },
            ("write-cache", "on") => drive.set_write_cache(true),
            ("write-cache", "off") => drive.set_write_cache(false),
            ("write-cache", other) => {
                return wrong(format!("write-cache: \"{other}\" is not on or off"));
            }
            _ => {
                return wrong(format!(
                    "no setting \"{key}\"; there are: queue, write-cache"
                ))
            }
        }
        Ok(())
    }

    /// Commands of drives and arrays that the caller gave and that are not acknowledged; those of
    /// null units do not count.
    pub fn outstanding(&self) -> u64 {
        self.shared
            .outstanding
            .saturating_sub(self.null_outstanding) as u64
    }

    /// Hands a command with a simple tag to a unit at `now_ns`. Nothing completes inside this call.
    ///
    /// # Errors
    /// An unknown unit, a range outside the drive, or a time before one already seen.
    pub fn submit(
        &mut self,
        now_ns: i64,
        unit: u32,
        op: Op,
        lbn: u64,
        sectors: u64,
        cookie: u64,
    ) -> Result<(), Error> {
        self.submit_tagged(now_ns, unit, op, lbn, sectors, cookie, Tag::Simple)
    }

    /// The same with a kind of tag. A null unit, which serves all in parallel, knows no order.
    ///
    /// # Errors
    /// As [`Lab::submit`].
    #[allow(clippy::too_many_arguments)] // One command; a struct would have the same fields.
    pub fn submit_tagged(
        &mut self,
        now_ns: i64,
        unit: u32,
        op: Op,
        lbn: u64,
        sectors: u64,
        cookie: u64,
        tag: Tag,
    ) -> Result<(), Error> {
        let name = self.name(unit)?;
        self.check_time(name, now_ns)?;
        if self.dead {
            return Err(Error::Call(format!("unit \"{name}\": the power is off")));
        }
        if self.shared.array_of[unit as usize].is_some() {
            return Err(Error::Call(format!(
                "unit \"{name}\" belongs to an array, which alone gives it commands"
            )));
        }
        if tag == Tag::Ordered && unit as usize >= self.units.len() {
            return Err(Error::Call(format!(
                "unit \"{name}\": an array has no ordered tags"
            )));
        }
        if !matches!(self.units.get(unit as usize), Some(Unit::Null { .. })) {
            let size = self.sectors(unit);
            let fits = lbn.checked_add(sectors).is_some_and(|end| end <= size);
            if op != Op::Flush && (!fits || !(1..=COMMAND_SECTORS_MAX).contains(&sectors)) {
                return Err(Error::Call(format!(
                    "unit \"{name}\": {} of {sectors} sectors at {lbn} is outside the drive's {} \
                     sectors or the {COMMAND_SECTORS_MAX} of a command",
                    op.letter(),
                    size
                )));
            }
        }
        self.advance(now_ns);
        self.submitted = true;
        self.shared.outstanding += 1;
        let request = Request::new(op, lbn, sectors, cookie, tag);
        match self
            .arrays
            .get_mut((unit as usize).wrapping_sub(self.units.len()))
        {
            Some(array) => array.submit(request, &mut self.shared),
            None => self.give(unit, request),
        }
        if !self.arrays.is_empty() {
            self.serve_arrays();
        }
        Ok(())
    }

    /// Hands a command to a drive or a null unit.
    fn give(&mut self, unit: u32, request: Request) {
        if let Some(refused) = &mut self.faults.failed[unit as usize] {
            refused.push_back(Refused {
                request,
                arrival_ns: to_ns(self.shared.now_ps),
                depth: refused.len() as u32 + 1,
            });
            let at_ps = self.shared.now_ps + REFUSAL_PS;
            self.shared.schedule(at_ps, Event::Refused { unit });
            return;
        }
        match &mut self.units[unit as usize] {
            Unit::Drive(drive) => drive.submit(request, &mut self.shared),
            Unit::Null { latency_ps } => {
                let at = self.shared.now_ps + *latency_ps;
                let cookie = request.cookie;
                self.null_outstanding += 1;
                self.shared.schedule(at, Event::NullDone { unit, cookie });
            }
        }
    }

    /// Carries commands and answers between arrays and their members until there are no more.
    fn serve_arrays(&mut self) {
        loop {
            if let Some((unit, id)) = self.shared.member_moves.pop_front() {
                let array = self.shared.array_of[unit as usize].expect("it is a member");
                self.arrays[array].member_moves(id, &mut self.shared);
            } else if let Some(done) = self.shared.member_done.pop_front() {
                let array = self.shared.array_of[done.unit as usize].expect("it is a member");
                self.arrays[array].member_done(
                    done.unit,
                    done.cookie,
                    done.status,
                    done.ordinal,
                    &mut self.shared,
                );
            } else if let Some((unit, request)) = self.shared.member_ops.pop_front() {
                self.give(unit, request);
            } else {
                break;
            }
        }
        let units = &self.units;
        for array in &mut self.arrays {
            array.settle(|unit| volatile(units, unit));
        }
    }

    /// When something happens next: the caller advances to that time. [`NEVER`] if nothing is
    /// pending; the present, if completions wait to be taken.
    pub fn next_event_ns(&self) -> i64 {
        if !self.shared.completions.is_empty() {
            return to_ns(self.shared.now_ps);
        }
        let event = self.shared.events.peek();
        let mut next_ps = event.map_or(i64::MAX, |Reverse((at, ..))| *at);
        let fault_ps = self.faults.next_ps();
        // Without faults and arrays it need not be known whether anybody waits.
        if fault_ps != i64::MAX || !self.arrays.is_empty() {
            // What nobody waits for is noticed with the next command: faults, and rebuilds.
            if !self.idle() {
                next_ps = next_ps.min(fault_ps);
            } else if self.arrays.iter().any(Array::background) {
                return NEVER;
            }
        }
        if next_ps == i64::MAX {
            NEVER
        } else {
            to_ns(next_ps)
        }
    }

    /// Lets time pass up to and including `now_ns`.
    ///
    /// # Panics
    /// If time goes back or beyond [`TIME_MAX_NS`]: the caller's clock is broken, and nothing
    /// computed after that could be trusted.
    pub fn advance(&mut self, now_ns: i64) {
        assert!(
            now_ns <= TIME_MAX_NS && now_ns * 1000 >= self.shared.now_ps,
            "advance to {now_ns} ns: the lab is at {} ns already, and ends at {TIME_MAX_NS} ns",
            to_ns(self.shared.now_ps)
        );
        let limit = now_ns * 1000;
        loop {
            let next = self.shared.events.peek();
            let at_ps = next.map_or(i64::MAX, |Reverse((at, ..))| *at);
            let fault_ps = self.faults.next_ps();
            if at_ps.min(fault_ps) > limit {
                break;
            }
            if fault_ps <= at_ps {
                // What would have been done at this very time is not.
                let (at, unit) = self.faults.waiting.pop().expect("it has a time");
                self.shared.now_ps = at.max(self.shared.now_ps);
                self.fail(unit);
                continue;
            }
            let Some(Reverse((at, _, event))) = self.shared.events.pop() else {
                break;
            };
            self.shared.now_ps = at;
            self.handle(event);
        }
        self.shared.now_ps = limit;
    }

    /// The drive fails, now.
    fn fail(&mut self, unit: u32) {
        let failed = &mut self.faults.failed[unit as usize];
        if failed.is_none() {
            *failed = Some(VecDeque::new());
            drive(&mut self.units, unit).fail(&mut self.shared);
            if let Some(array) = self.shared.array_of[unit as usize] {
                self.arrays[array].member_failed(unit, &mut self.shared);
                self.serve_arrays();
            }
        }
    }

    /// A failed drive refuses the command that has waited for longest.
    fn refuse(&mut self, unit: u32) {
        let waiting = self.faults.failed[unit as usize].as_mut();
        let refused = waiting.and_then(VecDeque::pop_front);
        let refused = refused.expect("one event for each refused command");
        let acknowledged_ns = self.shared.complete(unit, refused.request.cookie, EIO);
        let line = Line {
            op: refused.request.op,
            lbn: refused.request.lbn,
            sectors: refused.request.sectors,
            slot: refused.depth - 1,
            arrival_ns: refused.arrival_ns,
            start_ns: refused.arrival_ns,
            medium: Medium::None,
            depth: refused.depth,
            hit: Hit::Failed,
        };
        self.shared.trace.push(unit, acknowledged_ns, line);
    }

    fn handle(&mut self, event: Event) {
        if let Event::Refused { unit } = event {
            self.refuse(unit);
        } else if self.arrays.is_empty() || !self.handle_array(event) {
            self.handle_unit(event);
        }
        if !self.arrays.is_empty() {
            self.serve_arrays();
        }
    }

    /// Handles an event of an array; false: it is of a unit.
    fn handle_array(&mut self, event: Event) -> bool {
        let first = self.units.len() as u32;
        let (arrays, shared) = (&mut self.arrays, &mut self.shared);
        match event {
            Event::BusDone { bus } => {
                let turn = shared.buses[bus as usize]
                    .current()
                    .filter(|t| t.unit >= first);
                let Some(turn) = turn else {
                    return false;
                };
                shared.buses[bus as usize].finish();
                arrays[(turn.unit - first) as usize].bus_done(turn.slot, turn.phase, shared);
                shared.bus_grant(bus as usize);
            }
            Event::ArrayWork { unit } => arrays[(unit - first) as usize].worked(shared),
            Event::ArrayIdle { unit } => arrays[(unit - first) as usize].rows_idle(shared),
            Event::ArrayRebuild { unit } => arrays[(unit - first) as usize].rebuild_step(shared),
            _ => return false,
        }
        true
    }

    fn handle_unit(&mut self, event: Event) {
        let (units, shared) = (&mut self.units, &mut self.shared);
        match event {
            Event::BusDone { bus } => {
                let turn = shared.buses[bus as usize].finish();
                drive(units, turn.unit).bus_done(turn.slot, turn.phase, shared);
                shared.bus_grant(bus as usize);
            }
            Event::DataMoves {
                unit,
                slot,
                first_ps,
                end_ps,
            } => drive(units, unit).data_moves(slot, first_ps, end_ps, shared),
            Event::Decoded { unit } => drive(units, unit).decoded(shared),
            Event::Landed { unit } => drive(units, unit).landed(shared),
            Event::Released { unit } => drive(units, unit).released(shared),
            Event::Finished { unit, slot } => drive(units, unit).finished(slot, shared),
            Event::DataReady { unit, slot } => drive(units, unit).data_ready(slot, shared),
            Event::ArmDone { unit } => drive(units, unit).arm_done(shared),
            Event::NullDone { unit, cookie } => {
                self.null_outstanding -= 1;
                shared.complete(unit, cookie, 0);
            }
            Event::Refused { .. }
            | Event::ArrayWork { .. }
            | Event::ArrayIdle { .. }
            | Event::ArrayRebuild { .. } => unreachable!("handled before"),
        }
    }

    /// Takes the next completion, in order of acknowledgement.
    pub fn completion(&mut self) -> Option<Completion> {
        self.shared.completions.pop_front()
    }

    /// Whether no command is outstanding and all written data is on the medium.
    pub fn idle(&self) -> bool {
        self.dead
            || self.shared.outstanding == 0
                && self.arrays.iter().all(Array::idle)
                && self
                    .units
                    .iter()
                    .zip(&self.shared.array_of)
                    .all(|(u, array)| match u {
                        Unit::Drive(drive) => {
                            let rebuilds = || array.is_some_and(|a| self.arrays[a].background());
                            drive.clean() || rebuilds() && drive.oldest_volatile().is_none()
                        }
                        Unit::Null { .. } => true,
                    })
    }

    /// Copies whole lines of the trace into `buf`; returns the bytes, 0 when none is left. A
    /// caller that does not want the trace switches it off ([`Lab::trace_off`]): it grows.
    pub fn trace_read(&mut self, buf: &mut [u8]) -> usize {
        // While nothing is outstanding, no line can come before those already acknowledged:
        // a drive's command takes at least one ns.
        let now_ns = if self.idle() {
            NEVER
        } else {
            to_ns(self.shared.now_ps)
        };
        self.shared.trace.settle(now_ns);
        self.shared.trace.read(buf)
    }

    /// Records no trace from here on.
    pub fn trace_off(&mut self) {
        self.shared.trace.switch_off();
    }

    fn name(&self, unit: u32) -> Result<&str, Error> {
        self.names
            .get(unit as usize)
            .map(String::as_str)
            .ok_or_else(|| {
                Error::Call(format!(
                    "no unit number {unit}; ask for it by spindle_unit_find"
                ))
            })
    }

    fn check_time(&self, who: &str, now_ns: i64) -> Result<(), Error> {
        if now_ns > TIME_MAX_NS || now_ns.saturating_mul(1000) < self.shared.now_ps {
            return Err(Error::Call(format!(
                "{who}: time {now_ns} ns lies before the lab's {} ns or after its end {} ns",
                to_ns(self.shared.now_ps),
                TIME_MAX_NS
            )));
        }
        Ok(())
    }
}

/// The drive behind an event.
fn drive(units: &mut [Unit], unit: u32) -> &mut Drive {
    match &mut units[unit as usize] {
        Unit::Drive(drive) => drive,
        Unit::Null { .. } => unreachable!("a null unit has only NullDone events"),
    }
}
