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

use std::path::Path;

use serde::Deserialize;

use crate::error::Error;

pub use self::array::{ArrayFile, ArrayModel, Level, MemberQueue, ReadBalance};
pub use self::bus::{BusFile, BusKind};
pub use self::controller::{ControllerFile, GuestTable, QemuTable, SeveralDisksTable};
pub use self::drive::{
    DriveFile, DriveModel, QueueAlgorithm, ReadAheadAbort, ReadAheadStop, ZoneRow, ZoneTable,
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
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry<T> {
    /// The value; its unit stands in the key.
    pub value: T,
    /// How far it can be trusted.
    pub mark: Mark,
    /// Where it comes from.
    pub source: String,
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
