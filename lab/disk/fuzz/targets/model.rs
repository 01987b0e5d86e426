// SPDX-License-Identifier: MIT
//! Valid drives with other numbers: what is wrong with them must be said, and what is accepted
//! the model must be able to run, a few requests at both ends and in the middle of the drive.
//!
//! The input is a list of edits, since a text that is changed by chance is hardly ever a drive.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use spindle_disk::catalogue::{BusFile, Catalogue, DriveFile, DriveModel};
use spindle_disk::topology::{Topology, UnitKind, UnitSpec};
use spindle_disk::{Lab, Op, NEVER, TIME_MAX_NS};

/// Two drives and the buses for them.
static BASES: LazyLock<[(toml::Table, BusFile); 2]> = LazyLock::new(|| {
    let catalogue = Catalogue::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../catalogue"));
    let base = |text: &str, bus: &str| {
        let table = text.parse().expect("a seed is TOML");
        (table, catalogue.bus(bus).expect("a bus of the catalogue"))
    };
    [
        base(include_str!("../seeds/drive/small"), "ultra2-scsi"),
        base(include_str!("../seeds/drive/table"), "ata-100"),
    ]
});

/// Which number of the drive, the bits to drop, and its new value.
type Edit = (u8, u8, i64);

/// Sets the integer with index `left` in `value`; counts down.
fn set(value: &mut toml::Value, left: &mut usize, to: i64) {
    match value {
        toml::Value::Integer(number) => {
            if *left == 0 {
                *number = to;
            }
            *left = left.wrapping_sub(1);
        }
        toml::Value::Array(values) => values.iter_mut().for_each(|v| set(v, left, to)),
        toml::Value::Table(table) => table.iter_mut().for_each(|(_, v)| set(v, left, to)),
        _ => {}
    }
}

fuzz_target!(|input: (bool, Vec<Edit>)| {
    let (which, edits) = input;
    let (table, bus) = &BASES[usize::from(which)];
    let mut drive = toml::Value::Table(table.clone());
    for (place, shift, value) in edits.into_iter().take(8) {
        let to = (value & i64::MAX) >> (shift % 64);
        set(&mut drive, &mut usize::from(place), to);
    }
    let Ok(file) = drive.try_into::<DriveFile>() else {
        return;
    };
    match DriveModel::new("input.toml", file) {
        Ok(model) => run(model, bus.clone()),
        Err(error) => assert!(error.to_string().starts_with("input.toml: "), "{error}"),
    }
});

fn run(model: DriveModel, bus: BusFile) {
    let mut lab = Lab::new(Topology {
        buses: vec![bus],
        units: vec![UnitSpec {
            name: "disk0".into(),
            max_tags: model.file.max_tags.value,
            kind: UnitKind::Drive {
                queue: model.file.queue.value,
                write_cache: model.file.write_cache.value,
                model: Box::new(model),
                bus: 0,
            },
        }],
        host_bus: None,
        ..Topology::default()
    });
    let end = lab.sectors(0);
    let mut now_ns = lab.reset(0, "fuzz", 1).expect("an idle lab");
    let mut cookie = 0;
    for op in [Op::Read, Op::Write, Op::WriteFua, Op::Flush] {
        for (lbn, sectors) in [(0, 1), (end / 2, 16), (end.saturating_sub(64), 64)] {
            if lab.submit(now_ns, 0, op, lbn, sectors, cookie).is_ok() {
                cookie += 1;
            }
        }
        now_ns += 1_000_000;
    }
    let mut done = 0;
    // Tiny tracks have many events; whether so many end is not asked here.
    for _ in 0..10_000 {
        while let Some(completion) = lab.completion() {
            assert!(completion.acknowledged_ns >= 0);
            done += 1;
        }
        match lab.next_event_ns() {
            NEVER => {
                assert_eq!(done, cookie, "requests are lost");
                return;
            }
            next if next > TIME_MAX_NS => return,
            next => lab.advance(next),
        }
    }
}
