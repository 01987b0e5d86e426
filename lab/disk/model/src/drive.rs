// SPDX-License-Identifier: MIT
//! One drive: commands, queue, segmented cache, read-ahead, write-back.
//!
//! A command comes over the bus, is decoded by the drive's processor (one at a time, for the
//! overhead of its kind), and then either finds its data or room in the buffer and goes to the
//! bus, or waits for the arm. The arm serves read misses and dirty extents in the order of the
//! queue algorithm; when nothing waits, it reads ahead, which anything that needs it interrupts.
//!
//! Each part of that has its file, by the way of a command: `command` (arrival and end), `host`
//! (the bus), `decode` (the processor, ordered tags), then `read` and `read_ahead`, or `write` and
//! `destage`, over the segments in `buffer`; `queue` and `arm` decide and do what comes next,
//! `unbuffered` is the drive that has no buffer, `stop` and `power` are early ends. Here is what
//! they share: the drive's state, its settings and its reset.

mod arm;
mod buffer;
mod command;
mod decode;
mod destage;
mod host;
mod power;
mod queue;
mod read;
mod read_ahead;
mod stop;
mod unbuffered;
mod write;

use std::collections::VecDeque;

use self::arm::Job;
use self::buffer::{ReadSegment, WriteSegment};
use self::command::Command;
use self::destage::{Flush, OpenWrite};
use self::read_ahead::Ahead;
use crate::entries::{value_or, BusKind, DriveModel, QueueAlgorithm, SegmentAccess};
use crate::mechanics::{Head, Mechanics};
use crate::tags::Tags;

/// A drive and all it is doing.
#[derive(Debug)]
pub(crate) struct Drive {
    mechanics: Mechanics,
    unit: u32,
    bus: usize,
    hold: bool,
    access: SegmentAccess,
    buffered: bool,
    queue: QueueAlgorithm,
    /// Nothing waits for longer while anything younger is served.
    age_limit_ns: i64,
    /// Of what waits, as many of the oldest as the drive looks at when it chooses.
    window: usize,
    /// What choosing takes for each of them.
    selection_ps: i64,
    /// When the arm began its latest work, and the drive to choose the next; where choosing takes
    /// time.
    chooses_from_ps: i64,
    /// LOOK: the way the arm goes.
    inwards: bool,
    write_cache: bool,

    commands: Tags<Command>,
    serial: u64,
    decode: VecDeque<u32>,
    wrote_last: bool,
    /// Where the last write ends.
    wrote_end: u64,
    /// Serial numbers of commands with ordered tags that are not complete.
    ordered: VecDeque<u64>,
    /// Decoded commands that an ordered tag holds back, in the order of arrival.
    held: VecDeque<u32>,

    reads: Vec<u32>,
    writes: Vec<u32>,
    flushes: Vec<Flush>,

    read_segments: Vec<ReadSegment>,
    write_segments: Vec<WriteSegment>,
    /// What all write segments may hold together, if they share it as they need it.
    write_pool: Option<u64>,
    open_writes: Vec<OpenWrite>,
    dirty_segments: usize,
    admitted: u64,
    use_clock: u64,

    head: Head,
    job: Option<Job>,
    /// When the arm ended its last work.
    free_ps: i64,
    /// The head as it began to write, and where the write ends.
    writing: Option<(Head, u64)>,
    ahead: Option<Ahead>,
    /// Read-ahead that stands still while the host takes data from its segment.
    held_ahead: Option<Ahead>,
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
        let write_pool = Some(value_or(&file.write_pool_sectors, 0)).filter(|&sectors| sectors > 0);
        let limit_ns = file.command_age_limit_ns.as_ref().map(|e| e.value);
        let age_limit_ns = limit_ns.map_or(i64::MAX, |ns| ns as i64);
        let window = match value_or(&file.queue_window_commands, 0) {
            0 => usize::MAX,
            commands => commands as usize,
        };
        let selection_ps = value_or(&file.queue_selection_ns, 0) as i64 * 1000;
        let access = value_or(&file.segment_access, SegmentAccess::Overlapped);
        let mechanics = Mechanics::new(model);
        let head = mechanics.parked(0);
        Self {
            unit,
            bus,
            // ATA without tags has no way to let go of the bus inside a command.
            hold: kind == BusKind::Ata && max_tags == 1,
            buffered: kind != BusKind::Ipi,
            queue,
            age_limit_ns,
            window,
            selection_ps,
            chooses_from_ps: 0,
            inwards: true,
            write_cache,
            commands: Tags::new(max_tags),
            serial: 0,
            decode: VecDeque::new(),
            wrote_last: false,
            wrote_end: 0,
            ordered: VecDeque::new(),
            held: VecDeque::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            flushes: Vec::new(),
            read_segments,
            write_segments,
            write_pool,
            open_writes: Vec::new(),
            dirty_segments: 0,
            admitted: 0,
            use_clock: 0,
            head,
            job: None,
            free_ps: 0,
            writing: None,
            ahead: None,
            held_ahead: None,
            access,
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
        assert!(self.commands.is_empty() && self.clean() && self.job.is_none());
        self.mechanics.set_phase(phase_ps);
        self.head = self.mechanics.parked(now_ps);
        self.chooses_from_ps = now_ps;
        self.read_segments
            .iter_mut()
            .for_each(|s| *s = ReadSegment::default());
        self.write_segments
            .iter_mut()
            .for_each(|s| *s = WriteSegment::default());
        (self.ahead, self.held_ahead, self.paused) = (None, None, None);
        (self.serial, self.admitted, self.use_clock) = (0, 0, 0);
        (self.wrote_last, self.wrote_end, self.inwards) = (false, 0, true);
    }
}
