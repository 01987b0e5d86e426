// SPDX-License-Identifier: MIT
//! What is asked of a unit, and what comes back.

/// Status of a command that failed: an I/O error.
pub const EIO: i32 = -5;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Read.
    Read,
    /// Write; acknowledged from the buffer when the write cache is on.
    Write,
    /// Everything acknowledged before it is on the medium when it completes.
    Flush,
    /// Write that is acknowledged from the medium.
    WriteFua,
}

impl Op {
    /// The letter in traces and request lists.
    pub fn letter(self) -> char {
        match self {
            Self::Read => 'R',
            Self::Write => 'W',
            Self::Flush => 'F',
            Self::WriteFua => 'U',
        }
    }

    /// The operation with this letter, in either case.
    pub fn from_letter(letter: &str) -> Option<Self> {
        match letter {
            "R" | "r" => Some(Self::Read),
            "W" | "w" => Some(Self::Write),
            "F" | "f" => Some(Self::Flush),
            "U" | "u" => Some(Self::WriteFua),
            _ => None,
        }
    }
}

/// What the order of a command's execution is bound to (SCSI-2, 7.8.2, queue tag messages).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tag {
    /// The drive may choose.
    #[default]
    Simple,
    /// After all that came before it, and before all that come after it.
    Ordered,
}

/// A command that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// What the caller gave.
    pub cookie: u64,
    /// Unit number.
    pub unit: u32,
    /// 0: all went well; [`EIO`]: the unit has failed.
    pub status: i32,
    /// When it was acknowledged.
    pub acknowledged_ns: i64,
    /// How many completions of the lab came before it.
    pub ordinal: u64,
}

/// A part of an acknowledged write that a power cut took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    /// Number of the write's completion.
    pub ordinal: u64,
    /// Unit number.
    pub unit: u32,
    /// First lost sector.
    pub lbn: u64,
    /// Lost sectors.
    pub sectors: u64,
}

/// What a host asks of a unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub op: Op,
    pub lbn: u64,
    /// None for a flush.
    pub sectors: u64,
    pub cookie: u64,
    pub tag: Tag,
}

impl Request {
    pub fn new(op: Op, lbn: u64, sectors: u64, cookie: u64, tag: Tag) -> Self {
        Self {
            op,
            lbn,
            sectors: if op == Op::Flush { 0 } else { sectors },
            cookie,
            tag,
        }
    }
}
