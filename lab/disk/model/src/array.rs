// SPDX-License-Identifier: MIT
//! A RAID controller: to the host one disk, behind it members that nobody else sees.
//!
//! A command comes over the host's interface and takes the controller's processor for a time; so
//! does every command to a member, and parity. Reads find their data in the cache or go to the
//! members. A write is acknowledged from the cache (write-back) or from the members; rows of which
//! all is new, that nothing more comes to, that somebody waits for, or that take too much of the
//! cache are written out, in sweeps over the addresses and a row at a time, so that neighbours go
//! together. The model holds no data: the members' commands and their order are all there is.
//!
//! A member that fails is missing from then on; data that no other member can stand for is an I/O
//! error. A spare takes its place row by row; the host is not told and does not wait for it.

mod cache;
mod jobs;
pub mod layout;
mod members;
pub mod plan;
pub mod ranges;
mod rebuild;
mod state;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::cache::{Cache, Piece};
use self::jobs::{Job, Settling};
use self::layout::{Layout, Level, Part};
use self::members::{Device, MemberCommand, Owner, Role};
use self::rebuild::Rebuild;
use crate::bus::{Phase, Turn};
use crate::command::{Lost, Op, Request, EIO};
use crate::entries::{ArrayFile, ArrayModel, ReadBalance};
use crate::event::Event;
use crate::geometry::SECTOR_BYTES;
use crate::shared::Shared;
use crate::tags::Tags;
use crate::time::to_ns;
use crate::trace::{Hit, Key, Line, Medium};

/// An array of drives behind a controller; to the host one unit.
#[derive(Debug, Clone)]
pub struct ArraySpec {
    /// Its name; unique among units and arrays.
    pub name: String,
    /// Commands that can be outstanding at it.
    pub max_tags: u32,
    /// The card that it is on; arrays of one card share its link to the host. None: a card of its
    /// own.
    pub card: Option<String>,
    /// The controller.
    pub model: Box<ArrayModel>,
    /// Unit numbers of its members, in the order of the layout.
    pub members: Vec<u32>,
    /// Unit numbers of the spares.
    pub spares: Vec<u32>,
    /// Where it keeps what.
    pub layout: Layout,
}

/// A command of the host.
#[derive(Debug)]
struct Command {
    op: Op,
    lbn: u64,
    sectors: u64,
    cookie: u64,
    arrival_ns: i64,
    start_ns: Option<i64>,
    medium: Medium,
    depth: u32,
    hit: Hit,
    /// Reads: parts that are still on their way.
    left: u64,
    /// Turns on the host's interface of data that crosses a controller as it comes.
    crossing: u32,
    /// Sectors of a read that cross when the members have read them: the last of each.
    kept: u64,
    /// The members are done with it, well or not.
    ended: bool,
    /// Reads: goes on where the one before it ended.
    sequential: bool,
    failed: bool,
}

/// What the processor does.
#[derive(Debug, Clone, Copy)]
enum Work {
    Host(u32),
    Member(u64),
    Parity(u64),
}

/// A write of which something is not safe yet.
#[derive(Debug)]
struct Write {
    /// The command that waits for the members.
    slot: Option<u32>,
    /// The trace line that waits for them.
    line: Option<Key>,
    /// Number of its completion, once acknowledged.
    ordinal: Option<u64>,
    fua: bool,
    failed: bool,
    /// Pieces that are not on the members, and those that a power cut could take.
    left: u64,
    at_risk: u64,
}

/// A flush that waits for the writes before `bound`, then for the members' buffers.
#[derive(Debug)]
struct Flush {
    slot: u32,
    bound: u64,
    sent: bool,
    left: u32,
}

/// A controller and all it is doing.
#[derive(Debug)]
pub(crate) struct Array {
    unit: u32,
    bus: usize,
    file: ArrayFile,
    layout: Layout,
    write_back: bool,

    commands: Tags<Command>,
    processor: VecDeque<(Work, i64)>,

    /// Writes that wait for room in the cache.
    room: VecDeque<u32>,
    cache: Cache,
    writes: BTreeMap<u64, Write>,
    /// Those of them that are not on the members.
    pending: BTreeSet<u64>,
    next_write: u64,
    flushes: Vec<Flush>,
    /// Something acknowledged could not be written.
    lost: bool,
    settling: VecDeque<Settling>,
    /// A timer is set for rows that nothing more comes to.
    timer: bool,
    /// Where the last read ended.
    read_end: u64,

    roles: Vec<Role>,
    devices: Vec<Device>,
    member_commands: BTreeMap<u64, MemberCommand>,
    jobs: BTreeMap<u64, Job>,
    writing_jobs: u32,
    /// In the middle of starting jobs.
    pumping: bool,
    serial: u64,
    rebuild: Option<Rebuild>,
}

impl Array {
    /// `tags` says how many commands a member takes at a time.
    pub fn new(spec: ArraySpec, unit: u32, bus: usize, tags: impl Fn(u32) -> u32) -> Self {
        let file = spec.model.file;
        let device = |unit: &u32| Device::new(*unit, tags(*unit));
        let devices: Vec<Device> = spec
            .members
            .iter()
            .chain(&spec.spares)
            .map(device)
            .collect();
        Self {
            unit,
            bus,
            write_back: file.write_back.value,
            commands: Tags::new(spec.max_tags),
            processor: VecDeque::new(),
            room: VecDeque::new(),
            cache: Self::empty_cache(&file, &spec.layout),
            writes: BTreeMap::new(),
            pending: BTreeSet::new(),
            next_write: 0,
            flushes: Vec::new(),
            lost: false,
            settling: VecDeque::new(),
            timer: false,
            read_end: 0,
            roles: (0..spec.members.len()).map(Role::whole).collect(),
            devices,
            member_commands: BTreeMap::new(),
            jobs: BTreeMap::new(),
            writing_jobs: 0,
            pumping: false,
            serial: 0,
            rebuild: None,
            layout: spec.layout,
            file,
        }
    }

    fn empty_cache(file: &ArrayFile, layout: &Layout) -> Cache {
        let side_by_side = file.cache_kb.value == 0 && layout.level() != Level::Raid5;
        Cache::new(file.cache_kb.value * 2, layout.row_sectors(), side_by_side)
    }

    pub fn sectors(&self) -> u64 {
        self.layout.sectors()
    }

    /// Write-back needs a cache.
    pub fn set_write_back(&mut self, on: bool) -> Result<(), String> {
        if on && self.file.cache_kb.value == 0 {
            return Err("this controller has no cache".into());
        }
        self.write_back = on;
        Ok(())
    }

    /// Nothing of the host's is under way and all its data is with the members.
    pub fn idle(&self) -> bool {
        self.commands.is_empty() && self.cache.held() == 0 && self.pending.is_empty()
    }

    /// Whether it rebuilds, for which nobody waits.
    pub fn background(&self) -> bool {
        self.rebuild.is_some()
    }

    /// The state after a marker: nothing in the cache. What has failed stays failed, and a rebuild
    /// goes on with the row that it was at. Only an idle array is reset.
    pub fn reset(&mut self, shared: &mut Shared) {
        assert!(self.idle(), "only an idle array is reset");
        shared.forget(self.unit, self.bus);
        self.processor.clear();
        self.cache = Self::empty_cache(&self.file, &self.layout);
        self.writes.clear();
        self.settling.clear();
        self.member_commands.clear();
        self.jobs.clear();
        self.devices.iter_mut().for_each(Device::rest);
        (self.writing_jobs, self.timer, self.read_end) = (0, false, 0);
        (self.next_write, self.serial) = (0, 0);
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.busy = false;
            shared.schedule(shared.now_ps, Event::ArrayRebuild { unit: self.unit });
        }
    }

    // Commands: from the host to the processor.

    pub fn submit(&mut self, request: Request, shared: &mut Shared) {
        if let Some(tagged) = self.commands.admit(request) {
            self.arrive(tagged, shared);
        }
    }

    fn arrive(&mut self, new: Request, shared: &mut Shared) {
        let slot = self.commands.put(|depth| Command {
            op: new.op,
            lbn: new.lbn,
            sectors: new.sectors,
            cookie: new.cookie,
            arrival_ns: to_ns(shared.now_ps),
            start_ns: None,
            medium: Medium::None,
            depth,
            hit: Hit::None,
            left: 0,
            crossing: 0,
            kept: 0,
            ended: false,
            sequential: false,
            failed: false,
        });
        self.ask_bus(slot, Phase::Command, shared);
    }

    fn ask_bus(&self, slot: u32, phase: Phase, shared: &mut Shared) {
        let turn = Turn {
            unit: self.unit,
            slot,
            phase,
            hold: false,
            inbound: self.command(slot).op != Op::Read,
            data_ps: 0,
            tell: false,
        };
        shared.bus_ask(self.bus, turn);
    }

    pub fn bus_done(&mut self, slot: u32, phase: Phase, shared: &mut Shared) {
        match phase {
            Phase::Command => {
                self.work(Work::Host(slot), self.file.host_command_ns.value, shared);
            }
            Phase::Data { last: false, .. } if self.file.cuts_through() => {
                self.crossed(slot, shared);
            }
            Phase::Data { .. } if self.command(slot).op != Op::Read => self.data_here(slot, shared),
            Phase::Data { .. } | Phase::Status => {
                self.complete(slot, shared);
            }
        }
    }

    // The processor: one thing at a time, in the order of arrival.

    fn work(&mut self, work: Work, ns: u64, shared: &mut Shared) {
        self.processor.push_back((work, ns as i64 * 1000));
        if self.processor.len() == 1 {
            self.next_work(shared);
        }
    }

    fn next_work(&self, shared: &mut Shared) {
        if let Some((_, ps)) = self.processor.front() {
            let at_ps = shared.now_ps + ps;
            shared.schedule(at_ps, Event::ArrayWork { unit: self.unit });
        }
    }

    pub fn worked(&mut self, shared: &mut Shared) {
        let (work, _) = self.processor.pop_front().expect("it was at work");
        self.next_work(shared);
        match work {
            Work::Host(slot) => self.start(slot, shared),
            Work::Member(id) => self.hand_over(id, shared),
            Work::Parity(job) => self.start_writes(job, shared),
        }
    }

    fn start(&mut self, slot: u32, shared: &mut Shared) {
        self.command_mut(slot).start_ns = Some(to_ns(shared.now_ps));
        match self.command(slot).op {
            Op::Read => self.start_read(slot, shared),
            Op::Write | Op::WriteFua => {
                self.room.push_back(slot);
                self.admit(shared);
            }
            Op::Flush if self.file.battery.value => self.ask_bus(slot, Phase::Status, shared),
            Op::Flush => {
                self.flushes.push(Flush {
                    slot,
                    bound: self.next_write,
                    sent: false,
                    left: 0,
                });
                self.cache.hurry();
                self.pump(shared);
            }
        }
    }

    /// Acknowledges a command; returns the key of its trace line.
    fn complete(&mut self, slot: u32, shared: &mut Shared) -> Key {
        let command = self.commands.take(slot);
        let status = if command.failed { EIO } else { 0 };
        let ordinal = shared.next_ordinal(self.unit);
        let acknowledged_ns = shared.complete(self.unit, command.cookie, status);
        let line = Line {
            op: command.op,
            lbn: command.lbn,
            sectors: command.sectors,
            slot,
            arrival_ns: command.arrival_ns,
            start_ns: command.start_ns.unwrap_or(command.arrival_ns),
            medium: if command.failed {
                Medium::None
            } else {
                command.medium
            },
            depth: command.depth,
            hit: if command.failed {
                Hit::Failed
            } else {
                command.hit
            },
        };
        let key = shared.trace.push(self.unit, acknowledged_ns, line);
        if command.hit == Hit::Through {
            let mut writes = self.writes.iter_mut();
            let through = writes.find(|(_, w)| w.slot == Some(slot));
            let (&number, write) = through.expect("it waits for its write");
            (write.slot, write.ordinal) = (None, Some(ordinal));
            self.drop_safe(number);
        }
        if let Some(next) = self.commands.next() {
            self.arrive(next, shared);
        }
        key
    }

    // Reads.

    fn start_read(&mut self, slot: u32, shared: &mut Shared) {
        let (lbn, sectors) = (self.command(slot).lbn, self.command(slot).sectors);
        let sequential = self.read_end == lbn;
        self.read_end = lbn + sectors;
        self.command_mut(slot).sequential = sequential;
        let mut parts = Vec::new();
        let mut missing = 0;
        for (row, start, end) in self.layout.rows_of(lbn, lbn + sectors) {
            for (start, end) in self.cache.missing(row, start, end).iter() {
                missing += end - start;
                parts.extend(self.layout.parts(row, start, end));
            }
        }
        let command = self.command_mut(slot);
        command.left = parts.len() as u64;
        command.hit = match missing {
            0 => Hit::Full,
            m if m < sectors => Hit::Part,
            _ => Hit::Miss,
        };
        if parts.is_empty() {
            self.answer(slot, shared);
        } else {
            self.read_parts(slot, parts, shared);
        }
    }

    /// Whether so much of a sequential stream is outstanding that all copies should serve it.
    fn splits(&self) -> bool {
        let commands = self.commands.iter().map(|(_, command)| command);
        let stream = commands.filter(|c| c.op == Op::Read && c.sequential);
        let sectors: u64 = stream.map(|c| c.sectors).sum();
        self.file.read_balance.value == ReadBalance::Twinstor
            && sectors >= self.file.sequential_kb.value * 2
    }

    /// Reads parts from the members that have them, or from those that can stand for them.
    fn read_parts(&mut self, slot: u32, parts: Vec<Part>, shared: &mut Shared) {
        let splits = self.command(slot).sequential && self.splits();
        // Device, first sector and end of each command to a member.
        let mut commands: Vec<(usize, u64, u64, Vec<Part>)> = Vec::new();
        let mut lost = 0;
        for part in parts {
            let lbn = self.layout.member_lbn(part.row, part.start);
            let end = self.layout.member_lbn(part.row, part.end);
            match self.copy_to_read(part, lbn, splits) {
                Some(device) => {
                    self.devices[device].at = end;
                    commands.push((device, lbn, end, vec![part]));
                }
                None if self.can_stand_for(part) => self.read_degraded(slot, part, shared),
                None => lost += 1,
            }
        }
        commands.sort_by_key(|(device, lbn, ..)| (*device, *lbn));
        let mut merged: Vec<(usize, u64, u64, Vec<Part>)> = Vec::new();
        for command in commands {
            match merged.last_mut() {
                Some(last) if last.0 == command.0 && last.2 == command.1 => {
                    last.2 = command.2;
                    last.3.extend(command.3);
                }
                _ => merged.push(command),
            }
        }
        for (device, lbn, end, parts) in merged {
            self.issue(
                device,
                Op::Read,
                lbn,
                end,
                Owner::Read { slot, parts },
                shared,
            );
        }
        if lost > 0 {
            self.command_mut(slot).failed = true;
            self.parts_here(slot, lost, shared);
        }
    }

    /// The copy that a read goes to. A stream that is split goes to the copies in turn, by stretches
    /// as long as makes it one: shorter ones would pass under the other head unread, and nothing
    /// would be gained.
    fn copy_to_read(&self, part: Part, lbn: u64, splits: bool) -> Option<usize> {
        let copies = self.layout.copies(part.row, part.index);
        let stretch = lbn / (self.file.sequential_kb.value * 2).max(1);
        let turn = copies.start + (stretch % u64::from(copies.end - copies.start)) as u32;
        let devices: Vec<usize> = copies.filter_map(|m| self.device(m, part.row)).collect();
        let split = self.device(turn, part.row).filter(|_| splits);
        match self.file.read_balance.value {
            ReadBalance::First => devices.first().copied(),
            ReadBalance::Twinstor if split.is_some() => split,
            ReadBalance::Nearest | ReadBalance::Twinstor => devices.into_iter().min_by_key(|d| {
                let device = &self.devices[*d];
                (device.pending, device.at.abs_diff(lbn), *d)
            }),
        }
    }

    /// Parts of a read are here, or lost.
    fn parts_here(&mut self, slot: u32, parts: u64, shared: &mut Shared) {
        let now_ns = to_ns(shared.now_ps);
        let command = self.command_mut(slot);
        command.left -= parts;
        if command.left > 0 {
            return;
        }
        if command.failed {
            return self.answer(slot, shared);
        }
        command.medium = Medium::At(now_ns);
        let (lbn, end) = (command.lbn, command.lbn + command.sectors);
        for (row, start, end) in self.layout.rows_of(lbn, end) {
            self.cache.fill(row, start, end);
        }
        self.answer(slot, shared);
    }

    /// The members are done with a command: what the host waits for is on its way as soon as all
    /// that crosses the controller meanwhile has crossed it.
    fn answer(&mut self, slot: u32, shared: &mut Shared) {
        let cuts_through = self.file.cuts_through();
        let command = self.command_mut(slot);
        command.ended = true;
        if command.crossing > 0 {
            return;
        }
        let phase = if command.failed || command.op != Op::Read {
            Phase::Status
        } else {
            let sectors = if cuts_through {
                command.kept
            } else {
                command.sectors
            };
            let bytes = sectors * SECTOR_BYTES;
            Phase::Data { bytes, last: true }
        };
        self.ask_bus(slot, phase, shared);
    }

    // Data that crosses the controller as it comes: the host's interface is taken when a member
    // starts to move it, for as long as the interface needs for it. So a command ends with the
    // slower of the two, a read one sector later. The interface serves one command after another
    // and not a piece of each in turn, which makes no difference to their sum.

    /// A member's data starts to move, and the host's with it.
    pub fn member_moves(&mut self, id: u64, shared: &mut Shared) {
        for (slot, sectors) in self.take_moving(id) {
            let command = self.command_mut(slot);
            let kept = u64::from(command.op == Op::Read);
            command.kept += kept;
            command.crossing += 1;
            let bytes = (sectors - kept) * SECTOR_BYTES;
            self.ask_bus(slot, Phase::Data { bytes, last: false }, shared);
        }
    }

    fn crossed(&mut self, slot: u32, shared: &mut Shared) {
        let command = self.command_mut(slot);
        command.crossing -= 1;
        if command.ended {
            self.answer(slot, shared);
        }
    }

    // Writes.

    /// Whether a write is acknowledged from the cache. With a battery, data is as safe there as on
    /// the medium.
    fn caches(&self, op: Op) -> bool {
        self.write_back && (op == Op::Write || self.file.battery.value)
    }

    /// Lets writes send their data for which there is room, in the order of arrival.
    fn admit(&mut self, shared: &mut Shared) {
        while let Some(&slot) = self.room.front() {
            let (op, sectors) = (self.command(slot).op, self.command(slot).sectors);
            if !self.cache.reserve(sectors) {
                return self.pump(shared);
            }
            self.room.pop_front();
            if self.file.cuts_through() {
                self.data_here(slot, shared);
                continue;
            }
            let (bytes, last) = (sectors * SECTOR_BYTES, self.caches(op));
            self.ask_bus(slot, Phase::Data { bytes, last }, shared);
        }
    }

    fn data_here(&mut self, slot: u32, shared: &mut Shared) {
        let (op, lbn, sectors) = {
            let command = self.command(slot);
            (command.op, command.lbn, command.sectors)
        };
        let caches = self.caches(op);
        let number = self.next_write;
        self.next_write += 1;
        let rows: Vec<_> = self.layout.rows_of(lbn, lbn + sectors).collect();
        let pieces = rows.len() as u64;
        for (row, start, end) in rows {
            let write = number;
            let piece = Piece {
                write,
                row,
                start,
                end,
            };
            self.cache.write(piece, shared.now_ps, !caches);
        }
        self.pending.insert(number);
        let mut write = Write {
            slot: (!caches).then_some(slot),
            line: None,
            ordinal: None,
            fua: op == Op::WriteFua,
            failed: false,
            left: pieces,
            at_risk: pieces,
        };
        let command = self.command_mut(slot);
        if caches {
            (command.hit, command.medium) = (Hit::Cached, Medium::Pending);
            write.ordinal = Some(shared.next_ordinal(self.unit));
            write.line = Some(self.complete(slot, shared));
        } else {
            command.hit = Hit::Through;
        }
        self.writes.insert(number, write);
        self.pump(shared);
    }

    /// A piece of a write is on the members, or nowhere.
    fn piece_done(&mut self, piece: &Piece, failed: bool, shared: &mut Shared) {
        let write = self.writes.get_mut(&piece.write).expect("it is open");
        write.left -= 1;
        write.failed |= failed;
        if write.left > 0 {
            return;
        }
        self.pending.remove(&piece.write);
        let (slot, line, failed) = (write.slot, write.line.take(), write.failed);
        let medium = Medium::At(to_ns(shared.now_ps));
        if let Some(slot) = slot {
            let command = self.command_mut(slot);
            (command.failed, command.medium) = (failed, medium);
            self.answer(slot, shared);
        } else if let Some(key) = line {
            if failed {
                self.lost = true;
                shared.trace.never_on_medium(key);
            } else {
                shared.trace.on_medium(key, to_ns(shared.now_ps));
            }
        }
    }

    /// A power cut cannot take a piece of a write any more.
    fn piece_safe(&mut self, piece: &Piece) {
        let write = self.writes.get_mut(&piece.write).expect("it is open");
        write.at_risk -= 1;
        self.drop_safe(piece.write);
    }

    fn drop_safe(&mut self, number: u64) {
        let write = &self.writes[&number];
        if write.at_risk == 0 && write.left == 0 && write.slot.is_none() {
            self.writes.remove(&number);
        }
    }

    // Flushes.

    /// Goes on with flushes whose writes are all on the members.
    fn check_flushes(&mut self, shared: &mut Shared) {
        let oldest = self.pending.first().copied().unwrap_or(u64::MAX);
        let buffers = self.file.member_write_cache.value;
        let devices: Vec<usize> = self.roles.iter().filter_map(|r| r.device).collect();
        let waiting = self.flushes.iter_mut();
        let ready = waiting.filter(|f| !f.sent && f.bound <= oldest);
        let mut slots = Vec::new();
        for flush in ready {
            flush.sent = true;
            flush.left = if buffers { devices.len() as u32 } else { 0 };
            slots.push((flush.slot, flush.left));
        }
        for (slot, left) in slots {
            if left == 0 {
                self.flushed(slot, shared);
                continue;
            }
            for &device in &devices {
                self.issue(device, Op::Flush, 0, 0, Owner::Flush { slot }, shared);
            }
        }
    }

    /// A member's buffer is empty, or gone.
    fn member_flushed(&mut self, slot: u32, shared: &mut Shared) {
        let flush = self.flushes.iter_mut().find(|f| f.slot == slot);
        let flush = flush.expect("it waits for its members");
        flush.left -= 1;
        if flush.left == 0 {
            self.flushed(slot, shared);
        }
    }

    fn flushed(&mut self, slot: u32, shared: &mut Shared) {
        self.flushes.retain(|f| f.slot != slot);
        // An error is told once.
        self.command_mut(slot).failed = std::mem::take(&mut self.lost);
        self.ask_bus(slot, Phase::Status, shared);
    }

    // Power.

    /// Drops what has become safe; `volatile` is the number of a member's oldest command whose data
    /// is only in its buffer.
    pub fn settle(&mut self, volatile: impl Fn(u32) -> Option<u64>) {
        while self.settling.front().is_some_and(|s| s.is_safe(&volatile)) {
            let settled = self.settling.pop_front().expect("just seen");
            settled.pieces.iter().for_each(|p| self.piece_safe(p));
        }
    }

    /// The pieces that a power cut now would take.
    fn endangered(&self, volatile: impl Fn(u32) -> Option<u64>) -> Vec<Piece> {
        if self.file.battery.value {
            return Vec::new();
        }
        let unsettled = self.settling.iter().filter(|s| !s.is_safe(&volatile));
        let pieces = self.cache.pieces().chain(unsettled.flat_map(|s| &s.pieces));
        let all = pieces.chain(self.jobs.values().flat_map(Job::pieces));
        all.copied().collect()
    }

    /// The number of the oldest acknowledged write of which something could be lost.
    pub fn oldest_volatile(&self, volatile: impl Fn(u32) -> Option<u64>) -> Option<u64> {
        let pieces = self.endangered(volatile);
        pieces
            .iter()
            .filter_map(|p| self.writes[&p.write].ordinal)
            .min()
    }

    /// What a power cut takes: all that is not known to be on the members' media, and nothing if a
    /// battery keeps the cache.
    pub fn cut_power(&self, volatile: impl Fn(u32) -> Option<u64>, lost: &mut Vec<Lost>) {
        let size = self.layout.row_sectors();
        for piece in self.endangered(volatile) {
            if let Some(ordinal) = self.writes[&piece.write].ordinal {
                lost.push(Lost {
                    ordinal,
                    unit: self.unit,
                    lbn: piece.row * size + piece.start,
                    sectors: piece.end - piece.start,
                });
            }
        }
    }

    fn command(&self, slot: u32) -> &Command {
        &self.commands[slot]
    }

    fn command_mut(&mut self, slot: u32) -> &mut Command {
        &mut self.commands[slot]
    }
}
