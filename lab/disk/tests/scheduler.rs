// SPDX-License-Identifier: MIT
//! How many of the commands that wait a drive looks at, and what choosing takes it: times computed
//! by hand, on the small drive described in `common`.

mod common;

use common::{closed_loop, lab_of, run, small_drive, small_lab, test_bus, Line, MS};
use spindle_disk::rng::SplitMix64;
use spindle_disk::Op::{self, Flush, Read, Write};

const TENTH: i64 = MS / 10;
const SPTF: &str = "queue = \"sptf\"\nread_ahead_stop = \"request\"\n";

/// The LBNs in the order in which the medium is done with them.
fn order(lines: &[Line]) -> Vec<u64> {
    let mut lines: Vec<_> = lines.iter().filter(|l| l.medium.is_some()).collect();
    lines.sort_by_key(|l| l.medium);
    lines.iter().map(|l| l.lbn).collect()
}

/// The order of reads that come, in this order, while sector 10 is being read.
fn order_of_reads(settings: &str, lbns: &[u64]) -> Vec<u64> {
    let mut reads = vec![(0, Read, 10, 1)];
    reads.extend(lbns.iter().map(|&lbn| (1, Read, lbn, 1)));
    order(&run(&mut small_lab(&format!("{SPTF}{settings}")), &reads))
}

#[test]
fn the_window_holds_the_oldest_that_wait() {
    let lbns = [90, 70, 50, 30, 20];
    assert_eq!(order_of_reads("", &lbns), [10, 20, 30, 50, 70, 90]);
    // 0: all of them.
    for wide in [5, 6, 4_000_000, 0] {
        let wide = format!("queue_window_commands = {wide}");
        assert_eq!(order_of_reads(&wide, &lbns), order_of_reads("", &lbns));
    }
    let narrow = |window| order_of_reads(&format!("queue_window_commands = {window}"), &lbns);
    assert_eq!(narrow(1), [10, 90, 70, 50, 30, 20]);
    // Of 90 and 70 the nearer; then of 90 and 50 the nearer, since the head is past 70.
    assert_eq!(narrow(2), [10, 70, 90, 30, 50, 20]);
    assert_eq!(narrow(3)[..2], [10, 50]);
}

#[test]
fn the_window_holds_dirty_extents_too() {
    // While the arm is at sector 10, two writes become dirty and two reads come.
    let rest = [
        (1000, Write, 90, 1),
        (1000, Write, 70, 1),
        (2000, Read, 50, 1),
        (2000, Read, 30, 1),
    ];
    let order_of = |settings: &str| {
        let mut requests = vec![(0, Read, 10, 1)];
        requests.extend(rest);
        order(&run(
            &mut small_lab(&format!("{SPTF}{settings}")),
            &requests,
        ))
    };
    assert_eq!(order_of(""), [10, 30, 50, 70, 90]);
    assert_eq!(order_of("queue_window_commands = 1"), [10, 90, 70, 50, 30]);
    // 90 and 70; then 90 and 50, of which 90 comes first under the head.
    assert_eq!(order_of("queue_window_commands = 2"), [10, 70, 90, 30, 50]);
}

#[test]
fn what_cannot_be_served_takes_no_place_in_the_window() {
    // The read of what a younger write has in the buffer waits for the medium to have it.
    let settings = format!("{SPTF}queue_window_commands = 1\nread_hits_writes = false");
    let requests = [
        (0, Read, 10, 1),
        (1000, Write, 48, 4),
        (2000, Read, 50, 1),
        (3000, Flush, 0, 0),
    ];
    let lines = run(&mut small_lab(&settings), &requests);
    assert_eq!(order(&lines), [10, 48, 50]);
}

#[test]
fn the_window_decides_which_write_gets_room() {
    // One segment, which the first write has; the others wait for room.
    let requests = [
        (0, Write, 10, 1),
        (1000, Write, 90, 1),
        (1000, Write, 70, 1),
        (1000, Write, 30, 1),
    ];
    let order_of = |settings: &str| {
        let settings = format!("{SPTF}write_segments = 1\n{settings}");
        order(&run(&mut small_lab(&settings), &requests))
    };
    assert_eq!(order_of(""), [10, 30, 70, 90]);
    assert_eq!(order_of("queue_window_commands = 1"), [10, 90, 70, 30]);
    assert_eq!(order_of("queue_window_commands = 2"), [10, 70, 90, 30]);
}

/// When the first of three reads that wait for sector 10 has been read; the others are far.
fn second_read(lbn: u64, selection_ns: i64) -> i64 {
    let settings = format!("{SPTF}queue_selection_ns = {selection_ns}");
    let reads = [10, lbn, 60, 90].map(|lbn| (0, Read, lbn, 1));
    let lines = run(&mut small_lab(&settings), &reads);
    lines[1].medium.unwrap()
}

#[test]
fn choosing_costs_nothing_while_the_arm_is_at_work() {
    // Sector 10 is read by 1.1 ms. Three wait: the drive has looked at them by then. Had it begun
    // to look only then, sector 20 would have passed.
    for selection_ns in [0, 1000, 11 * TENTH / 3] {
        let done = second_read(20, selection_ns);
        assert_eq!(done, 2 * MS + TENTH, "{selection_ns}");
    }
}

#[test]
fn the_arm_waits_for_a_long_choice() {
    // Chosen at 2.7 ms, in time for sector 30; at 3.3 ms, when 30 has passed: 60 is the nearest,
    // and so on, and 30 comes a turn later.
    assert_eq!(second_read(30, 9 * TENTH), 3 * MS + TENTH);
    assert_eq!(second_read(30, 11 * TENTH), 13 * MS + TENTH);
}

#[test]
fn one_command_needs_no_choice() {
    let with = |settings: &str| {
        let requests: Vec<_> = (0..20)
            .map(|i| {
                (
                    i * 50 * MS,
                    if i % 2 == 0 { Read } else { Write },
                    i as u64 * 90,
                    8,
                )
            })
            .collect();
        run(&mut small_lab(&format!("{SPTF}{settings}")), &requests)
    };
    assert_eq!(with("queue_selection_ns = 5000000"), with(""));
}

/// How long 400 random reads take with 32 outstanding.
fn random_ns(settings: &str, op: Op) -> i64 {
    let mut rng = SplitMix64::new(7);
    let requests: Vec<_> = (0..400).map(|_| (op, rng.below(4000), 1)).collect();
    // One write segment, so that what gets room is what the arm goes for next.
    let drive = small_drive(&format!("{SPTF}write_segments = 1\n{settings}"));
    closed_loop(&mut lab_of(drive, test_bus(""), 32), &requests, 32, 0)
}

#[test]
fn a_wider_window_serves_more() {
    for op in [Read, Write] {
        let of = |window: u32| random_ns(&format!("queue_window_commands = {window}"), op);
        let times = [1, 2, 4, 8, 16, 32].map(of);
        assert!(times.windows(2).all(|t| t[1] < t[0]), "{op:?}: {times:?}");
        assert_eq!(of(64), random_ns("", op));
    }
}

#[test]
fn a_dearer_choice_serves_less() {
    let of = |us: u32| random_ns(&format!("queue_selection_ns = {}", us * 1000), Read);
    // 32 times 20 us are less than the least access; 32 times 1 ms are three turns.
    assert!(of(1000) > of(200) && of(200) > of(0));
    // A window makes it cheap again.
    let windowed = random_ns(
        "queue_selection_ns = 1000000\nqueue_window_commands = 4",
        Read,
    );
    assert!(windowed < of(1000));
}
