// SPDX-License-Identifier: MIT
//! `spindle-disk units` and `spindle-disk inputs`: what a topology is, for programs.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{json, Value};
use spindle_disk::topology::{Topology, UnitKind, Used};
use spindle_disk::{Error, Lab};

/// Prints the units and arrays of a topology, in the order of their numbers.
pub fn units(path: &Path, as_json: bool) -> Result<(), Error> {
    let topology = Topology::load(path)?;
    let members: Vec<u32> = topology
        .arrays
        .iter()
        .flat_map(|array| array.members.iter().chain(&array.spares).copied())
        .collect();
    let drives_and_nulls = topology.units.iter().map(|unit| match unit.kind {
        UnitKind::Drive { .. } => (unit.name.clone(), "drive"),
        UnitKind::Null { .. } => (unit.name.clone(), "null"),
    });
    let arrays = topology.arrays.iter().map(|a| (a.name.clone(), "array"));
    let named: Vec<(String, &str)> = drives_and_nulls.chain(arrays).collect();
    let lab = Lab::new(topology);
    let mut rows = Vec::new();
    for (name, kind) in named {
        let unit = lab.unit(&name)?;
        let member = members.contains(&unit);
        let (sectors, max_tags) = (lab.sectors(unit), lab.max_tags(unit));
        if as_json {
            rows.push(json!({
                "name": name, "kind": kind, "sectors": sectors, "max_tags": max_tags,
                "member": member,
            }));
        } else {
            let member = if member { " (member)" } else { "" };
            println!("{name}: {kind}{member}, {sectors} sectors, {max_tags} tags");
        }
    }
    if as_json {
        println!("{:#}", Value::Array(rows));
    }
    Ok(())
}

/// Prints which entries of the catalogue a topology uses, with the values that the model reads.
/// Where units change values of one entry differently, each such unit has an object of its own,
/// with its name behind the entry's.
pub fn inputs(path: &Path, as_json: bool) -> Result<(), Error> {
    let mut by_entry: BTreeMap<String, Vec<Used>> = BTreeMap::new();
    for used in Used::of(path)? {
        let entry = format!("{}/{}", used.kind, used.name);
        by_entry.entry(entry).or_default().push(used);
    }
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    for (entry, users) in by_entry {
        let alike = users.iter().all(|used| used.values == users[0].values);
        for used in users {
            let name = if alike {
                entry.clone()
            } else {
                format!("{entry} {}", used.by)
            };
            let values: BTreeMap<String, toml::Value> = used.values.into_iter().collect();
            let values = serde_json::to_value(values)
                .map_err(|e| Error::Call(format!("{entry} cannot be written as JSON: {e}")))?;
            found.insert(name, values);
        }
    }
    for (entry, values) in &found {
        if !as_json {
            println!("{entry}: {values}");
        }
    }
    if as_json {
        println!("{:#}", json!(found));
    }
    Ok(())
}
