// SPDX-License-Identifier: MIT
//! Where arrays keep what, on all shapes; and a model of bytes, moved by the same layout and plans
//! as the controller's, that must survive a failure and a rebuild.

use proptest::prelude::*;
use spindle_disk::array::layout::{Holds, Layout, Level};
use spindle_disk::array::plan::{self, Method};
use spindle_disk::array::ranges::Ranges;

const LEVELS: [Level; 4] = [Level::Raid0, Level::Raid1, Level::Raid10, Level::Raid5];

/// Small arrays of every level: level, members, sectors of a unit, sectors of a member.
fn shapes() -> impl Strategy<Value = Layout> {
    (0..4_usize, 1..10_u32, 1..9_u64, 0..40_u64)
        .prop_filter_map("a shape", |(level, members, unit, more)| {
            Layout::new(LEVELS[level], members, unit, unit + more).ok()
        })
}

/// A set of bits as ranges, checked against the ranges.
fn bits(ranges: &Ranges) -> u64 {
    let range = |(start, end): (u64, u64)| (start..end).map(|bit| 1 << bit).sum::<u64>();
    ranges.iter().map(range).sum()
}

proptest! {
    #[test]
    fn ranges_are_sets(steps in prop::collection::vec((any::<bool>(), 0..63_u64, 0..63_u64), 1..40)) {
        let (mut ranges, mut set) = (Ranges::default(), 0_u64);
        for (add, a, b) in steps {
            let (start, end) = (a.min(b), a.max(b));
            let mask = bits(&Ranges::of(start, end));
            prop_assert_eq!(ranges.overlaps(start, end), set & mask != 0);
            prop_assert_eq!(ranges.contains(start, end), set & mask == mask);
            prop_assert_eq!(bits(&ranges.within(start, end)), set & mask);
            prop_assert_eq!(bits(&ranges.missing(start, end)), !set & mask);
            if add {
                ranges.insert(start, end);
                set |= mask;
            } else {
                ranges.remove(start, end);
                set &= !mask;
            }
            prop_assert_eq!(bits(&ranges), set);
            prop_assert_eq!(ranges.sectors(), u64::from(set.count_ones()));
            let edges: Vec<_> = ranges.iter().collect();
            prop_assert!(edges.windows(2).all(|w| w[0].1 < w[1].0), "{:?}", edges);
        }
    }

    /// Each logical sector has its own member sector (its copies one each), parity is never data,
    /// and nothing else is there: the map is one to one and onto.
    #[test]
    fn every_sector_has_one_place(layout in shapes()) {
        let unit = layout.unit_sectors();
        let mut seen = std::collections::BTreeMap::new();
        for lbn in 0..layout.sectors() {
            let (row, start, end) = layout.rows_of(lbn, lbn + 1).next().unwrap();
            prop_assert_eq!(end, start + 1);
            let part = layout.parts(row, start, end).next().unwrap();
            let copies = layout.copies(row, part.index);
            let wanted = match layout.level() {
                Level::Raid0 | Level::Raid5 => 1,
                Level::Raid10 => 2,
                Level::Raid1 => layout.members(),
            };
            prop_assert_eq!(copies.len() as u32, wanted);
            for member in copies {
                prop_assert!(member < layout.members());
                prop_assert_eq!(layout.holds(row, member), Holds::Data(part.index));
                let place = (member, layout.member_lbn(row, part.start));
                prop_assert_eq!(seen.insert(place, lbn), None, "two sectors at {:?}", place);
            }
        }
        for row in 0..layout.rows() {
            if let Some(parity) = layout.parity(row) {
                prop_assert_eq!(layout.holds(row, parity), Holds::Parity);
                for offset in 0..unit {
                    let place = (parity, layout.member_lbn(row, offset));
                    prop_assert_eq!(seen.insert(place, u64::MAX), None, "data under parity");
                }
            }
        }
        prop_assert_eq!(seen.len() as u64, layout.rows() * unit * u64::from(layout.members()));
    }

    /// The parts of a range are the range.
    #[test]
    fn parts_cover_a_range(layout in shapes(), at in any::<u64>(), length in any::<u64>()) {
        let lbn = at % layout.sectors();
        let end = lbn + 1 + length % (layout.sectors() - lbn);
        let mut next = lbn;
        for (row, start, end) in layout.rows_of(lbn, end) {
            for part in layout.parts(row, start, end) {
                prop_assert!(part.start < part.end && part.end <= layout.unit_sectors());
                let first = row * layout.row_sectors() + part.index * layout.unit_sectors();
                prop_assert_eq!(first + part.start, next);
                next = first + part.end;
            }
        }
        prop_assert_eq!(next, end);
    }
}

#[test]
fn raid5_is_left_symmetric() {
    let layout = Layout::new(Level::Raid5, 4, 1, 5).unwrap();
    let row = |row| -> Vec<String> {
        let shown = |member| match layout.holds(row, member) {
            Holds::Parity => "P".to_string(),
            Holds::Data(index) => (row * 3 + index).to_string(),
        };
        (0..4).map(shown).collect()
    };
    assert_eq!(row(0), ["0", "1", "2", "P"]);
    assert_eq!(row(1), ["4", "5", "P", "3"]);
    assert_eq!(row(2), ["8", "P", "6", "7"]);
    assert_eq!(row(3), ["P", "9", "10", "11"]);
    assert_eq!(row(4), ["12", "13", "14", "P"]);
}

/// Sectors of one byte each; a missing member's bytes are noise.
struct Bytes {
    layout: Layout,
    members: Vec<Vec<u8>>,
    /// Per member: whole in the rows before this one.
    whole: Vec<u64>,
    noise: u8,
}

impl Bytes {
    fn new(layout: Layout) -> Self {
        let size = (layout.rows() * layout.unit_sectors()) as usize;
        Self {
            layout,
            members: vec![vec![0; size]; layout.members() as usize],
            whole: vec![u64::MAX; layout.members() as usize],
            noise: 0x5A,
        }
    }

    fn valid(&self, row: u64) -> impl Fn(u32) -> bool + '_ {
        move |member| row < self.whole[member as usize]
    }

    fn byte(&self, member: u32, row: u64, offset: u64) -> u8 {
        self.members[member as usize][self.layout.member_lbn(row, offset) as usize]
    }

    fn fail(&mut self, member: u32) {
        let noise = self.noise;
        self.whole[member as usize] = 0;
        self.members[member as usize].fill(noise);
        self.noise = noise.wrapping_mul(31).wrapping_add(7);
    }

    /// Writes `new` at the offsets `dirty` of a row by a plan, with what of the row the cache has.
    /// The parity is made only of bytes that the plan has read, has been given, or has cached.
    fn write(
        &mut self,
        row: u64,
        dirty: &Ranges,
        cached: &Ranges,
        new: &[u8],
    ) -> Vec<(u64, u64, u64)> {
        self.write_cut(row, dirty, cached, new, usize::MAX)
    }

    /// The same, but the power goes when so many of the plan's writes are done.
    fn write_cut(
        &mut self,
        row: u64,
        dirty: &Ranges,
        cached: &Ranges,
        new: &[u8],
        done: usize,
    ) -> Vec<(u64, u64, u64)> {
        let layout = self.layout;
        let unit = layout.unit_sectors();
        let plan = plan::write(&layout, row, dirty, cached, self.valid(row));
        let old = self.row(row);
        let mut read = std::collections::BTreeMap::new();
        for e in &plan.reads {
            assert!(self.valid(row)(e.member), "a missing member was read");
            for offset in e.start..e.end {
                assert!(read
                    .insert((e.member, offset), self.byte(e.member, row, offset))
                    .is_none());
            }
        }
        let mut parity = std::collections::BTreeMap::new();
        for segment in &plan.segments {
            for offset in segment.start..segment.end {
                let mut byte = 0;
                for index in 0..layout.data_units() {
                    let place = index * unit + offset;
                    let member = layout.copies(row, index).start;
                    let dirty_here = segment.dirty.contains(&index);
                    assert_eq!(dirty_here, dirty.contains(place, place + 1));
                    if dirty_here {
                        byte ^= new[place as usize];
                    }
                    byte ^= match segment.method {
                        Method::ReadModifyWrite if dirty_here => read[&(member, offset)],
                        Method::Reconstruct if !dirty_here && cached.contains(place, place + 1) => {
                            old[place as usize].expect("the cache has what is or was there")
                        }
                        Method::Reconstruct if !dirty_here => read[&(member, offset)],
                        _ => 0,
                    };
                }
                if segment.method == Method::ReadModifyWrite {
                    byte ^= read[&(layout.parity(row).unwrap(), offset)];
                }
                assert!(parity.insert(offset, byte).is_none(), "parity made twice");
            }
        }
        for e in plan.writes.iter().take(done) {
            assert!(self.valid(row)(e.member), "a missing member was written");
            for offset in e.start..e.end {
                let byte = match layout.holds(row, e.member) {
                    Holds::Parity => parity[&offset],
                    Holds::Data(index) => new[(index * unit + offset) as usize],
                };
                let place = layout.member_lbn(row, offset) as usize;
                self.members[e.member as usize][place] = byte;
            }
        }
        plan.lost
            .iter()
            .flat_map(|p| (p.start..p.end).map(|o| (row, p.index, o)))
            .collect()
    }

    /// A row's data as the controller can have it; None: lost.
    fn row(&self, row: u64) -> Vec<Option<u8>> {
        let unit = self.layout.unit_sectors();
        let sector = |place: u64| {
            let (index, offset) = (place / unit, place % unit);
            let mut copies = self.layout.copies(row, index);
            let member = copies.start;
            match copies.find(|m| self.valid(row)(*m)) {
                Some(copy) => Some(self.byte(copy, row, offset)),
                None => self.made(row, member, offset),
            }
        };
        (0..self.layout.row_sectors()).map(sector).collect()
    }

    /// A member's byte, made of those of others.
    fn made(&self, row: u64, member: u32, offset: u64) -> Option<u8> {
        let sources = self.layout.sources(row, member);
        if self.layout.level() == Level::Raid5 {
            let all = sources.iter().all(|m| self.valid(row)(*m));
            let bytes = sources.iter().map(|m| self.byte(*m, row, offset));
            return all.then(|| bytes.fold(0, |a, b| a ^ b));
        }
        let source = sources.into_iter().find(|m| self.valid(row)(*m));
        source.map(|m| self.byte(m, row, offset))
    }

    /// The next row of a spare in the place of `member`; false: it cannot be made.
    fn rebuild_row(&mut self, member: u32) -> bool {
        let row = self.whole[member as usize];
        for offset in 0..self.layout.unit_sectors() {
            let Some(byte) = self.made(row, member, offset) else {
                return false;
            };
            let place = self.layout.member_lbn(row, offset) as usize;
            self.members[member as usize][place] = byte;
        }
        self.whole[member as usize] = row + 1;
        true
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// Row, cached range, and dirty ranges with a value.
    Write(u64, (u64, u64), Vec<(u64, u64)>, u8),
    Fail(u32),
    RebuildRow,
}

fn step() -> impl Strategy<Value = Step> {
    let range = || (any::<u16>(), any::<u16>()).prop_map(|(a, b)| (a.into(), b.into()));
    let write = (
        any::<u16>(),
        range(),
        prop::collection::vec(range(), 1..4),
        any::<u8>(),
    );
    prop_oneof![
        12 => write.prop_map(|(row, cached, dirty, value)| Step::Write(row.into(), cached, dirty, value)),
        1 => (0..10_u32).prop_map(Step::Fail),
        6 => Just(Step::RebuildRow),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Whatever is written, with whatever in the cache, before, during and after one failure and
    /// its rebuild: the array reads what was written last. A second failure while one is missing
    /// loses data only where both are needed, and that is known.
    #[test]
    fn bytes_survive_a_failure_and_a_rebuild(
        layout in shapes(),
        steps in prop::collection::vec(step(), 1..80),
        second: bool,
    ) {
        prop_assume!(layout.level() != Level::Raid0);
        let mut array = Bytes::new(layout);
        let size = layout.row_sectors();
        let mut expected = vec![vec![Some(0_u8); size as usize]; layout.rows() as usize];
        let mut missing: Vec<u32> = Vec::new();
        for step in steps {
            match step {
                Step::Write(row, cached, dirty, value) => {
                    let row = row % layout.rows();
                    let range = |(a, b): (u64, u64)| {
                        let (a, b) = (a % size, b % size);
                        Ranges::of(a.min(b), a.max(b) + 1)
                    };
                    let mut all = Ranges::default();
                    dirty.into_iter().for_each(|d| all.add(&range(d)));
                    // Only what is there can have come into the cache.
                    let there = array.row(row);
                    let mut cached = range(cached);
                    for place in 0..size {
                        if there[place as usize].is_none() {
                            cached.remove(place, place + 1);
                        }
                    }
                    cached.add(&all);
                    let new: Vec<u8> = (0..size).map(|p| value.wrapping_add(p as u8 * 3)).collect();
                    for place in all.iter().flat_map(|(s, e)| s..e) {
                        expected[row as usize][place as usize] = Some(new[place as usize]);
                    }
                    for (row, index, offset) in array.write(row, &all, &cached, &new) {
                        prop_assert!(missing.len() > 1, "lost with {:?} missing", missing);
                        let place = index * layout.unit_sectors() + offset;
                        expected[row as usize][place as usize] = None;
                    }
                }
                Step::Fail(member) if missing.len() < if second { 2 } else { 1 } => {
                    let member = member % layout.members();
                    if !missing.contains(&member) {
                        array.fail(member);
                        missing.push(member);
                    }
                }
                Step::Fail(_) => {}
                Step::RebuildRow => {
                    if let Some(&member) = missing.first() {
                        let before = array.whole[member as usize];
                        let done = before == layout.rows() || !array.rebuild_row(member);
                        if done && before == layout.rows() {
                            array.whole[member as usize] = u64::MAX;
                            missing.remove(0);
                        }
                    }
                }
            }
            for row in 0..layout.rows() {
                let read = array.row(row);
                for (read, wanted) in read.iter().zip(&mut expected[row as usize]) {
                    match read {
                        // Never something else than was written last.
                        Some(_) if wanted.is_some() => prop_assert_eq!(read, &*wanted),
                        Some(_) => prop_assert!(second),
                        None => {
                            prop_assert!(missing.len() > 1, "lost with {:?} missing", missing);
                            *wanted = None;
                        }
                    }
                }
            }
        }
    }

    /// The cheaper way is taken: never more sectors than either way alone would read.
    #[test]
    fn plans_read_the_least(
        members in 3..10_u32,
        row in 0..20_u64,
        dirty in prop::collection::vec((0..80_u64, 1..30_u64), 1..4),
    ) {
        let layout = Layout::new(Level::Raid5, members, 8, 200).unwrap();
        let size = layout.row_sectors();
        let mut all = Ranges::default();
        dirty.iter().for_each(|(s, l)| all.insert(s % size, (s % size + l).min(size)));
        let plan = plan::write(&layout, row, &all, &all, |_| true);
        let read: u64 = plan.reads.iter().map(|e| e.end - e.start).sum();
        let (mut modify, mut rebuild) = (0, 0);
        for offset in 0..8 {
            let units = layout.data_units();
            let changed = (0..units).filter(|i| all.contains(i * 8 + offset, i * 8 + offset + 1)).count() as u64;
            if changed > 0 {
                modify += changed + 1;
                rebuild += units - changed;
            }
        }
        prop_assert!(read <= modify.min(rebuild), "{} {} {}", read, modify, rebuild);
        let written: u64 = plan.writes.iter().map(|e| e.end - e.start).sum();
        let parity: u64 = plan.segments.iter().map(|s| s.end - s.start).sum();
        prop_assert_eq!(written, all.sectors() + parity);
        prop_assert!(plan.lost.is_empty());
    }
}

/// The write hole: a power cut between data and parity spoils what is not even written, once its
/// member fails. The same write again does not mend it, for it trusts the old parity; what does is
/// a parity made of all data.
#[test]
fn a_cut_between_data_and_parity_spoils_a_neighbour() {
    let layout = Layout::new(Level::Raid5, 5, 8, 80).unwrap();
    let (row, size) = (2, layout.row_sectors());
    let old: Vec<u8> = (0..size).map(|p| p as u8).collect();
    let new: Vec<u8> = old.iter().map(|b| b ^ 0x55).collect();
    let (whole, small) = (Ranges::of(0, size), Ranges::of(2, 6));
    let neighbour = layout.copies(row, 1).start;
    let after = |cut: usize, again: Option<(&Ranges, &[u8])>| {
        let mut array = Bytes::new(layout);
        array.write(row, &whole, &whole, &old);
        array.write_cut(row, &small, &small, &new, cut);
        if let Some((dirty, bytes)) = again {
            array.write(row, dirty, dirty, bytes);
        }
        array.fail(neighbour);
        array.row(row)[8..16].to_vec()
    };
    let kept: Vec<_> = old[8..16].iter().map(|b| Some(*b)).collect();
    assert_eq!(after(0, None), kept);
    assert_eq!(after(2, None), kept);
    let spoilt = after(1, None);
    assert_ne!(spoilt, kept);
    assert_eq!(after(1, Some((&small, &new))), spoilt);
    let mut mended = old.clone();
    mended[2..6].copy_from_slice(&new[2..6]);
    assert_eq!(after(1, Some((&whole, &mended))), kept);
}

#[test]
fn full_stripes_read_nothing_and_small_writes_two() {
    let layout = Layout::new(Level::Raid5, 8, 128, 12_800).unwrap();
    let ops = |ranges: Ranges| {
        let plan = plan::write(&layout, 3, &ranges, &ranges, |_| true);
        (plan.reads.len(), plan.writes.len())
    };
    assert_eq!(ops(Ranges::of(0, layout.row_sectors())), (0, 8));
    assert_eq!(ops(Ranges::of(16, 32)), (2, 2));
    // All but one unit: the one that is left is read, and no old parity.
    assert_eq!(ops(Ranges::of(0, 6 * 128)), (1, 7));
}
