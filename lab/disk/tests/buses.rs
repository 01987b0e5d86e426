// SPDX-License-Identifier: MIT
//! Drives that share a bus or a host, by hand, on the small drive described in `common`.

mod common;

use common::{finish, lab_of, lab_of_all, parse_trace, read_trace, run, small_drive, test_bus};
use common::{Line, MS, US};
use spindle_disk::catalogue::DriveModel;
use spindle_disk::topology::{HostBus, Topology, UnitKind, UnitSpec};
use spindle_disk::Op::{Flush, Read, Write};
use spindle_disk::{Lab, Op};

const TENTH: i64 = MS / 10;

/// Submits (time, unit, operation, LBN, sectors), rising, and returns the lines in this order;
/// LBNs differ.
fn run_all(lab: &mut Lab, requests: &[(i64, u32, Op, u64, u64)]) -> Vec<Line> {
    for (cookie, &(at, unit, op, lbn, sectors)) in (0..).zip(requests) {
        lab.submit(at, unit, op, lbn, sectors, cookie).unwrap();
    }
    finish(lab);
    let lines = parse_trace(&read_trace(lab));
    assert_eq!(lines.len(), requests.len());
    let of = |lbn| lines.iter().find(|l| l.lbn == lbn).unwrap().clone();
    requests.iter().map(|r| of(r.3)).collect()
}

fn ipi_drive() -> DriveModel {
    small_drive(
        "bus_kind = \"ipi\"\nbuffer_kb = 0\nread_segments = 0\nwrite_segments = 0\n\
         segment_sectors = 0\nwrite_cache = false",
    )
}

fn ipi_lab(drives: usize) -> Lab {
    let drives = (0..drives).map(|_| ipi_drive()).collect();
    lab_of_all(drives, test_bus("kind = \"ipi\""), 4)
}

#[test]
fn ipi_data_moves_with_the_medium() {
    // Acknowledged when the last sector has passed; nothing is kept, so that the same sectors
    // cost a revolution again.
    let requests = [
        (0, Read, 50, 10),
        (7 * MS, Read, 50, 10),
        (20 * MS, Write, 50, 10),
        (30 * MS, Flush, 0, 0),
    ];
    let lines = run(&mut ipi_lab(1), &requests);
    let ends: Vec<_> = lines.iter().map(|l| l.acknowledged).collect();
    assert_eq!(ends, [6 * MS, 16 * MS, 26 * MS, 30 * MS]);
    let hits: Vec<_> = lines.iter().map(|l| l.hit.as_str()).collect();
    assert_eq!(hits, ["miss", "miss", "through", "-"]);
    assert_eq!(lines[0].medium, Some(6 * MS));
}

#[test]
fn ipi_busy_channel_costs_a_revolution() {
    // disk0 moves data from 5.0 to 6.0 ms. disk1 finds its sector in the middle of that, and
    // again a revolution later.
    let both = |lbn| {
        let lines = run_all(
            &mut ipi_lab(2),
            &[(0, 0, Read, 50, 10), (0, 1, Read, lbn, 2)],
        );
        assert_eq!(lines[0].acknowledged, 6 * MS);
        lines[1].acknowledged
    };
    assert_eq!(both(55), 15 * MS + 7 * TENTH);
    // Before or after it, none is lost; the seeks of both overlap.
    assert_eq!(both(61), 6 * MS + 3 * TENTH);
    assert_eq!(both(40), 4 * MS + 2 * TENTH);
}

#[test]
fn ipi_commands_wait_for_the_channel() {
    // Given at 5.5 ms, but disk0 has the channel until 6.0: sector 57 is missed.
    let lines = run_all(
        &mut ipi_lab(2),
        &[(0, 0, Read, 50, 10), (5 * MS + 5 * TENTH, 1, Read, 57, 1)],
    );
    assert_eq!(lines[1].start, 6 * MS);
    assert_eq!(lines[1].acknowledged, 15 * MS + 8 * TENTH);
}

#[test]
fn scsi_drives_seek_side_by_side() {
    // Each takes what it would take alone: they let go of the bus while they work.
    let mut lab = lab_of_all(vec![small_drive(""), small_drive("")], test_bus(""), 1);
    let lines = run_all(&mut lab, &[(0, 0, Read, 200, 1), (0, 1, Read, 1400, 1)]);
    assert_eq!((lines[0].start, lines[1].start), (0, 0));
    assert_eq!(lines[0].acknowledged, 3 * MS + TENTH + US);
    assert_eq!(lines[1].acknowledged, 11 * MS + TENTH + US);
}

#[test]
fn a_bus_carries_one_at_a_time() {
    // Two cached writes of 10 sectors at 0.1 ms a sector, from two drives: one after the other.
    let mut lab = lab_of_all(
        vec![small_drive(""), small_drive("")],
        test_bus("rate_mb_s = 5"),
        4,
    );
    let lines = run_all(&mut lab, &[(0, 0, Write, 300, 10), (0, 1, Write, 500, 10)]);
    let data = 10 * 512 * 1000 / 5;
    assert_eq!(lines[0].acknowledged, data);
    assert_eq!(lines[1].acknowledged, 2 * data);
}

#[test]
fn every_phase_takes_its_time() {
    // Command 10 us; read: reconnection 20, a sector 1, status 30. A write the same, its data in
    // the buffer before anything else; FUA: one reconnection for the data, one for the status.
    let bus = || test_bus("command_ns = 10000\nreconnect_ns = 20000\nstatus_ns = 30000");
    let took = |op, lbn, overhead: &str| {
        let mut lab = lab_of(small_drive(overhead), bus(), 1);
        let line = run(&mut lab, &[(0, op, lbn, 1)])[0].clone();
        line.acknowledged
    };
    assert_eq!(took(Read, 50, ""), 5 * MS + TENTH + (20 + 1 + 30) * US);
    assert_eq!(took(Write, 50, ""), (10 + 20 + 1 + 30) * US);
    assert_eq!(took(Op::WriteFua, 50, ""), 5 * MS + TENTH + (20 + 30) * US);
    assert_eq!(took(Flush, 0, ""), (10 + 20 + 30) * US);
    let hit = "overhead_read_hit_ns = [5000, 5000]";
    let mut lab = lab_of(small_drive(hit), bus(), 1);
    let lines = run(&mut lab, &[(0, Read, 0, 1), (20 * MS, Read, 1, 4)]);
    assert_eq!(lines[1].hit, "hit");
    assert_eq!(lines[1].acknowledged, 20 * MS + (10 + 5 + 20 + 4 + 30) * US);
}

/// Two drives, a bus of 5 MB/s each, below one bus of the host. Both find their sector at 1.0 ms; a
/// bus of its own moves it in 0.1024 ms.
fn below_a_host_bus(host_bus: Option<HostBus>) -> Lab {
    let unit = |bus: usize| UnitSpec {
        name: format!("disk{bus}"),
        max_tags: 4,
        kind: UnitKind::Drive {
            model: Box::new(small_drive("")),
            bus,
            queue: spindle_disk::catalogue::QueueAlgorithm::Fcfs,
            write_cache: true,
        },
    };
    Lab::new(Topology {
        buses: vec![test_bus("rate_mb_s = 5"), test_bus("rate_mb_s = 5")],
        units: vec![unit(0), unit(1)],
        host_bus,
        ..Topology::default()
    })
}

#[test]
fn the_host_bus_is_a_ceiling_for_all_buses() {
    let done = |host: Option<u64>| {
        let mut lab = below_a_host_bus(host.map(HostBus::of_rate));
        lab.submit(0, 0, Read, 9, 1, 0).unwrap();
        lab.submit(0, 1, Read, 9, 1, 1).unwrap();
        finish(&mut lab)
    };
    let sector = 512 * 1000 / 5;
    assert_eq!(done(None), [(0, MS + sector), (1, MS + sector)]);
    // As fast as one bus: one after the other. Twice as fast: both at a time.
    assert_eq!(done(Some(5000)), [(0, MS + sector), (1, MS + 2 * sector)]);
    assert_eq!(done(Some(10_000)), [(0, MS + sector), (1, MS + sector)]);
    // Rates are not whole MB/s.
    let slow = 512 * 1_000_000 / 2500;
    assert_eq!(done(Some(2500)), [(0, MS + slow), (1, MS + 2 * slow)]);
    // Slower than either.
    assert_eq!(
        done(Some(1000)),
        [(0, MS + 5 * sector), (1, MS + 10 * sector)]
    );
}

/// When two commands of one sector, one on each bus below the host's, are acknowledged.
fn two_below(op: Op, host_bus: HostBus) -> Vec<(u64, i64)> {
    let mut lab = below_a_host_bus(Some(host_bus));
    lab.submit(0, 0, op, 9, 1, 0).unwrap();
    lab.submit(0, 1, op, 9, 1, 1).unwrap();
    finish(&mut lab)
}

#[test]
fn the_host_bus_has_a_rate_for_writes() {
    let done = |op, write_rate_kb_s| {
        let host_bus = HostBus {
            write_rate_kb_s,
            ..HostBus::of_rate(10_000)
        };
        two_below(op, host_bus)
    };
    let sector = 512 * 1000 / 5;
    let half = 512 * 1_000_000 / 2500;
    // Into the buffers: nothing but the buses takes time.
    assert_eq!(done(Write, None), [(0, sector), (1, sector)]);
    assert_eq!(done(Write, Some(2500)), [(0, half), (1, 2 * half)]);
    assert_eq!(done(Read, Some(2500)), done(Read, None));
}

#[test]
fn a_command_holds_the_host_bus() {
    let done = |request_ns| {
        let host_bus = HostBus {
            request_ns,
            ..HostBus::of_rate(10_000)
        };
        two_below(Write, host_bus)
    };
    let sector = 512 * 1000 / 5;
    let host = sector / 2;
    assert_eq!(done(0), [(0, sector), (1, sector)]);
    // One command behind the other, then the data of the first and of the second: while that waits
    // for the host's bus, its own bus is at work, too.
    let cost = 300 * US;
    assert_eq!(
        done(cost as u64),
        [(0, 2 * cost + host), (1, 2 * cost + 2 * host)]
    );
}
