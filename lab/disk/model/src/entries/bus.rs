// SPDX-License-Identifier: MIT
//! A bus's file.

use serde::Deserialize;

use super::{Entry, Note};

/// Which commands and buses a drive speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BusKind {
    /// ATA: without tags one command owns the bus from start to end.
    Ata,
    /// SCSI: the drive disconnects while it works.
    Scsi,
    /// IPI-2: the drive has no buffer, so that data moves at the medium's pace; a channel that is
    /// busy when the sector comes costs a revolution.
    Ipi,
}

impl BusKind {
    /// Drives that fit on one bus: beside the host adapter the 16 IDs of wide SCSI leave 15, a
    /// channel of ATA takes two (White et al., Table 2), one of IPI-2 eight.
    pub fn drives(self) -> usize {
        match self {
            Self::Ata => 2,
            Self::Scsi => 15,
            Self::Ipi => 8,
        }
    }
}

/// A bus file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // The keys are documented in catalogue/README.md, once.
pub struct BusFile {
    pub name: Note<String>,
    pub kind: Entry<BusKind>,
    pub rate_mb_s: Entry<u64>,
    pub write_rate_mb_s: Option<Entry<u64>>,
    pub command_ns: Entry<u64>,
    pub reconnect_ns: Entry<u64>,
    pub status_ns: Entry<u64>,
}
