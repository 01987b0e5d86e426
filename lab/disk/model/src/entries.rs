// SPDX-License-Identifier: MIT
//! The files of the catalogue: drives, buses, controllers and arrays as TOML, each value with its
//! mark and source.
//!
//! The schema is described in `catalogue/README.md`. Unknown keys are refused, and a drive is
//! checked as a whole: capacity against zones, seek curve, skews, stated means.

mod array;
mod bus;
mod controller;
mod drive;

use std::fmt;
use std::path::Path;

use serde::Deserialize;

use crate::error::Error;

pub use self::array::{ArrayFile, ArrayModel, Level, MemberQueue, ReadBalance};
pub use self::bus::{BusFile, BusKind, HostBus};
pub use self::controller::{ControllerFile, GuestTable, QemuTable, SeveralDisksTable};
pub use self::drive::{
    DriveFile, DriveModel, QueueAlgorithm, ReadAheadAbort, ReadAheadStop, SegmentAccess, ZoneRow,
    ZoneTable,
};

/// How far a value can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// From the maker's document, or a catalogue copied from it.
    Datasheet,
    /// Measured on a real drive and published.
    Measured,
    /// Printed in the paper that is re-run.
    Seed,
    /// Computed from other values by the formula in the source.
    Derived,
    /// A named assumption: nothing published was found.
    Assumed,
    /// What a drive reported to an operating system in a public log.
    Log,
}

/// A value with its mark and source.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry<T> {
    /// The value; its unit stands in the key.
    pub value: T,
    /// How far it can be trusted.
    pub mark: Mark,
    /// Where it comes from.
    pub source: String,
}

/// Only the value: mark and source decide nothing.
impl<T: fmt::Debug> fmt::Debug for Entry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// A value that only describes, with its mark and source.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note<T> {
    /// The value; its unit stands in the key.
    pub value: T,
    /// How far it can be trusted.
    pub mark: Mark,
    /// Where it comes from.
    pub source: String,
}

/// Nothing: a description decides nothing.
impl<T> fmt::Debug for Note<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("-")
    }
}

/// Keys that only describe, in files of any kind: each is a [`Note`].
pub const DESCRIPTIVE: [&str; 7] = [
    "name",
    "model",
    "maker",
    "media",
    "capacity_gb",
    "interface",
    "interface_mb_s",
];

/// Who computes with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The model.
    Model,
    /// The lab (`lab/cell`), when it writes topologies and starts QEMU.
    Lab,
    /// Nobody: it only describes.
    Nobody,
}

impl Reader {
    /// The reader of `key` in files of `kind` (drives, buses, controllers, arrays).
    pub fn of(kind: &str, key: &str) -> Self {
        match (kind, key) {
            _ if DESCRIPTIVE.contains(&key) => Self::Nobody,
            ("controllers", _) | ("arrays", "member_buses") => Self::Lab,
            _ => Self::Model,
        }
    }
}

/// The value of an optional key.
pub(crate) fn value_or<T: Copy>(entry: &Option<Entry<T>>, otherwise: T) -> T {
    entry.as_ref().map_or(otherwise, |e| e.value)
}

/// Reads a text file.
///
/// # Errors
/// A file that is not there, or is no text.
pub fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path)
        .map_err(|e| Error::file(path.display().to_string(), format!("cannot be read: {e}")))
}

/// Parses TOML; the message has line, column and the keys that are allowed.
///
/// # Errors
/// Text that is not TOML, or not of this schema.
pub fn parse<T: serde::de::DeserializeOwned>(path: &str, text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|e| Error::file(path, e.to_string().trim_end().to_string()))
}
