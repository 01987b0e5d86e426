// SPDX-License-Identifier: MIT
//! Properties that hold for every request list, on random small drives and buses.

mod common;

use common::{closed_loop, lab_of, lab_of_all, parse_trace, read_trace, small_drive, test_bus};
use common::{Line, MS, QUEUES};
use proptest::prelude::*;
use spindle_disk::rng::SplitMix64;
use spindle_disk::{Lab, Op, NEVER};

#[derive(Debug, Clone)]
struct Setup {
    queue: usize,
    write_cache: bool,
    tags: u32,
    read_segments: u32,
    write_segments: u32,
    segment_sectors: u32,
    /// Write segments share as many sectors, if any.
    write_pool: Option<u32>,
    window: Option<u32>,
    selection_ns: u32,
    overhead_ns: u32,
    read_ahead_min: u32,
    abort: bool,
    resume: bool,
    ata: bool,
    rate_mb_s: u32,
    seed: u64,
}

#[derive(Debug, Clone)]
struct Step {
    wait_ns: i64,
    unit: u32,
    op: Op,
    lbn: u64,
    sectors: u64,
}

/// What most drives leave out.
const OPTIONS: [&str; 5] = [
    "",
    "segment_access = \"host_first\"",
    "segment_access = \"medium_first\"\noverhead_write_data_ns = 700000",
    "overhead_write_disconnect_ns = [300000, 900000, 200000]\nwrite_seek_min_ns = 1500000\n\
     overhead_write_data_ns = 400000\noverhead_write_status_ns = 100000",
    "read_data_kept = false\nread_ahead_wraps = true\nread_ahead_stop = \"stream\"",
];

const UNITS: u32 = 2;
const SECTOR_NS: i64 = 100_000;

fn setup() -> impl Strategy<Value = Setup> {
    let pool = prop::option::of((1..12_u32, 2..100_u32));
    let cache = (1..4_u32, 1..4_u32, 2..40_u32, 0..20_u32, pool);
    let choice = (
        prop::option::of(1..12_u32),
        prop_oneof![Just(0), 1..3_000_000_u32],
    );
    let flags = any::<[bool; 4]>();
    let numbers = (
        0..3_usize,
        prop::sample::select(vec![1_u32, 2, 7, 32]),
        0..400_000_u32,
    );
    (
        cache,
        choice,
        flags,
        numbers,
        prop::sample::select(vec![2_u32, 20, 512]),
        any::<u64>(),
    )
        .prop_map(
            |(
                (read_segments, write_segments, segment_sectors, read_ahead_min, pool),
                (window, selection_ns),
                flags,
                numbers,
                rate_mb_s,
                seed,
            )| {
                let [write_cache, abort, resume, ata] = flags;
                let (queue, tags, overhead_ns) = numbers;
                Setup {
                    queue,
                    write_cache,
                    tags,
                    read_segments,
                    write_segments: pool.map_or(write_segments, |(extents, _)| extents),
                    segment_sectors,
                    write_pool: pool.map(|(_, sectors)| sectors),
                    window,
                    selection_ns,
                    overhead_ns,
                    read_ahead_min,
                    abort,
                    resume,
                    ata,
                    rate_mb_s,
                    seed,
                }
            },
        )
}

/// Requests that meet often: on a few tracks, of all sizes up to several segments.
fn step() -> impl Strategy<Value = Step> {
    let op = prop::sample::select(vec![
        Op::Read,
        Op::Read,
        Op::Read,
        Op::Write,
        Op::Write,
        Op::Write,
        Op::Flush,
        Op::WriteFua,
    ]);
    let wait = prop_oneof![3 => Just(0), 3 => 0..500_000_i64, 1 => 0..40_000_000_i64];
    let place = prop_oneof![4 => 0..120_u64, 1 => 0..3900_u64];
    let sectors = prop_oneof![8 => 1..20_u64, 1 => 1..100_u64];
    (wait, 0..UNITS, op, place, sectors).prop_map(|(wait_ns, unit, op, lbn, sectors)| Step {
        wait_ns,
        unit,
        op,
        lbn,
        sectors,
    })
}

fn lab(setup: &Setup) -> Lab {
    let kind = if setup.ata { "ata" } else { "scsi" };
    let (s, o) = (setup, setup.overhead_ns);
    let key =
        |name: &str, value: Option<u32>| value.map_or(String::new(), |v| format!("{name} = {v}\n"));
    let more = [
        // Room for the longest segments of any test.
        key("buffer_kb", Some(4096)),
        key("write_pool_sectors", s.write_pool),
        key("queue_window_commands", s.window),
        key("queue_selection_ns", Some(s.selection_ns)),
    ]
    .concat();
    let drive = || {
        small_drive(&format!(
            "queue = \"{}\"\nwrite_cache = {}\nread_segments = {}\nwrite_segments = {}\n\
             segment_sectors = {}\nread_ahead_max_sectors = {}\nread_ahead_min_sectors = {}\n\
             read_ahead_abort = \"{}\"\nread_ahead_resume = {}\nbus_kind = \"{kind}\"\n\
             overhead_read_hit_ns = [{o}, {}]\noverhead_read_miss_ns = [{}, {o}]\n\
             overhead_write_hit_ns = [{o}, {o}]\noverhead_write_miss_ns = [{o}, {o}]\n{more}{}",
            QUEUES[s.queue].name(),
            s.write_cache,
            s.read_segments,
            s.write_segments,
            s.segment_sectors,
            s.segment_sectors,
            s.read_ahead_min,
            if s.abort { "command" } else { "arm" },
            s.resume,
            o / 2,
            o * 2,
            OPTIONS[(s.seed % OPTIONS.len() as u64) as usize],
        ))
    };
    let bus = test_bus(&format!(
        "kind = \"{kind}\"\nrate_mb_s = {}\ncommand_ns = 700\nreconnect_ns = 300\nstatus_ns = 200",
        s.rate_mb_s
    ));
    lab_of_all((0..UNITS).map(|_| drive()).collect(), bus, s.tags)
}

/// Runs all steps; returns (cookie, unit, acknowledged, submitted) in order, and the trace.
fn run(setup: &Setup, steps: &[Step]) -> (Vec<(u64, u32, i64)>, Vec<i64>, String) {
    let mut lab = lab(setup);
    let mut now = lab.reset(0, "property", setup.seed).unwrap();
    let (mut done, mut submitted) = (Vec::new(), Vec::new());
    let drain = |lab: &mut Lab, done: &mut Vec<(u64, u32, i64)>| {
        while let Some(c) = lab.completion() {
            assert_eq!(c.status, 0);
            done.push((c.cookie, c.unit, c.acknowledged_ns));
        }
    };
    for (cookie, step) in steps.iter().enumerate() {
        now += step.wait_ns;
        while lab.next_event_ns() <= now {
            lab.advance(lab.next_event_ns());
            drain(&mut lab, &mut done);
        }
        let before = done.len();
        lab.submit(
            now,
            step.unit,
            step.op,
            step.lbn,
            step.sectors,
            cookie as u64,
        )
        .unwrap();
        assert!(lab.completion().is_none(), "completed inside submit");
        assert_eq!(before, done.len());
        submitted.push(now);
    }
    while lab.next_event_ns() != NEVER {
        lab.advance(lab.next_event_ns());
        drain(&mut lab, &mut done);
    }
    assert!(lab.idle(), "nothing is pending, yet the lab is not idle");
    let trace = read_trace(&mut lab);
    (done, submitted, trace)
}

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|c| c.parse().ok())
        .unwrap_or(150);
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_request_keeps_the_rules(
        setup in setup(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let (done, submitted, trace) = run(&setup, &steps);

        // None lost, none twice, none before it was submitted, in order of acknowledgement.
        let mut cookies: Vec<u64> = done.iter().map(|d| d.0).collect();
        cookies.sort_unstable();
        prop_assert_eq!(cookies, (0..steps.len() as u64).collect::<Vec<_>>());
        prop_assert!(done.windows(2).all(|w| w[0].2 <= w[1].2));
        for &(cookie, unit, acknowledged) in &done {
            prop_assert_eq!(unit, steps[cookie as usize].unit);
            prop_assert!(acknowledged > submitted[cookie as usize]);
        }

        // The trace has them in its own order.
        let lines = parse_trace(&trace);
        prop_assert_eq!(lines.len(), steps.len());
        let key = |l: &Line| (l.acknowledged, l.arrival, l.device.clone());
        prop_assert!(lines.windows(2).all(|w| key(&w[0]) <= key(&w[1])));

        for line in &lines {
            let sectors = line.sectors as i64;
            let bus_ns = sectors * 512 * 1000 / i64::from(setup.rate_mb_s);
            prop_assert!(line.start >= line.arrival && line.acknowledged > line.start, "{:?}", line);
            prop_assert!(line.depth >= 1 && line.depth <= setup.tags && line.slot < setup.tags);
            if line.op != 'F' {
                prop_assert!(line.acknowledged - line.start >= bus_ns, "faster than the bus: {:?}", line);
            }
            match (line.op, line.hit.as_str()) {
                ('R', "hit") => prop_assert_eq!(line.medium, None),
                ('R', "miss") => {
                    let medium = line.medium.unwrap();
                    // Up to one sector may have begun to pass when a read-ahead is taken over.
                    prop_assert!(medium - line.start >= (sectors - 1) * SECTOR_NS, "{:?}", line);
                    prop_assert!(line.acknowledged > medium);
                }
                ('R', "part") => prop_assert!(line.acknowledged > line.medium.unwrap()),
                ('W', "cached") => {
                    prop_assert!(setup.write_cache);
                    let medium = line.medium.unwrap();
                    prop_assert!(medium > line.start && medium - line.arrival >= sectors * SECTOR_NS, "{:?}", line);
                }
                ('W' | 'U', "through") => {
                    prop_assert!(line.op == 'U' || !setup.write_cache);
                    prop_assert!(line.acknowledged >= line.medium.unwrap());
                }
                ('F', "-") => {
                    // All that was acknowledged before the flush arrived is on the medium.
                    for other in lines.iter().filter(|l| l.device == line.device && l.op == 'W') {
                        if other.acknowledged <= line.arrival {
                            prop_assert!(other.medium.unwrap() <= line.acknowledged, "{:?} {:?}", line, other);
                        }
                    }
                }
                other => prop_assert!(false, "{:?} in {:?}", other, line),
            }
        }

        // Never more at a disk than it has tags, and no tag twice at a time.
        for unit in ["disk0", "disk1"] {
            let mut own: Vec<&Line> = lines.iter().filter(|l| l.device == unit).collect();
            own.sort_by_key(|l| (l.slot, l.arrival));
            for pair in own.windows(2).filter(|p| p[0].slot == p[1].slot) {
                prop_assert!(pair[0].acknowledged <= pair[1].arrival, "{:?} {:?}", pair[0], pair[1]);
            }
        }
    }

    #[test]
    fn the_newest_write_reaches_the_medium_last(
        setup in setup(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        // Of two overlapping writes, the newer submitted after the older was acknowledged, the
        // older's last sector (whose time its line has) is never written after the newer.
        let lines = parse_trace(&run(&setup, &steps).2);
        let writes: Vec<&Line> = lines.iter().filter(|l| l.op == 'W' || l.op == 'U').collect();
        for old in &writes {
            for new in &writes {
                let last = old.lbn + old.sectors - 1;
                let covered = new.lbn <= last && last < new.lbn + new.sectors;
                // A write longer than a segment goes in parts, in an order of their own.
                let segment = setup.write_pool.unwrap_or(setup.segment_sectors);
                let whole = old.sectors <= u64::from(segment);
                if old.device == new.device && whole && covered && old.acknowledged <= new.arrival {
                    prop_assert!(old.medium.unwrap() <= new.medium.unwrap(), "{:?} {:?}", old, new);
                }
            }
        }
    }

    #[test]
    fn the_same_input_gives_the_same_trace(
        setup in setup(),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        prop_assert_eq!(run(&setup, &steps), run(&setup, &steps));
    }

    #[test]
    fn a_window_of_one_is_the_order_of_arrival(
        setup in setup(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let one = Setup { window: Some(1), selection_ns: 0, ..setup.clone() };
        let fcfs = Setup { window: None, selection_ns: 0, queue: 0, ..setup };
        prop_assert_eq!(run(&one, &steps), run(&fcfs, &steps));
    }

    #[test]
    fn a_window_that_nothing_exceeds_changes_nothing(
        setup in setup(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        // Commands that wait, and dirty extents.
        let wide = Setup { window: Some(setup.tags + setup.write_segments), ..setup.clone() };
        let none = Setup { window: None, ..setup };
        prop_assert_eq!(run(&wide, &steps), run(&none, &steps));
    }

    #[test]
    fn a_pool_of_one_segment_is_a_segment(
        setup in setup(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let segment = Setup { write_segments: 1, write_pool: None, ..setup.clone() };
        let pool = Setup { write_pool: Some(setup.segment_sectors), ..segment.clone() };
        prop_assert_eq!(run(&pool, &steps), run(&segment, &steps));
    }

    #[test]
    fn a_pool_too_large_to_fill_is_segments_that_are_too_large_to_fill(
        setup in setup(),
        steps in prop::collection::vec(step(), 1..12),
    ) {
        // No more than 11 writes of 100 sectors.
        let segments = Setup { read_segments: 1, write_segments: 3, segment_sectors: 1200, write_pool: None, ..setup };
        let pool = Setup { write_pool: Some(3600), ..segments.clone() };
        prop_assert_eq!(run(&pool, &steps), run(&segments, &steps));
    }

    #[test]
    fn sptf_picks_what_positions_soonest(
        first in 0..4000_u64,
        lbns in prop::collection::btree_set(0..4000_u64, 2..20),
        rest in any::<prop::sample::Index>(),
        resettle_ns in 0..600_000_u32,
    ) {
        // All wait while the first sector is read; then the arm leaves from the same state,
        // whatever the order. FCFS picks each of them in turn.
        let lbns: Vec<u64> = lbns.into_iter().filter(|&l| l != first).collect();
        prop_assume!(lbns.len() > 1);
        let next = |queue: &str, front: usize| {
            let mut lbns = lbns.clone();
            lbns.swap(0, front);
            let lines = single_reads(queue, resettle_ns, first, &lbns);
            let mut ends: Vec<i64> = lines.iter().filter(|l| l.lbn != first).map(|l| l.medium.unwrap()).collect();
            ends.sort_unstable();
            ends[0]
        };
        let soonest = next("sptf", 0);
        prop_assert!(soonest <= next("fcfs", rest.index(lbns.len())));
        let best = (0..lbns.len()).map(|i| next("fcfs", i)).min().unwrap();
        prop_assert_eq!(soonest, best);
    }
}

/// Trace lines of single-sector reads without read-ahead: `first`, and the others while it is
/// being read.
fn single_reads(queue: &str, resettle_ns: u32, first: u64, lbns: &[u64]) -> Vec<Line> {
    let drive = small_drive(&format!(
        "queue = \"{queue}\"\nread_ahead_stop = \"request\"\nresettle_ns = {resettle_ns}"
    ));
    let mut lab = lab_of(drive, test_bus(""), 256);
    lab.submit(0, 0, Op::Read, first, 1, 0).unwrap();
    for (cookie, &lbn) in (1..).zip(lbns) {
        lab.submit(1, 0, Op::Read, lbn, 1, cookie).unwrap();
    }
    while lab.next_event_ns() != NEVER {
        lab.advance(lab.next_event_ns());
        while lab.completion().is_some() {}
    }
    parse_trace(&read_trace(&mut lab))
}

#[test]
fn sptf_ends_a_batch_before_fcfs() {
    // In sum over random batches; one alone may be unlucky, since SPTF looks one step ahead.
    let mut rng = SplitMix64::new(1);
    let (mut sums, mut better) = ([0_i64; 4], 0);
    for _ in 0..100 {
        let lbns: Vec<u64> = (0..16).map(|_| rng.below(4000)).collect();
        let ends = ["fcfs", "clook", "sstf", "sptf"].map(|queue| {
            let lines = single_reads(queue, 0, rng.clone().below(4000), &lbns);
            lines.iter().map(|l| l.acknowledged).max().unwrap()
        });
        better += i32::from(ends[3] < ends[0]);
        sums.iter_mut().zip(ends).for_each(|(sum, end)| *sum += end);
    }
    let [fcfs, clook, sstf, sptf] = sums;
    assert!(sptf < sstf && sptf < clook, "{sums:?}");
    assert!(clook < fcfs && sstf < fcfs, "{sums:?}");
    assert!(
        sptf * 10 < fcfs * 7 && better >= 98,
        "{sums:?}, {better} of 100"
    );
}

#[test]
fn more_tags_give_more_random_reads() {
    // In sum over seeds, under SPTF; twice the choice never costs anything.
    let total = |tags: usize| {
        (1..=20)
            .map(|seed| {
                let mut rng = SplitMix64::new(seed);
                let reads: Vec<_> = (0..200).map(|_| (Op::Read, rng.below(4000), 1)).collect();
                let drive = small_drive("queue = \"sptf\"\nread_ahead_stop = \"request\"");
                closed_loop(&mut lab_of(drive, test_bus(""), 64), &reads, tags, 0)
            })
            .sum::<i64>()
    };
    let totals = [1, 2, 4, 8, 16, 32, 64].map(total);
    assert!(totals.windows(2).all(|t| t[1] < t[0]), "{totals:?}");
    // At depth 1, half a revolution and a seek each; at 32, a quarter of that.
    assert!(
        totals[0] > 20 * 200 * 6 * MS && totals[5] * 3 < totals[0],
        "{totals:?}"
    );
}
