// SPDX-License-Identifier: MIT
//! A topology of one drive on one bus, made in memory: for replays that need no topology file.

use spindle_disk::catalogue::{BusFile, Catalogue, DriveModel};
use spindle_disk::topology::{Topology, UnitKind, UnitSpec};
use spindle_disk::Error;

/// Name of the only unit.
pub const UNIT: &str = "disk0";

/// Puts `drive` on `bus`. A `drive` that ends in `.toml` is a drive file, any other and `bus` are
/// names in the catalogue. `max_tags` are the commands that can be outstanding; without it, as
/// many as the drive takes.
///
/// # Errors
/// A file that cannot be read, an unknown name, a drive that does not fit on the bus, or tags
/// that the drive does not have.
pub fn topology(
    catalogue: &Catalogue,
    drive: &str,
    bus: &str,
    max_tags: Option<u32>,
) -> Result<Topology, Error> {
    let model = catalogue.drive_or_file(drive)?;
    let bus_file = catalogue.bus(bus)?;
    if model.file.bus_kind.value != bus_file.kind.value {
        return Err(Error::Call(format!(
            "drive {drive} does not fit on bus {bus}: they are of different kinds"
        )));
    }
    let most = model.file.max_tags.value;
    let max_tags = max_tags.unwrap_or(most);
    if !(1..=most).contains(&max_tags) {
        return Err(Error::Call(format!(
            "{max_tags} tags: drive {drive} takes 1 (no queue) to {most}"
        )));
    }
    Ok(of(model, bus_file, max_tags))
}

/// The same of parts that are at hand and fit.
pub(crate) fn of(model: DriveModel, bus: BusFile, max_tags: u32) -> Topology {
    Topology {
        buses: vec![bus],
        units: vec![UnitSpec {
            name: UNIT.into(),
            max_tags,
            kind: UnitKind::Drive {
                queue: model.file.queue.value,
                write_cache: model.file.write_cache.value,
                model: Box::new(model),
                bus: 0,
            },
        }],
        host_bus: None,
        ..Topology::default()
    }
}
