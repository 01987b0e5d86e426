// SPDX-License-Identifier: MIT
//! The catalogue's drives against what papers measured on the real ones: `validation/published.csv`
//! (rewritten with `SPINDLE_BLESS=1`). No parameter was fitted to these figures; the errors are
//! results, and a change of the model that moves one of them shows here.

mod common;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;

use common::lab_of_all;
use spindle_disk::catalogue::{Catalogue, DriveModel};
use spindle_disk::rng::SplitMix64;
use spindle_disk::{Lab, Op, NEVER};

/// Requests per drive in a random run.
const REQUESTS: usize = 4000;

/// How the host hands out its requests.
#[derive(Clone, Copy)]
struct Host {
    /// From a completion to the next request, in ns.
    think_ns: i64,
    /// Requests that it sorts at a time (elevator); 1 for none.
    sorts: usize,
}

fn drive(name: &str, set: &str) -> DriveModel {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue");
    let set: toml::Table = set.parse().unwrap();
    Catalogue::new(folder).drive(name, &set).unwrap()
}

fn lab(models: Vec<DriveModel>, bus: &str) -> Lab {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue");
    let bus = Catalogue::new(folder).bus(bus).unwrap();
    let mut lab = lab_of_all(models, bus, 1);
    lab.trace_off();
    lab
}

/// 8 KB at random over the whole drive, aligned.
fn random(sectors: u64, seed: u64) -> Vec<u64> {
    let mut rng = SplitMix64::new(seed);
    (0..REQUESTS)
        .map(|_| rng.below(sectors / 16) * 16)
        .collect()
}

/// Takes the next request off a window of `sorts`: the one ahead of the arm that is nearest, or
/// where none is, the lowest (the elevator of a host that goes one way).
fn next_of(window: &mut VecDeque<u64>, sorts: usize, at: u64) -> Option<u64> {
    let seen = window.len().min(sorts);
    let best = (0..seen).min_by_key(|&i| (window[i] < at, window[i]))?;
    window.remove(best)
}

/// Runs a list on every drive, one request outstanding at each; returns the elapsed ns.
fn run(lab: &mut Lab, op: Op, lists: Vec<Vec<u64>>, sectors: u64, host: Host) -> i64 {
    let mut windows: Vec<VecDeque<u64>> = lists.into_iter().map(VecDeque::from).collect();
    let mut ready: Vec<Option<i64>> = vec![Some(0); windows.len()];
    let mut at = vec![0; windows.len()];
    let mut last_ns = 0;
    loop {
        let event = lab.next_event_ns();
        let submit = (0..ready.len())
            .filter(|&i| !windows[i].is_empty())
            .filter_map(|i| Some((ready[i]?, i)))
            .min();
        match submit {
            Some((at_ns, unit)) if at_ns <= event => {
                let lbn = next_of(&mut windows[unit], host.sorts, at[unit]).unwrap();
                at[unit] = lbn;
                ready[unit] = None;
                lab.submit(at_ns, unit as u32, op, lbn, sectors, 0).unwrap();
            }
            _ if event == NEVER => return last_ns,
            _ => lab.advance(event),
        }
        while let Some(done) = lab.completion() {
            last_ns = done.acknowledged_ns;
            ready[done.unit as usize] = Some(last_ns + host.think_ns);
        }
    }
}

/// Random 8 KB requests a second of all drives together.
fn random_per_s(name: &str, set: &str, bus: &str, drives: u64, op: Op, host: Host) -> f64 {
    let models: Vec<_> = (0..drives).map(|_| drive(name, set)).collect();
    let lists = (0..drives)
        .map(|i| random(models[0].geometry.sectors, i + 1))
        .collect();
    let elapsed_ns = run(&mut lab(models, bus), op, lists, 16, host);
    (drives as usize * REQUESTS) as f64 * 1e9 / elapsed_ns as f64
}

/// Sequential rate in 10^6 bytes a second from sector `start` on, `sectors` at a time.
fn sequential_mb_s(
    name: &str,
    set: &str,
    bus: &str,
    op: Op,
    start: u64,
    sectors: u64,
    think_ns: i64,
) -> f64 {
    let count = 400;
    let list = (0..count).map(|i| start + i * sectors).collect();
    let host = Host { think_ns, sorts: 1 };
    let elapsed_ns = run(
        &mut lab(vec![drive(name, set)], bus),
        op,
        vec![list],
        sectors,
        host,
    );
    (count * sectors * 512) as f64 * 1e3 / elapsed_ns as f64
}

/// SQLIO's megabyte in 10^6 bytes: its raw lines print 66.63 requests of 8192 bytes a second as
/// 0.52 MB/s, so it has 2^20. The sequential rates of Chung et al. are SQLIO's (their 3.5), and the
/// inner ones stand in one column of Table 6 with them.
const SQLIO_MB: f64 = 1.048_576;

const CHUNG: &str = "Chung et al., Windows 2000 Disk IO Performance";
const NELSON: &str = "Nelson and Cheng, The Myth of Transfer Rate, 3.7";

struct Row {
    drive: &'static str,
    regime: String,
    unit: &'static str,
    published: f64,
    reproduced: f64,
    source: String,
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |drive, regime: &str, unit, published, reproduced, source: String| {
        rows.push(Row {
            drive,
            regime: regime.into(),
            unit,
            published,
            reproduced,
            source,
        });
    };
    // The host's share of a request (Chung, 6.1 and 7: 32 us + 0.25 us/KB on SCSI; 57 us +
    // 0.53 us/KB on the IDE card).
    for (name, bus, (each_ns, kb_ns), random, bands) in [
        (
            "quantum-atlas-10k",
            "ultra160-scsi",
            (32_000, 250),
            [105.0, 105.0],
            [24.0, 22.5, 24.0 * 0.65],
        ),
        (
            "quantum-fireball-lct08",
            "ata-66",
            (57_000, 530),
            // Its writes are given: the drive's buffer follows from them (see below).
            [66.0, f64::NAN],
            [19.0, f64::NAN, 12.4],
        ),
    ] {
        let think = |kb: i64| each_ns + kb_ns * kb;
        let host = Host {
            think_ns: think(8),
            sorts: 1,
        };
        for (op, what, published) in [
            (Op::Read, "random 8 KB reads", random[0]),
            (Op::Write, "random 8 KB writes, write cache on", random[1]),
        ] {
            if published.is_nan() {
                continue;
            }
            let got = random_per_s(name, "write_cache = true", bus, 1, op, host);
            row(
                name,
                what,
                "requests/s",
                published,
                got,
                format!("{CHUNG}, Table 9"),
            );
        }
        let end = drive(name, "").geometry.sectors - 128 * 401;
        for (op, what, start, published, place) in [
            (
                Op::Read,
                "sequential 64 KB reads, outer",
                0,
                bands[0],
                "6.2, Table 6",
            ),
            (
                Op::Write,
                "sequential 64 KB writes, outer",
                0,
                bands[1],
                "1 and 6.2",
            ),
            (
                Op::Read,
                "sequential 64 KB reads, inner",
                end,
                bands[2],
                "Figure 2, Table 6",
            ),
        ] {
            if published.is_nan() {
                continue;
            }
            let got = sequential_mb_s(name, "write_cache = true", bus, op, start, 128, think(64));
            row(
                name,
                what,
                "MB/s",
                published * SQLIO_MB,
                got,
                format!("{CHUNG}, {place}"),
            );
        }
    }
    // 138 us of adapter overhead (Nelson, 4.1). How many requests the adapter sorted at a time is
    // not said; 3 waiting beside the one at the drive is our assumption, the others show its part.
    let plain = Host {
        think_ns: 138_000,
        sorts: 1,
    };
    let (hp, sync) = ("hp-97548", "scsi-1-sync-4");
    let source = |chart: &str| format!("{NELSON}, {chart}");
    for (drives, sorts, what, published) in [
        (1, 1, "random 8 KB reads, unsorted, 1 drive", 30.0),
        (
            3,
            1,
            "random 8 KB reads, unsorted, 3 drives on the bus",
            86.0,
        ),
        (
            1,
            4,
            "random 8 KB reads, sorted (4 at a time), 1 drive",
            36.0,
        ),
        (
            3,
            4,
            "random 8 KB reads, sorted (4 at a time), 3 drives on the bus",
            98.0,
        ),
        (
            1,
            2,
            "random 8 KB reads, sorted (2 at a time), 1 drive",
            36.0,
        ),
        (
            1,
            8,
            "random 8 KB reads, sorted (8 at a time), 1 drive",
            36.0,
        ),
    ] {
        let got = random_per_s(hp, "", sync, drives, Op::Read, Host { sorts, ..plain });
        row(hp, what, "requests/s", published, got, source("chart 2a"));
    }
    let off = "read_ahead_stop = \"request\"";
    for (bus, set, what, published) in [
        (
            sync,
            "",
            "sequential 8 KB reads with read-ahead, 1 drive",
            0.745,
        ),
        (
            sync,
            off,
            "sequential 8 KB reads without read-ahead, 1 drive",
            0.467,
        ),
        (
            "scsi-1-async",
            "",
            "sequential 8 KB reads with read-ahead, asynchronous bus",
            0.598,
        ),
    ] {
        let got = sequential_mb_s(hp, set, bus, Op::Read, 0, 16, plain.think_ns);
        row(hp, what, "MB/s", published, got, source("chart 2a"));
    }
    rows
}

#[test]
fn published_figures_are_as_recorded() {
    let mut csv = String::from("drive,regime,unit,published,reproduced,error_percent,source\n");
    for row in rows() {
        let error = (row.reproduced / row.published - 1.0) * 100.0;
        let digits = if row.published < 1.0 { 3 } else { 1 };
        writeln!(
            csv,
            "{},\"{}\",{},{:.digits$},{:.digits$},{error:.1},\"{}\"",
            row.drive, row.regime, row.unit, row.published, row.reproduced, row.source
        )
        .unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("validation/published.csv");
    if std::env::var_os("SPINDLE_BLESS").is_some() {
        std::fs::write(&path, &csv).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == csv,
        "validation/published.csv is not what the model gives now:\n{csv}\nif the change is \
         meant, say why in its commit and run SPINDLE_BLESS=1 cargo test --test published"
    );
}

/// Random writes a second of the Fireball lct08, of which the host sorts so many at a time.
fn lct08_writes_per_s(set: &str, sorts: usize) -> f64 {
    let host = Host {
        think_ns: 57_000 + 8 * 530,
        sorts,
    };
    let set = format!("write_cache = true\n{set}");
    random_per_s("quantum-fireball-lct08", &set, "ata-66", 1, Op::Write, host)
}

#[test]
fn the_writes_that_the_lct08s_buffer_was_described_by() {
    // Chung et al. measured 89 to 92 at every depth. That written data shares the buffer is taken
    // from this, so that it is no result; nor is what the pool's size makes of it.
    let rates = |set: &str| [1, 2, 4, 8, 16, 32].map(|sorts| lct08_writes_per_s(set, sorts));
    let pool = rates("");
    let segments = rates("write_pool_sectors = 0\nwrite_segments = 3\nsegment_sectors = 139");
    let text = format!("{pool:.1?} {segments:.1?}");
    assert!(
        pool.iter().all(|rate| (85.0..100.0).contains(rate)),
        "{text}"
    );
    assert!(pool[0] > 1.3 * segments[0], "{text}");
    // What the host sorts besides changes less than a tenth.
    assert!(pool[5] < 1.1 * pool[0], "{text}");
}
