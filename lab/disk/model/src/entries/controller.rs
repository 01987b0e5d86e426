// SPDX-License-Identifier: MIT
//! A controller's file: what the lab needs to give QEMU and the guest one.

use serde::Deserialize;

use super::{BusKind, Entry, Note};

/// A controller file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // The keys are documented in catalogue/README.md, once.
pub struct ControllerFile {
    pub name: Note<String>,
    pub bus_kind: Entry<BusKind>,
    pub bus: Entry<String>,
    pub max_tags: Entry<u32>,
    pub qemu: QemuTable,
    pub guest: GuestTable,
    pub several_disks: Option<SeveralDisksTable>,
    pub card: Option<Entry<String>>,
}

/// How QEMU is given a controller and its disk.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QemuTable {
    /// `-device` argument of the controller; empty where the machine has it.
    pub device: String,
    /// `-device` argument of the disk, with `{node}` for the block node.
    pub disk_device: String,
}

/// How QEMU is given several disks. Serial numbers tell the guest which is which.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeveralDisksTable {
    /// How many disks there may be.
    pub most: u32,
    /// How many one controller takes; for more, the machine has several.
    pub each: u32,
    /// Buses of one controller, to which its disks are dealt out in turn.
    pub channels: u32,
    /// `-device` argument of a controller, with its number as `{controller}`.
    pub device: String,
    /// `-device` argument of a disk, with `{node}`, which is its serial number, too.
    pub disk_device: String,
}

/// How the guest finds it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestTable {
    /// Kernel modules in load order.
    pub modules: Vec<String>,
    /// Name of the disk under `/dev`.
    pub disk: String,
}
