// SPDX-License-Identifier: MIT
//! The catalogue: a folder of files (`entries`) by kind and name.

use std::path::{Path, PathBuf};

use crate::entries::value_or;
pub use crate::entries::*;
use crate::error::Error;

/// A catalogue folder.
#[derive(Debug, Clone)]
pub struct Catalogue {
    folder: PathBuf,
}

impl Catalogue {
    /// The catalogue in `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Loads a drive by name, with the values of `set` in place of its own.
    ///
    /// # Errors
    /// A missing or malformed file, an unknown key, or an impossible drive.
    pub fn drive(&self, name: &str, set: &toml::Table) -> Result<DriveModel, Error> {
        let (shown, file) = self.entry("drives", name, set)?;
        DriveModel::new(&shown, file)
    }

    /// The values of an entry that the model reads, by key, with those of `set` in place of its own.
    /// A key of `set` counts as read.
    ///
    /// # Errors
    /// An entry that does not load.
    pub fn inputs(&self, kind: &str, name: &str, set: &toml::Table) -> Result<toml::Table, Error> {
        let (_, table): (_, toml::Table) = match kind {
            "drives" => self.drive(name, set).map(drop),
            "buses" => self.bus(name).map(drop),
            "arrays" => self.array(name, set).map(drop),
            _ => self.controller(name).map(drop),
        }
        .and_then(|()| self.entry(kind, name, set))?;
        let read = |key: &str| set.contains_key(key) || Reader::of(kind, key) == Reader::Model;
        let entries = table.into_iter().filter(|(key, _)| read(key));
        let value = |(key, mut entry): (String, toml::Value)| {
            let value = entry.as_table_mut().and_then(|table| table.remove("value"));
            Some((key, value?))
        };
        Ok(entries.filter_map(value).collect())
    }

    /// Reads an entry, with the values of `set` in place of its own; returns its path too.
    fn entry<T: serde::de::DeserializeOwned>(
        &self,
        kind: &str,
        name: &str,
        set: &toml::Table,
    ) -> Result<(String, T), Error> {
        let path = self.path(kind, name)?;
        let shown = path.display().to_string();
        let text = read(&path)?;
        // Parsed as it stands first, so that a message can point at the line.
        let file: T = parse(&shown, &text)?;
        if set.is_empty() {
            return Ok((shown, file));
        }
        let (one, over) = match kind {
            "drives" => ("drive", "unit.set"),
            _ => ("array", "array.set"),
        };
        let mut table: toml::Table = parse(&shown, &text)?;
        for (key, value) in set {
            let entry = table
                .get_mut(key)
                .and_then(toml::Value::as_table_mut)
                .ok_or_else(|| {
                    Error::field(
                        over,
                        key.as_str(),
                        format!("{one} {name} has no such value to override; see its file"),
                    )
                })?;
            entry.insert("value".into(), value.clone());
            entry.insert("mark".into(), "assumed".into());
            entry.insert("source".into(), "override in the topology file".into());
        }
        let file = table.try_into().map_err(|e: toml::de::Error| {
            Error::file(format!("{over} over {shown}"), e.message().to_string())
        })?;
        Ok((shown, file))
    }

    /// Loads an array controller by name, with the values of `set` in place of its own, and the
    /// bus between it and the host; checks the name of its members' bus.
    ///
    /// # Errors
    /// A missing or malformed file, an unknown key, or an impossible controller.
    pub fn array(&self, name: &str, set: &toml::Table) -> Result<ArrayModel, Error> {
        let (shown, file): (String, ArrayFile) = self.entry("arrays", name, set)?;
        file.check(&shown)?;
        self.path("buses", &file.member_bus.value)?;
        let host_bus = self.bus(&file.host_bus.value)?;
        Ok(ArrayModel { file, host_bus })
    }

    /// Loads a drive by name or, if `name` ends in .toml, by path.
    ///
    /// # Errors
    /// As [`Catalogue::drive`].
    pub fn drive_or_file(&self, name: &str) -> Result<DriveModel, Error> {
        if name.ends_with(".toml") {
            DriveModel::load(Path::new(name))
        } else {
            self.drive(name, &toml::Table::new())
        }
    }

    /// Loads a bus by name.
    ///
    /// # Errors
    /// A missing or malformed file, an unknown key, or an impossible value.
    pub fn bus(&self, name: &str) -> Result<BusFile, Error> {
        let path = self.path("buses", name)?;
        let shown = path.display().to_string();
        let bus: BusFile = parse(&shown, &read(&path)?)?;
        if bus.rate_mb_s.value == 0 || value_or(&bus.write_rate_mb_s, 1) == 0 {
            return Err(Error::field(
                shown,
                "rate_mb_s, write_rate_mb_s",
                "a bus needs a rate above 0",
            ));
        }
        Ok(bus)
    }

    /// Loads a controller by name and checks the bus that it names.
    ///
    /// # Errors
    /// A missing or malformed file, an unknown key, or an impossible value.
    pub fn controller(&self, name: &str) -> Result<ControllerFile, Error> {
        let path = self.path("controllers", name)?;
        let shown = path.display().to_string();
        let file: ControllerFile = parse(&shown, &read(&path)?)?;
        let bus = self.bus(&file.bus.value)?;
        if bus.kind.value != file.bus_kind.value {
            return Err(Error::field(
                shown,
                "bus",
                format!("bus {} is of another kind than bus_kind", file.bus.value),
            ));
        }
        if !(1..=256).contains(&file.max_tags.value) {
            return Err(Error::field(shown, "max_tags", "must be 1 to 256"));
        }
        if let Some(card) = &file.card {
            let array = self.array(&card.value, &toml::Table::new())?.file;
            if (array.members.value, array.spares.value) != (1, 0) {
                return Err(Error::field(
                    shown,
                    "card",
                    format!("{} is not an array of one drive", card.value),
                ));
            }
            if array.member_bus.value != file.bus.value {
                return Err(Error::field(
                    shown,
                    "card",
                    format!(
                        "{} has its drive on {}, not on bus {}",
                        card.value, array.member_bus.value, file.bus.value
                    ),
                ));
            }
        }
        if let Some(several) = &file.several_disks {
            if [several.most, several.each, several.channels].contains(&0) {
                return Err(Error::field(
                    shown,
                    "several_disks",
                    "most, each and channels must be above 0",
                ));
            }
            if !several.disk_device.contains("{node}") {
                return Err(Error::field(
                    shown,
                    "several_disks.disk_device",
                    "lacks the placeholder {node}",
                ));
            }
        }
        if !file.qemu.disk_device.contains("{node}") {
            return Err(Error::field(
                shown,
                "qemu.disk_device",
                "lacks the placeholder {node}",
            ));
        }
        Ok(file)
    }

    /// Names of all entries of `kind` (`drives`, `buses`, `controllers` or `arrays`), sorted.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn names(&self, kind: &str) -> Result<Vec<String>, Error> {
        let folder = self.folder.join(kind);
        let entries = std::fs::read_dir(&folder).map_err(|e| {
            Error::file(
                folder.display().to_string(),
                format!("{e}; is this a catalogue folder?"),
            )
        })?;
        let mut names: Vec<String> = entries
            .filter_map(|e| e.ok())
            .filter_map(|e| {
                e.file_name()
                    .to_str()?
                    .strip_suffix(".toml")
                    .map(String::from)
            })
            .collect();
        names.sort();
        Ok(names)
    }

    fn path(&self, kind: &str, name: &str) -> Result<PathBuf, Error> {
        let known = self.names(kind)?;
        if known.iter().any(|k| k == name) {
            return Ok(self.folder.join(kind).join(format!("{name}.toml")));
        }
        Err(Error::file(
            self.folder.join(kind).display().to_string(),
            format!("no entry \"{name}\"; there are: {}", known.join(", ")),
        ))
    }
}
