// SPDX-License-Identifier: MIT
//! One drive: commands, queue, segmented cache, read-ahead, write-back.
//!
//! A command comes over the bus, is decoded by the drive's processor (one at a time, for the
//! overhead of its kind), and then either finds its data or room in the buffer and goes to the
//! bus, or waits for the arm. The arm serves read misses and dirty extents in the order of the
//! queue algorithm; when nothing waits, it reads ahead, which anything that needs it interrupts.

use std::collections::VecDeque;

use crate::bus::{Phase, Turn};
use crate::catalogue::{
    value_or, BusKind, DriveModel, QueueAlgorithm, ReadAheadAbort, ReadAheadStop,
};
use crate::geometry::SECTOR_BYTES;
use crate::lab::{to_ns, Event, Lost, Op, Shared, Tag};
use crate::mechanics::{From, Head, Mechanics, Span, Target};
use crate::trace::{Hit, Key, Line, Medium};

mod stop;

/// A command at the drive.
#[derive(Debug)]
struct Command {
    op: Op,
    lbn: u64,
    sectors: u64,
    cookie: u64,
    /// Order of arrival.
    serial: u64,
    arrival_ns: i64,
    start_ns: Option<i64>,
    medium: Medium,
    depth: u32,
    hit: Hit,
    /// Where it (or the rest of a long write) begins on the medium.
    target: Target,
    /// Writes: first sector that has no room in the buffer yet.
    next: u64,
    /// Writes: turns of data on the bus still to come, in order: segment and piece.
    moving: VecDeque<(usize, u64)>,
}

impl Command {
    fn end(&self) -> u64 {
        self.lbn + self.sectors
    }

    /// Its line in the trace.
    fn line(&self, slot: u32) -> Line {
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

/// A command that has no tag yet.
#[derive(Debug)]
struct Waiting {
    op: Op,
    lbn: u64,
    sectors: u64,
    cookie: u64,
    tag: Tag,
}

/// A read segment: one extent of sectors, `start..end`.
#[derive(Debug, Clone, Default)]
struct ReadSegment {
    start: u64,
    end: u64,
    used: u64,
}

/// A part of an extent that one command wrote.
#[derive(Debug)]
struct Piece {
    lbn: u64,
    end: u64,
    /// Arrival order of its command.
    serial: u64,
    /// Order of admission to the buffer, over the whole drive.
    admitted: u64,
    /// When its command arrived.
    arrival_ns: i64,
    /// Its data has crossed the bus.
    here: bool,
    /// When its first sector and all of it are here, once it is on its way.
    comes_ps: Option<(i64, i64)>,
}

/// A write of which something is not on the medium yet.
#[derive(Debug)]
struct OpenWrite {
    serial: u64,
    /// Pieces that are not on the medium, those without room in the buffer included.
    left: u64,
    /// Write-through: the command to acknowledge once all is on the medium.
    through: Option<u32>,
    /// Write-back: the trace line that waits for the medium, and the number of the completion,
    /// once acknowledged.
    line: Option<(Key, u64)>,
}

/// A write segment: one extent, of which the pieces are not on the medium yet.
#[derive(Debug, Default)]
struct WriteSegment {
    /// First sector still in the buffer.
    start: u64,
    /// End of what has crossed the bus.
    here: u64,
    /// End of what has been given room.
    end: u64,
    /// Dirty pieces, contiguous, ending at `end`.
    pieces: VecDeque<Piece>,
    /// Newer data for sectors of `pieces`.
    overwrites: Vec<Piece>,
    used: u64,
}

impl WriteSegment {
    fn dirty(&self) -> bool {
        !self.pieces.is_empty()
    }

    fn dirty_start(&self) -> u64 {
        self.pieces.front().map_or(self.end, |p| p.lbn)
    }

    fn dirty_overlaps(&self, start: u64, end: u64) -> bool {
        self.dirty() && start < self.end && self.dirty_start() < end
    }

    /// Whether the arm may go for the first piece: it is here or will be at a known time, and no
    /// newer data for the extent is on its way.
    fn ready(&self) -> bool {
        self.pieces.front().is_some_and(|p| p.comes_ps.is_some())
            && self.overwrites.iter().all(|o| o.here)
    }
}

/// Where a write finds room.
#[derive(Debug, Clone, Copy)]
enum Room {
    Append(usize),
    Overwrite(usize),
    Fresh(usize),
}

/// What the arm is doing.
#[derive(Debug, Clone, Copy)]
enum Job {
    Read {
        segment: usize,
        limit: u64,
    },
    Write {
        segment: usize,
    },
    /// Without a buffer: the command in this slot waits for the channel or moves its data.
    Locked {
        slot: u32,
    },
}

/// What the arm could do next.
#[derive(Debug, Clone, Copy)]
enum Choice {
    /// Index into `reads` (without a buffer, of all commands).
    Read(usize),
    /// Index of a write segment.
    Write(usize),
}

/// Read-ahead in progress.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    segment: usize,
    limit: u64,
}

/// When the arm can leave for its next work, and the angle under it then.
#[derive(Debug, Clone, Copy)]
struct Leave {
    at_ps: i64,
    angle_ps: i64,
}

/// By how much waiting makes a command cheaper under aged SPTF, in ps of positioning for a ns of
/// waiting (thousandths), unless the drive's file says otherwise.
///
/// D. Jacobson, J. Wilkes, Disk scheduling algorithms based on rotational position, HPL-CSP-91-7,
/// 1991, recommend weights near 6 ms of positioning for a second of waiting (recalled, not
/// verified; a named assumption).
const AGED_SPTF_PERMILLE: u32 = 6;

/// A flush that waits until all pieces admitted before `admitted` are on the medium.
#[derive(Debug)]
struct Flush {
    slot: u32,
    admitted: u64,
}

/// A drive and all it is doing.
#[derive(Debug)]
pub(crate) struct Drive {
    mechanics: Mechanics,
    unit: u32,
    bus: usize,
    hold: bool,
    buffered: bool,
    queue: QueueAlgorithm,
    /// LOOK: the way the arm goes.
    inwards: bool,
    write_cache: bool,

    commands: Vec<Option<Command>>,
    outstanding: u32,
    untagged: VecDeque<Waiting>,
    serial: u64,
    decode: VecDeque<u32>,
    wrote_last: bool,
    /// Serial numbers of commands with ordered tags that are not complete.
    ordered: VecDeque<u64>,
    /// Decoded commands that an ordered tag holds back, in the order of arrival.
    held: VecDeque<u32>,

    reads: Vec<u32>,
    writes: Vec<u32>,
    flushes: Vec<Flush>,

    read_segments: Vec<ReadSegment>,
    write_segments: Vec<WriteSegment>,
    open_writes: Vec<OpenWrite>,
    dirty_segments: usize,
    admitted: u64,
    use_clock: u64,

    head: Head,
    job: Option<Job>,
    /// The head as it began to write, and where the write ends.
    writing: Option<(Head, u64)>,
    ahead: Option<Ahead>,
    /// The segment whose read-ahead ended under a head that has not moved since.
    paused: Option<usize>,
}

impl Drive {
    pub fn new(model: DriveModel, unit: u32, bus: usize, kind: BusKind, max_tags: u32) -> Self {
        let file = &model.file;
        let (queue, write_cache) = (file.queue.value, file.write_cache.value);
        let read_segments = vec![ReadSegment::default(); file.read_segments.value as usize];
        let write_segments = (0..file.write_segments.value).map(|_| WriteSegment::default());
        let write_segments = write_segments.collect();
        let mechanics = Mechanics::new(model);
        let head = mechanics.parked(0);
        Self {
            unit,
            bus,
            // ATA without tags has no way to let go of the bus inside a command.
            hold: kind == BusKind::Ata && max_tags == 1,
            buffered: kind != BusKind::Ipi,
            queue,
            inwards: true,
            write_cache,
            commands: (0..max_tags).map(|_| None).collect(),
            outstanding: 0,
            untagged: VecDeque::new(),
            serial: 0,
            decode: VecDeque::new(),
            wrote_last: false,
            ordered: VecDeque::new(),
            held: VecDeque::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            flushes: Vec::new(),
            read_segments,
            write_segments,
            open_writes: Vec::new(),
            dirty_segments: 0,
            admitted: 0,
            use_clock: 0,
            head,
            job: None,
            writing: None,
            ahead: None,
            paused: None,
            mechanics,
        }
    }

    pub fn with(mut self, queue: QueueAlgorithm, write_cache: bool) -> Self {
        self.set_queue(queue);
        self.set_write_cache(write_cache);
        self
    }

    pub fn set_queue(&mut self, queue: QueueAlgorithm) {
        self.queue = queue;
    }

    pub fn set_write_cache(&mut self, on: bool) {
        self.write_cache = on;
    }

    pub fn model(&self) -> &DriveModel {
        &self.mechanics.model
    }

    pub fn sectors(&self) -> u64 {
        self.model().geometry.sectors
    }

    pub fn bus(&self) -> usize {
        self.bus
    }

    pub fn clean(&self) -> bool {
        self.dirty_segments == 0
    }

    /// The state after a marker. Only an idle drive is reset.
    pub fn reset(&mut self, now_ps: i64, phase_ps: i64) {
        assert!(self.outstanding == 0 && self.clean() && self.job.is_none());
        self.mechanics.set_phase(phase_ps);
        self.head = self.mechanics.parked(now_ps);
        self.read_segments
            .iter_mut()
            .for_each(|s| *s = ReadSegment::default());
        self.write_segments
            .iter_mut()
            .for_each(|s| *s = WriteSegment::default());
        (self.ahead, self.paused) = (None, None);
        (self.serial, self.admitted, self.use_clock) = (0, 0, 0);
        (self.wrote_last, self.inwards) = (false, true);
    }

    // Commands: from the host to the decoder.

    pub fn submit(
        &mut self,
        op: Op,
        lbn: u64,
        sectors: u64,
        cookie: u64,
        tag: Tag,
        shared: &mut Shared,
    ) {
        let waiting = Waiting {
            op,
            lbn,
            sectors,
            cookie,
            tag,
        };
        if (self.outstanding as usize) < self.commands.len() {
            self.arrive(waiting, shared);
        } else {
            self.untagged.push_back(waiting);
        }
    }

    fn arrive(&mut self, new: Waiting, shared: &mut Shared) {
        let slot = self
            .commands
            .iter()
            .position(Option::is_none)
            .expect("a tag is free");
        self.outstanding += 1;
        let target = match new.op {
            Op::Flush => Target::default(),
            _ => self.mechanics.target(new.lbn),
        };
        self.commands[slot] = Some(Command {
            op: new.op,
            lbn: new.lbn,
            sectors: if new.op == Op::Flush { 0 } else { new.sectors },
            cookie: new.cookie,
            serial: self.serial,
            arrival_ns: to_ns(shared.now_ps),
            start_ns: None,
            medium: Medium::None,
            depth: self.outstanding,
            hit: Hit::None,
            target,
            next: new.lbn,
            moving: VecDeque::new(),
        });
        if new.tag == Tag::Ordered {
            self.ordered.push_back(self.serial);
        }
        self.serial += 1;
        self.ask_bus(slot as u32, Phase::Command, shared);
    }

    pub fn bus_done(&mut self, slot: u32, phase: Phase, shared: &mut Shared) {
        match phase {
            Phase::Command => {
                self.decode.push_back(slot);
                if self.decode.len() == 1 {
                    self.start_decode(shared);
                }
            }
            Phase::Data { last, .. } => {
                if self.command(slot).op != Op::Read {
                    self.data_here(slot, last, shared);
                } else if last {
                    self.complete(slot, shared);
                } else {
                    self.finish_later(slot, shared);
                }
            }
            Phase::Status => {
                self.status_here(slot, shared);
            }
        }
    }

    /// The time that the drive takes between data and status, in ps.
    fn completion_ps(&self, op: Op) -> i64 {
        let overhead = value_or(&self.model().file.overhead_completion_ns, [0, 0]);
        overhead[usize::from(matches!(op, Op::Write | Op::WriteFua))] as i64 * 1000
    }

    fn finish_later(&self, slot: u32, shared: &mut Shared) {
        let at_ps = shared.now_ps + self.completion_ps(self.command(slot).op);
        let unit = self.unit;
        shared.schedule(at_ps, Event::Finished { unit, slot });
    }

    /// The drive is ready to send the status of a command.
    pub fn finished(&mut self, slot: u32, shared: &mut Shared) {
        self.ask_bus(slot, Phase::Status, shared);
    }

    fn status_here(&mut self, slot: u32, shared: &mut Shared) {
        let command = self.command(slot);
        if command.hit == Hit::Cached {
            self.acknowledge_cached(slot, shared);
            self.admit_writes(shared);
            self.kick(shared);
        } else {
            self.complete(slot, shared);
        }
    }

    fn start_decode(&mut self, shared: &mut Shared) {
        let Some(&slot) = self.decode.front() else {
            return;
        };
        self.catch_up(shared.now_ps);
        let command = self.command(slot);
        let (start, end) = (command.lbn, command.end());
        let op = command.op;
        let goes_on = op == Op::Read && self.streaming(start).is_some();
        if self.model().file.read_ahead_abort.value == ReadAheadAbort::Command && !goes_on {
            self.ahead = None;
        }
        let file = &self.model().file;
        let overhead = match op {
            Op::Read if goes_on || self.buffered(start, end).is_some() => {
                &file.overhead_read_hit_ns
            }
            Op::Read => &file.overhead_read_miss_ns,
            Op::Write if self.caches(start) => &file.overhead_write_hit_ns,
            Op::Write | Op::WriteFua => &file.overhead_write_miss_ns,
            Op::Flush => &file.overhead_read_hit_ns,
        };
        let overhead_ps = overhead.value[usize::from(self.wrote_last)] as i64 * 1000;
        self.wrote_last = matches!(op, Op::Write | Op::WriteFua);
        shared.schedule(
            shared.now_ps + overhead_ps,
            Event::Decoded { unit: self.unit },
        );
    }

    pub fn decoded(&mut self, shared: &mut Shared) {
        let slot = self.decode.pop_front().expect("a command is being decoded");
        self.catch_up(shared.now_ps);
        if self.may_start(slot) {
            self.start(slot, shared);
        } else {
            self.held.push_back(slot);
        }
        self.kick(shared);
        self.start_decode(shared);
    }

    /// Whether no ordered tag holds the command back.
    fn may_start(&self, slot: u32) -> bool {
        let Some(&barrier) = self.ordered.front() else {
            return true;
        };
        let serial = self.command(slot).serial;
        // The barrier itself waits until it is the oldest.
        serial < barrier
            || serial == barrier && self.commands.iter().flatten().all(|c| c.serial >= barrier)
    }

    /// Lets go of what is no longer held back.
    fn release_held(&mut self, shared: &mut Shared) {
        while let Some(&slot) = self.held.front().filter(|&&slot| self.may_start(slot)) {
            self.held.pop_front();
            self.start(slot, shared);
        }
    }

    /// A decoded command finds its data or room in the buffer, or waits for the arm.
    fn start(&mut self, slot: u32, shared: &mut Shared) {
        let (op, start, end) = {
            let command = self.command(slot);
            (command.op, command.lbn, command.end())
        };
        match op {
            Op::Read | Op::Write | Op::WriteFua if !self.buffered => self.reads.push(slot),
            Op::Read => match self.buffered(start, end) {
                Some(segment) => self.read_hit(slot, segment, shared),
                None => self.reads.push(slot),
            },
            Op::Write | Op::WriteFua => {
                let cached = op == Op::Write && self.caches(start);
                self.command_mut(slot).hit = if cached { Hit::Cached } else { Hit::Through };
                self.writes.push(slot);
                self.admit_writes(shared);
            }
            Op::Flush => {
                self.command_mut(slot).start_ns = Some(to_ns(shared.now_ps));
                self.flushes.push(Flush {
                    slot,
                    admitted: self.admitted,
                });
                self.finish_flushes(shared);
            }
        }
    }

    // Commands: from the buffer to the host.

    fn ask_bus(&self, slot: u32, phase: Phase, shared: &mut Shared) {
        let bytes = match phase {
            Phase::Data { bytes, .. } => bytes,
            _ => 0,
        };
        let inbound = bytes > 0 && self.command(slot).op != Op::Read;
        shared.bus_ask(
            self.bus,
            Turn {
                unit: self.unit,
                slot,
                phase,
                hold: self.hold,
                data_ps: self.transfer_ps(bytes),
                tell: inbound,
            },
        );
    }

    /// Time that the drive itself needs to move `bytes` over any bus, in ps.
    fn transfer_ps(&self, bytes: u64) -> i64 {
        let sector_ns = value_or(&self.model().file.sector_transfer_ns, 0);
        ((bytes / SECTOR_BYTES) * sector_ns) as i64 * 1000
    }

    pub fn data_ready(&mut self, slot: u32, shared: &mut Shared) {
        let bytes = self.command(slot).sectors * SECTOR_BYTES;
        let last = self.completion_ps(Op::Read) == 0;
        self.ask_bus(slot, Phase::Data { bytes, last }, shared);
    }

    /// Acknowledges a command; returns the key of its trace line.
    fn complete(&mut self, slot: u32, shared: &mut Shared) -> Key {
        let command = self.commands[slot as usize]
            .take()
            .expect("only a live command completes");
        self.outstanding -= 1;
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
        if let Some(next) = self.untagged.pop_front() {
            self.arrive(next, shared);
        }
        key
    }

    /// A command is complete that may have held others back.
    pub fn released(&mut self, shared: &mut Shared) {
        self.catch_up(shared.now_ps);
        self.release_held(shared);
        self.kick(shared);
    }

    fn finish_flushes(&mut self, shared: &mut Shared) {
        let oldest = self
            .write_segments
            .iter()
            .flat_map(|s| s.pieces.front().into_iter().chain(s.overwrites.iter()))
            .map(|p| p.admitted)
            .min()
            .unwrap_or(u64::MAX);
        let (done, left) = std::mem::take(&mut self.flushes)
            .into_iter()
            .partition(|f| f.admitted <= oldest);
        self.flushes = left;
        let done: Vec<Flush> = done;
        for flush in done {
            self.ask_bus(flush.slot, Phase::Status, shared);
        }
    }

    // The read side of the buffer.

    /// The segment that holds all of `start..end`: a read segment, or a write segment, whose
    /// numbers follow.
    fn buffered(&self, start: u64, end: u64) -> Option<usize> {
        let reads = self.read_segments.iter();
        let found = reads.clone().position(|s| s.start <= start && end <= s.end);
        found.or_else(|| {
            if !value_or(&self.model().file.read_hits_writes, true) {
                return None;
            }
            let writes = self.write_segments.iter();
            let i = writes
                .clone()
                .position(|s| s.start <= start && end <= s.here)?;
            Some(self.read_segments.len() + i)
        })
    }

    /// The read-ahead in whose path a read from `start` lies.
    fn streaming(&self, start: u64) -> Option<Ahead> {
        let ahead = self.ahead?;
        let segment = &self.read_segments[ahead.segment];
        (segment.start <= start && start <= ahead.limit).then_some(ahead)
    }

    /// Sends what waits for the arm and has come into a segment meanwhile.
    fn serve_hits(&mut self, number: usize, shared: &mut Shared) {
        let segment = &self.read_segments[number];
        let (start, end) = (segment.start, segment.end);
        let mut i = 0;
        while i < self.reads.len() {
            let command = self.command(self.reads[i]);
            if start <= command.lbn && command.end() <= end {
                let slot = self.reads.remove(i);
                self.read_hit(slot, number, shared);
            } else {
                i += 1;
            }
        }
    }

    fn read_hit(&mut self, slot: u32, segment: usize, shared: &mut Shared) {
        let now_ps = shared.now_ps;
        let command = self.command_mut(slot);
        command.start_ns = Some(to_ns(now_ps));
        command.hit = Hit::Full;
        let (start, end) = (command.lbn, command.end());
        self.data_ready(slot, shared);
        if segment >= self.read_segments.len() {
            return;
        }
        self.touch(segment);
        let limit = self.limit(start, end);
        let read_to = self.read_segments[segment].end;
        if let Some(ahead) = self.ahead.as_mut().filter(|a| a.segment == segment) {
            ahead.limit = ahead.limit.max(limit);
        } else if self.paused == Some(segment)
            && self.job.is_none()
            && self.model().file.read_ahead_resume.value
            && read_to < limit
        {
            self.head = self.mechanics.position(&self.head, now_ps, read_to, false);
            self.ahead = Some(Ahead { segment, limit });
            self.paused = None;
        }
    }

    /// How far a read of `start..end` lets the drive read ahead.
    fn limit(&self, start: u64, end: u64) -> u64 {
        let geometry = &self.model().geometry;
        let file = &self.model().file;
        let track = || geometry.track(end - 1);
        let stop = match file.read_ahead_stop.value {
            ReadAheadStop::Request => end,
            ReadAheadStop::Track => track().end,
            ReadAheadStop::Stream => self.stream_end(start, end),
            ReadAheadStop::Cylinder => geometry.cylinder_end(&track()),
            ReadAheadStop::Segment => u64::MAX,
        };
        // The request itself stays in the segment, or gives way to what is read ahead.
        let over = value_or(&file.read_ahead_over_requested, false);
        let full = if over { end } else { start } + file.segment_sectors.value;
        let most = end.saturating_add(file.read_ahead_max_sectors.value);
        // What is newer in the write segments is not read from the medium.
        let dirty = self.write_segments.iter().filter(|s| s.dirty());
        let dirty = dirty.filter(|s| s.end > end).map(|s| s.dirty_start()).min();
        let limit = stop
            .min(full)
            .min(most)
            .min(dirty.unwrap_or(u64::MAX))
            .max(end);
        limit.min(geometry.sectors)
    }

    /// End of the track of a read, or of the next one if its segment began on an earlier track.
    fn stream_end(&self, start: u64, end: u64) -> u64 {
        let geometry = &self.model().geometry;
        let track = geometry.track(end - 1);
        let holds = |s: &&ReadSegment| s.start <= start && start <= s.end && s.start < s.end;
        let began = self
            .read_segments
            .iter()
            .find(holds)
            .map_or(start, |s| s.start);
        if began < track.first && track.end < geometry.sectors {
            geometry.track(track.end).end
        } else {
            track.end
        }
    }

    fn touch(&mut self, segment: usize) {
        self.use_clock += 1;
        self.read_segments[segment].used = self.use_clock;
    }

    /// Drops what read segments hold of `start..end`, which is being written.
    fn invalidate(&mut self, start: u64, end: u64) {
        for i in 0..self.read_segments.len() {
            let segment = &mut self.read_segments[i];
            if segment.start < end && start < segment.end {
                *segment = ReadSegment::default();
                self.ahead = self.ahead.filter(|a| a.segment != i);
                self.paused = self.paused.filter(|&p| p != i);
            }
        }
        for segment in &mut self.write_segments {
            if !segment.dirty() && segment.start < end && start < segment.here {
                *segment = WriteSegment {
                    used: segment.used,
                    ..WriteSegment::default()
                };
            }
        }
        if let Some(ahead) = &mut self.ahead {
            if end > self.read_segments[ahead.segment].end {
                ahead.limit = ahead
                    .limit
                    .min(start.max(self.read_segments[ahead.segment].end));
            }
        }
    }

    /// Brings read-ahead up to date.
    fn catch_up(&mut self, now_ps: i64) {
        let Some(ahead) = self.ahead else { return };
        debug_assert!(self.job.is_none());
        self.mechanics
            .pass_until(&mut self.head, now_ps, ahead.limit);
        let size = self.model().file.segment_sectors.value;
        let segment = &mut self.read_segments[ahead.segment];
        segment.end = self.head.lbn;
        segment.start = segment.start.max(segment.end.saturating_sub(size));
        if self.head.lbn >= ahead.limit {
            self.ahead = None;
            self.paused = Some(ahead.segment);
        }
    }

    // The write side of the buffer.

    /// Whether a write at `start` is acknowledged from the buffer.
    fn caches(&self, start: u64) -> bool {
        let appends_only = value_or(&self.model().file.write_cache_appends_only, false);
        self.write_cache && (!appends_only || self.clean() || self.extends(start))
    }

    /// Whether a write at `start` continues or overwrites an extent in the buffer.
    fn extends(&self, start: u64) -> bool {
        self.write_segments
            .iter()
            .any(|s| s.start <= start && start <= s.end && s.end > 0)
    }

    /// Sectors of a long write that take room in the buffer at a time.
    fn chunk(&self, sectors: u64) -> u64 {
        let size = self.model().file.segment_sectors.value;
        if sectors <= size {
            sectors
        } else {
            sectors.div_ceil(sectors.div_ceil(size / 2))
        }
    }

    /// First sector and end of what the write in `slot` needs room for next.
    fn wanted(&self, slot: u32) -> (u64, u64) {
        let command = self.command(slot);
        (
            command.next,
            command
                .end()
                .min(command.next + self.chunk(command.sectors)),
        )
    }

    fn room(&self, slot: u32) -> Option<Room> {
        let (start, end) = self.wanted(slot);
        let size = self.model().file.segment_sectors.value;
        let mut append = None;
        for (i, segment) in self
            .write_segments
            .iter()
            .enumerate()
            .filter(|(_, s)| s.dirty())
        {
            if segment.dirty_overlaps(start, end) {
                // In place, unless the arm is at it or the older data is still on its way.
                let writing = matches!(self.job, Some(Job::Write { segment }) if segment == i);
                let free = if writing {
                    segment.pieces[0].end
                } else {
                    segment.dirty_start()
                };
                return (free <= start && end <= segment.here).then_some(Room::Overwrite(i));
            }
            if segment.end == start && end - segment.dirty_start() <= size {
                append = Some(Room::Append(i));
            }
        }
        append.or_else(|| {
            // A clean extent that this continues, or else the one unused for longest.
            let clean = self
                .write_segments
                .iter()
                .enumerate()
                .filter(|(_, s)| !s.dirty());
            let best = clean.min_by_key(|(_, s)| (s.end != start, s.used));
            best.map(|(i, _)| Room::Fresh(i))
        })
    }

    /// Gives room to writes that wait for it, in the order of the queue algorithm.
    fn admit_writes(&mut self, shared: &mut Shared) {
        while let Some((index, room)) = self.next_admission(shared) {
            self.admit(index, room, shared);
        }
    }

    fn next_admission(&self, shared: &Shared) -> Option<(usize, Room)> {
        let first = *self.writes.first()?;
        if self.queue == QueueAlgorithm::Fcfs {
            return self.room(first).map(|room| (0, room));
        }
        let mut best: Option<(i64, usize, Room)> = None;
        let leave = self.leave(shared.now_ps);
        for (index, &slot) in self.writes.iter().enumerate() {
            let command = self.command(slot);
            let cost = match self.room(slot) {
                None => continue,
                Some(room @ (Room::Append(_) | Room::Overwrite(_))) => return Some((index, room)),
                Some(room) => (
                    self.cost(
                        &command.target,
                        command.next,
                        &leave,
                        true,
                        command.arrival_ns,
                    ),
                    index,
                    room,
                ),
            };
            if best.is_none_or(|b| cost.0 < b.0) {
                best = Some(cost);
            }
        }
        best.map(|(_, index, room)| (index, room))
    }

    fn admit(&mut self, index: usize, room: Room, shared: &mut Shared) {
        let slot = self.writes[index];
        let (start, end) = self.wanted(slot);
        let through = self.command(slot).hit == Hit::Through;
        let last = end == self.command(slot).end();
        let target = if last {
            Target::default()
        } else {
            self.mechanics.target(end)
        };
        self.catch_up(shared.now_ps);
        self.invalidate(start, end);
        let size = self.model().file.segment_sectors.value;
        let admitted = self.admitted;
        self.admitted += 1;
        self.use_clock += 1;
        let command = self.commands[slot as usize]
            .as_mut()
            .expect("a waiting write is live");
        command.start_ns.get_or_insert(to_ns(shared.now_ps));
        command.next = end;
        if start == command.lbn {
            self.open_writes.push(OpenWrite {
                serial: command.serial,
                left: command.sectors.div_ceil(end - start),
                through: through.then_some(slot),
                line: None,
            });
        }
        let piece = Piece {
            lbn: start,
            end,
            serial: command.serial,
            admitted,
            arrival_ns: command.arrival_ns,
            here: false,
            comes_ps: None,
        };
        let number = match room {
            Room::Append(i) | Room::Overwrite(i) | Room::Fresh(i) => i,
        };
        command.moving.push_back((number, admitted));
        if last {
            self.writes.remove(index);
        } else {
            command.target = target;
        }
        let segment = &mut self.write_segments[number];
        segment.used = self.use_clock;
        match room {
            Room::Overwrite(_) => segment.overwrites.push(piece),
            Room::Append(_) | Room::Fresh(_) => {
                if !segment.dirty() {
                    self.dirty_segments += 1;
                    if segment.end != start {
                        (segment.start, segment.here) = (start, start);
                    }
                }
                segment.end = end;
                segment.start = segment.start.max(end.saturating_sub(size));
                segment.pieces.push_back(piece);
            }
        }
        let bytes = (end - start) * SECTOR_BYTES;
        // The status of a write-through follows later, by itself.
        let last = last && !through && self.completion_ps(Op::Write) == 0;
        self.ask_bus(slot, Phase::Data { bytes, last }, shared);
    }

    /// Data of a write starts to move: the arm may go, and write as it comes.
    pub fn data_moves(&mut self, slot: u32, first_ps: i64, end_ps: i64, shared: &mut Shared) {
        let &(number, admitted) = self
            .command(slot)
            .moving
            .front()
            .expect("it has data to move");
        let segment = &mut self.write_segments[number];
        let mut pieces = segment.pieces.iter_mut();
        if let Some(piece) = pieces.find(|p| p.admitted == admitted) {
            piece.comes_ps = Some((first_ps, end_ps));
            self.kick(shared);
        }
    }

    /// Acknowledges a write whose data is in the buffer.
    fn acknowledge_cached(&mut self, slot: u32, shared: &mut Shared) {
        let serial = self.command(slot).serial;
        let open = self.open_writes.iter().position(|w| w.serial == serial);
        if open.is_some() {
            self.command_mut(slot).medium = Medium::Pending;
        }
        let ordinal = shared.next_ordinal(self.unit);
        let key = self.complete(slot, shared);
        if let Some(open) = open {
            self.open_writes[open].line = Some((key, ordinal));
        }
    }

    /// A piece has crossed the bus.
    fn data_here(&mut self, slot: u32, acknowledge: bool, shared: &mut Shared) {
        let (number, admitted) = self
            .command_mut(slot)
            .moving
            .pop_front()
            .expect("this data was on its way");
        if acknowledge {
            self.acknowledge_cached(slot, shared);
        } else if self.command(slot).next == self.command(slot).end()
            && self.command(slot).moving.is_empty()
            && self.command(slot).hit == Hit::Cached
        {
            self.finish_later(slot, shared);
        }
        let segment = &mut self.write_segments[number];
        let mut pieces = segment
            .pieces
            .iter_mut()
            .chain(segment.overwrites.iter_mut());
        let piece = pieces
            .find(|p| p.admitted == admitted)
            .expect("dirty data stays");
        piece.here = true;
        piece.comes_ps.get_or_insert((shared.now_ps, shared.now_ps));
        segment.here = segment.here.max(piece.end);
        if segment.overwrites.iter().any(|o| o.admitted == admitted) {
            // The older data may have been written around it meanwhile; then it is on the medium.
            self.settle_overwrites(number, shared);
        }
        self.admit_writes(shared);
        self.kick(shared);
    }

    fn piece_on_medium(&mut self, piece: &Piece, shared: &mut Shared) {
        let index = self
            .open_writes
            .iter()
            .position(|w| w.serial == piece.serial);
        let index = index.expect("a write is open until all its pieces are on the medium");
        self.open_writes[index].left -= 1;
        if self.open_writes[index].left > 0 {
            return;
        }
        let done = self.open_writes.remove(index);
        let ns = to_ns(shared.now_ps);
        if let Some(slot) = done.through {
            self.command_mut(slot).medium = Medium::At(ns);
            self.finish_later(slot, shared);
        } else if let Some((line, _)) = done.line {
            shared.trace.on_medium(line, ns);
        } else {
            // Its status is still being prepared.
            let mut commands = self.commands.iter_mut().flatten();
            let command = commands.find(|c| c.serial == done.serial);
            command.expect("a write lives until its status").medium = Medium::At(ns);
        }
    }

    fn settle_overwrites(&mut self, number: usize, shared: &mut Shared) {
        let segment = &mut self.write_segments[number];
        let written = segment.dirty_start();
        let all = std::mem::take(&mut segment.overwrites);
        let (done, left): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|o| o.here && o.end <= written);
        segment.overwrites = left;
        for piece in done {
            self.piece_on_medium(&piece, shared);
        }
    }

    // Power.

    /// The number of the oldest acknowledged write that is not all on the medium.
    pub fn oldest_volatile(&self) -> Option<u64> {
        let open = self.open_writes.iter();
        open.filter_map(|w| w.line.map(|(_, ordinal)| ordinal))
            .min()
    }

    /// What a power cut takes: of every acknowledged write the sectors that are not on the medium.
    /// The drive is dead afterwards.
    pub fn cut_power(&mut self, now_ps: i64, lost: &mut Vec<Lost>) {
        // Sectors of the piece under the head that have passed are written.
        let written = match (self.job, &self.writing) {
            (Some(Job::Write { .. }), Some((start, end))) => {
                let mut head = *start;
                self.mechanics.pass_until(&mut head, now_ps, *end);
                start.lbn..head.lbn
            }
            _ => 0..0,
        };
        let unit = self.unit;
        for segment in &self.write_segments {
            for piece in segment.pieces.iter().chain(&segment.overwrites) {
                let open = self.open_writes.iter().find(|w| w.serial == piece.serial);
                let Some((_, ordinal)) = open.and_then(|w| w.line) else {
                    continue;
                };
                let mut part = |lbn: u64, end: u64| {
                    if lbn < end {
                        lost.push(Lost {
                            ordinal,
                            unit,
                            lbn,
                            sectors: end - lbn,
                        });
                    }
                };
                part(piece.lbn, piece.end.min(written.start.max(piece.lbn)));
                part(piece.lbn.max(written.end), piece.end);
            }
        }
    }

    // The arm.

    /// Gives the arm its next work, if it is free for it.
    fn kick(&mut self, shared: &mut Shared) {
        if self.job.is_some() {
            return;
        }
        let ahead = self.ahead;
        self.catch_up(shared.now_ps);
        if let Some(ahead) = ahead.filter(|_| !self.reads.is_empty()) {
            // A read that newer data keeps from the arm can be overtaken by read-ahead.
            self.serve_hits(ahead.segment, shared);
        }
        let from = self.head.lbn;
        match self.choose(shared.now_ps) {
            Some(Choice::Read(index)) if !self.buffered => self.start_locked(index, shared),
            Some(Choice::Read(index)) => self.start_read(index, shared),
            Some(Choice::Write(segment)) => self.start_write(segment, shared),
            None => return,
        }
        if self.head.lbn != from {
            self.inwards = self.head.lbn > from;
        }
    }

    // Without a buffer.

    fn start_locked(&mut self, index: usize, shared: &mut Shared) {
        let slot = self.reads.remove(index);
        let (lbn, write) = (self.command(slot).lbn, self.command(slot).op != Op::Read);
        self.head = self
            .mechanics
            .position(&self.head, shared.now_ps, lbn, write);
        self.command_mut(slot).start_ns = Some(to_ns(shared.now_ps));
        self.job = Some(Job::Locked { slot });
        shared.schedule(self.head.at_ps, Event::Landed { unit: self.unit });
    }

    /// The first sector of a transfer that is locked to the medium comes under the head.
    pub fn landed(&mut self, shared: &mut Shared) {
        let Some(Job::Locked { slot }) = self.job else {
            unreachable!("only a drive without a buffer waits for its channel");
        };
        if !shared.bus_seize(self.bus, self.unit) {
            self.head.at_ps += self.model().geometry.revolution_ps;
            shared.schedule(self.head.at_ps, Event::Landed { unit: self.unit });
            return;
        }
        let (end, write) = (self.command(slot).end(), self.command(slot).op != Op::Read);
        self.mechanics.pass(&mut self.head, end, write);
        shared.schedule(self.head.at_ps, Event::ArmDone { unit: self.unit });
    }

    /// The cost by which the queue algorithm compares; the smallest goes first.
    #[inline]
    fn cost(&self, target: &Target, lbn: u64, leave: &Leave, write: bool, arrival_ns: i64) -> i64 {
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

    /// Where and when the arm would leave.
    fn leave(&self, now_ps: i64) -> Leave {
        let at_ps = now_ps.max(self.head.settled_ps);
        let angle_ps = self.mechanics.angle_at(at_ps);
        Leave { at_ps, angle_ps }
    }

    fn choose(&self, now_ps: i64) -> Option<Choice> {
        let leave = self.leave(now_ps);
        let mut best: Option<(i64, (u64, u64), Choice)> = None;
        // Equal costs: the older command, and of one command the part that came first.
        let mut offer = |cost: i64, serial: (u64, u64), choice: Choice| {
            if best.is_none_or(|(c, s, _)| (cost, serial) < (c, s)) {
                best = Some((cost, serial, choice));
            }
        };
        if self.dirty_segments > 0 {
            for (i, segment) in self
                .write_segments
                .iter()
                .enumerate()
                .filter(|(_, s)| s.ready())
            {
                let piece = &segment.pieces[0];
                let target = self.mechanics.target(piece.lbn);
                let cost = self.cost(&target, piece.lbn, &leave, true, piece.arrival_ns);
                offer(cost, (piece.serial, piece.admitted), Choice::Write(i));
            }
        }
        // A flush comes before reads, or an endless stream of near reads could hold it up.
        if self.flushes.is_empty() || self.dirty_segments == 0 {
            for (i, &slot) in self.reads.iter().enumerate() {
                let command = self.command(slot);
                if self.dirty_segments > 0 && self.blocked(command.lbn, command.end()) {
                    continue;
                }
                let cost = if self.queue != QueueAlgorithm::Fcfs
                    && self.streaming(command.lbn).is_some()
                {
                    // The head is on its way there.
                    i64::MIN
                } else {
                    let write = command.op != Op::Read;
                    self.cost(
                        &command.target,
                        command.lbn,
                        &leave,
                        write,
                        command.arrival_ns,
                    )
                };
                offer(cost, (command.serial, 0), Choice::Read(i));
            }
        }
        best.map(|(.., choice)| choice)
    }

    /// Whether a read must wait because newer data for it has not reached the medium.
    fn blocked(&self, start: u64, end: u64) -> bool {
        self.write_segments
            .iter()
            .any(|s| s.dirty_overlaps(start, end))
    }

    fn start_read(&mut self, index: usize, shared: &mut Shared) {
        let slot = self.reads.remove(index);
        let (start, end) = (self.command(slot).lbn, self.command(slot).end());
        let now_ps = shared.now_ps;
        let streaming = self.streaming(start);
        let number = streaming.map(|a| a.segment).unwrap_or_else(|| {
            let held = |s: &ReadSegment| s.start <= start && start <= s.end && s.start < s.end;
            self.read_segments.iter().position(held).unwrap_or_else(|| {
                let lru = self
                    .read_segments
                    .iter()
                    .enumerate()
                    .min_by_key(|(_, s)| s.used);
                let number = lru.expect("a drive has a read segment").0;
                self.read_segments[number] = ReadSegment {
                    start,
                    end: start,
                    used: 0,
                };
                number
            })
        });
        self.touch(number);
        let from = self.read_segments[number].end;
        debug_assert!(from < end);
        let file = &self.model().file;
        let any_order = value_or(&file.zero_latency_read, false);
        let on_arrival = value_or(&file.read_on_arrival, false);
        let (first_ps, done_ps) = if streaming.is_some() {
            let first_ps = self.head.at_ps;
            self.mechanics.pass(&mut self.head, end, false);
            (first_ps, self.head.at_ps)
        } else {
            let span = Span {
                lbn: from,
                end,
                earliest_ps: 0,
                any_order,
            };
            if on_arrival && self.read_segments[number].start == from {
                let landed = self.mechanics.position(&self.head, now_ps, from, false);
                self.read_segments[number].start = self.mechanics.first_after_landing(&landed);
            }
            let passed = self.mechanics.access(&mut self.head, now_ps, span, false);
            (passed.first_ps, passed.done_ps)
        };
        debug_assert_eq!(self.head.lbn, end);
        let limit = self.limit(start, end);
        let least = end + self.model().file.read_ahead_min_sectors.value;
        if least.min(limit) > end {
            self.mechanics.pass(&mut self.head, least.min(limit), false);
        }

        let bytes = (end - start) * SECTOR_BYTES;
        let data_ps = |bytes| {
            shared
                .bus_data_ps(self.bus, bytes)
                .max(self.transfer_ps(bytes))
        };
        let (bus_ps, sector_ps) = (data_ps(bytes), data_ps(SECTOR_BYTES));
        let track = &self.head.track;
        let first_here_ps =
            first_ps + self.model().geometry.revolution_ps / i64::from(track.sectors);
        let ready_ns = value_or(&self.model().file.overhead_data_ready_ns, 0);
        let permille = value_or(&self.model().file.read_water_mark_permille, 0);
        let marked_ps = first_ps + (done_ps - first_ps) / 1000 * i64::from(permille.min(1000));
        let command = self.command_mut(slot);
        command.start_ns = Some(to_ns(now_ps));
        command.medium = Medium::At(to_ns(done_ps));
        command.hit = if from > start { Hit::Part } else { Hit::Miss };
        // The transfer runs beside the medium and ends one sector after it; a bus slower than
        // the medium starts when the first sector has been read.
        let ready_ps = (done_ps - bus_ps + sector_ps)
            .max(first_here_ps)
            .max(marked_ps)
            .max(now_ps);
        let ready_ps = ready_ps + ready_ns as i64 * 1000;
        shared.schedule(
            ready_ps,
            Event::DataReady {
                unit: self.unit,
                slot,
            },
        );
        let arm_ps = if self.head.lbn == end {
            done_ps
        } else {
            self.head.at_ps
        };
        shared.schedule(arm_ps, Event::ArmDone { unit: self.unit });
        self.job = Some(Job::Read {
            segment: number,
            limit,
        });
        (self.ahead, self.paused) = (None, None);
    }

    fn start_write(&mut self, number: usize, shared: &mut Shared) {
        let piece = &self.write_segments[number].pieces[0];
        let (lbn, end) = (piece.lbn, piece.end);
        let (first_here_ps, all_here_ps) = piece.comes_ps.expect("only known data is written");
        let any_order = value_or(&self.model().file.zero_latency_write, false);
        let geometry = &self.model().geometry;
        let sector_ps = geometry.revolution_ps / i64::from(geometry.track(lbn).sectors);
        // The medium must not run out of data: it ends at least a sector after the bus.
        let bus_sector_ps = (all_here_ps - first_here_ps) / (end - lbn) as i64;
        let chase_ps = all_here_ps - (end - lbn - 1) as i64 * sector_ps;
        let span = Span {
            lbn,
            end,
            earliest_ps: if any_order {
                all_here_ps
            } else {
                chase_ps.max(first_here_ps + bus_sector_ps)
            },
            any_order,
        };
        let passed = self
            .mechanics
            .access(&mut self.head, shared.now_ps, span, true);
        // In free order what has passed is not known by sector: nothing is safe until all is.
        self.writing = (!any_order).then(|| {
            let track = self.model().geometry.track(lbn);
            let begins = Head {
                lbn,
                at_ps: passed.first_ps,
                track,
                settled_ps: passed.first_ps,
            };
            (begins, end)
        });
        shared.schedule(passed.done_ps, Event::ArmDone { unit: self.unit });
        self.job = Some(Job::Write { segment: number });
        (self.ahead, self.paused) = (None, None);
    }

    pub fn arm_done(&mut self, shared: &mut Shared) {
        match self.job.take().expect("the arm was busy") {
            Job::Read {
                segment: number,
                limit,
            } => {
                let size = self.model().file.segment_sectors.value;
                let segment = &mut self.read_segments[number];
                segment.end = self.head.lbn;
                segment.start = segment.start.max(segment.end.saturating_sub(size));
                if segment.end < limit {
                    self.ahead = Some(Ahead {
                        segment: number,
                        limit,
                    });
                } else {
                    self.paused = Some(number);
                }
                self.serve_hits(number, shared);
            }
            Job::Locked { slot } => {
                self.command_mut(slot).medium = Medium::At(to_ns(shared.now_ps));
                self.command_mut(slot).hit = match self.command(slot).op {
                    Op::Read => Hit::Miss,
                    _ => Hit::Through,
                };
                self.finish_later(slot, shared);
            }
            Job::Write { segment: number } => {
                let segment = &mut self.write_segments[number];
                let piece = segment.pieces.pop_front().expect("it was being written");
                if !segment.dirty() {
                    self.dirty_segments -= 1;
                }
                self.piece_on_medium(&piece, shared);
                self.settle_overwrites(number, shared);
                self.finish_flushes(shared);
                self.admit_writes(shared);
            }
        }
        self.kick(shared);
    }

    fn command(&self, slot: u32) -> &Command {
        self.commands[slot as usize]
            .as_ref()
            .expect("the slot holds a live command")
    }

    fn command_mut(&mut self, slot: u32) -> &mut Command {
        self.commands[slot as usize]
            .as_mut()
            .expect("the slot holds a live command")
    }
}
