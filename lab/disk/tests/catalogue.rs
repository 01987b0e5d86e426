// SPDX-License-Identifier: MIT
//! The catalogue loads, and impossible entries are refused with the field named.

mod common;

use std::path::{Path, PathBuf};

use spindle_disk::catalogue::Catalogue;
use spindle_disk::topology::Topology;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue")
}

/// The message when `from` in a drive file is replaced by `to`.
fn drive_message(from: &str, to: &str) -> String {
    let copy = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "catalogue-{}-{}",
        from.len(),
        to.len()
    ));
    for kind in ["drives", "buses", "controllers", "arrays"] {
        std::fs::create_dir_all(copy.join(kind)).unwrap();
    }
    let text = std::fs::read_to_string(folder().join("drives/deskstar-75gxp.toml")).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(copy.join("drives/broken.toml"), text.replacen(from, to, 1)).unwrap();
    Catalogue::new(copy)
        .drive("broken", &toml::Table::new())
        .unwrap_err()
        .to_string()
}

#[test]
fn every_entry_loads() {
    let catalogue = Catalogue::new(folder());
    for name in catalogue.names("drives").unwrap() {
        catalogue.drive(&name, &toml::Table::new()).unwrap();
    }
    for name in catalogue.names("buses").unwrap() {
        catalogue.bus(&name).unwrap();
    }
    for name in catalogue.names("controllers").unwrap() {
        catalogue.controller(&name).unwrap();
    }
    for name in catalogue.names("arrays").unwrap() {
        catalogue.array(&name, &toml::Table::new()).unwrap();
    }
}

#[test]
fn impossible_drives_are_refused() {
    let cases = [
        (
            "value = 60036480",
            "value = 60336480",
            "sectors: the zones hold only",
        ),
        (
            "value = 60036480",
            "value = 50036480",
            "over 2 % more than the capacity",
        ),
        (
            "[[0, 694], [2270",
            "[[0, 694], [2271, 600], [2270",
            "zones: zone 1 starts",
        ),
        ("[[0, 694]", "[[5, 694]", "must start at cylinder 0"),
        ("value = 1500000", "value = 8400000", "cylinder_skew_ns: "),
        (
            "[1160000, 40200, 254]",
            "[1160000, 40200, 354]",
            "seek_read_mean_ns: ",
        ),
        (
            "curve_ns = [1160000, 40200, 254]",
            "table_ns = [[1, 900], [9, 800]]",
            "curve falls",
        ),
        ("value = 7200", "value = 72", "rpm: "),
        ("value = 479", "value = 579", "segment_sectors: "),
        ("[heads]", "[haeds]", "unknown field `haeds`"),
        ("value = 7200", "value = \"fast\"", "invalid type"),
        (
            "mark = \"seed\"",
            "mark = \"guess\"",
            "unknown variant `guess`",
        ),
    ];
    for (from, to, expected) in cases {
        let message = drive_message(from, to);
        assert!(message.contains(expected), "{from} -> {to}: {message}");
        assert!(message.contains("broken.toml"), "no file in: {message}");
    }
}

fn topology_message(unit: &str) -> String {
    let text = format!(
        "schema = \"spindle-topology/1\"\ncatalogue = {:?}\n[[bus]]\nname = \"bus0\"\n\
         entry = \"ata-100\"\n[[unit]]\n{unit}",
        folder()
    );
    match Topology::from_text("t.toml", &text) {
        Ok(_) => "good".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn topology_messages() {
    let good = "name = \"disk0\"\ndrive = \"deskstar-75gxp\"\nbus = \"bus0\"\nmax_tags = 32\n";
    assert_eq!(topology_message(good), "good");
    let cases = [
        (
            ("deskstar-75gxp", "deskstar"),
            "there are: deskstar-75gxp, hp-97548",
        ),
        (
            ("deskstar-75gxp", "ultrastar-36zx"),
            "does not fit on ata-100",
        ),
        (("32", "33"), "33, but deskstar-75gxp takes 32 at most"),
        (("32", "0"), "0 is not 1 to 256"),
        (("\"bus0\"", "\"bus1\""), "there is no bus \"bus1\""),
        (("max_tags = 32", "tags = 32"), "unknown field `tags`"),
        (("max_tags = 32", ""), "max_tags: is missing"),
        (
            ("max_tags = 32", "max_tags = 1\nqueue = \"lifo\""),
            "it has: fcfs, sptf, clook",
        ),
        (("disk0", "disk 0"), "must be a word"),
        (
            ("drive = \"deskstar-75gxp\"", ""),
            "either drive or null_latency_ns",
        ),
        (("32", "32\n[unit.set]\nsegments = 4"), "has no such value"),
        (
            ("32", "32\n[unit.set]\nwrite_segments = \"x\""),
            "invalid type",
        ),
    ];
    for ((from, to), expected) in cases {
        let message = topology_message(&good.replace(from, to));
        assert!(message.contains(expected), "{from} -> {to}: {message}");
    }
}

#[test]
fn topology_overrides_a_drive_value() {
    let unit = "name = \"disk0\"\ndrive = \"deskstar-75gxp\"\nbus = \"bus0\"\nmax_tags = 32\n\
                [unit.set]\nread_segments = 3";
    let text = format!(
        "schema = \"spindle-topology/1\"\ncatalogue = {:?}\n[[bus]]\nname = \"bus0\"\n\
         entry = \"ata-100\"\n[[unit]]\n{unit}",
        folder()
    );
    let topology = Topology::from_text("t.toml", &text).unwrap();
    let spindle_disk::topology::UnitKind::Drive { model, .. } = &topology.units[0].kind else {
        panic!("a drive");
    };
    assert_eq!(model.file.read_segments.value, 3);
}

#[test]
fn drives_take_little_memory() {
    let catalogue = Catalogue::new(folder());
    for name in catalogue.names("drives").unwrap() {
        let model = catalogue.drive(&name, &toml::Table::new()).unwrap();
        assert!(
            model.bytes() < 20_000_000,
            "{name} takes {} bytes",
            model.bytes()
        );
    }
}
