// SPDX-License-Identifier: MIT
//! Times computed by hand, on the small drive described in `common`.

mod common;

use common::{closed_loop, finish, lab_of, lab_of_all, run, small_drive, small_lab, test_bus};
use common::{parse_trace, read_trace, MS, US};
use spindle_disk::Op::{Flush, Read, Write, WriteFua};
use spindle_replay::requests::Measured;
use spindle_replay::validation;

const TENTH: i64 = MS / 10;

#[test]
fn read_waits_for_the_angle() {
    // Sector 50 comes at 5.0 ms, is read by 5.1 ms and takes 1 us on the bus.
    let line = &run(&mut small_lab(""), &[(0, Read, 50, 1)])[0];
    assert_eq!(line.medium, Some(5 * MS + TENTH));
    assert_eq!(line.acknowledged, 5 * MS + TENTH + US);
    assert_eq!(line.hit, "miss");
    // A quarter of a turn past sector 0, or three: the rest to wait.
    for at in [25 * TENTH, 75 * TENTH] {
        let line = &run(&mut small_lab(""), &[(at, Read, 0, 1)])[0];
        assert_eq!(line.medium, Some(10 * MS + TENTH));
    }
}

#[test]
fn a_trace_that_is_switched_off_has_no_requests() {
    let mut lab = small_lab("");
    lab.trace_off();
    lab.submit(0, 0, Read, 50, 1, 7).unwrap();
    assert_eq!(finish(&mut lab), [(7, 5 * MS + TENTH + US)]);
    assert!(parse_trace(&read_trace(&mut lab)).is_empty());
}

#[test]
fn read_transfer_overlaps_the_medium() {
    // 10 sectors by 1.0 ms; all but the last sector's 1 us of the transfer is over by then.
    let line = &run(&mut small_lab(""), &[(0, Read, 0, 10)])[0];
    assert_eq!((line.medium, line.acknowledged), (Some(MS), MS + US));
    // A bus slower than the medium (0.256 ms a sector) starts when the first sector has passed.
    let bus = test_bus("rate_mb_s = 2");
    let line = &run(&mut lab_of(small_drive(""), bus, 1), &[(MS, Read, 20, 10)])[0];
    assert_eq!(
        (line.medium, line.acknowledged),
        (Some(3 * MS), 2 * MS + TENTH + 10 * 256 * US)
    );
}

#[test]
fn seek_and_skew() {
    // Cylinder 1, head 0 starts 30 slots late: the seek (1.1 ms) is over before 3.0 ms.
    let line = &run(&mut small_lab(""), &[(0, Read, 200, 1)])[0];
    assert_eq!(line.medium, Some(3 * MS + TENTH));
    // Cylinder 7: slot 210 mod 100 = 10, at 1.0 ms; the seek takes 1.7 ms: one turn later.
    let line = &run(&mut small_lab(""), &[(0, Read, 1400, 1)])[0];
    assert_eq!(line.medium, Some(11 * MS + TENTH));
    // Head 1 starts 10 slots late, exactly when the head switch is over.
    let line = &run(&mut small_lab(""), &[(0, Read, 100, 1)])[0];
    assert_eq!(line.medium, Some(MS + TENTH));
}

#[test]
fn streaming_loses_no_revolution() {
    // Two tracks and the skew between them.
    let line = &run(&mut small_lab(""), &[(0, Read, 0, 200)])[0];
    assert_eq!(line.medium, Some(21 * MS));
    // A cylinder boundary: 1.0 ms head switch, 10 ms, 2 ms skew, 10 ms.
    let line = &run(&mut small_lab(""), &[(0, Read, 100, 200)])[0];
    assert_eq!(line.medium, Some(23 * MS));
    // A switch longer than the skew costs the revolution.
    let mut lab = small_lab("head_switch_ns = 1000001");
    assert_eq!(run(&mut lab, &[(0, Read, 0, 200)])[0].medium, Some(31 * MS));
}

#[test]
fn zone_boundary_keeps_the_skew() {
    // Zones of 100 and 50 sectors; the second starts at cylinder 10.
    let mut lab = small_lab("zones = [[0, 100, 10, 20], [10, 50, 5, 10]]\nsectors = 3000");
    // The last track of cylinder 9: slot (9 * 30 + 10) mod 100 = 80, at 8 ms; seek 1.9 ms.
    let line = &run(&mut lab, &[(0, Read, 1900, 150)])[0];
    // 10 ms for 100 sectors, 2 ms of skew, 10 ms for 50 sectors.
    assert_eq!(line.medium, Some(30 * MS));
}

#[test]
fn spindle_phase_comes_from_the_seed() {
    let at = |seed| {
        let mut lab = small_lab("");
        let delay = lab.reset(0, "x", seed).unwrap();
        assert!((0..10 * MS).contains(&delay));
        (delay, run(&mut lab, &[(10 * MS, Read, 0, 1)])[0].medium)
    };
    assert_eq!(at(1), at(1));
    // Both the delay and, on its own, the angle.
    assert_ne!(at(1).0, at(2).0);
    assert_ne!(at(1).1, at(2).1);
}

#[test]
fn read_ahead_serves_the_next_request() {
    // Sectors 0..64 fill the segment by 6.4 ms.
    let lines = run(
        &mut small_lab(""),
        &[(0, Read, 0, 16), (20 * MS, Read, 16, 16)],
    );
    assert_eq!(lines[1].hit, "hit");
    assert_eq!(lines[1].medium, None);
    assert_eq!(lines[1].acknowledged, 20 * MS + 16 * US);
    // Past the full segment: a miss that waits for its angle, 64 * 0.1 ms.
    let lines = run(
        &mut small_lab(""),
        &[(0, Read, 0, 16), (20 * MS, Read, 64, 16)],
    );
    assert_eq!(
        (lines[1].hit.as_str(), lines[1].medium),
        ("miss", Some(28 * MS))
    );
}

#[test]
fn read_ahead_in_flight_waits_for_the_head() {
    // At 2.0 ms the head is at sector 20; sector 46 is over at 4.6 ms.
    let lines = run(
        &mut small_lab(""),
        &[(0, Read, 0, 16), (2 * MS, Read, 30, 16)],
    );
    assert_eq!(
        (lines[1].hit.as_str(), lines[1].medium),
        ("miss", Some(4 * MS + 6 * TENTH))
    );
    // Partly passed already.
    let lines = run(
        &mut small_lab(""),
        &[(0, Read, 0, 16), (2 * MS, Read, 16, 16)],
    );
    assert_eq!(
        (lines[1].hit.as_str(), lines[1].medium),
        ("part", Some(3 * MS + 2 * TENTH))
    );
}

#[test]
fn read_ahead_gives_way_to_a_request() {
    let lines = run(
        &mut small_lab(""),
        &[(0, Read, 0, 16), (2 * MS, Read, 200, 1)],
    );
    // From 2.0 ms: 1.1 ms of seek, just missing sector 200 at 3.0 ms.
    assert_eq!(lines[1].medium, Some(13 * MS + TENTH));
    // With a minimum of 32 sectors the arm leaves at 4.8 ms, to the same effect.
    let mut lab = small_lab("read_ahead_min_sectors = 32");
    let lines = run(&mut lab, &[(0, Read, 0, 16), (2 * MS, Read, 200, 1)]);
    assert_eq!(
        (lines[1].start, lines[1].medium),
        (4 * MS + 8 * TENTH, Some(13 * MS + TENTH))
    );
}

#[test]
fn read_ahead_stops_where_the_policy_says() {
    let second = |changes: &str, lbn| {
        let lines = run(
            &mut small_lab(changes),
            &[(0, Read, 80, 10), (50 * MS, Read, lbn, 5)],
        );
        lines[1].hit.clone()
    };
    assert_eq!(second("", 100), "hit");
    assert_eq!(second("read_ahead_stop = \"track\"", 95), "hit");
    assert_eq!(second("read_ahead_stop = \"track\"", 100), "miss");
    assert_eq!(second("read_ahead_stop = \"cylinder\"", 100), "hit");
    assert_eq!(second("read_ahead_stop = \"request\"", 90), "miss");
    assert_eq!(second("read_ahead_max_sectors = 7", 92), "hit");
    assert_eq!(second("read_ahead_max_sectors = 7", 93), "part");
}

#[test]
fn read_ahead_abort_on_any_command() {
    // A hit on one segment, while another is being filled.
    let requests = [
        (0, Read, 1000, 1),
        (30 * MS, Read, 0, 1),
        (40 * MS + 5 * TENTH, Read, 1001, 1),
        (60 * MS, Read, 1, 40),
    ];
    assert_eq!(run(&mut small_lab(""), &requests)[3].hit, "hit");
    assert_eq!(
        run(&mut small_lab("read_ahead_abort = \"command\""), &requests)[3].hit,
        "part"
    );
}

#[test]
fn sequential_reads_run_at_media_rate() {
    // 100 requests of 16 sectors over 16 tracks: 160 ms of sectors and 8 track and 7 cylinder
    // skews, at any depth and with a host that takes its time.
    let requests: Vec<_> = (0..100).map(|i| (Read, i * 16, 16)).collect();
    let media = 160 * MS + 8 * MS + 7 * 2 * MS;
    for depth in [1, 4, 16] {
        let last = closed_loop(&mut small_lab(""), &requests, depth, 50 * US);
        assert_eq!(last, media + US, "depth {depth}");
    }
}

#[test]
fn slow_host_gets_all_from_the_buffer() {
    // The host takes 0.5 ms for what the medium delivers in 0.46 (with skews), and the segment
    // lasts for more than a turn: read-ahead stops when the segment is full, goes on when there
    // is room, and the host never waits. Without going on, each full segment costs a turn.
    let requests: Vec<_> = (0..900).map(|i| (Read, i * 4, 4)).collect();
    let took = |resume: bool| {
        let changes = format!(
            "segment_sectors = 128\nread_ahead_max_sectors = 128\nread_ahead_resume = {resume}"
        );
        closed_loop(&mut small_lab(&changes), &requests, 1, 500 * US)
    };
    assert!(took(true) < 900 * 504 * US + 25 * MS, "{}", took(true));
    assert!(
        took(false) > took(true) + 5 * MS,
        "{} {}",
        took(false),
        took(true)
    );
}

#[test]
fn cached_write_is_acknowledged_from_the_buffer() {
    let lines = run(&mut small_lab(""), &[(0, Write, 50, 16), (1, Flush, 0, 0)]);
    assert_eq!(
        (lines[0].acknowledged, lines[0].hit.as_str()),
        (16 * US, "cached")
    );
    assert_eq!(lines[0].medium, Some(6 * MS + 6 * TENTH));
    assert_eq!(
        lines[1].acknowledged,
        16 * US + 1 - 16 * US - 1 + 6 * MS + 6 * TENTH
    );
}

#[test]
fn write_through_waits_for_the_medium() {
    let lines = run(&mut small_lab(""), &[(0, WriteFua, 50, 16)]);
    assert_eq!(lines[0].acknowledged, 6 * MS + 6 * TENTH);
    assert_eq!(
        (lines[0].medium, lines[0].hit.as_str()),
        (Some(lines[0].acknowledged), "through")
    );
    let lines = run(&mut small_lab("write_cache = false"), &[(0, Write, 50, 16)]);
    assert_eq!(
        (lines[0].op, lines[0].acknowledged),
        ('W', 6 * MS + 6 * TENTH)
    );
}

#[test]
fn writes_append_and_stream() {
    let requests: Vec<_> = (0..10).map(|i| (0, Write, 10 + i * 16, 16)).collect();
    let lines = run(&mut small_lab(""), &requests);
    // From sector 10 at 1.0 ms; sector 100 starts the next track, one skew of 1 ms later.
    for (i, line) in lines.iter().enumerate() {
        let end = 10 + (i as i64 + 1) * 16;
        let skew = if end > 100 { MS } else { 0 };
        assert_eq!(line.medium, Some(end * TENTH + skew), "write {i}");
    }
}

#[test]
fn adjacent_extents_lose_no_revolution() {
    // The second write fills its own segment, since the first segment has no room for it.
    let lines = run(
        &mut small_lab(""),
        &[(0, Write, 10, 60), (0, Write, 70, 20)],
    );
    assert_eq!(lines[0].medium, Some(7 * MS));
    assert_eq!(lines[1].medium, Some(9 * MS));
    assert!(lines[1].acknowledged < MS);
}

#[test]
fn write_waits_for_a_free_segment() {
    let mut lab = small_lab("write_segments = 1");
    let lines = run(&mut lab, &[(0, Write, 10, 10), (0, Write, 50, 10)]);
    assert_eq!(lines[0].medium, Some(2 * MS));
    assert_eq!(
        (lines[1].start, lines[1].acknowledged),
        (2 * MS, 2 * MS + 10 * US)
    );
    assert_eq!(lines[1].medium, Some(6 * MS));
}

#[test]
fn long_write_passes_through_a_small_segment() {
    let lines = run(&mut small_lab("write_segments = 1"), &[(0, Write, 0, 300)]);
    assert_eq!(lines[0].hit, "cached");
    // 300 sectors on three tracks; the bus needs far less, the room in the segment decides.
    let medium = lines[0].medium.unwrap();
    assert!(lines[0].acknowledged > 20 * MS && lines[0].acknowledged < medium);
    // The first chunk arrives when sector 0 has passed: one turn, then no more is lost.
    assert_eq!(medium, 10 * MS + 30 * MS + MS + 2 * MS);
}

#[test]
fn written_data_is_read_from_the_buffer() {
    let lines = run(&mut small_lab(""), &[(0, Write, 50, 16), (MS, Read, 52, 8)]);
    assert_eq!(
        (lines[1].hit.as_str(), lines[1].acknowledged),
        ("hit", MS + 8 * US)
    );
    // Only partly in the buffer: the medium must have the new data first.
    let lines = run(
        &mut small_lab(""),
        &[(0, Write, 50, 16), (MS, Read, 60, 16)],
    );
    assert_eq!(lines[0].medium, Some(6 * MS + 6 * TENTH));
    assert_eq!(lines[1].medium, Some(17 * MS + 6 * TENTH));
}

/// A read that ends at 3.6 ms on cylinder 10, so that the arm is back on cylinder 0 at 5.6 ms,
/// before sector 60 and behind sector 50.
const BUSY: common::Request = (0, Read, 2035, 1);

#[test]
fn a_read_does_not_overtake_newer_data() {
    // The read's first sectors are in the buffer, the others on the medium. By positioning it
    // would come first, at 6.0 ms; but it waits for the write, from 15.0 to 16.6 ms.
    let requests = [BUSY, (1, Write, 50, 16), (2, Read, 60, 16)];
    let lines = run(&mut small_lab("queue = \"sptf\""), &requests);
    assert_eq!(lines[1].medium, Some(16 * MS + 6 * TENTH));
    assert_eq!(lines[2].medium, Some(27 * MS + 6 * TENTH));
}

#[test]
fn a_write_does_not_overtake_older_data_that_it_overlaps() {
    // The same with a write: it must have the last word on sectors 60 to 65.
    let requests = [BUSY, (1, Write, 50, 16), (MS, Write, 60, 10)];
    let lines = run(&mut small_lab("queue = \"sptf\""), &requests);
    assert_eq!(lines[1].medium, Some(16 * MS + 6 * TENTH));
    assert_eq!(lines[2].medium, Some(27 * MS));
}

#[test]
fn overwrite_in_the_buffer_is_written_once() {
    let lines = run(
        &mut small_lab(""),
        &[(0, Write, 50, 16), (MS, Write, 54, 8)],
    );
    // The arm was already on its way to write the first version.
    assert_eq!(lines[0].medium, Some(6 * MS + 6 * TENTH));
    assert!(lines[1].medium > lines[0].medium);
    let mut lab = small_lab("");
    let requests = [
        (0, Read, 2000, 1),
        (1000, Write, 50, 16),
        (2000, Write, 70, 16),
        (MS, Write, 71, 8),
    ];
    let lines = run(&mut lab, &requests);
    // Both versions wait behind the read and reach the medium together.
    assert_eq!(lines[3].medium, lines[2].medium);
}

#[test]
fn writing_drops_older_read_data() {
    let requests = [
        (0, Read, 0, 16),
        (20 * MS, Write, 4, 2),
        (50 * MS, Read, 0, 16),
    ];
    assert_eq!(run(&mut small_lab(""), &requests)[2].hit, "miss");
}

#[test]
fn queue_orders() {
    // While the first is served: far, near, middle.
    let requests = [
        (0, Read, 2000, 1),
        (1, Read, 3900, 1),
        (2, Read, 2010, 1),
        (3, Read, 3000, 1),
    ];
    let order = |queue: &str| {
        let mut lines = run(&mut small_lab(&format!("queue = \"{queue}\"")), &requests);
        lines.sort_by_key(|l| l.start);
        lines.iter().map(|l| l.lbn).collect::<Vec<_>>()
    };
    assert_eq!(order("fcfs"), [2000, 3900, 2010, 3000]);
    assert_eq!(order("sptf"), [2000, 2010, 3000, 3900]);
    assert_eq!(order("clook"), [2000, 2010, 3000, 3900]);
    let back = [
        (0, Read, 2000, 1),
        (1, Read, 100, 1),
        (2, Read, 3000, 1),
        (3, Read, 50, 1),
    ];
    let mut lines = run(&mut small_lab("queue = \"clook\""), &back);
    lines.sort_by_key(|l| l.start);
    assert_eq!(
        lines.iter().map(|l| l.lbn).collect::<Vec<_>>(),
        [2000, 3000, 50, 100]
    );
}

#[test]
fn overheads_depend_on_the_command_before() {
    let changes = "overhead_read_hit_ns = [1000, 2000]\noverhead_read_miss_ns = [3000, 4000]\n\
                   overhead_write_hit_ns = [5000, 6000]\noverhead_write_miss_ns = [7000, 8000]";
    let requests = [
        (0, Read, 50, 1),
        (20 * MS, Read, 51, 1),
        (30 * MS, Write, 0, 1),
        (60 * MS, Write, 1, 1),
        (90 * MS, Read, 51, 1),
        (120 * MS, Write, 500, 1),
        // Not acknowledged from the buffer: 8 us, then the medium.
        (150 * MS, WriteFua, 500, 1),
    ];
    let lines = run(&mut small_lab(changes), &requests);
    let took: Vec<_> = lines[1..6]
        .iter()
        .map(|l| l.acknowledged - l.arrival)
        .collect();
    assert_eq!(lines[0].start, 3 * US);
    assert_eq!(took, [2 * US, 6 * US, 7 * US, 3 * US, 6 * US]);
    assert_eq!(lines[6].start - lines[6].arrival, 8 * US);
}

#[test]
fn tags_limit_what_is_at_the_disk() {
    let mut lab = lab_of(small_drive(""), test_bus(""), 2);
    let lines = run(
        &mut lab,
        &[
            (0, Read, 10, 1),
            (0, Read, 30, 1),
            (0, Read, 50, 1),
            (0, Read, 70, 1),
        ],
    );
    assert_eq!(
        lines.iter().map(|l| l.depth).collect::<Vec<_>>(),
        [1, 2, 2, 2]
    );
    assert_eq!(
        lines.iter().map(|l| l.slot).collect::<Vec<_>>(),
        [0, 1, 0, 1]
    );
    // The third arrives when the first has left.
    assert_eq!(lines[2].arrival, lines[0].acknowledged);
}

#[test]
fn scsi_drives_share_the_bus() {
    // Both find their data at 1.0 ms; the bus (0.1 ms a sector) serves one after the other.
    let bus = test_bus("rate_mb_s = 5");
    let mut lab = lab_of_all(vec![small_drive(""), small_drive("")], bus, 4);
    lab.submit(0, 0, Read, 9, 1, 0).unwrap();
    lab.submit(0, 1, Read, 9, 1, 1).unwrap();
    let sector = 512 * 1000 / 5;
    assert_eq!(finish(&mut lab), [(0, MS + sector), (1, MS + 2 * sector)]);
}

#[test]
fn ata_without_tags_owns_the_bus() {
    let models = || {
        vec![
            small_drive("bus_kind = \"ata\""),
            small_drive("bus_kind = \"ata\""),
        ]
    };
    let mut lab = lab_of_all(models(), test_bus("kind = \"ata\""), 1);
    lab.submit(0, 0, Read, 9, 1, 0).unwrap();
    lab.submit(0, 1, Read, 19, 1, 1).unwrap();
    let done = finish(&mut lab);
    assert_eq!(done, [(0, MS + US), (1, 2 * MS + US)]);
    let lines = parse_trace(&read_trace(&mut lab));
    assert_eq!(lines[1].start, MS + US, "the second waits for the bus");
    // With tags they work side by side.
    let mut lab = lab_of_all(models(), test_bus("kind = \"ata\""), 2);
    lab.submit(0, 0, Read, 9, 1, 0).unwrap();
    lab.submit(0, 1, Read, 19, 1, 1).unwrap();
    finish(&mut lab);
    assert_eq!(parse_trace(&read_trace(&mut lab))[1].start, 0);
}

#[test]
fn trace_is_in_order_of_acknowledgement() {
    let mut lab = small_lab("");
    lab.reset(0, "cell-1", 5).unwrap();
    lab.submit(0, 0, Write, 3000, 1, 0).unwrap();
    lab.submit(0, 0, Read, 3001, 1, 1).unwrap();
    lab.advance(MS);
    // The write is acknowledged, but its line waits for the medium.
    assert_eq!(read_trace(&mut lab).lines().count(), 2);
    finish(&mut lab);
    let text = read_trace(&mut lab);
    let lines = parse_trace(&text);
    assert_eq!(lines.iter().map(|l| l.op).collect::<String>(), "WR");
    assert!(lines[0].medium > Some(lines[0].acknowledged));
}

#[test]
fn reset_needs_an_idle_lab() {
    let mut lab = small_lab("");
    lab.submit(0, 0, Write, 0, 1, 0).unwrap();
    lab.advance(US);
    let message = lab.reset(US, "cell", 1).unwrap_err().to_string();
    assert!(message.contains("not idle"), "{message}");
    finish(&mut lab);
    lab.reset(100 * MS, "cell", 1).unwrap();
    assert!(lab.reset(100 * MS, "two words", 1).is_err());
    assert!(read_trace(&mut lab).contains("# cell cell seed 1 now_ns 100000000 start_delay_ns "));
}

#[test]
fn reset_state_does_not_depend_on_the_past() {
    let after = |past: &[common::Request]| {
        let mut lab = small_lab("queue = \"sptf\"");
        run(&mut lab, past);
        lab.reset(1000 * MS, "cell", 3).unwrap();
        let requests: Vec<_> = (0..20)
            .map(|i| (1001 * MS, Read, (i * 997) % 3900, 8))
            .collect();
        run(&mut lab, &requests)
    };
    let none = after(&[]);
    assert_eq!(
        none,
        after(&[
            (0, Read, 3000, 16),
            (1, Write, 0, 16),
            (20 * MS, Read, 997, 8)
        ])
    );
}

#[test]
fn calls_that_are_refused() {
    let mut lab = small_lab("");
    let message = |r: Result<(), spindle_disk::Error>| r.unwrap_err().to_string();
    assert!(message(lab.submit(0, 0, Read, 3999, 2, 0)).contains("outside the drive's 4000"));
    assert!(message(lab.submit(0, 0, Read, u64::MAX, 2, 0)).contains("outside"));
    assert!(message(lab.submit(0, 0, Read, 0, 0, 0)).contains("0 sectors"));
    assert!(message(lab.submit(0, 7, Read, 0, 1, 0)).contains("no unit number 7"));
    assert!(
        message(lab.set(0, "queue", "lifo")).contains("fcfs, look, clook, sstf, sptf, aged_sptf")
    );
    assert!(message(lab.set(0, "colour", "red")).contains("no setting \"colour\""));
    assert!(message(lab.set(0, "write-cache", "yes")).contains("not on or off"));
    assert!(lab
        .unit("disk9")
        .unwrap_err()
        .to_string()
        .contains("it has: disk0"));
    lab.set(0, "write-cache", "off").unwrap();
    lab.submit(5, 0, Read, 0, 1, 0).unwrap();
    assert!(message(lab.submit(4, 0, Read, 0, 1, 0)).contains("time 4 ns"));
    assert!(message(lab.set(0, "queue", "sptf")).contains("before the first command"));
}

#[test]
fn ordered_tags_keep_their_place() {
    // Under SPTF the near one would go first; an ordered one waits for all before it, and all
    // after it wait for it.
    let order = |tags: [spindle_disk::Tag; 4]| {
        let mut lab = lab_of(small_drive("queue = \"sptf\""), test_bus(""), 8);
        let lbns = [3800, 300, 2000, 3700];
        for ((i, lbn), tag) in lbns.into_iter().enumerate().zip(tags) {
            let cookie = i as u64;
            lab.submit_tagged(0, 0, Read, lbn, 1, cookie, tag).unwrap();
        }
        let mut done = Vec::new();
        while done.len() < 4 {
            lab.advance(lab.next_event_ns());
            while let Some(completion) = lab.completion() {
                done.push(completion.cookie);
            }
        }
        done
    };
    use spindle_disk::Tag::{Ordered, Simple};
    assert_eq!(order([Simple, Ordered, Simple, Ordered]), [0, 1, 2, 3]);
    assert_eq!(order([Ordered, Ordered, Ordered, Ordered]), [0, 1, 2, 3]);
    let free = order([Simple, Simple, Simple, Simple]);
    assert_ne!(free, [0, 1, 2, 3]);
    let third = order([Simple, Simple, Ordered, Simple]);
    assert_eq!(third[2..], [2, 3]);
}

#[test]
fn an_ordered_write_is_not_overtaken_in_the_cache() {
    // A write that the buffer would take at once stays behind an ordered read of the medium.
    use spindle_disk::Tag::{Ordered, Simple};
    let mut lab = lab_of(small_drive(""), test_bus(""), 8);
    lab.submit_tagged(0, 0, Read, 2000, 1, 0, Ordered).unwrap();
    lab.submit_tagged(0, 0, Write, 10, 1, 1, Simple).unwrap();
    lab.submit_tagged(0, 0, Flush, 0, 0, 2, Ordered).unwrap();
    let mut done = Vec::new();
    while done.len() < 3 {
        lab.advance(lab.next_event_ns());
        while let Some(completion) = lab.completion() {
            done.push(completion.cookie);
        }
    }
    assert_eq!(done, [0, 1, 2]);
}

#[test]
fn look_turns_and_sstf_goes_near() {
    let order = |queue: &str, lbns: &[u64]| {
        let drive = small_drive(&format!("queue = \"{queue}\""));
        let mut requests = vec![(0, Read, 2000, 1)];
        requests.extend(lbns.iter().map(|&lbn| (MS / 2, Read, lbn, 1)));
        let mut lines = run(&mut lab_of(drive, test_bus(""), 8), &requests);
        lines.sort_by_key(|l| l.start);
        lines[1..].iter().map(|l| l.lbn).collect::<Vec<_>>()
    };
    // LOOK: inwards to the last, then back; C-LOOK: from the lowest again.
    let lbns = [1500, 3900, 200, 2600];
    assert_eq!(order("look", &lbns), [2600, 3900, 1500, 200]);
    assert_eq!(order("clook", &lbns), [2600, 3900, 200, 1500]);
    // SSTF: cylinder 10 at the start; 2600 is 3 away, 1500 is 3 away from 10 and 6 from 13.
    assert_eq!(
        order("sstf", &[1500, 3900, 200, 2600]),
        [1500, 200, 2600, 3900]
    );
    assert_eq!(order("sstf", &[3900, 200, 2600]), [2600, 3900, 200]);
}

/// How long a request far away waits under a stream of `near` ones, each as its number says, in ns.
fn wait_of_a_far_one(
    op: spindle_disk::Op,
    settings: &str,
    near: impl Fn(i64) -> (i64, u64),
) -> i64 {
    let drive = small_drive(&format!("{settings}\nread_ahead_stop = \"request\""));
    let near = |i: i64| (near(i).0, op, near(i).1, 1);
    // Some of them wait when the far one comes, so that it does not find the arm idle.
    let far_at = MS / 2;
    let (mut requests, after): (Vec<_>, Vec<_>) = (0..400).map(near).partition(|r| r.0 < far_at);
    requests.push((far_at, op, 3900, 1));
    requests.extend(after);
    let lines = run(&mut lab_of(drive, test_bus(""), 256), &requests);
    let far = lines.iter().find(|l| l.lbn == 3900).unwrap();
    far.acknowledged - far.arrival
}

/// One request every 0.2 ms, all over two tracks.
fn scattered(i: i64) -> (i64, u64) {
    (i * MS / 5, (i as u64 * 37) % 200)
}

/// One sector after the other, as fast as the medium.
fn in_a_row(i: i64) -> (i64, u64) {
    (i * MS / 10, i as u64)
}

#[test]
fn aged_sptf_serves_what_sptf_starves() {
    let aged = "queue = \"aged_sptf\"\naged_sptf_permille = 200";
    let plain = wait_of_a_far_one(Read, "queue = \"sptf\"", scattered);
    let aged = wait_of_a_far_one(Read, aged, scattered);
    assert!(aged * 3 < plain * 2, "aged {aged} ns, plain {plain} ns");
}

#[test]
fn nothing_waits_much_longer_than_the_age_limit() {
    // Reads wait for the arm, writes for room in the buffer.
    for op in [Read, Write] {
        for queue in ["sptf", "sstf"] {
            let queue = format!("queue = \"{queue}\"");
            let without = wait_of_a_far_one(op, &queue, scattered);
            let limit = 20 * MS;
            let limited = format!("{queue}\ncommand_age_limit_ns = {limit}");
            let with = wait_of_a_far_one(op, &limited, scattered);
            // What the arm is at, and the far one itself.
            assert!(with < limit + 30 * MS, "{op:?} {queue}: {with} ns");
            assert!(without > 2 * with, "{op:?} {queue}: {without} ns without");
            // A limit that nothing reaches changes nothing.
            let far = format!("{queue}\ncommand_age_limit_ns = {}", without + MS);
            assert_eq!(wait_of_a_far_one(op, &far, scattered), without);
        }
    }
}

#[test]
fn appended_writes_pass_no_write_that_is_overdue() {
    let one = "queue = \"sptf\"\nwrite_segments = 1";
    let without = wait_of_a_far_one(Write, one, in_a_row);
    let limited = format!("{one}\ncommand_age_limit_ns = {}", 5 * MS);
    let with = wait_of_a_far_one(Write, &limited, in_a_row);
    assert!(
        with < 20 * MS && 2 * with < without,
        "{with} ns, {without} ns without"
    );
}

#[test]
fn a_measured_trace_is_replayed_one_request_after_the_other() {
    let measured = |lbn, think_ns| Measured {
        op: Read,
        lbn,
        sectors: 1,
        service_ns: 0,
        think_ns,
    };
    let requests = [measured(50, 3 * MS), measured(20, 0), measured(700, 0)];
    let times = validation::replay(&mut small_lab(""), &requests).unwrap();
    assert_eq!(times.len(), 3);
    let second = times[0] + 3 * MS;
    let third = second + times[1];
    let given = [
        (0, Read, 50, 1),
        (second, Read, 20, 1),
        (third, Read, 700, 1),
    ];
    let lines = run(&mut small_lab(""), &given);
    let served: Vec<_> = lines.iter().map(|l| l.acknowledged - l.arrival).collect();
    assert_eq!(times, served);
}
