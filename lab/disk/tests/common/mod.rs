// SPDX-License-Identifier: MIT
//! A small drive whose times can be computed by hand, and a way to run requests through it.
//!
//! 6000 rpm: 10 ms a revolution. 100 sectors on a track: 0.1 ms a sector. 2 heads, 20 cylinders,
//! 4000 sectors. Track skew 10 sectors, cylinder skew 20. Head switch 1 ms. A seek over d
//! cylinders takes 1 ms + d * 0.1 ms. The bus moves a sector in 1 us; there are no overheads.
#![allow(dead_code)] // Each test file uses a part of it.

use spindle_disk::catalogue::{BusFile, DriveFile, DriveModel, QueueAlgorithm};
use spindle_disk::topology::{Topology, UnitKind, UnitSpec};
use spindle_disk::{Lab, Op, NEVER};

/// A ms in ns.
pub const MS: i64 = 1_000_000;
/// A us in ns.
pub const US: i64 = 1000;

const DRIVE: &str = r#"
model = "small"
maker = "nobody"
media = "1 platter"
capacity_gb = 1
interface = "none"
interface_mb_s = 512
buffer_kb = 256
bus_kind = "scsi"
max_tags = 256
queue_algorithms = ["fcfs", "look", "clook", "sstf", "sptf", "aged_sptf"]
queue = "fcfs"
write_cache = true
sectors = 4000
rpm = 6000
heads = 2
cylinders = 20
zones = [[0, 100, 10, 20]]
seek_read = { curve_ns = [1000000, 0, 100000] }
seek_write = { curve_ns = [1000000, 0, 100000] }
seek_read_mean_ns = 1615000
seek_write_mean_ns = 1615000
head_switch_ns = 1000000
write_settle_ns = 0
resettle_ns = 0
read_segments = 2
write_segments = 2
segment_sectors = 64
read_ahead_min_sectors = 0
read_ahead_max_sectors = 64
read_ahead_stop = "segment"
read_ahead_resume = true
read_ahead_abort = "arm"
overhead_read_hit_ns = [0, 0]
overhead_read_miss_ns = [0, 0]
overhead_write_hit_ns = [0, 0]
overhead_write_miss_ns = [0, 0]
"#;

const BUS: &str = r#"
name = "test"
kind = "scsi"
rate_mb_s = 512
command_ns = 0
reconnect_ns = 0
status_ns = 0
"#;

/// Wraps each `key = value` into a catalogue entry, later keys over earlier ones.
pub fn entries(text: &str, changes: &str) -> toml::Table {
    let mut table: toml::Table = text.parse().unwrap();
    table.extend(changes.parse::<toml::Table>().unwrap());
    let wrap = |value: toml::Value| {
        let mut entry = toml::Table::new();
        entry.insert("value".into(), value);
        entry.insert("mark".into(), "assumed".into());
        entry.insert("source".into(), "test".into());
        toml::Value::Table(entry)
    };
    table.into_iter().map(|(k, v)| (k, wrap(v))).collect()
}

/// The small drive with `changes` (lines of TOML).
pub fn small_drive(changes: &str) -> DriveModel {
    let file: DriveFile = entries(DRIVE, changes).try_into().unwrap();
    DriveModel::new("small", file).unwrap()
}

/// The test bus with `changes`.
pub fn test_bus(changes: &str) -> BusFile {
    entries(BUS, changes).try_into().unwrap()
}

/// A lab with one drive, `disk0`.
pub fn lab_of(model: DriveModel, bus: BusFile, tags: u32) -> Lab {
    lab_of_all(vec![model], bus, tags)
}

/// A lab with drives `disk0`, `disk1`, ... on one bus.
pub fn lab_of_all(models: Vec<DriveModel>, bus: BusFile, max_tags: u32) -> Lab {
    let unit = |(i, model): (usize, DriveModel)| UnitSpec {
        name: format!("disk{i}"),
        max_tags,
        kind: UnitKind::Drive {
            queue: model.file.queue.value,
            write_cache: model.file.write_cache.value,
            model: Box::new(model),
            bus: 0,
        },
    };
    let units = models.into_iter().enumerate().map(unit).collect();
    Lab::new(Topology {
        buses: vec![bus],
        units,
        host_bus: None,
        ..Topology::default()
    })
}

/// The small drive alone, 16 tags, with `changes`.
pub fn small_lab(changes: &str) -> Lab {
    lab_of(small_drive(changes), test_bus(""), 16)
}

/// A request: time, operation, LBN, sectors.
pub type Request = (i64, Op, u64, u64);

/// A line of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub device: String,
    pub op: char,
    pub lbn: u64,
    pub sectors: u64,
    pub slot: u32,
    pub arrival: i64,
    pub start: i64,
    pub acknowledged: i64,
    pub medium: Option<i64>,
    pub depth: u32,
    pub hit: String,
}

/// Parses a trace; comments are left out.
pub fn parse_trace(text: &str) -> Vec<Line> {
    let line = |line: &str| {
        let w: Vec<&str> = line.split(' ').collect();
        assert_eq!(w.len(), 11, "{line}");
        Line {
            device: w[0].into(),
            op: w[1].chars().next().unwrap(),
            lbn: w[2].parse().unwrap(),
            sectors: w[3].parse().unwrap(),
            slot: w[4].parse().unwrap(),
            arrival: w[5].parse().unwrap(),
            start: w[6].parse().unwrap(),
            acknowledged: w[7].parse().unwrap(),
            medium: w[8].parse().ok(),
            depth: w[9].parse().unwrap(),
            hit: w[10].into(),
        }
    };
    text.lines()
        .filter(|l| !l.starts_with('#'))
        .map(line)
        .collect()
}

/// All of the trace so far.
pub fn read_trace(lab: &mut Lab) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match lab.trace_read(&mut buffer) {
            0 => return String::from_utf8(text).unwrap(),
            len => text.extend_from_slice(&buffer[..len]),
        }
    }
}

/// Lets the lab run until nothing is pending; returns (cookie, acknowledged) in order.
pub fn finish(lab: &mut Lab) -> Vec<(u64, i64)> {
    let mut done = Vec::new();
    loop {
        while let Some(c) = lab.completion() {
            done.push((c.cookie, c.acknowledged_ns));
        }
        match lab.next_event_ns() {
            NEVER => return done,
            next => lab.advance(next),
        }
    }
}

/// Submits to unit 0 at the given times (rising), runs until all is done, and returns the trace
/// lines in the order of the requests.
pub fn run(lab: &mut Lab, requests: &[Request]) -> Vec<Line> {
    let mut order = Vec::new();
    let drain = |lab: &mut Lab, order: &mut Vec<u64>| {
        while let Some(c) = lab.completion() {
            order.push(c.cookie);
        }
    };
    for (cookie, &(at, op, lbn, sectors)) in requests.iter().enumerate() {
        while lab.next_event_ns() <= at {
            lab.advance(lab.next_event_ns());
            drain(lab, &mut order);
        }
        lab.submit(at, 0, op, lbn, sectors, cookie as u64).unwrap();
    }
    order.extend(finish(lab).into_iter().map(|(cookie, _)| cookie));
    assert!(lab.idle());
    let lines = parse_trace(&read_trace(lab));
    assert_eq!(lines.len(), requests.len());
    let mut sorted: Vec<_> = order.into_iter().zip(lines).collect();
    sorted.sort_by_key(|(cookie, _)| *cookie);
    sorted.into_iter().map(|(_, line)| line).collect()
}

/// Keeps `depth` requests outstanding; returns the time of the last acknowledgement.
pub fn closed_loop(lab: &mut Lab, requests: &[(Op, u64, u64)], depth: usize, think: i64) -> i64 {
    let mut next = requests.iter().zip(0..);
    let mut ready = std::collections::VecDeque::from(vec![0; depth]);
    let mut last = 0;
    let mut pending = next.next();
    loop {
        let event = lab.next_event_ns();
        match (pending, ready.front()) {
            (Some((&(op, lbn, sectors), cookie)), Some(&at)) if at <= event => {
                ready.pop_front();
                lab.submit(at, 0, op, lbn, sectors, cookie).unwrap();
                pending = next.next();
            }
            _ if event == NEVER => return last,
            _ => lab.advance(event),
        }
        while let Some(done) = lab.completion() {
            last = done.acknowledged_ns;
            ready.push_back(last + think);
        }
    }
}

/// The queue algorithms.
pub const QUEUES: [QueueAlgorithm; 3] = [
    QueueAlgorithm::Fcfs,
    QueueAlgorithm::Sptf,
    QueueAlgorithm::Clook,
];
