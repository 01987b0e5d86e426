// SPDX-License-Identifier: MIT
//! Where an array keeps a sector.
//!
//! All members are cut into stripe units, and the units with one number make a row. A row holds
//! its data units one behind the other in the order of logical addresses; an offset in a row
//! counts the sectors of its data.

pub use crate::entries::Level;

/// What a member's unit of a row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// This data unit of the row.
    Data(u64),
    /// The parity of the row.
    Parity,
}

/// A part of one data unit: `start..end` are offsets in the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Row.
    pub row: u64,
    /// Data unit of the row.
    pub index: u64,
    /// First sector.
    pub start: u64,
    /// End.
    pub end: u64,
}

/// The map of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    level: Level,
    members: u32,
    unit_sectors: u64,
    rows: u64,
}

impl Layout {
    /// The map of `members` of which the smallest has `member_sectors`; whole units count.
    ///
    /// # Errors
    /// Too few members, an odd number for pairs, or members smaller than a unit.
    pub fn new(
        level: Level,
        members: u32,
        unit_sectors: u64,
        member_sectors: u64,
    ) -> Result<Self, String> {
        let least = match level {
            Level::Raid0 => 1,
            Level::Raid1 | Level::Raid10 => 2,
            Level::Raid5 => 3,
        };
        if members < least {
            return Err(format!("{members} members; this level needs {least}"));
        }
        if level == Level::Raid10 && members % 2 != 0 {
            return Err(format!("{members} members make no pairs"));
        }
        let rows = member_sectors.checked_div(unit_sectors).unwrap_or(0);
        if rows == 0 {
            return Err(format!(
                "a stripe unit of {unit_sectors} sectors on members of {member_sectors}"
            ));
        }
        Ok(Self {
            level,
            members,
            unit_sectors,
            rows,
        })
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Number of members.
    pub fn members(&self) -> u32 {
        self.members
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Sectors of a stripe unit.
    pub fn unit_sectors(&self) -> u64 {
        self.unit_sectors
    }

    /// Data units of a row.
    pub fn data_units(&self) -> u64 {
        let members = u64::from(self.members);
        match self.level {
            Level::Raid0 => members,
            Level::Raid1 => 1,
            Level::Raid10 => members / 2,
            Level::Raid5 => members - 1,
        }
    }

    /// Data sectors of a row.
    pub fn row_sectors(&self) -> u64 {
        self.data_units() * self.unit_sectors
    }

    /// Data sectors of the array.
    pub fn sectors(&self) -> u64 {
        self.rows * self.row_sectors()
    }

    /// The member that holds the parity of a row, if one does.
    pub fn parity(&self, row: u64) -> Option<u32> {
        let members = u64::from(self.members);
        (self.level == Level::Raid5).then(|| (members - 1 - row % members) as u32)
    }

    /// The members that hold data unit `index` of a row: one, or all its copies.
    pub fn copies(&self, row: u64, index: u64) -> std::ops::Range<u32> {
        let first = match self.level {
            Level::Raid0 => index as u32,
            Level::Raid1 => return 0..self.members,
            Level::Raid10 => return index as u32 * 2..index as u32 * 2 + 2,
            Level::Raid5 => {
                let members = u64::from(self.members);
                let parity = members - 1 - row % members;
                ((parity + 1 + index) % members) as u32
            }
        };
        first..first + 1
    }

    /// What `member` holds in a row.
    pub fn holds(&self, row: u64, member: u32) -> Holds {
        match self.parity(row) {
            Some(parity) if parity == member => Holds::Parity,
            Some(parity) => {
                let members = self.members;
                Holds::Data(u64::from((member + members - parity - 1) % members))
            }
            None => Holds::Data(match self.level {
                Level::Raid1 => 0,
                Level::Raid10 => u64::from(member / 2),
                _ => u64::from(member),
            }),
        }
    }

    /// The members from which `member`'s unit of a row can be had if it is lost: of mirrors, any
    /// one of these; of RAID 5, all together.
    pub fn sources(&self, row: u64, member: u32) -> Vec<u32> {
        let from = match (self.level, self.holds(row, member)) {
            (Level::Raid5, _) => 0..self.members,
            (_, Holds::Data(index)) => self.copies(row, index),
            (_, Holds::Parity) => unreachable!("only RAID 5 has parity"),
        };
        from.filter(|m| *m != member).collect()
    }

    /// Address on a member.
    pub fn member_lbn(&self, row: u64, offset: u64) -> u64 {
        row * self.unit_sectors + offset
    }

    /// The rows of `lbn..end`, with first and end offset in each.
    pub fn rows_of(&self, lbn: u64, end: u64) -> impl Iterator<Item = (u64, u64, u64)> {
        let size = self.row_sectors();
        (lbn / size..end.div_ceil(size)).map(move |row| {
            let first = row * size;
            (row, lbn.max(first) - first, end.min(first + size) - first)
        })
    }

    /// The parts of data units of `start..end`, offsets in a row.
    pub fn parts(&self, row: u64, start: u64, end: u64) -> impl Iterator<Item = Part> {
        let size = self.unit_sectors;
        (start / size..end.div_ceil(size)).map(move |index| {
            let first = index * size;
            Part {
                row,
                index,
                start: start.max(first) - first,
                end: end.min(first + size) - first,
            }
        })
    }
}
