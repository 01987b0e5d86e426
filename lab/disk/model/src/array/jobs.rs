// SPDX-License-Identifier: MIT
//! Work on one row: data is written out, a missing member's data is made of the others', or a
//! spare gets its unit.

use super::cache::{Piece, Waiter};
use super::layout::{Level, Part};
use super::members::Owner;
use super::plan::{self, Extent};
use super::ranges::Ranges;
use super::{Array, Work};
use crate::command::Op;
use crate::event::Event;
use crate::geometry::SECTOR_BYTES;
use crate::shared::Shared;

/// What a job is for.
#[derive(Debug)]
pub(super) enum Kind {
    Write {
        ranges: Ranges,
        pieces: Vec<Piece>,
        writes: Vec<Extent>,
    },
    /// A part for the read in this slot.
    Read { slot: u32, part: Part },
    /// The unit of this member, to be written to this device.
    Rebuild { member: u32, device: usize },
}

/// How far it is.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Reads,
    Writes,
}

/// A job.
#[derive(Debug)]
pub(super) struct Job {
    row: u64,
    kind: Kind,
    step: Step,
    /// Commands at the members.
    left: u32,
    /// A member failed under it.
    failed: bool,
    /// Sectors that the parity is made of.
    mixed: u64,
    /// Its data has started to move.
    moves: bool,
    /// Writes done: member and number there.
    written: Vec<(u32, u64)>,
}

impl Job {
    pub fn pieces(&self) -> &[Piece] {
        match &self.kind {
            Kind::Write { pieces, .. } => pieces,
            _ => &[],
        }
    }
}

/// Pieces of writes that are in members' buffers, and the commands that brought them there.
#[derive(Debug)]
pub(super) struct Settling {
    commands: Vec<(u32, u64)>,
    pub pieces: Vec<Piece>,
}

impl Settling {
    /// Whether all is on the members' media.
    pub fn is_safe(&self, volatile: &impl Fn(u32) -> Option<u64>) -> bool {
        let mut commands = self.commands.iter();
        commands.all(|(unit, number)| volatile(*unit).is_none_or(|oldest| oldest > *number))
    }
}

impl Array {
    /// Starts what should be written out, and sees to it that this is asked again.
    pub(super) fn pump(&mut self, shared: &mut Shared) {
        if std::mem::replace(&mut self.pumping, true) {
            return; // A job that ended at once: the loop below goes on.
        }
        let idle_ps = self.file.destage_idle_ns.value as i64 * 1000;
        let next = self.cache.expire(shared.now_ps - idle_ps);
        if let Some(at_ps) = next.filter(|_| !self.timer) {
            self.timer = true;
            shared.schedule(at_ps + idle_ps, Event::ArrayIdle { unit: self.unit });
        }
        let above = u64::from(self.file.destage_above_permille.value);
        let most = self.file.cache_kb.value * 2 * above / 1000;
        while self.writing_jobs < self.file.destage_jobs.value {
            let all = !self.room.is_empty() || self.cache.held() > most;
            let Some(row) = self.cache.choose(all) else {
                break;
            };
            let (ranges, pieces) = self.cache.take(row);
            self.writing_jobs += 1;
            let writes = Vec::new();
            let kind = Kind::Write {
                ranges,
                pieces,
                writes,
            };
            let job = self.new_job(row, kind);
            self.begin(job, shared);
        }
        self.pumping = false;
        self.check_flushes(shared);
    }

    /// Nothing has come to some rows for a while.
    pub fn rows_idle(&mut self, shared: &mut Shared) {
        self.timer = false;
        self.pump(shared);
    }

    fn new_job(&mut self, row: u64, kind: Kind) -> u64 {
        self.serial += 1;
        let job = Job {
            row,
            kind,
            step: Step::Reads,
            left: 0,
            failed: false,
            mixed: 0,
            moves: false,
            written: Vec::new(),
        };
        self.jobs.insert(self.serial, job);
        self.serial
    }

    /// Reads a part that its own member has not; no write to the row may be half done.
    pub(super) fn read_degraded(&mut self, slot: u32, part: Part, shared: &mut Shared) {
        let job = self.new_job(part.row, Kind::Read { slot, part });
        if self.cache.lock(part.row, Waiter::Job(job)) {
            self.begin(job, shared);
        }
    }

    /// Makes a unit of a spare; the row is its own.
    pub(super) fn rebuild_row(&mut self, shared: &mut Shared) {
        let Some(rebuild) = &self.rebuild else {
            return; // Unlocked by its caller.
        };
        let (row, member, device) = (rebuild.row, rebuild.member, rebuild.device);
        let job = self.new_job(row, Kind::Rebuild { member, device });
        self.begin(job, shared);
    }

    /// Issues the reads of a job whose row is its own, with the members that are left.
    fn begin(&mut self, id: u64, shared: &mut Shared) {
        let job = self.jobs.get_mut(&id).expect("it begins");
        let row = job.row;
        job.failed = false;
        let unit = self.layout.unit_sectors();
        let missing = |member: u32, start: u64, end: u64| -> Option<Vec<Extent>> {
            let mut from = self.layout.sources(row, member);
            if self.layout.level() != Level::Raid5 {
                from.retain(|m| self.device(*m, row).is_some());
                from.truncate(1);
            }
            let all = !from.is_empty() && from.iter().all(|m| self.device(*m, row).is_some());
            let extent = |member| Extent { member, start, end };
            all.then(|| from.into_iter().map(extent).collect())
        };
        let (reads, writes, mixed) = match &self.jobs[&id].kind {
            Kind::Write { ranges, .. } => {
                let cached = self.cache.on_members(row, ranges);
                let valid = |m| self.device(m, row).is_some();
                let plan = plan::write(&self.layout, row, ranges, &cached, valid);
                let parity = !plan.segments.is_empty();
                let sectors: u64 = plan.reads.iter().map(|e| e.end - e.start).sum();
                let mixed = if parity {
                    sectors + ranges.sectors()
                } else {
                    0
                };
                (Some(plan.reads), plan.writes, mixed)
            }
            Kind::Read { part, .. } => {
                let member = self.layout.copies(row, part.index).start;
                let reads = missing(member, part.start, part.end);
                let mixed = (part.end - part.start) * u64::from(self.layout.members() - 1);
                (reads, Vec::new(), mixed)
            }
            Kind::Rebuild { member, .. } => {
                let reads = missing(*member, 0, unit);
                let raid5 = self.layout.level() == Level::Raid5;
                let mixed = unit * u64::from(self.layout.members() - 1);
                (reads, Vec::new(), if raid5 { mixed } else { 0 })
            }
        };
        let job = self.jobs.get_mut(&id).expect("it begins");
        job.mixed = mixed;
        if let Kind::Write {
            writes: planned, ..
        } = &mut job.kind
        {
            *planned = writes;
        }
        let Some(reads) = reads else {
            job.failed = true;
            return self.end(id, shared);
        };
        job.left = reads.len() as u32;
        if reads.is_empty() {
            return self.mix(id, shared);
        }
        for read in reads {
            self.member_extent(id, Op::Read, read, shared);
        }
    }

    fn member_extent(&mut self, id: u64, op: Op, extent: Extent, shared: &mut Shared) {
        let row = self.jobs[&id].row;
        let device = self
            .device(extent.member, row)
            .expect("only whole members are asked");
        let lbn = self.layout.member_lbn(row, extent.start);
        let end = self.layout.member_lbn(row, extent.end);
        self.issue(device, op, lbn, end, Owner::Job(id), shared);
    }

    /// A command of a job is done.
    pub(super) fn job_step(&mut self, id: u64, well: bool, write: (u32, u64), shared: &mut Shared) {
        let job = self.jobs.get_mut(&id).expect("it has commands at members");
        job.left -= 1;
        job.failed |= !well;
        if well && job.step == Step::Writes {
            job.written.push(write);
        }
        if job.left > 0 {
            return;
        }
        match job.step {
            // Again, with those that are left.
            Step::Reads if job.failed => self.begin(id, shared),
            Step::Reads => self.mix(id, shared),
            Step::Writes => self.end(id, shared),
        }
    }

    /// The commands of the host whose data a job writes, and how many sectors, the first time.
    pub(super) fn take_pieces(&mut self, id: u64) -> Vec<(u32, u64)> {
        let job = self.jobs.get_mut(&id).expect("it has commands at members");
        if std::mem::replace(&mut job.moves, true) {
            return Vec::new();
        }
        let pieces = job.pieces().iter();
        let moving = pieces.filter_map(|p| Some((self.writes[&p.write].slot?, p.end - p.start)));
        moving.collect()
    }

    fn mix(&mut self, id: u64, shared: &mut Shared) {
        let bytes = self.jobs[&id].mixed * SECTOR_BYTES;
        if bytes == 0 {
            return self.start_writes(id, shared);
        }
        let ns = bytes * 1000 / self.file.xor_mb_s.value.max(1);
        self.work(Work::Parity(id), ns, shared);
    }

    /// Issues the writes of a job. A member that has failed meanwhile is left out: the parity
    /// that goes to another one has its data.
    pub(super) fn start_writes(&mut self, id: u64, shared: &mut Shared) {
        let job = self.jobs.get_mut(&id).expect("it is under way");
        job.step = Step::Writes;
        let row = job.row;
        let unit = self.layout.unit_sectors();
        match &mut job.kind {
            Kind::Write { writes, pieces, .. } => {
                let fua = pieces.iter().any(|p| self.writes[&p.write].fua);
                let op = if fua { Op::WriteFua } else { Op::Write };
                let writes = std::mem::take(writes);
                let role = |m: u32| &self.roles[m as usize];
                let whole =
                    |e: &Extent| role(e.member).device.is_some() && row < role(e.member).valid_rows;
                let writes: Vec<Extent> = writes.into_iter().filter(whole).collect();
                job.left = writes.len() as u32;
                if writes.is_empty() {
                    return self.end(id, shared);
                }
                for extent in writes {
                    self.member_extent(id, op, extent, shared);
                }
            }
            Kind::Read { .. } => self.end(id, shared),
            Kind::Rebuild { device, .. } => {
                let device = *device;
                job.left = 1;
                let lbn = self.layout.member_lbn(row, 0);
                let owner = Owner::Job(id);
                // Through the buffer: nobody would know when a row is safe.
                self.issue(device, Op::WriteFua, lbn, lbn + unit, owner, shared);
            }
        }
    }

    fn end(&mut self, id: u64, shared: &mut Shared) {
        let job = self.jobs.remove(&id).expect("it is under way");
        let row = job.row;
        match job.kind {
            Kind::Write { ranges, pieces, .. } => {
                self.writing_jobs -= 1;
                self.cache.written(row, &ranges);
                for piece in &pieces {
                    let lost = self
                        .layout
                        .parts(row, piece.start, piece.end)
                        .any(|p| self.gone(p));
                    if lost {
                        self.cache.forget(row, piece.start, piece.end);
                    }
                    self.piece_done(piece, lost, shared);
                }
                let fua = pieces
                    .iter()
                    .any(|p| self.writes.get(&p.write).is_some_and(|w| w.fua));
                if self.file.member_write_cache.value && !fua && !job.written.is_empty() {
                    self.settling.push_back(Settling {
                        commands: job.written,
                        pieces,
                    });
                } else {
                    pieces.iter().for_each(|p| self.piece_safe(p));
                }
            }
            Kind::Read { slot, .. } => {
                self.command_mut(slot).failed |= job.failed;
                self.parts_here(slot, 1, shared);
            }
            Kind::Rebuild { device, .. } => self.rebuilt_row(row, device, !job.failed, shared),
        }
        self.unlock(row, shared);
        self.admit(shared);
        self.pump(shared);
    }

    pub(super) fn unlock(&mut self, row: u64, shared: &mut Shared) {
        match self.cache.unlock(row) {
            Some(Waiter::Job(next)) => self.begin(next, shared),
            Some(Waiter::Rebuild)
                if self
                    .rebuild
                    .as_ref()
                    .is_some_and(|r| r.row == row && r.busy) =>
            {
                self.rebuild_row(shared);
            }
            // The rebuild that waited has ended.
            Some(Waiter::Rebuild) => self.unlock(row, shared),
            None => {}
        }
    }

    /// Whether no member has a part and the others cannot stand for it.
    fn gone(&self, part: Part) -> bool {
        let mut copies = self.layout.copies(part.row, part.index);
        !copies.any(|m| self.device(m, part.row).is_some()) && !self.can_stand_for(part)
    }
}
