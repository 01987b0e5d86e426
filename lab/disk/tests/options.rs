// SPDX-License-Identifier: MIT
//! What a drive file can switch on, by hand, on the small drive described in `common`.

mod common;

use common::{lab_of, run, small_drive, small_lab, test_bus, MS, US};
use spindle_disk::Op::{Read, Write, WriteFua};

const TENTH: i64 = MS / 10;

#[test]
fn zero_latency_read_starts_where_the_head_lands() {
    // At 2.55 ms the head is in the middle of sector 25, which it therefore must read last: one
    // revolution and the rest of that sector later. In order, sector 0 comes at 10 ms.
    let at = 2 * MS + 55 * MS / 100;
    let read = |on: bool, at, sectors| {
        let mut lab = small_lab(&format!("zero_latency_read = {on}"));
        run(&mut lab, &[(at, Read, 0, sectors)])[0].medium
    };
    assert_eq!(read(false, at, 50), Some(15 * MS));
    assert_eq!(read(true, at, 50), Some(12 * MS + 6 * TENTH));
    // At the very start of a sector, that sector is whole.
    assert_eq!(
        read(true, 2 * MS + 5 * TENTH, 50),
        Some(12 * MS + 5 * TENTH)
    );
    // Landing behind all of them changes nothing.
    assert_eq!(read(true, 6 * MS, 50), read(false, 6 * MS, 50));
    // A whole track takes a revolution from wherever, and the cut sector.
    assert_eq!(read(true, at, 100), Some(12 * MS + 6 * TENTH));
    // On the next track, in order: the switch from 12.6 ms on misses sector 100 at 11.0 ms.
    assert_eq!(read(true, at, 150), Some(26 * MS));
    // The arm is free from the end of the access on, but the last sector of the run is where it
    // was: 50 comes at 15 ms.
    let mut lab = small_lab("zero_latency_read = true\nread_ahead_stop = \"request\"");
    let lines = run(&mut lab, &[(at, Read, 0, 50), (at, Read, 50, 1)]);
    assert_eq!(lines[1].medium, Some(15 * MS + TENTH));
}

#[test]
fn zero_latency_write_starts_once_all_data_is_here() {
    // 50 sectors take 50 us on the bus: the head is in sector 24 when they are asked for, and in
    // sector 25 when they are here, at 2.53 ms.
    let at = 2 * MS + 48 * MS / 100;
    let write = |on: bool| {
        let mut lab = small_lab(&format!("zero_latency_write = {on}"));
        run(&mut lab, &[(at, WriteFua, 0, 50)])[0].medium
    };
    assert_eq!(write(false), Some(15 * MS));
    assert_eq!(write(true), Some(12 * MS + 6 * TENTH));
}

#[test]
fn read_on_arrival_keeps_what_passes_before_the_request() {
    // At 2.55 ms the head is in sector 25: 26 to 49 pass whole before the request.
    let at = 2 * MS + 55 * MS / 100;
    let second = |on: bool, lbn| {
        let mut lab = small_lab(&format!(
            "read_on_arrival = {on}\nread_ahead_stop = \"request\""
        ));
        let lines = run(&mut lab, &[(at, Read, 50, 1), (30 * MS, Read, lbn, 1)]);
        assert_eq!(lines[0].medium, Some(5 * MS + TENTH));
        lines[1].hit.clone()
    };
    assert_eq!(second(false, 49), "miss");
    assert_eq!(second(true, 49), "hit");
    assert_eq!(second(true, 26), "hit");
    assert_eq!(second(true, 25), "miss");
}

#[test]
fn read_water_mark_delays_the_bus() {
    // Sectors 20 to 29 pass from 2.0 to 3.0 ms; the bus takes 2.56 ms for them.
    let read = |permille: u32| {
        let drive = small_drive(&format!("read_water_mark_permille = {permille}"));
        let mut lab = lab_of(drive, test_bus("rate_mb_s = 2"), 1);
        run(&mut lab, &[(MS, Read, 20, 10)])[0].acknowledged
    };
    let bus = 2560 * US;
    assert_eq!(read(0), 2 * MS + TENTH + bus);
    assert_eq!(read(500), 2 * MS + 5 * TENTH + bus);
    assert_eq!(read(1000), 3 * MS + bus);
}

#[test]
fn a_slow_host_is_slower_than_its_bus() {
    // The bus moves a sector in 1 us, the drive in 0.2 ms: it starts with the first sector.
    let mut lab = small_lab("sector_transfer_ns = 200000");
    let requests = [
        (MS, Read, 20, 10),
        (20 * MS, Read, 20, 10),
        (40 * MS, Write, 500, 10),
    ];
    let lines = run(&mut lab, &requests);
    assert_eq!(lines[0].acknowledged, 2 * MS + TENTH + 2 * MS);
    assert_eq!(lines[1].hit, "hit");
    assert_eq!(lines[1].acknowledged, 22 * MS);
    assert_eq!(lines[2].acknowledged, 42 * MS);
}

#[test]
fn overheads_around_the_data() {
    let mut lab = small_lab("overhead_data_ready_ns = 300000");
    let line = &run(&mut lab, &[(0, Read, 50, 1)])[0];
    assert_eq!(line.medium, Some(5 * MS + TENTH));
    assert_eq!(line.acknowledged, 5 * MS + 4 * TENTH + US);

    // After the data and before the status: reads 0.1 ms, writes 0.2 ms.
    let changes = "overhead_completion_ns = [100000, 200000]";
    let line = &run(&mut small_lab(changes), &[(0, Read, 50, 1)])[0];
    assert_eq!(line.acknowledged, 5 * MS + 2 * TENTH + US);
    let line = &run(&mut small_lab(changes), &[(0, WriteFua, 50, 16)])[0];
    assert_eq!(line.medium, Some(6 * MS + 6 * TENTH));
    assert_eq!(line.acknowledged, 6 * MS + 8 * TENTH);
    let line = &run(&mut small_lab(changes), &[(0, Write, 50, 16)])[0];
    assert_eq!(line.medium, Some(6 * MS + 6 * TENTH));
    assert_eq!(line.acknowledged, 16 * US + 2 * TENTH);
    // The medium can be faster than the status.
    let slow = "overhead_completion_ns = [0, 9000000]";
    let line = &run(&mut small_lab(slow), &[(0, Write, 50, 16)])[0];
    assert_eq!(line.medium, Some(6 * MS + 6 * TENTH));
    assert_eq!(line.acknowledged, 9 * MS + 16 * US);
}

#[test]
fn a_cache_that_only_appends() {
    let mut lab = small_lab("write_cache_appends_only = true");
    let requests = [
        (0, Write, 50, 16),
        (MS, Write, 300, 4),
        (MS, Write, 66, 4),
        (100 * MS, Write, 300, 4),
    ];
    let lines = run(&mut lab, &requests);
    let hits: Vec<_> = lines.iter().map(|l| l.hit.as_str()).collect();
    // Elsewhere while data is in the buffer: through. Where that data ends, or alone: cached.
    assert_eq!(hits, ["cached", "through", "cached", "cached"]);
}

#[test]
fn reads_of_written_data_can_go_to_the_medium() {
    let requests = [(0, Write, 50, 16), (50 * MS, Read, 52, 8)];
    let hit = |changes: &str| run(&mut small_lab(changes), &requests)[1].hit.clone();
    assert_eq!(hit(""), "hit");
    assert_eq!(hit("read_hits_writes = false"), "miss");
}

#[test]
fn an_access_resettles_unless_it_goes_on() {
    // 0.5 ms to take up an access on the same track: sector 3 at 0.3 ms is missed, 5 is not.
    let changes = "resettle_ns = 500000\nread_ahead_stop = \"request\"";
    let read = |requests: &[common::Request]| {
        let lines = run(&mut small_lab(changes), requests);
        lines.last().unwrap().medium
    };
    assert_eq!(read(&[(1, Read, 3, 1)]), Some(10 * MS + 4 * TENTH));
    assert_eq!(read(&[(0, Read, 5, 1)]), Some(6 * TENTH));
    // Going on where the head is costs nothing: both are waiting, one after the other.
    assert_eq!(
        read(&[(0, Read, 50, 1), (0, Read, 51, 1)]),
        Some(5 * MS + 2 * TENTH)
    );
    // A sector further on does: it is missed.
    assert_eq!(
        read(&[(0, Read, 50, 1), (0, Read, 52, 1)]),
        Some(15 * MS + 3 * TENTH)
    );
}

#[test]
fn a_write_settles_after_a_head_switch() {
    // The skew of 1.0 ms is just enough for the switch; a write's settling misses its sector.
    let medium = |changes: &str, op| run(&mut small_lab(changes), &[(0, op, 100, 1)])[0].medium;
    assert_eq!(medium("", WriteFua), Some(MS + TENTH));
    let settle = "write_settle_ns = 100000";
    assert_eq!(medium(settle, Read), Some(MS + TENTH));
    assert_eq!(medium(settle, WriteFua), Some(11 * MS + TENTH));
}

#[test]
fn seeks_are_read_from_the_table() {
    // 2 cylinders: half way between 1 and 3 ms. Cylinder 2 begins at slot 60: 6.0 ms, after 2.0
    // in any case; so ask for the angle that tells: slot 80 is at 8.0 ms for LBN 420.
    let changes = "seek_read = { table_ns = [[1, 1000000], [3, 3000000], [19, 3000000]] }\n\
                   seek_read_mean_ns = 2577500";
    // From 5.95 ms on: there at 7.95 ms, before 8.0.
    let line = |at| run(&mut small_lab(changes), &[(at, Read, 420, 1)])[0].medium;
    assert_eq!(line(6 * MS - 50 * US), Some(8 * MS + TENTH));
    // From 6.05 ms on: at 8.05 ms, too late.
    assert_eq!(line(6 * MS + 50 * US), Some(18 * MS + TENTH));
}

#[test]
fn writes_have_seek_times_of_their_own() {
    // Cylinder 1 begins at 3.0 ms: in time for a seek of 1.1 ms, not for one of 3.1.
    let changes = "seek_write = { curve_ns = [3000000, 0, 100000] }\nseek_write_mean_ns = 3515000";
    let medium = |op| run(&mut small_lab(changes), &[(0, op, 200, 1)])[0].medium;
    assert_eq!(medium(Read), Some(3 * MS + TENTH));
    assert_eq!(medium(WriteFua), Some(13 * MS + TENTH));
}

#[test]
fn a_write_follows_its_data() {
    // The bus takes 0.256 ms for a sector, the medium 0.1: so that it does not run out of data,
    // the last of 10 sectors may begin at 2.56 ms, and the first 0.9 ms before that.
    let medium = |lbn| {
        let mut lab = lab_of(small_drive(""), test_bus("rate_mb_s = 2"), 1);
        run(&mut lab, &[(0, WriteFua, lbn, 10)])[0].medium
    };
    assert_eq!(medium(17), Some(2 * MS + 7 * TENTH));
    assert_eq!(medium(16), Some(12 * MS + 6 * TENTH));
}

#[test]
fn the_segment_unused_for_longest_is_given_up() {
    // Two segments: 0 is used again before 2000 needs one, so that 1000 goes.
    let requests = [
        (0, Read, 0, 1),
        (20 * MS, Read, 1000, 1),
        (40 * MS, Read, 0, 1),
        (60 * MS, Read, 2000, 1),
        (100 * MS, Read, 0, 1),
        (120 * MS, Read, 1000, 1),
    ];
    let lines = run(&mut small_lab("read_ahead_stop = \"request\""), &requests);
    let hits: Vec<_> = lines.iter().map(|l| l.hit.as_str()).collect();
    assert_eq!(hits, ["miss", "miss", "hit", "miss", "hit", "miss"]);
}

#[test]
fn look_goes_on_outwards_after_it_has_turned() {
    // The arm is on its way from 3000 out to 1500 when 1600 comes, which is nearer than 200.
    let requests = [
        (0, Read, 2000, 1),
        (MS, Read, 3000, 1),
        (MS, Read, 1500, 1),
        (MS, Read, 200, 1),
        (20 * MS, Read, 1600, 1),
    ];
    let changes = "queue = \"look\"\nread_ahead_stop = \"request\"";
    let mut lines = run(&mut small_lab(changes), &requests);
    lines.sort_by_key(|l| l.start);
    let order: Vec<_> = lines.iter().map(|l| l.lbn).collect();
    assert_eq!(order, [2000, 3000, 1500, 200, 1600]);
}

#[test]
fn a_writes_arm_goes_before_its_data_comes() {
    let medium = |changes: &str, lbn| {
        let line = &run(&mut small_lab(changes), &[(0, WriteFua, lbn, 16)])[0];
        (line.medium.unwrap(), line.acknowledged)
    };
    // The data comes at 0.3 ms, long before sector 50 at 5.0 ms; at 5.05 ms it is too late.
    let lag = |ns: i64| format!("overhead_write_data_ns = {ns}");
    assert_eq!(medium(&lag(300_000), 50).0, 6 * MS + 6 * TENTH);
    assert_eq!(medium(&lag(5_050_000), 50).0, 16 * MS + 6 * TENTH);
    // A seek of 2.9 ms is under way while the data is awaited for 2 ms; an overhead of 2 ms
    // comes before the seek, and a target less than 4.9 ms ahead is missed.
    let overhead = "overhead_write_miss_ns = [2000000, 2000000]";
    let gains = |lbn| medium(overhead, lbn).0 - medium(&lag(2 * MS), lbn).0;
    let missed = (3800..3900).filter(|&lbn| gains(lbn) == 10 * MS).count();
    assert_eq!(missed, 20);
    assert!((3800..3900).all(|lbn| [0, 10 * MS].contains(&gains(lbn))));
    // Back to the bus for the status of what waited for the medium.
    let (done, acknowledged) = medium("overhead_write_status_ns = 200000", 50);
    assert_eq!(acknowledged, done + 2 * TENTH);
    let mut lab = small_lab("overhead_write_status_ns = 200000");
    assert_eq!(
        run(&mut lab, &[(0, Write, 50, 16)])[0].acknowledged,
        16 * US
    );
}

#[test]
fn a_drive_that_lets_go_of_the_bus_before_it_takes_the_data() {
    let changes = "overhead_write_disconnect_ns = [1000000, 500000, 300000]";
    let requests = [
        (0, WriteFua, 50, 16),
        (20 * MS, WriteFua, 66, 4),
        (40 * MS, WriteFua, 50, 4),
        (60 * MS, Read, 50, 4),
        (80 * MS, WriteFua, 30, 4),
    ];
    let lines = run(&mut small_lab(changes), &requests);
    let after = |i: usize| lines[i].acknowledged - lines[i].medium.unwrap();
    // Neither the first write, nor what continues a write, nor a write after a read.
    assert_eq!([0, 1, 2, 4].map(after), [0, 0, 3 * TENTH, 0]);
    // The arm may go after 1.0 ms and the data comes after 1.5 ms.
    let third = |lbn| {
        let requests = [(0, WriteFua, 90, 4), (20 * MS, WriteFua, lbn, 4)];
        run(&mut small_lab(changes), &requests)[1].medium.unwrap() - 20 * MS
    };
    assert_eq!(third(14), 11 * MS + 8 * TENTH);
    assert_eq!(third(16), 2 * MS);
}

#[test]
fn a_write_takes_its_least_time_to_get_anywhere() {
    let medium = |op, lbn| {
        let mut lab = small_lab("write_seek_min_ns = 2000000");
        run(&mut lab, &[(0, op, lbn, 1)])[0].medium.unwrap()
    };
    assert_eq!(medium(WriteFua, 19), 12 * MS);
    assert_eq!(medium(WriteFua, 20), 2 * MS + TENTH);
    assert_eq!(medium(Read, 19), 2 * MS);
}

#[test]
fn a_drive_may_drop_what_the_host_has_had() {
    let hits = |kept: bool| {
        let mut lab = small_lab(&format!(
            "read_data_kept = {kept}\nread_ahead_resume = false"
        ));
        let requests = [
            (0, Read, 50, 4),
            (20 * MS, Read, 54, 4),
            (40 * MS, Read, 50, 4),
        ];
        let lines = run(&mut lab, &requests);
        lines.iter().map(|l| l.hit.clone()).collect::<Vec<_>>()
    };
    assert_eq!(hits(true), ["miss", "hit", "hit"]);
    assert_eq!(hits(false), ["miss", "hit", "miss"]);
}

#[test]
fn read_ahead_that_wraps_ends_with_the_track() {
    let hit = |wraps: bool, lbn| {
        let mut lab = small_lab(&format!(
            "read_ahead_wraps = {wraps}\nread_ahead_stop = \"stream\"\nsegment_sectors = 16"
        ));
        run(&mut lab, &[(0, Read, 50, 4), (30 * MS, Read, lbn, 4)])[1]
            .hit
            .clone()
    };
    assert_eq!(
        (hit(false, 54), hit(false, 96)),
        ("hit".into(), "miss".into())
    );
    assert_eq!(
        (hit(true, 54), hit(true, 96)),
        ("miss".into(), "hit".into())
    );
}

#[test]
fn a_water_mark_of_the_segment() {
    // A quarter of 64 sectors: 16 of 40 must have passed, of 10 all.
    let read = |sectors| {
        let changes = "read_water_mark_permille = 250\nread_water_mark_of_segment = true";
        let mut lab = lab_of(small_drive(changes), test_bus("rate_mb_s = 2"), 1);
        run(&mut lab, &[(MS, Read, 20, sectors)])[0].acknowledged
    };
    assert_eq!(read(10), 3 * MS + 2560 * US);
    assert_eq!(read(40), 3 * MS + 6 * TENTH + 40 * 256 * US);
}

#[test]
fn what_the_buffer_holds_moves_while_the_rest_comes() {
    // Sectors 5 to 9 are in the buffer; 10 to 14 pass from 21.0 ms on, when the first five have
    // been on their way for 1.28 ms already.
    let changes = "read_ahead_stop = \"request\"";
    let mut lab = lab_of(small_drive(changes), test_bus("rate_mb_s = 2"), 1);
    let lines = run(&mut lab, &[(0, Read, 0, 10), (20 * MS, Read, 5, 10)]);
    assert_eq!(lines[1].hit, "part");
    assert_eq!(lines[1].acknowledged, 20 * MS + 2560 * US);
}

#[test]
fn one_at_a_time_at_a_segment() {
    let lab = |access: &str| {
        let changes = format!("segment_access = \"{access}\"\nwrite_segments = 1");
        lab_of(small_drive(&changes), test_bus("rate_mb_s = 2"), 16)
    };
    let bus = 2560 * US;
    // Ten sectors, in the buffer at 3.0 ms; their segment is full, with 84, at 8.4 ms.
    let reads = [(MS, Read, 20, 10), (12 * MS, Read, 30, 10)];
    let read = |access| {
        let lines = run(&mut lab(access), &reads);
        [lines[0].acknowledged, lines[1].acknowledged]
    };
    assert_eq!(read("overlapped"), [2 * MS + TENTH + bus, 12 * MS + bus]);
    // From 5.56 ms on the head waits for sector 30, which is back at 13.0 ms.
    assert_eq!(read("host_first"), [3 * MS + bus, 14 * MS + bus]);
    assert_eq!(
        read("medium_first"),
        [8 * MS + 4 * TENTH + bus, 12 * MS + bus]
    );

    // The second write comes while the arm is at the first, and then for the sector after it,
    // which has just passed when its data is there.
    let writes = [(0, Write, 50, 16), (6 * MS, Write, 66, 4)];
    let write = |access| {
        let line = &run(&mut lab(access), &writes)[1];
        (line.acknowledged, line.medium.unwrap())
    };
    let four = 4 * 256 * US;
    assert_eq!(write("overlapped").0, 6 * MS + four);
    for access in ["host_first", "medium_first"] {
        assert_eq!(write(access), (6 * MS + 6 * TENTH + four, 17 * MS));
    }
}
