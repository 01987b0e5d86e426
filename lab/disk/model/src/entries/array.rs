// SPDX-License-Identifier: MIT
//! An array controller's file in the catalogue (`catalogue/arrays/`).

use serde::Deserialize;

use super::{value_or, BusFile, Entry, Note};
use crate::error::Error;

/// How an array keeps its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Striped, each sector once.
    Raid0,
    /// Every member holds everything.
    Raid1,
    /// Striped over pairs that hold the same: members 0 and 1, 2 and 3, ...
    Raid10,
    /// Striped with one parity unit in a row, left-symmetric: parity goes from the last member
    /// to the first, row by row, and the data begins behind it.
    Raid5,
}

/// Which copy of a mirror a read goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadBalance {
    /// The first one that is whole.
    First,
    /// The one with the fewest commands; of equal ones that whose arm is nearer.
    Nearest,
    /// The same, but a sequential stream of which enough is outstanding goes to all copies in turn.
    Twinstor,
}

/// The order in which the controller hands commands to a member that has no more tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberQueue {
    /// First come, first served.
    Fcfs,
    /// Rising LBN, then back to the lowest.
    Clook,
}

/// An array file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // The keys are documented in catalogue/README.md, once.
pub struct ArrayFile {
    pub name: Note<String>,
    pub level: Entry<Level>,
    pub members: Entry<u32>,
    pub spares: Entry<u32>,
    pub stripe_unit_kb: Entry<u64>,
    pub host_bus: Entry<String>,
    pub max_tags: Entry<u32>,
    pub member_bus: Entry<String>,
    pub member_buses: Entry<u32>,
    pub member_queue: Entry<MemberQueue>,
    pub member_write_cache: Entry<bool>,
    pub host_command_ns: Entry<u64>,
    pub member_command_ns: Entry<u64>,
    pub xor_mb_s: Entry<u64>,
    pub cache_kb: Entry<u64>,
    pub write_back: Entry<bool>,
    pub battery: Entry<bool>,
    pub destage_jobs: Entry<u32>,
    pub destage_idle_ns: Entry<u64>,
    pub destage_above_permille: Entry<u32>,
    pub read_balance: Entry<ReadBalance>,
    pub sequential_kb: Entry<u64>,
    pub rebuild_kib_s: Entry<u64>,
    pub cut_through: Option<Entry<bool>>,
}

/// An array controller, checked, and the bus between it and the host.
#[derive(Debug, Clone)]
pub struct ArrayModel {
    /// The file it came from.
    pub file: ArrayFile,
    /// The host's interface.
    pub host_bus: BusFile,
}

impl ArrayFile {
    /// Whether data crosses the controller as it comes; otherwise it is stored and forwarded.
    pub(crate) fn cuts_through(&self) -> bool {
        value_or(&self.cut_through, false)
    }

    /// Refuses what no controller can be; `path` is for the message.
    ///
    /// # Errors
    /// The field at fault.
    pub fn check(&self, path: &str) -> Result<(), Error> {
        let wrong = |field: &str, message: &str| Err(Error::field(path, field, message));
        if !(1..=64).contains(&self.members.value) || self.spares.value > 64 {
            return wrong("members, spares", "1 to 64 members, 0 to 64 spares");
        }
        if !(1..=1 << 20).contains(&self.stripe_unit_kb.value) {
            return wrong("stripe_unit_kb", "must be 1 to 1048576");
        }
        if !(1..=256).contains(&self.max_tags.value) {
            return wrong("max_tags", "must be 1 to 256");
        }
        if !(1..=65_536).contains(&self.destage_jobs.value) {
            return wrong("destage_jobs", "must be 1 to 65536");
        }
        let longest = self.host_command_ns.value.max(self.member_command_ns.value);
        if longest > 1_000_000_000 || self.destage_idle_ns.value > 3_600_000_000_000 {
            return wrong(
                "*_command_ns, destage_idle_ns",
                "over 1 s a command, or over an hour of waiting",
            );
        }
        if self.destage_above_permille.value > 1000 {
            return wrong("destage_above_permille", "must be 0 to 1000");
        }
        if self.level.value == Level::Raid5 && self.xor_mb_s.value == 0 {
            return wrong("xor_mb_s", "parity takes time; write a rate above 0");
        }
        if self.write_back.value && self.cache_kb.value == 0 {
            return wrong(
                "write_back",
                "there is no cache_kb to hold what is acknowledged",
            );
        }
        if self.cache_kb.value > 1 << 24 || self.rebuild_kib_s.value > 1 << 24 {
            return wrong("cache_kb, rebuild_kib_s", "over 16 GB, or 16 GB a second");
        }
        if self.cuts_through() && (self.cache_kb.value > 0 || self.level.value == Level::Raid5) {
            return wrong(
                "cut_through",
                "data stays in a cache, and until its parity is made: leave it out, or set \
                 cache_kb to 0 and a level without parity",
            );
        }
        if self.battery.value && self.member_write_cache.value {
            return wrong(
                "member_write_cache",
                "a battery keeps the controller's cache, not those of the members: with battery, \
                 member_write_cache must be false",
            );
        }
        if self.battery.value && !self.write_back.value {
            return wrong(
                "battery",
                "without write_back there is nothing for it to keep",
            );
        }
        Ok(())
    }
}
