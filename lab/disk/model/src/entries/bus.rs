// SPDX-License-Identifier: MIT
//! A bus's file.

use serde::Deserialize;

use super::{Entry, Note};
use crate::error::Error;

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

/// The host's bus (PCI), over all buses that lead to the host. Nothing is set aside for the way
/// back: reads, writes and commands take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostBus {
    /// Rate of reads, and of writes without [`HostBus::write_rate_kb_s`], in 10^3 bytes a second.
    pub rate_kb_s: u64,
    /// Rate of writes, in 10^3 bytes a second.
    pub write_rate_kb_s: Option<u64>,
    /// For how long each command holds it before the command reaches its unit, in ns.
    #[serde(default)]
    pub request_ns: u64,
}

/// Longest cost of a command on the host's bus: a second.
const HOST_REQUEST_NS_MAX: u64 = 1_000_000_000;

impl HostBus {
    /// A bus of one rate, in 10^3 bytes a second, on which commands cost nothing.
    pub fn of_rate(rate_kb_s: u64) -> Self {
        Self {
            rate_kb_s,
            write_rate_kb_s: None,
            request_ns: 0,
        }
    }

    /// The rate for data to (`inbound`) or from the units, in 10^3 bytes a second.
    pub(crate) fn rate_of(&self, inbound: bool) -> u64 {
        self.write_rate_kb_s
            .filter(|_| inbound)
            .unwrap_or(self.rate_kb_s)
    }

    pub(crate) fn check(&self, path: &str) -> Result<(), Error> {
        let wrong = |field: &str, message: String| Err(Error::field(path, field, message));
        if self.rate_kb_s == 0 {
            return wrong("host_bus.rate_kb_s", "must be above 0".into());
        }
        if self.write_rate_kb_s == Some(0) {
            return wrong("host_bus.write_rate_kb_s", "must be above 0".into());
        }
        if self.request_ns > HOST_REQUEST_NS_MAX {
            return wrong(
                "host_bus.request_ns",
                format!("must be at most {HOST_REQUEST_NS_MAX}"),
            );
        }
        Ok(())
    }
}
