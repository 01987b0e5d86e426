// SPDX-License-Identifier: MIT
//! What a write to a row asks of the members: which sectors are read, what parity is made of, and
//! which sectors are written.

use super::layout::{Layout, Part};
use super::ranges::Ranges;

/// Sectors of one member's unit of the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Member.
    pub member: u32,
    /// First offset in the unit.
    pub start: u64,
    /// End.
    pub end: u64,
}

/// How new parity is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Of old parity, old data and new data.
    ReadModifyWrite,
    /// Of the data of all units, old and new.
    Reconstruct,
}

/// Offsets in the units over which the parity is made in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// First offset.
    pub start: u64,
    /// End.
    pub end: u64,
    /// How.
    pub method: Method,
    /// Data units with new data, over all of the segment.
    pub dirty: Vec<u64>,
}

/// A write to one row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// To be read first.
    pub reads: Vec<Extent>,
    /// Then written.
    pub writes: Vec<Extent>,
    /// The parity between.
    pub segments: Vec<Segment>,
    /// Parts that no member can take and no parity can stand for.
    pub lost: Vec<Part>,
}

/// Plans a write of `dirty` to a row of which `cached` (which includes `dirty`) is at hand; both
/// are offsets in the row. `valid` says which members hold what they should in this row.
///
/// Where a member is missing, its data lives in the parity alone: what is written to it is made
/// part of the parity from the data of all others, and its old data, which cannot be read, is kept
/// by changing the parity only by what changes. Otherwise the way that reads fewer sectors is
/// taken, and of equal ones that with fewer members.
pub fn write(
    layout: &Layout,
    row: u64,
    dirty: &Ranges,
    cached: &Ranges,
    valid: impl Fn(u32) -> bool,
) -> Plan {
    let mut plan = Plan::default();
    let mut reads = vec![Ranges::default(); layout.members() as usize];
    let mut writes = reads.clone();
    let size = layout.unit_sectors();
    let of_unit = |all: &Ranges, index: u64| {
        all.within(index * size, (index + 1) * size)
            .less(index * size)
    };
    for part in dirty
        .iter()
        .flat_map(|(start, end)| layout.parts(row, start, end))
    {
        for member in layout.copies(row, part.index).filter(|m| valid(*m)) {
            writes[member as usize].insert(part.start, part.end);
        }
    }
    let units: Vec<Ranges> = (0..layout.data_units())
        .map(|i| of_unit(dirty, i))
        .collect();
    let parity = layout.parity(row);
    let mut edges: Vec<u64> = units
        .iter()
        .flat_map(Ranges::iter)
        .flat_map(|(s, e)| [s, e])
        .collect();
    edges.sort_unstable();
    edges.dedup();
    for (start, end) in edges
        .iter()
        .zip(edges.iter().skip(1))
        .map(|(s, e)| (*s, *e))
    {
        let indices = 0..layout.data_units();
        let changed: Vec<u64> = indices
            .filter(|i| units[*i as usize].contains(start, end))
            .collect();
        if changed.is_empty() {
            continue;
        }
        let dead = |i: &u64| !layout.copies(row, *i).any(&valid);
        let parts = |list: &mut Vec<Part>| {
            let lost = changed.iter().filter(|i| dead(i));
            list.extend(lost.map(|&index| Part {
                row,
                index,
                start,
                end,
            }));
        };
        let Some(parity) = parity.filter(|p| valid(*p)) else {
            parts(&mut plan.lost);
            continue;
        };
        let member = |index: u64| layout.copies(row, index).start;
        let rest: Vec<(u32, Ranges)> = (0..layout.data_units())
            .filter(|i| !changed.contains(i))
            .map(|i| (member(i), of_unit(cached, i).missing(start, end)))
            .filter(|(_, missing)| !missing.is_empty())
            .collect();
        let modify = changed.iter().all(|i| !dead(i));
        let rebuild = rest.iter().all(|(m, _)| valid(*m));
        let modify_cost = (end - start) * (changed.len() as u64 + 1);
        let rebuild_cost: u64 = rest.iter().map(|(_, r)| r.sectors()).sum();
        let fewer = (rebuild_cost, rest.len()) < (modify_cost, changed.len() + 1);
        let method = match (modify, rebuild) {
            (_, true) if !modify || fewer => Method::Reconstruct,
            (true, _) => Method::ReadModifyWrite,
            _ => {
                parts(&mut plan.lost);
                continue;
            }
        };
        match method {
            Method::ReadModifyWrite => {
                let old = changed.iter().map(|i| member(*i)).chain([parity]);
                old.for_each(|m| reads[m as usize].insert(start, end));
            }
            Method::Reconstruct => rest.iter().for_each(|(m, r)| reads[*m as usize].add(r)),
        }
        writes[parity as usize].insert(start, end);
        plan.segments.push(Segment {
            start,
            end,
            method,
            dirty: changed,
        });
    }
    plan.reads = extents(&reads);
    plan.writes = extents(&writes);
    plan
}

/// One extent for each run of sectors, by member.
fn extents(of_member: &[Ranges]) -> Vec<Extent> {
    let all = (0..).zip(of_member);
    all.flat_map(|(member, ranges)| {
        ranges
            .iter()
            .map(move |(start, end)| Extent { member, start, end })
    })
    .collect()
}
