// SPDX-License-Identifier: MIT
//! The topology file: which buses and units one lab has (format in `docs/interfaces.md`).

use std::path::Path;

use serde::Deserialize;

use crate::array::layout::Layout;
use crate::array::ArraySpec;
use crate::catalogue::Catalogue;
pub use crate::entries::HostBus;
use crate::entries::{self, BusFile, DriveModel, QueueAlgorithm};
use crate::error::Error;

/// Schema name that a topology file must carry.
pub const SCHEMA: &str = "spindle-topology/1";

/// Longest latency of a null unit: an hour.
const NULL_LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// Commands a null unit takes at once when the file does not say.
const NULL_MAX_TAGS: u32 = 256;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    catalogue: String,
    host_bus: Option<HostBus>,
    #[serde(default)]
    bus: Vec<BusEntry>,
    unit: Vec<UnitEntry>,
    #[serde(default)]
    array: Vec<ArrayEntry>,
    #[serde(default)]
    fault: Vec<FaultEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArrayEntry {
    name: String,
    controller: String,
    members: Vec<String>,
    #[serde(default)]
    spares: Vec<String>,
    max_tags: Option<u32>,
    card: Option<String>,
    #[serde(default)]
    set: toml::Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultEntry {
    unit: String,
    marker: Option<String>,
    after_marker_ns: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BusEntry {
    name: String,
    entry: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnitEntry {
    name: String,
    drive: Option<String>,
    bus: Option<String>,
    max_tags: Option<u32>,
    queue: Option<String>,
    write_cache: Option<bool>,
    null_latency_ns: Option<u64>,
    #[serde(default)]
    member: bool,
    #[serde(default)]
    set: toml::Table,
}

/// What stands behind a unit.
#[derive(Debug, Clone)]
pub enum UnitKind {
    /// A drive of the catalogue.
    Drive {
        /// The drive.
        model: Box<DriveModel>,
        /// Index of its bus.
        bus: usize,
        /// Queue order in force.
        queue: QueueAlgorithm,
        /// Whether the write cache is on.
        write_cache: bool,
    },
    /// The null model: every command takes the same time, in parallel.
    Null {
        /// That time.
        latency_ns: u64,
    },
}

/// A unit of the lab.
#[derive(Debug, Clone)]
pub struct UnitSpec {
    /// Its name; unique.
    pub name: String,
    /// Commands that can be outstanding at it.
    pub max_tags: u32,
    /// Drive or null.
    pub kind: UnitKind,
}

/// A drive that fails for good: its commands end with an I/O error from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Unit number of the drive.
    pub unit: u32,
    /// Label of the marker that it counts from; none: the first of all.
    pub marker: Option<String>,
    /// When, after that marker.
    pub after_marker_ns: i64,
}

/// A whole lab, loaded and checked.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    /// Buses in the file's order.
    pub buses: Vec<BusFile>,
    /// Units in the file's order; the index is the unit number.
    pub units: Vec<UnitSpec>,
    /// The bus that all buses to the host share.
    pub host_bus: Option<HostBus>,
    /// Arrays; their unit numbers follow those of the units.
    pub arrays: Vec<ArraySpec>,
    /// Drives that fail.
    pub faults: Vec<Fault>,
}

/// An entry of the catalogue that a topology uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Used {
    /// Kind: `drives`, `buses` or `arrays`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Unit, bus or array of the topology that uses it.
    pub by: String,
    /// The values of it that the model reads, those of the topology's `set` over its own.
    pub values: toml::Table,
}

impl Used {
    /// What the topology file at `path` uses: drives, buses and arrays in the file's order, and the
    /// buses between arrays and the host.
    ///
    /// # Errors
    /// As [`Topology::load`].
    pub fn of(path: &Path) -> Result<Vec<Self>, Error> {
        let text = entries::read(path)?;
        let path = path.display().to_string();
        Topology::from_text(&path, &text)?;
        let file: File = entries::parse(&path, &text)?;
        let catalogue = Catalogue::new(&file.catalogue);
        let none = toml::Table::new();
        let mut found = Vec::new();
        let mut add = |kind, name: &str, by: &str, set: &toml::Table| {
            found.push(Self {
                kind,
                name: name.into(),
                by: by.into(),
                values: catalogue.inputs(kind, name, set)?,
            });
            Ok::<(), Error>(())
        };
        for bus in &file.bus {
            add("buses", &bus.entry, &bus.name, &none)?;
        }
        for unit in &file.unit {
            if let Some(drive) = &unit.drive {
                add("drives", drive, &unit.name, &unit.set)?;
            }
        }
        for array in &file.array {
            add("arrays", &array.controller, &array.name, &array.set)?;
            let host_bus = catalogue
                .array(&array.controller, &array.set)?
                .file
                .host_bus;
            add("buses", &host_bus.value, &array.name, &none)?;
        }
        Ok(found)
    }
}

impl Topology {
    /// Reads a topology file and the catalogue entries that it names.
    ///
    /// # Errors
    /// A file that cannot be read, an unknown key or name, a value out of range.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::from_text(&path.display().to_string(), &entries::read(path)?)
    }

    /// The same from text; `path` is for messages.
    ///
    /// # Errors
    /// As [`Topology::load`].
    pub fn from_text(path: &str, text: &str) -> Result<Self, Error> {
        let file: File = entries::parse(path, text)?;
        if file.schema != SCHEMA {
            return Err(Error::field(
                path,
                "schema",
                format!(
                    "\"{}\" is not \"{SCHEMA}\"; write the file anew",
                    file.schema
                ),
            ));
        }
        file.host_bus.as_ref().map_or(Ok(()), |h| h.check(path))?;
        let catalogue = Catalogue::new(&file.catalogue);
        let mut buses = Vec::new();
        for (i, bus) in file.bus.iter().enumerate() {
            if file.bus[..i].iter().any(|b| b.name == bus.name) {
                return Err(Error::field(
                    path,
                    "bus.name",
                    format!("two are \"{}\"", bus.name),
                ));
            }
            buses.push(catalogue.bus(&bus.entry)?);
        }
        let mut units: Vec<UnitSpec> = Vec::new();
        for unit in &file.unit {
            let spec = unit_spec(path, unit, &file.bus, &buses, &catalogue)?;
            if units.iter().any(|u| u.name == spec.name) {
                return Err(Error::field(
                    path,
                    "unit.name",
                    format!("two are \"{}\"", spec.name),
                ));
            }
            units.push(spec);
        }
        check_drives(path, &file.bus, &buses, &units)?;
        let mut arrays: Vec<ArraySpec> = Vec::new();
        for entry in &file.array {
            let spec = array_spec(path, entry, &file.unit, &mut units, &arrays, &catalogue)?;
            arrays.push(spec);
        }
        check_members(path, &file, &units, &arrays)?;
        let faults = file.fault.iter().map(|f| fault(path, f, &units));
        let faults = faults.collect::<Result<_, _>>()?;
        Ok(Self {
            buses,
            units,
            host_bus: file.host_bus,
            arrays,
            faults,
        })
    }
}

fn array_spec(
    path: &str,
    entry: &ArrayEntry,
    entries: &[UnitEntry],
    units: &mut [UnitSpec],
    others: &[ArraySpec],
    catalogue: &Catalogue,
) -> Result<ArraySpec, Error> {
    let wrong = |field: &str, message: String| {
        let field = format!("array \"{}\": {field}", entry.name);
        Err(Error::field(path, field, message))
    };
    if let Some(message) = bad_name(&entry.name) {
        return wrong("name", message.into());
    }
    let same_card = |a: &&ArraySpec| entry.card.is_some() && a.card == entry.card;
    let taken = units.iter().any(|u| u.name == entry.name);
    if taken || others.iter().any(|a| a.name == entry.name) {
        return wrong("name", "a unit or array has it already".into());
    }
    let model = catalogue.array(&entry.controller, &entry.set)?;
    let file = &model.file;
    if let Some(other) = others.iter().find(same_card) {
        let (here, there) = (&file.host_bus.value, &other.model.file.host_bus.value);
        if here != there {
            return wrong(
                "card",
                format!("its link is {here}, that of \"{}\" {there}", other.name),
            );
        }
    }
    for (field, names, wanted) in [
        ("members", &entry.members, file.members.value),
        ("spares", &entry.spares, file.spares.value),
    ] {
        if names.len() != wanted as usize {
            return wrong(
                field,
                format!(
                    "{} are named; {} has {wanted}",
                    names.len(),
                    entry.controller
                ),
            );
        }
    }
    let max_tags = entry.max_tags.unwrap_or(file.max_tags.value);
    if !(1..=file.max_tags.value).contains(&max_tags) {
        let most = file.max_tags.value;
        return wrong("max_tags", format!("{max_tags} is not 1 to {most}"));
    }
    let mut numbers: Vec<u32> = Vec::new();
    let mut least = u64::MAX;
    for name in entry.members.iter().chain(&entry.spares) {
        let Some(number) = units.iter().position(|u| &u.name == name) else {
            return wrong(
                "members",
                format!("there is no unit \"{name}\" in this file"),
            );
        };
        let used = |a: &ArraySpec| {
            a.members
                .iter()
                .chain(&a.spares)
                .any(|m| *m == number as u32)
        };
        if numbers.contains(&(number as u32)) || others.iter().any(used) {
            return wrong("members", format!("\"{name}\" is named twice"));
        }
        if !entries[number].member {
            return wrong("members", format!("unit \"{name}\" lacks member = true"));
        }
        let UnitKind::Drive {
            model, write_cache, ..
        } = &mut units[number].kind
        else {
            return wrong("members", format!("\"{name}\" is a null unit"));
        };
        // The controller decides that of its drives.
        *write_cache = file.member_write_cache.value;
        least = least.min(model.geometry.sectors);
        numbers.push(number as u32);
    }
    let unit_sectors = file.stripe_unit_kb.value * 2;
    let layout = Layout::new(file.level.value, file.members.value, unit_sectors, least);
    let layout = match layout {
        Ok(layout) => layout,
        Err(message) => return wrong("members", message),
    };
    let spares = numbers.split_off(entry.members.len());
    Ok(ArraySpec {
        name: entry.name.clone(),
        max_tags,
        card: entry.card.clone(),
        model: Box::new(model),
        members: numbers,
        spares,
        layout,
    })
}

/// Refuses members of no array, and buses that an array shares with others.
fn check_members(
    path: &str,
    file: &File,
    units: &[UnitSpec],
    arrays: &[ArraySpec],
) -> Result<(), Error> {
    let array_of = |number: usize| {
        let has = |a: &ArraySpec| {
            a.members
                .iter()
                .chain(&a.spares)
                .any(|m| *m as usize == number)
        };
        arrays.iter().position(has)
    };
    for (number, (entry, unit)) in file.unit.iter().zip(units).enumerate() {
        let wrong = |field: &str, message: String| {
            let field = format!("unit \"{}\": {field}", unit.name);
            Err(Error::field(path, field, message))
        };
        if entry.member && array_of(number).is_none() {
            return wrong("member", "no array names it".into());
        }
        if entry.member && entry.write_cache.is_some() {
            return wrong(
                "write_cache",
                "the array decides that of its members: member_write_cache".into(),
            );
        }
        let UnitKind::Drive { bus, .. } = unit.kind else {
            continue;
        };
        let stranger = units.iter().enumerate().find(|(other, u)| {
            let here = matches!(u.kind, UnitKind::Drive { bus: b, .. } if b == bus);
            here && array_of(*other) != array_of(number)
        });
        if let Some((_, other)) = stranger {
            return wrong(
                "bus",
                format!(
                    "the bus of an array's members is its own; \"{}\" is on it too",
                    other.name
                ),
            );
        }
    }
    Ok(())
}

/// What is wrong with a name, if anything.
fn bad_name(name: &str) -> Option<&'static str> {
    let bad = name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '#');
    bad.then_some("must be a word without # (it stands in the trace)")
}

/// Refuses more drives on a bus than it takes.
fn check_drives(
    path: &str,
    entries: &[BusEntry],
    buses: &[BusFile],
    units: &[UnitSpec],
) -> Result<(), Error> {
    for (number, (entry, bus)) in entries.iter().zip(buses).enumerate() {
        let here = |u: &&UnitSpec| matches!(u.kind, UnitKind::Drive { bus, .. } if bus == number);
        let (drives, most) = (units.iter().filter(here).count(), bus.kind.value.drives());
        if drives > most {
            return Err(Error::field(
                path,
                format!("bus \"{}\"", entry.name),
                format!("has {drives} drives; {} takes {most}", entry.entry),
            ));
        }
    }
    Ok(())
}

fn fault(path: &str, entry: &FaultEntry, units: &[UnitSpec]) -> Result<Fault, Error> {
    let wrong = |message: String| {
        let field = format!("fault of \"{}\"", entry.unit);
        Err(Error::field(path, field, message))
    };
    let Some(unit) = units.iter().position(|u| u.name == entry.unit) else {
        return wrong("there is no such unit in this file".into());
    };
    if matches!(units[unit].kind, UnitKind::Null { .. }) {
        return wrong("only a drive can fail; this is a null unit".into());
    }
    if entry.after_marker_ns < 0 {
        return wrong("after_marker_ns must be 0 or more".into());
    }
    Ok(Fault {
        unit: unit as u32,
        marker: entry.marker.clone(),
        after_marker_ns: entry.after_marker_ns,
    })
}

fn unit_spec(
    path: &str,
    unit: &UnitEntry,
    entries: &[BusEntry],
    buses: &[BusFile],
    catalogue: &Catalogue,
) -> Result<UnitSpec, Error> {
    let wrong = |field: &str, message: String| {
        Err(Error::field(
            path,
            format!("unit \"{}\": {field}", unit.name),
            message,
        ))
    };
    if let Some(message) = bad_name(&unit.name) {
        return wrong("name", message.into());
    }
    let max_tags = match (unit.max_tags, &unit.drive) {
        (Some(tags), _) if !(1..=256).contains(&tags) => {
            return wrong("max_tags", format!("{tags} is not 1 to 256"));
        }
        (Some(tags), _) => tags,
        (None, Some(_)) => return wrong("max_tags", "is missing; write 1 for no tags".into()),
        (None, None) => NULL_MAX_TAGS,
    };
    let kind = match (&unit.drive, unit.null_latency_ns) {
        (None, Some(latency_ns)) => {
            if unit.bus.is_some()
                || unit.queue.is_some()
                || unit.write_cache.is_some()
                || unit.member
                || !unit.set.is_empty()
            {
                return wrong(
                    "null_latency_ns",
                    "a null unit has no bus and no settings".into(),
                );
            }
            UnitKind::Null {
                latency_ns: latency_ns.min(NULL_LATENCY_NS_MAX),
            }
        }
        (Some(drive), None) => {
            let Some(bus_name) = &unit.bus else {
                return wrong("bus", "is missing; name one of the buses".into());
            };
            let Some(bus) = entries.iter().position(|b| &b.name == bus_name) else {
                return wrong(
                    "bus",
                    format!("there is no bus \"{bus_name}\" in this file"),
                );
            };
            let model = catalogue.drive(drive, &unit.set)?;
            if model.file.bus_kind.value != buses[bus].kind.value {
                return wrong(
                    "bus",
                    format!("{drive} does not fit on {}", entries[bus].entry),
                );
            }
            if max_tags > model.file.max_tags.value {
                return wrong(
                    "max_tags",
                    format!(
                        "{max_tags}, but {drive} takes {} at most",
                        model.file.max_tags.value
                    ),
                );
            }
            let queue = match &unit.queue {
                None => model.file.queue.value,
                Some(name) => queue_of(&model, name).map_err(|message| {
                    Error::field(path, format!("unit \"{}\": queue", unit.name), message)
                })?,
            };
            let write_cache = unit.write_cache.unwrap_or(model.file.write_cache.value);
            UnitKind::Drive {
                model: Box::new(model),
                bus,
                queue,
                write_cache,
            }
        }
        _ => return wrong("drive", "write either drive or null_latency_ns".into()),
    };
    Ok(UnitSpec {
        name: unit.name.clone(),
        max_tags,
        kind,
    })
}

/// The queue algorithm `name`, if the drive offers it.
pub(crate) fn queue_of(model: &DriveModel, name: &str) -> Result<QueueAlgorithm, String> {
    let offered = &model.file.queue_algorithms.value;
    QueueAlgorithm::from_name(name)
        .filter(|q| offered.contains(q))
        .ok_or_else(|| {
            let names: Vec<_> = offered.iter().map(|q| q.name()).collect();
            format!(
                "\"{name}\" is not offered by this drive; it has: {}",
                names.join(", ")
            )
        })
}
