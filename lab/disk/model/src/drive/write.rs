// SPDX-License-Identifier: MIT
//! The path of a write into the buffer: whether it is acknowledged from there, where it finds
//! room, which one gets it first, and how its data comes. `destage` has the way on to the medium.

use super::arm::Job;
use super::buffer::Piece;
use super::command::Command;
use super::destage::OpenWrite;
use super::Drive;
use crate::bus::Phase;
use crate::command::Op;
use crate::entries::{value_or, QueueAlgorithm};
use crate::geometry::SECTOR_BYTES;
use crate::mechanics::Target;
use crate::shared::Shared;
use crate::time::to_ns;
use crate::trace::{Hit, Medium};

/// Where a write finds room.
#[derive(Debug, Clone, Copy)]
enum Room {
    Append(usize),
    Overwrite(usize),
    Fresh(usize),
}

/// What decides the room of a write beside the write itself.
struct Rooms {
    /// Sectors of a write segment.
    size: u64,
    /// The arm and the host are not at one segment at a time.
    exclusive: bool,
    /// The segment that the arm is writing from; none has this number if it is not.
    writing: usize,
    /// Sectors that the pool of written data has left.
    pool_left: u64,
}

/// Sectors of a long write that take room in a segment of `size` at a time.
fn chunk(sectors: u64, size: u64) -> u64 {
    if sectors <= size {
        sectors
    } else {
        sectors.div_ceil(sectors.div_ceil(size / 2))
    }
}

/// First sector and end of what a write needs room for next.
fn wanted(command: &Command, size: u64) -> (u64, u64) {
    let end = command.next + chunk(command.sectors, size);
    (command.next, command.end().min(end))
}

impl Drive {
    /// Whether a write at `start` is acknowledged from the buffer.
    pub(super) fn caches(&self, start: u64) -> bool {
        let appends_only = value_or(&self.model().file.write_cache_appends_only, false);
        self.write_cache && (!appends_only || self.clean() || self.extends(start))
    }

    /// Whether a write at `start` continues or overwrites an extent in the buffer.
    fn extends(&self, start: u64) -> bool {
        self.write_segments
            .iter()
            .any(|s| s.start <= start && start <= s.end && s.end > 0)
    }

    /// What decides the room of every write that waits for some at one time.
    fn rooms(&self) -> Rooms {
        let dirty = || self.write_segments.iter().map(|s| s.end - s.dirty_start());
        Rooms {
            size: self.write_segment_sectors(),
            exclusive: self.exclusive(),
            writing: match self.job {
                Some(Job::Write { segment }) => segment,
                _ => usize::MAX,
            },
            pool_left: self
                .write_pool
                .map_or(u64::MAX, |pool| pool.saturating_sub(dirty().sum())),
        }
    }

    /// Where the sectors `start..end` of a write find room.
    #[inline]
    fn room(&self, rooms: &Rooms, (start, end): (u64, u64)) -> Option<Room> {
        let mut append = None;
        // A clean extent that this continues, or else the one unused for longest.
        let mut fresh: Option<((bool, u64), usize)> = None;
        for (i, segment) in self.write_segments.iter().enumerate() {
            if !segment.dirty() {
                let key = (segment.end != start, segment.used);
                if fresh.is_none_or(|(least, _)| key < least) {
                    fresh = Some((key, i));
                }
                continue;
            }
            let writing = i == rooms.writing;
            if segment.dirty_overlaps(start, end) {
                // In place, unless the arm is at it or the older data is still on its way.
                if writing && rooms.exclusive {
                    return None;
                }
                let free = if writing {
                    segment.pieces[0].end
                } else {
                    segment.dirty_start()
                };
                return (free <= start && end <= segment.here).then_some(Room::Overwrite(i));
            }
            let taken = rooms.exclusive && writing;
            if !taken && segment.end == start && end - segment.dirty_start() <= rooms.size {
                append = Some(Room::Append(i));
            }
        }
        if end - start > rooms.pool_left {
            return None;
        }
        append.or_else(|| fresh.map(|(_, i)| Room::Fresh(i)))
    }

    /// A write's data may come: it waits for room.
    pub(super) fn take_data(&mut self, slot: u32, shared: &mut Shared) {
        self.writes.push(slot);
        self.admit_writes(shared);
    }

    /// Gives room to writes that wait for it, in the order of the queue algorithm.
    pub(super) fn admit_writes(&mut self, shared: &mut Shared) {
        while let Some((index, room)) = self.next_admission(shared) {
            self.admit(index, room, shared);
        }
    }

    fn next_admission(&self, shared: &Shared) -> Option<(usize, Room)> {
        let first = *self.writes.first()?;
        let rooms = self.rooms();
        let room = |command: &Command| self.room(&rooms, wanted(command, rooms.size));
        if self.queue == QueueAlgorithm::Fcfs {
            return room(self.command(first)).map(|room| (0, room));
        }
        let leave = self.leave(shared.now_ps.max(self.chosen_ps(self.writes.len())));
        let overdue = |slot: u32| self.overdue(self.command(slot).arrival_ns, &leave);
        let seen = self.writes.len().min(self.window);
        let late = (0..seen).filter(|&i| overdue(self.writes[i]));
        if let Some(oldest) = late.min_by_key(|&i| self.command(self.writes[i]).serial) {
            // Others would go on filling the segment that it waits for.
            return room(self.command(self.writes[oldest])).map(|room| (oldest, room));
        }
        let mut best: Option<(i64, usize, Room)> = None;
        for (index, &slot) in self.writes[..seen].iter().enumerate() {
            let command = self.command(slot);
            let cost = match room(command) {
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
        let (start, end) = wanted(self.command(slot), self.write_segment_sectors());
        let through = self.command(slot).hit == Hit::Through;
        let last = end == self.command(slot).end();
        let target = if last {
            Target::default()
        } else {
            self.mechanics.target(&self.head.track, end)
        };
        self.catch_up(shared.now_ps);
        self.invalidate(start, end);
        let size = self.write_segment_sectors();
        let admitted = self.admitted;
        self.admitted += 1;
        self.use_clock += 1;
        let command = &mut self.commands[slot];
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
            leave_ps: command.leave_ps.filter(|_| start == command.lbn),
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
                self.fit_into_pool();
            }
        }
        let bytes = (end - start) * SECTOR_BYTES;
        // The status of a write-through follows later, by itself.
        let last = last && !through && self.completion_ps(Op::Write) == 0;
        self.ask_bus(slot, Phase::Data { bytes, last }, shared);
    }

    /// Data starts to move. That of a write lets the arm go, and write as it comes.
    pub fn data_moves(&mut self, slot: u32, first_ps: i64, end_ps: i64, shared: &mut Shared) {
        shared.data_moves(self.unit, self.command(slot).cookie);
        if self.command(slot).op == Op::Read {
            return;
        }
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
    pub(super) fn acknowledge_cached(&mut self, slot: u32, shared: &mut Shared) {
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
    pub(super) fn data_here(&mut self, slot: u32, acknowledge: bool, shared: &mut Shared) {
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
}
