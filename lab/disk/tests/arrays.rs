// SPDX-License-Identifier: MIT
//! Arrays behind a controller, on the small drives described in `common`, a bus each.

mod common;

use std::path::Path;

use common::{parse_trace, read_trace, small_drive, test_bus, Line, MS, US};
use proptest::prelude::*;
use spindle_disk::array::layout::Layout;
use spindle_disk::array::ArraySpec;
use spindle_disk::catalogue::{Catalogue, QueueAlgorithm};
use spindle_disk::rng::SplitMix64;
use spindle_disk::topology::{Fault, Topology, UnitKind, UnitSpec};
use spindle_disk::Op::{self, Flush, Read, Write, WriteFua};
use spindle_disk::{Lab, EIO, NEVER};

/// An array of small drives `m0`, `m1`, ..., called `disk0`; `set` is over the catalogue's entry.
/// Units have 8 KB, 16 sectors, unless `set` says otherwise. No time for processor or host bus.
fn array_of(controller: &str, set: &str, faults: &[(u32, i64)]) -> Lab {
    array_on(controller, set, faults, ["rate_mb_s = 100000", ""])
}

/// The same with changes of the test bus: of that to the host, and of the members'.
fn array_on(controller: &str, set: &str, faults: &[(u32, i64)], buses: [&str; 2]) -> Lab {
    let mut table: toml::Table = "stripe_unit_kb = 8\nhost_command_ns = 0\nmember_command_ns = 0\n\
                                  xor_mb_s = 1000000"
        .parse()
        .unwrap();
    table.extend(set.parse::<toml::Table>().unwrap());
    let catalogue = Catalogue::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue"));
    let mut model = catalogue.array(controller, &table).unwrap();
    model.host_bus = test_bus(buses[0]);
    let file = &model.file;
    let (members, spares) = (file.members.value, file.spares.value);
    let unit = |number: u32| UnitSpec {
        name: format!("m{number}"),
        max_tags: 4,
        kind: UnitKind::Drive {
            model: Box::new(small_drive("")),
            bus: number as usize,
            queue: QueueAlgorithm::Fcfs,
            write_cache: file.member_write_cache.value,
        },
    };
    let units: Vec<UnitSpec> = (0..members + spares).map(unit).collect();
    let unit_sectors = file.stripe_unit_kb.value * 2;
    let layout = Layout::new(file.level.value, members, unit_sectors, 4000).unwrap();
    Lab::new(Topology {
        buses: units.iter().map(|_| test_bus(buses[1])).collect(),
        arrays: vec![ArraySpec {
            name: "disk0".into(),
            max_tags: file.max_tags.value,
            card: None,
            members: (0..members).collect(),
            spares: (members..members + spares).collect(),
            layout,
            model: Box::new(model),
        }],
        faults: faults
            .iter()
            .map(|&(unit, after_marker_ns)| Fault {
                marker: None,
                unit,
                after_marker_ns,
            })
            .collect(),
        units,
        ..Topology::default()
    })
}

/// What came of the requests: by cookie, status and time; and the trace.
#[derive(Debug, PartialEq)]
struct Outcome {
    done: Vec<(i32, i64)>,
    lines: Vec<Line>,
    /// All of the trace.
    text: String,
}

impl Outcome {
    /// Commands to members that begin with one of these letters.
    fn members(&self, ops: &str) -> usize {
        let lines = self.lines.iter();
        lines
            .filter(|l| l.device.starts_with('m') && ops.contains(l.op))
            .count()
    }

    fn host(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|l| l.device == "disk0")
    }
}

/// Runs requests (time after the marker, operation, LBN, sectors; times rise) and then on until
/// nothing that anybody waits for is left.
fn run(lab: &mut Lab, requests: &[(i64, Op, u64, u64)]) -> Outcome {
    let unit = lab.unit("disk0").unwrap();
    lab.reset(0, "cell", 1).unwrap();
    let mut done = vec![None; requests.len()];
    let mut given = 0;
    loop {
        while let Some(c) = lab.completion() {
            assert_eq!(c.unit, unit);
            let first = done[c.cookie as usize].replace((c.status, c.acknowledged_ns));
            assert_eq!(first, None, "acknowledged twice");
        }
        let event = lab.next_event_ns();
        match requests.get(given) {
            Some(&(at, op, lbn, sectors)) if at <= event => {
                lab.submit(at, unit, op, lbn, sectors, given as u64)
                    .unwrap();
                given += 1;
            }
            _ if event == NEVER => break,
            _ => lab.advance(event),
        }
    }
    assert!(lab.idle());
    let done = done.into_iter().map(|d| d.expect("all are acknowledged"));
    let text = read_trace(lab);
    Outcome {
        done: done.collect(),
        lines: parse_trace(&text),
        text,
    }
}

/// `count` writes of a block, all over the array, not two in one row.
fn scattered(count: u64, gap: i64) -> Vec<(i64, Op, u64, u64)> {
    let row = 7 * 16;
    let block = |i: u64| {
        (
            i as i64 * gap,
            Write,
            (i * 37 % 250) * row + i % 7 * 16 + 4,
            8,
        )
    };
    (0..count).map(block).collect()
}

#[test]
fn a_small_write_to_raid5_costs_four_commands() {
    for set in ["", "write_back = false\nbattery = false"] {
        let outcome = run(&mut array_of("raid5-ide-8", set, &[]), &scattered(100, MS));
        assert!(outcome.done.iter().all(|d| d.0 == 0));
        assert_eq!(
            (outcome.members("R"), outcome.members("WU")),
            (200, 200),
            "{set}"
        );
    }
}

#[test]
fn a_full_cache_slows_small_writes_to_what_the_members_do() {
    // The cache has room for 64 KB: 16 blocks of 4 KB. Without it each write costs 4 commands, two
    // after the other, and eight members share them.
    let requests = scattered(240, 0);
    let set = |cache: &str| format!("{cache}\nmax_tags = 64");
    let time = |set: &str| {
        let outcome = run(&mut array_of("raid5-ide-8", set, &[]), &requests);
        let last = outcome.done.iter().map(|d| d.1).max().unwrap();
        (last, outcome.members("RWU"))
    };
    let (hidden, commands) = time(&set(""));
    let (small, small_commands) = time(&set("cache_kb = 64"));
    assert_eq!((commands, small_commands), (960, 960));
    assert!(hidden < 2 * MS, "out of the cache: {hidden}");
    // 960 commands of some 5 to 11 ms at 8 members.
    assert!(
        small > 240 * 4 * 3 * MS / 8,
        "as fast as the members: {small}"
    );
}

#[test]
fn full_stripes_read_nothing() {
    // 8 KB at a time, in order: put together in the cache.
    let requests: Vec<_> = (0..70)
        .map(|i| (i as i64 * MS / 10, Write, i * 16, 16))
        .collect();
    let outcome = run(&mut array_of("raid5-ide-8", "", &[]), &requests);
    assert_eq!((outcome.members("R"), outcome.members("W")), (0, 80));
    // A large one needs no cache for it.
    let set = "write_back = false\nbattery = false";
    let outcome = run(
        &mut array_of("raid5-ide-8", set, &[]),
        &[(0, Write, 112, 112)],
    );
    assert_eq!((outcome.members("R"), outcome.members("W")), (0, 8));
}

#[test]
fn neighbours_are_written_together() {
    // Four blocks of one unit: one read and write of it, and of the parity.
    let requests: Vec<_> = [0, 3, 1, 2].iter().map(|i| (0, Write, i * 4, 4)).collect();
    let outcome = run(&mut array_of("raid5-ide-8", "", &[]), &requests);
    assert_eq!((outcome.members("R"), outcome.members("W")), (2, 2));
    assert!(outcome
        .host()
        .all(|l| l.hit == "cached" && l.medium > Some(100 * MS)));
}

#[test]
fn reads_come_from_the_cache_or_the_members() {
    let requests = [
        (0, Write, 0, 8),
        (MS, Read, 0, 8),
        (2 * MS, Read, 0, 16),
        (500 * MS, Read, 0, 16),
        (600 * MS, Read, 1000, 100),
    ];
    let outcome = run(&mut array_of("raid5-ide-8", "", &[]), &requests);
    let hits: Vec<_> = outcome.host().map(|l| (l.hit.as_str(), l.lbn)).collect();
    assert_eq!(
        hits,
        [
            ("cached", 0),
            ("hit", 0),
            ("part", 0),
            ("hit", 0),
            ("miss", 1000)
        ]
    );
    // The rest of the unit; the two of the small write; 100 sectors over 7 units.
    assert_eq!(outcome.members("R"), 1 + 2 + 7);
}

#[test]
fn a_degraded_read_costs_all_the_others() {
    let reads: Vec<_> = (0..7)
        .map(|i| (100 * MS + i as i64 * 50 * MS, Read, i * 16, 8))
        .collect();
    let outcome = run(&mut array_of("raid5-ide-8", "", &[(0, 0)]), &reads);
    assert!(outcome.done.iter().all(|d| d.0 == 0));
    // Row 0 has its parity on m7, so that m0 has the first unit.
    assert_eq!(outcome.members("R"), 7 + 6);
    assert!(outcome.lines.iter().all(|l| l.device != "m0"));
}

#[test]
fn writes_go_on_without_a_member() {
    for set in ["", "write_back = false\nbattery = false"] {
        let outcome = run(
            &mut array_of("raid5-ide-8", set, &[(3, 40 * MS)]),
            &scattered(200, MS),
        );
        assert!(outcome.done.iter().all(|d| d.0 == 0), "{set}");
        // Those in flight at the failure are the last that m3 sees.
        let m3 = outcome.lines.iter().filter(|l| l.device == "m3");
        assert!(m3.clone().all(|l| l.arrival <= 40 * MS), "{set}");
        if set.is_empty() {
            assert_eq!(m3.count(), 0, "nothing was written out by then");
        } else {
            assert!(m3.clone().any(|l| l.hit == "failed"));
        }
    }
}

#[test]
fn a_second_failure_is_an_error_and_never_silent() {
    let faults = [(0, 10 * MS), (1, 60 * MS)];
    let row = 7 * 16;
    let requests = [
        (15 * MS, Read, 0, 8),
        (70 * MS, Read, 8, 8),    // on m0: needs m1
        (200 * MS, Read, 32, 8),  // on m2
        (400 * MS, Write, 16, 8), // on m1: acknowledged, and then lost
        (600 * MS, Read, 16, 8),
        (700 * MS, Write, 10 * row + 64, 8),
        (900 * MS, Read, 10 * row + 64, 8),
    ];
    let outcome = run(
        &mut array_of("raid5-ide-8", "battery = false", &faults),
        &requests,
    );
    let status: Vec<_> = outcome.done.iter().map(|d| d.0).collect();
    assert_eq!(status[..4], [0, EIO, 0, 0]);
    assert_eq!(status[4], EIO, "what is lost is not read");
    assert_eq!(status[5..], [0, 0]);
    let lost = outcome.host().find(|l| l.op == 'W' && l.lbn == 16).unwrap();
    assert_eq!(lost.medium, None);
    // The flush after it tells, once.
    let flushes = [
        (0, Write, 16, 8),
        (MS, Flush, 0, 0),
        (500 * MS, Flush, 0, 0),
    ];
    let mut lab = array_of("raid5-ide-8", "battery = false", &[(0, 0), (1, 0)]);
    let status: Vec<_> = run(&mut lab, &flushes).done.iter().map(|d| d.0).collect();
    assert_eq!(status, [0, EIO, 0]);
    // Without a cache, the write itself fails.
    let set = "write_back = false\nbattery = false";
    let mut lab = array_of("raid5-ide-8", set, &[(0, 0), (1, 0)]);
    assert_eq!(run(&mut lab, &[(MS, Write, 16, 8)]).done[0].0, EIO);
    // Stripes without redundancy lose a member's share at once.
    let mut lab = array_of("raid0-4", "", &[(1, MS / 2)]);
    let requests: Vec<_> = (0..4)
        .flat_map(|i| [(MS, Read, i * 16, 8), (MS, Write, i * 16, 8)])
        .collect();
    let status: Vec<_> = run(&mut lab, &requests).done.iter().map(|d| d.0).collect();
    assert_eq!(status, [0, 0, EIO, EIO, 0, 0, 0, 0]);
}

/// The third waits for the second, which waits for the first; it is not in the first's way itself.
#[test]
fn writes_over_one_another_wait_in_a_chain() {
    // Without the members' buffers the first is still on its way when the last comes.
    let sets = ["", "\nmember_write_cache = false"];
    for controller in ["raid0-4", "3w5400-raid0-4", "raid5-ide-8"] {
        for set in sets.map(|more| format!("write_back = false\nbattery = false{more}")) {
            let (done, ended) = std::sync::mpsc::channel();
            // A lab that stands still is a failure, too: it would do so for ever.
            std::thread::spawn(move || {
                let mut lab = array_of(controller, &set, &[]);
                let requests = [
                    (MS, Write, 0, 20),
                    (MS + 100 * US, Write, 16, 20),
                    (MS + 200 * US, Write, 30, 4),
                ];
                let outcome = run(&mut lab, &requests);
                done.send(outcome.done.iter().all(|d| d.0 == 0)).unwrap();
            });
            let limit = std::time::Duration::from_secs(60);
            assert_eq!(ended.recv_timeout(limit), Ok(true), "{controller}");
        }
    }
}

#[test]
fn a_spare_takes_over_row_by_row() {
    let set = "members = 4\nspares = 1\nrebuild_kib_s = 1024";
    // Ten reads of m1's first unit: from the others while it is missing, from the spare when the
    // rebuild has passed.
    let reads: Vec<_> = (0..10)
        .map(|i| (i as i64 * 500 * MS + 3 * MS, Read, 16 + i * 48 * 4, 8))
        .collect();
    let mut lab = array_of("raid5-ide-8", set, &[(1, 2 * MS)]);
    let outcome = run(&mut lab, &reads);
    assert!(outcome.done.iter().all(|d| d.0 == 0));
    lab.advance(20_000 * MS);
    let mut lines = outcome.lines;
    lines.extend(parse_trace(&read_trace(&mut lab)));
    // All 250 rows, in order, at the rate or slower: 8 KB a row at 1 MB/s.
    let spare: Vec<_> = lines
        .iter()
        .filter(|l| l.device == "m4" && l.op == 'U')
        .collect();
    let rows: Vec<_> = spare.iter().map(|l| (l.lbn, l.sectors)).collect();
    assert_eq!(rows, (0..250).map(|r| (r * 16, 16)).collect::<Vec<_>>());
    let took = spare[249].acknowledged - spare[0].arrival;
    assert!(took >= 249 * 8 * 1000 * MS / 1024, "{took}");
    // Now the array is whole: a read costs one command, and another member may fail.
    let before = lines.len();
    assert!(before > 0 && lab.idle());
    lab.reset(20_001 * MS, "whole", 2).unwrap();
    let unit = lab.unit("disk0").unwrap();
    lab.submit(20_100 * MS, unit, Read, 16, 8, 0).unwrap();
    lab.advance(20_200 * MS);
    assert_eq!(lab.completion().unwrap().status, 0);
    let lines = parse_trace(&read_trace(&mut lab));
    let devices: Vec<_> = lines.iter().map(|l| l.device.as_str()).collect();
    assert_eq!(devices, ["m4", "disk0"]);
}

/// What the trace says of the array: `event member state STATE`, each with its time.
fn states(text: &str) -> Vec<(i64, String)> {
    let lines = text.lines().filter_map(|l| l.strip_prefix("# array "));
    let state = |line: &str| {
        let w: Vec<&str> = line.split(' ').collect();
        assert_eq!(
            (w[0], w[1], w[5], w.len()),
            ("disk0", "now_ns", "state", 7),
            "{line}"
        );
        (w[2].parse().unwrap(), w[3..].join(" "))
    };
    lines.map(state).collect()
}

/// The same after some requests, the last of them long after all faults.
fn states_of(controller: &str, set: &str, faults: &[(u32, i64)]) -> Vec<String> {
    let mut lab = array_of(controller, set, faults);
    let requests: Vec<_> = (0..12)
        .map(|i| (i * 500 * MS, Write, i as u64 * 16, 16))
        .collect();
    let states = states(&run(&mut lab, &requests).text);
    assert!(states.is_sorted_by_key(|(at, _)| *at));
    states.into_iter().map(|(_, words)| words).collect()
}

#[test]
fn the_trace_says_the_state_without_a_spare() {
    let raid5 = "members = 3\nspares = 0";
    for (controller, set, failed, last) in [
        ("raid5-ide-8", raid5, vec![1], "degraded"),
        ("raid5-ide-8", raid5, vec![1, 2], "lost"),
        ("raid1-2", "", vec![0], "degraded"),
        ("raid1-2", "", vec![0, 1], "lost"),
        ("raid10-4", "", vec![0, 2], "degraded"),
        ("raid10-4", "", vec![2, 3], "lost"),
        ("raid0-4", "", vec![1], "lost"),
    ] {
        let faults: Vec<_> = failed.iter().map(|m| (*m, 50 * MS)).collect();
        let said = states_of(controller, set, &faults);
        assert_eq!(said.len(), failed.len(), "{controller}: {said:?}");
        for (words, member) in said.iter().zip(&failed) {
            assert!(
                words.starts_with(&format!("failed m{member} ")),
                "{controller}: {said:?}"
            );
        }
        assert!(
            said[said.len() - 1].ends_with(last),
            "{controller}: {said:?}"
        );
    }
}

#[test]
fn the_trace_says_when_a_member_failed() {
    let raid5 = "members = 3\nspares = 0";
    assert!(states_of("raid5-ide-8", raid5, &[]).is_empty());
    let late = [(1, 100_000 * MS)];
    assert!(
        states_of("raid5-ide-8", raid5, &late).is_empty(),
        "later than all that happened"
    );
    let mut lab = array_of("raid10-4", "", &[(2, 60 * MS), (0, 50 * MS), (0, 70 * MS)]);
    let text = run(&mut lab, &[(0, Read, 0, 8), (80 * MS, Read, 0, 8)]).text;
    let at = |words: &str| {
        let line = text.lines().position(|l| l == words);
        line.unwrap_or_else(|| panic!("{words}: {text}"))
    };
    let first = at("# array disk0 now_ns 50000000 failed m0 state degraded");
    let second = at("# array disk0 now_ns 60000000 failed m2 state degraded");
    assert_eq!(
        second,
        first + 1,
        "between the requests, and once for each member"
    );
    assert_eq!(text.matches("# array").count(), 2, "{text}");
    assert!(
        text.lines().nth(second + 1).unwrap().starts_with('m'),
        "{text}"
    );
}

#[test]
fn the_trace_says_what_becomes_of_a_spare() {
    let raid5 =
        |spares: u32, rate: u32| format!("members = 3\nspares = {spares}\nrebuild_kib_s = {rate}");
    let (slow, fast) = (10, 10_000);
    let states = |spares, rate, faults: &[(u32, i64)]| {
        states_of("raid5-ide-8", &raid5(spares, rate), faults).join(", ")
    };
    let (failed, began) = ("failed m1 state degraded", "began m3 state rebuilding");
    let one = (1, 50 * MS);
    assert_eq!(states(1, slow, &[one]), format!("{failed}, {began}"));
    let filled = format!("{failed}, {began}, filled m3 state whole");
    assert_eq!(states(1, fast, &[one]), filled);
    assert_eq!(states(1, 0, &[one]), failed, "it does not rebuild");
    let second = (0, 4_000 * MS);
    assert_eq!(
        states(1, slow, &[one, second]),
        format!("{failed}, {began}, failed m0 state lost")
    );
    assert_eq!(
        states(1, fast, &[one, second]),
        format!("{filled}, failed m0 state degraded")
    );
    assert_eq!(
        states(2, fast, &[one, (0, 5_400 * MS)]),
        format!("{filled}, failed m0 state degraded, began m4 state rebuilding")
    );
    let spare = (3, 60 * MS);
    assert_eq!(
        states(1, slow, &[one, spare]),
        format!("{failed}, {began}, failed m3 state degraded")
    );
    assert_eq!(
        states(2, slow, &[one, spare]),
        format!("{failed}, {began}, failed m3 state degraded, began m4 state rebuilding")
    );
    assert_eq!(
        states(1, slow, &[spare]),
        "failed m3 state whole",
        "nothing used it"
    );
}

#[test]
fn a_spare_is_whole_with_its_last_row() {
    let set = "members = 3\nspares = 1\nrebuild_kib_s = 1000";
    let requests = [(0, Read, 0, 8), (20_000 * MS, Read, 0, 8)];
    let filled_at = |faults: &[(u32, i64)]| {
        let mut lab = array_of("raid5-ide-8", set, faults);
        let text = run(&mut lab, &requests).text;
        let last = parse_trace(&text)
            .into_iter()
            .rfind(|l| l.device == "m3" && l.hit != "failed");
        let said = text
            .lines()
            .filter(|l| l.starts_with("# array"))
            .map(String::from);
        (last.map_or(0, |l| l.acknowledged), said.collect::<Vec<_>>())
    };
    let (whole_ns, said) = filled_at(&[(1, 50 * MS)]);
    assert_eq!(
        said[2],
        format!("# array disk0 now_ns {whole_ns} filled m3 state whole")
    );
    // Just before, a row is still to be made, and nobody can make it any more.
    for (at, state) in [(whole_ns - 100 * MS, "lost"), (whole_ns + 1, "degraded")] {
        let (_, said) = filled_at(&[(1, 50 * MS), (0, at)]);
        let last = format!("# array disk0 now_ns {at} failed m0 state {state}");
        assert_eq!(said.last(), Some(&last), "{said:?}");
    }
}

#[test]
fn marks_stand_behind_what_was_acknowledged() {
    let mut lab = array_of("raid1-2", "", &[]);
    run(&mut lab, &[(0, Write, 0, 8)]);
    let unit = lab.unit("disk0").unwrap();
    let now = 1_000 * MS;
    assert_eq!(lab.outstanding(), 0);
    lab.submit(now, unit, Read, 800, 8, 7).unwrap();
    lab.submit(now, unit, Write, 0, 8, 8).unwrap();
    assert_eq!(lab.outstanding(), 2);
    let first = loop {
        lab.advance(lab.next_event_ns());
        if let Some(done) = lab.completion() {
            break done.acknowledged_ns;
        }
    };
    assert_eq!(lab.outstanding(), 1);
    lab.mark(first, "drained 1 commands").unwrap();
    for bad in ["", " ", "two\nlines", "caf\u{e9}", "tab\t"] {
        let message = lab.mark(first, bad).unwrap_err().to_string();
        assert!(message.contains("one line of printable ASCII"), "{message}");
    }
    assert!(lab
        .mark(now, "early")
        .unwrap_err()
        .to_string()
        .contains("lies before"));
    while lab.next_event_ns() != NEVER {
        lab.advance(lab.next_event_ns());
        while lab.completion().is_some() {}
    }
    lab.mark(10_000 * MS, "end").unwrap();
    let text = read_trace(&mut lab);
    let lines: Vec<&str> = text.lines().collect();
    let mark = lines
        .iter()
        .position(|l| *l == format!("# drained 1 commands now_ns {first}"));
    let mark = mark.unwrap_or_else(|| panic!("{text}"));
    assert_eq!(lines.last(), Some(&"# end now_ns 10000000000"));
    for (number, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, l)| !l.starts_with('#'))
    {
        let acknowledged: i64 = line.split(' ').nth(7).unwrap().parse().unwrap();
        assert_eq!(number < mark, acknowledged <= first, "{line}");
    }
    assert!(
        mark > 0 && mark + 2 < lines.len(),
        "requests on both sides: {text}"
    );
}

#[test]
fn a_rebuild_survives_a_marker_and_repeats() {
    let set = "members = 4\nspares = 1\nrebuild_kib_s = 1024";
    let go = || {
        let mut lab = array_of("raid5-ide-8", set, &[(1, 2 * MS)]);
        let unit = lab.unit("disk0").unwrap();
        lab.reset(0, "first", 1).unwrap();
        // In the middle of a row.
        lab.advance(1_003 * MS);
        assert!(lab.idle());
        assert_eq!(lab.next_event_ns(), NEVER, "nobody waits for it");
        lab.reset(1_003 * MS, "second", 2).unwrap();
        for i in 0..50 {
            lab.submit(
                (1_010 + i * 3) * MS,
                unit,
                Write,
                i as u64 * 61 % 11_000,
                8,
                0,
            )
            .unwrap();
        }
        lab.advance(20_000 * MS);
        assert!(std::iter::from_fn(|| lab.completion()).all(|c| c.status == 0));
        assert!(lab.idle());
        read_trace(&mut lab)
    };
    let text = go();
    let lines = parse_trace(&text);
    let rebuilt: std::collections::BTreeSet<u64> = lines
        .iter()
        .filter(|l| l.device == "m4" && l.op == 'U' && l.sectors == 16)
        .map(|l| l.lbn)
        .collect();
    assert_eq!(rebuilt.len(), 250, "every row");
    assert_eq!(text, go());
}

#[test]
fn mirrors_write_twice_and_read_once() {
    let mut requests: Vec<_> = (0..20)
        .map(|i| (i as i64 * 30 * MS, Write, i * 176, 8))
        .collect();
    requests.extend((0..20).map(|i| {
        (
            1000 * MS + i as i64 * 30 * MS,
            Read,
            i * 151 / 16 * 16 + 4,
            8,
        )
    }));
    let outcome = run(
        &mut array_of("raid1-2", "member_write_cache = false", &[]),
        &requests,
    );
    assert_eq!((outcome.members("R"), outcome.members("W")), (20, 40));
    // Four members: over two pairs.
    let outcome = run(
        &mut array_of("raid10-4", "member_write_cache = false", &[]),
        &requests,
    );
    assert_eq!((outcome.members("R"), outcome.members("W")), (20, 40));
    let written = |m: &str| {
        outcome
            .lines
            .iter()
            .filter(|l| l.device == m && l.op == 'W')
            .count()
    };
    assert!(["m0", "m1", "m2", "m3"].iter().all(|m| written(m) == 10));
    // One copy is enough.
    let outcome = run(&mut array_of("raid1-2", "", &[(0, 300 * MS)]), &requests);
    assert!(outcome.done.iter().all(|d| d.0 == 0));
}

#[test]
fn reads_of_a_mirror_use_both_arms() {
    // Two outstanding, at random: nearly twice one drive.
    let mut rng = SplitMix64::new(4);
    let requests: Vec<_> = (0..200)
        .map(|_| (0, Read, rng.below(240) * 16, 8))
        .collect();
    let time = |controller: &str, set: &str| {
        let set = format!("{set}\nmax_tags = 2\nmember_queue = \"fcfs\"");
        let outcome = run(&mut array_of(controller, &set, &[]), &requests);
        outcome.done.iter().map(|d| d.1).max().unwrap()
    };
    let one = time("raid1-2", "read_balance = \"first\"");
    for both in [time("raid1-2", ""), time("twinstor-2", "")] {
        assert!(one * 10 > both * 17, "{one} {both}");
    }
}

#[test]
fn twinstor_splits_a_deep_stream_only() {
    // Reads of 32 KB in order, so many outstanding; unit 64 KB.
    let share = |tags: u32, gap: u64| {
        let set = format!("stripe_unit_kb = 64\nmax_tags = {tags}");
        let requests: Vec<_> = (0..60).map(|i| (0, Read, i * 64 + i * gap, 64)).collect();
        let outcome = run(&mut array_of("twinstor-2", &set, &[]), &requests);
        let lines = outcome.lines.iter().filter(|l| l.device != "disk0");
        // Whether each stretch of 256 KB was read by its own member.
        let by_unit = lines
            .clone()
            .filter(|l| (l.device == "m1") == (l.lbn / 512 % 2 == 1))
            .count();
        (by_unit * 100 / lines.count(), outcome.members("R"))
    };
    let (deep, _) = share(16, 0);
    assert!(deep > 85, "512 KB outstanding: {deep} %");
    let (shallow, _) = share(2, 0);
    assert!(shallow < 80, "64 KB outstanding: {shallow} %");
}

/// Two writes at once to the first two units of a row: when the member of the second gets its first
/// command, and when the member of the first has had its last.
fn two_writes_to_a_row(controller: &str, set: &str) -> (i64, i64) {
    let set = format!("write_back = false\nbattery = false\nmember_write_cache = false\n{set}");
    let requests = [(0, Write, 0, 8), (0, Write, 16, 8)];
    let outcome = run(&mut array_of(controller, &set, &[]), &requests);
    let of = |device: &'static str| outcome.lines.iter().filter(move |l| l.device == device);
    let second = of("m1").map(|l| l.arrival).min().unwrap();
    let first = of("m0").map(|l| l.acknowledged).max().unwrap();
    (second, first)
}

#[test]
fn only_without_cache_and_parity_a_row_takes_two_writes_at_once() {
    for controller in ["raid0-4", "3w5400-raid0-4"] {
        let (second, first) = two_writes_to_a_row(controller, "");
        assert!(second < first, "{controller}: {second} {first}");
    }
    for (controller, set) in [
        ("raid5-ide-8", "cache_kb = 0"),
        ("raid0-4", "cache_kb = 64"),
    ] {
        let (second, first) = two_writes_to_a_row(controller, set);
        assert!(second >= first, "{controller}: {second} {first}");
    }
}

#[test]
fn a_full_cache_keeps_what_was_used_last() {
    // Room for 128 sectors: eight reads of 16, each in a row of its own. The ninth takes the place
    // of the first.
    let rows = (0..9).chain([8, 1, 0]);
    let requests: Vec<_> = rows
        .zip(0..)
        .map(|(row, i)| (i * 50 * MS, Read, row * 7 * 16, 16))
        .collect();
    let outcome = run(
        &mut array_of("raid5-ide-8", "cache_kb = 64", &[]),
        &requests,
    );
    let hits: Vec<_> = outcome.host().map(|l| l.hit.as_str()).collect();
    assert_eq!(hits[..9], ["miss"; 9]);
    assert_eq!(hits[9..], ["hit", "hit", "miss"]);
}

#[test]
fn a_row_that_is_all_new_does_not_wait_for_more() {
    let requests = [(0, Write, 0, 7 * 16), (0, Write, 10 * 7 * 16, 16)];
    let outcome = run(&mut array_of("raid5-ide-8", "", &[]), &requests);
    let medium = |lbn: u64| {
        let line = outcome.host().find(|l| l.lbn == lbn).unwrap();
        line.medium.unwrap()
    };
    assert!(medium(0) < 100 * MS, "{}", medium(0));
    assert!(medium(1120) > 100 * MS, "{}", medium(1120));
}

#[test]
fn what_the_cache_holds_of_a_row_is_not_read_for_its_parity() {
    let requests = [(0, Read, 0, 7 * 16), (500 * MS, Write, 0, 8)];
    let outcome = run(&mut array_of("raid5-ide-8", "", &[]), &requests);
    assert_eq!((outcome.members("R"), outcome.members("W")), (7, 2));
}

#[test]
fn a_cache_is_written_out_when_so_much_of_it_is_new() {
    // Half of 64 KB are four blocks of 8 KB; a fifth is too much. When the first of them is on the
    // members, and the last.
    let written = |blocks: i64| {
        let requests: Vec<_> = (0..blocks)
            .map(|i| (i * MS, Write, i as u64 * 7 * 16, 16))
            .collect();
        let set = "cache_kb = 64\ndestage_above_permille = 500";
        let outcome = run(&mut array_of("raid5-ide-8", set, &[]), &requests);
        let media: Vec<i64> = outcome.host().map(|l| l.medium.unwrap()).collect();
        (*media.iter().min().unwrap(), *media.iter().max().unwrap())
    };
    assert!(written(4).0 > 100 * MS, "{:?}", written(4));
    assert!(written(5).1 < 100 * MS, "{:?}", written(5));
}

#[test]
fn parity_of_a_degraded_read_takes_its_time() {
    // Eight sectors of seven members at 1 MB/s, instead of a million.
    let time = |rate: u32| {
        let set = format!("xor_mb_s = {rate}");
        let mut lab = array_of("raid5-ide-8", &set, &[(0, 0)]);
        run(&mut lab, &[(MS, Read, 0, 8)]).done[0].1
    };
    let bytes = 8 * 7 * 512;
    assert_eq!(time(1) - time(1_000_000), bytes * 1000 - bytes / 1000);
}

#[test]
fn other_reads_make_no_stream_deep() {
    // Forty reads of 8 KB all over, and three that go on where the one before them ended: in turn to
    // both members, as all of them, and not to the one of their stretch.
    let mut requests: Vec<_> = (0..40)
        .map(|i| (0, Read, 1024 + i * 37 % 150 * 16, 16))
        .collect();
    requests.extend((0..4).map(|i| (0, Read, i * 16, 16)));
    let set = "stripe_unit_kb = 64\nmax_tags = 64";
    let outcome = run(&mut array_of("twinstor-2", set, &[]), &requests);
    let stream = outcome
        .lines
        .iter()
        .filter(|l| l.device != "disk0" && (16..64).contains(&l.lbn));
    let devices: std::collections::BTreeSet<&str> = stream.map(|l| l.device.as_str()).collect();
    assert_eq!(devices.len(), 2, "{devices:?}");
}

/// A card of one drive or more that stores and forwards, and one that cuts through: when the host
/// has its answers, in us after the last member's.
fn after_the_members(controller: &str, buses: [&str; 2], request: (Op, u64)) -> [i64; 2] {
    [false, true].map(|cut_through| {
        let set = format!("cut_through = {cut_through}\nmember_write_cache = true");
        let mut lab = array_on(controller, &set, &[], buses);
        let outcome = run(&mut lab, &[(0, request.0, 0, request.1)]);
        let members = outcome.lines.iter().filter(|l| l.device != "disk0");
        let last = members.map(|l| l.acknowledged).max().unwrap();
        (outcome.done[0].1 - last) / US
    })
}

const SLOW_LINK: [&str; 2] = ["rate_mb_s = 64", ""];
const SLOW_MEMBERS: [&str; 2] = ["rate_mb_s = 64", "rate_mb_s = 8"];

#[test]
fn data_crosses_a_card_while_a_member_moves_it() {
    // The link takes 8 us a sector, a member 1 or 64. Stored and forwarded, 8 sectors need 64 us
    // after the member. Passed on, the link began with the member, 8 or 512 us before, and has the
    // last sector to go.
    let one = |buses, op| after_the_members("3w5400-single", buses, (op, 8));
    assert_eq!(one(SLOW_LINK, Read), [64, 56]);
    assert_eq!(one(SLOW_MEMBERS, Read), [64, 8]);
    // A write is acknowledged when the member has it and the link has moved it.
    assert_eq!(one(SLOW_LINK, Write), [0, 56]);
    assert_eq!(one(SLOW_MEMBERS, Write), [0, 0]);
    let in_all = |cut_through: bool| {
        let set = format!("cut_through = {cut_through}\nmember_write_cache = true");
        let mut lab = array_on("3w5400-single", &set, &[], SLOW_LINK);
        run(&mut lab, &[(0, Write, 0, 8)]).done[0].1
    };
    assert_eq!(in_all(false) - in_all(true), 8 * US);
}

#[test]
fn a_link_that_is_passed_through_carries_all_data_once() {
    // Two members with 16 sectors each: the link takes 256 us for both, one member 16 at its end.
    let two = |controller, op| after_the_members(controller, SLOW_LINK, (op, 32))[1];
    assert_eq!(two("3w5400-raid0-2", Write), 256 - 16);
    // Both copies of a mirror come of one transfer; each member moves all of it.
    assert_eq!(two("twinstor-2", Write), 256 - 32);
}

#[test]
fn only_what_keeps_nothing_is_passed_through() {
    let catalogue = Catalogue::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue"));
    let refused = |controller: &str, set: &str| {
        let refused = catalogue.array(controller, &set.parse().unwrap()).err();
        refused.is_some_and(|e| e.to_string().contains("cut_through"))
    };
    assert!(refused("3w5400-raid0-4", "level = \"raid5\"\nxor_mb_s = 1"));
    assert!(refused("twinstor-2", "cache_kb = 64"));
    assert!(!refused("twinstor-2", ""));
}

#[test]
fn a_battery_keeps_the_cache_when_the_power_goes() {
    let cut = |set: &str, at: i64| {
        let mut lab = array_of("raid5-ide-8", set, &[]);
        let unit = lab.unit("disk0").unwrap();
        lab.reset(0, "cell", 1).unwrap();
        lab.submit(MS, unit, Write, 100, 30, 0).unwrap();
        lab.submit(MS, unit, WriteFua, 2000, 8, 1).unwrap();
        let mut done = 0;
        while lab.next_event_ns() <= at {
            lab.advance(lab.next_event_ns());
            done += std::iter::from_fn(|| lab.completion()).count();
        }
        let volatile = lab.oldest_volatile();
        let mut lost: Vec<_> = lab
            .cut_power(at)
            .unwrap()
            .iter()
            .map(|l| (l.ordinal, l.unit, l.lbn, l.sectors))
            .collect();
        lost.sort_unstable();
        (done, volatile, lost)
    };
    assert_eq!(cut("", 3 * MS), (2, None, vec![]));
    // 100 to 130 lie in rows 0 and 1, of 112 sectors.
    let lost = vec![(0, 8, 100, 12), (0, 8, 112, 18)];
    assert_eq!(cut("battery = false", 3 * MS), (1, Some(0), lost.clone()));
    assert_eq!(cut("battery = false", 60 * MS), (2, Some(0), lost));
    assert_eq!(cut("battery = false", 900 * MS), (2, None, vec![]));
    // In the members' buffers it is no safer.
    let (_, volatile, lost) = cut(
        "battery = false\nmember_write_cache = true\ndestage_idle_ns = 0",
        6 * MS,
    );
    assert_eq!((volatile, lost.len()), (Some(0), 2));
    assert_eq!(cut("write_back = false\nbattery = false", 3 * MS).2, []);
}

#[test]
fn flushes_wait_for_the_members_unless_a_battery_does() {
    let requests = [(0, Write, 100, 30), (MS, Flush, 0, 0)];
    let outcome = run(&mut array_of("raid5-ide-8", "", &[]), &requests);
    assert_eq!(outcome.done[1].1, MS);
    let outcome = run(
        &mut array_of("raid5-ide-8", "battery = false", &[]),
        &requests,
    );
    assert!(outcome.done[1].1 > 10 * MS && outcome.done[1].1 < 60 * MS);
    assert_eq!(outcome.members("F"), 0);
    let set = "battery = false\nmember_write_cache = true";
    let outcome = run(&mut array_of("raid5-ide-8", set, &[]), &requests);
    assert_eq!(outcome.members("F"), 8);
    let written = outcome.lines.iter().filter_map(|l| l.medium).max().unwrap();
    assert!(outcome.done[1].1 >= written);
}

#[test]
fn the_processor_takes_its_time() {
    let set = "host_command_ns = 100000\nmember_command_ns = 10000";
    let first = |requests: &[_]| run(&mut array_of("raid5-ide-8", set, &[]), requests).done;
    let base = run(&mut array_of("raid5-ide-8", "", &[]), &[(0, Read, 0, 8)]).done[0].1;
    let later = first(&[(0, Read, 0, 8)])[0].1;
    // 0.11 ms later at the member, which is still in time for the sector, or a revolution late.
    assert!(
        [base, base + 110_000, base + 10 * MS].contains(&later),
        "{base} {later}"
    );
    // Ten cached writes at once: one after the other.
    let requests: Vec<_> = (0..10).map(|i| (0, Write, i * 500, 8)).collect();
    let last = first(&requests).iter().map(|d| d.1).max().unwrap();
    assert!(
        (10 * 100_000..10 * 100_000 + 10_000).contains(&last),
        "{last}"
    );
}

#[test]
fn members_are_the_arrays_own() {
    let mut lab = array_of("raid1-2", "", &[]);
    let error = lab.submit(0, 0, Read, 0, 8, 0).unwrap_err().to_string();
    assert!(error.contains("\"m0\" belongs to an array"), "{error}");
    assert_eq!(
        (lab.units(), lab.sectors(2), lab.max_tags(2)),
        (3, 4000, 128)
    );
    let error = lab.submit(0, 2, Read, 3999, 8, 0).unwrap_err().to_string();
    assert!(
        error.contains("outside the drive's 4000 sectors"),
        "{error}"
    );
    assert!(lab.set(2, "queue", "sptf").is_err());
    assert!(lab
        .set(2, "write-cache", "on")
        .unwrap_err()
        .to_string()
        .contains("no cache"));
}

/// Of everything that can be set, faults, and what the host does.
#[derive(Debug, Clone)]
struct Case {
    controller: usize,
    cache_kb: u64,
    write_back: bool,
    battery: bool,
    buffers: bool,
    jobs: u32,
    tags: u32,
    spare: bool,
    clook: bool,
    cut_through: bool,
    faults: Vec<(u32, i64)>,
    steps: Vec<(i64, u8, u64, u64)>,
    cut_permille: i64,
}

const SHAPES: [(&str, u32); 6] = [
    ("raid5-ide-8", 4),
    ("raid0-4", 4),
    ("raid1-2", 2),
    ("raid10-4", 4),
    ("twinstor-2", 2),
    ("3w5400-raid0-4", 4),
];

impl Case {
    fn lab(&self) -> Lab {
        let (controller, members) = SHAPES[self.controller];
        let write_back = self.write_back && self.cache_kb > 0;
        let battery = write_back && self.battery;
        // Only the entries of such cards have the key.
        let cut_through = match controller {
            "twinstor-2" | "3w5400-raid0-4" => {
                format!("cut_through = {}", self.cut_through && self.cache_kb == 0)
            }
            _ => String::new(),
        };
        let set = format!(
            "members = {members}\nspares = {}\ncache_kb = {}\nwrite_back = {write_back}\n\
             battery = {battery}\nmember_write_cache = {}\ndestage_jobs = {}\nmax_tags = {}\n\
             destage_idle_ns = 3000000\nrebuild_kib_s = 4096\nmember_queue = {:?}\n\
             {cut_through}",
            u32::from(self.spare),
            self.cache_kb,
            self.buffers && !battery,
            self.jobs,
            self.tags,
            if self.clook { "clook" } else { "fcfs" },
        );
        let drives = members + u32::from(self.spare);
        let faults: Vec<_> = self
            .faults
            .iter()
            .map(|(m, at)| (m % drives, *at))
            .collect();
        array_of(controller, &set, &faults)
    }

    fn requests(&self, sectors: u64) -> Vec<(i64, Op, u64, u64)> {
        let mut at = 0;
        let request = |&(gap, op, lbn, length): &(i64, u8, u64, u64)| {
            at += gap;
            let op = [Read, Write, Write, Read, WriteFua, Flush][usize::from(op)];
            let lbn = lbn % (sectors - length);
            (at, op, lbn, if op == Flush { 0 } else { length })
        };
        self.steps.iter().map(request).collect()
    }

    /// Members or spares that fail, each once.
    fn failures(&self) -> usize {
        let (_, members) = SHAPES[self.controller];
        let drives = members + u32::from(self.spare);
        let failed: std::collections::BTreeSet<_> =
            self.faults.iter().map(|(m, _)| m % drives).collect();
        failed.len()
    }
}

fn case() -> impl Strategy<Value = Case> {
    let step = (0..12 * MS, 0..6_u8, any::<u64>(), 1..90_u64);
    (
        (
            0..SHAPES.len(),
            prop::sample::select(vec![0, 16, 64, 4096_u64]),
            any::<[bool; 6]>(),
        ),
        (1..5_u32, prop::sample::select(vec![1, 4, 32_u32])),
        prop::collection::vec((0..5_u32, 0..400 * MS), 0..3),
        prop::collection::vec(step, 1..70),
        0..1100_i64,
    )
        .prop_map(
            |((controller, cache_kb, flags), (jobs, tags), faults, steps, cut_permille)| {
                let [write_back, battery, buffers, spare, clook, cut_through] = flags;
                Case {
                    controller,
                    cache_kb,
                    write_back,
                    battery,
                    buffers,
                    jobs,
                    tags,
                    spare,
                    clook,
                    cut_through,
                    faults,
                    steps,
                    cut_permille,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever the controller, its settings, its load and its failures: every command is
    /// acknowledged once, with an error only where redundancy cannot help, no member gets a
    /// command after its failure, nothing is left over, and all of it repeats.
    #[test]
    fn arrays_come_to_an_end(case in case()) {
        let mut lab = case.lab();
        let unit = lab.unit("disk0").unwrap();
        let requests = case.requests(lab.sectors(unit));
        let outcome = run(&mut lab, &requests);
        let redundant = !SHAPES[case.controller].0.contains("raid0");
        if case.failures() <= usize::from(redundant) {
            prop_assert!(outcome.done.iter().all(|d| d.0 == 0), "{:?}", outcome.done);
        }
        prop_assert!(outcome.done.iter().all(|d| d.0 == 0 || d.0 == EIO));
        let host: Vec<_> = outcome.host().collect();
        prop_assert_eq!(host.len(), requests.len());
        prop_assert!(host.windows(2).all(|w| w[0].acknowledged <= w[1].acknowledged));
        for line in &outcome.lines {
            prop_assert!(line.arrival <= line.start && line.start <= line.acknowledged);
            let cached = line.hit == "cached" && line.medium.is_none();
            prop_assert!(!cached || line.device != "disk0" || case.failures() > usize::from(redundant));
        }
        let again = run(&mut case.lab(), &requests);
        prop_assert_eq!(outcome, again);
        lab.advance(60_000 * MS);
        prop_assert!(lab.idle());
        lab.reset(60_001 * MS, "next", 1).unwrap();
    }

    /// A power cut takes only acknowledged writes that no battery, no FUA and no flush given after
    /// their acknowledgement covers.
    #[test]
    fn a_power_cut_spares_what_is_covered(case in case()) {
        let mut case = case;
        case.faults.clear();
        let mut lab = case.lab();
        let unit = lab.unit("disk0").unwrap();
        let requests = case.requests(lab.sectors(unit));
        lab.reset(0, "cell", 1).unwrap();
        let cut_ns = requests.last().unwrap().0 * case.cut_permille / 1000;
        let mut done: Vec<(usize, i64)> = Vec::new();
        let mut next = 0;
        loop {
            let arrival = requests.get(next).map_or(NEVER, |r| r.0);
            let now_ns = arrival.min(lab.next_event_ns());
            if now_ns > cut_ns {
                break;
            }
            if arrival == now_ns {
                let (_, op, lbn, sectors) = requests[next];
                lab.submit(now_ns, unit, op, lbn, sectors, next as u64).unwrap();
                next += 1;
            } else {
                lab.advance(now_ns);
            }
            while let Some(c) = lab.completion() {
                prop_assert_eq!(c.ordinal, done.len() as u64);
                done.push((c.cookie as usize, c.acknowledged_ns));
            }
        }
        let oldest = lab.oldest_volatile();
        let lost = lab.cut_power(cut_ns).unwrap();
        let keeps = case.battery && case.write_back && case.cache_kb > 0;
        prop_assert!(!keeps || lost.is_empty());
        for lost in lost {
            prop_assert_eq!(lost.unit, unit);
            let (request, acknowledged_ns) = done[lost.ordinal as usize];
            let (_, op, lbn, sectors) = requests[request];
            prop_assert_eq!(op, Write);
            prop_assert!(lbn <= lost.lbn && lost.lbn + lost.sectors <= lbn + sectors);
            prop_assert!(oldest.is_some_and(|o| o <= lost.ordinal));
            for &(other, _) in &done {
                let (given, op, ..) = requests[other];
                prop_assert!(!(op == Flush && given > acknowledged_ns), "{} is lost after flush {}", request, other);
            }
        }
    }
}

/// A topology file with the paper's arrays.
fn topology(controller: &str, more: &str) -> String {
    let catalogue = concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue");
    let mut text = format!("schema = \"spindle-topology/1\"\ncatalogue = {catalogue:?}\n");
    let (ide, buses) = match controller {
        "raid5-scsi-8" => (false, 2),
        _ => (true, 8),
    };
    let (entry, drive) = if ide {
        ("ata-100", "deskstar-75gxp")
    } else {
        ("ultra2-scsi", "ultrastar-36zx")
    };
    for bus in 0..buses {
        text += &format!("[[bus]]\nname = \"bus{bus}\"\nentry = \"{entry}\"\n");
    }
    let mut names = Vec::new();
    for unit in 0..8 {
        text += &format!(
            "[[unit]]\nname = \"m{unit}\"\ndrive = \"{drive}\"\nbus = \"bus{}\"\nmax_tags = {}\nmember = true\n",
            unit % buses,
            if ide { 1 } else { 32 },
        );
        names.push(format!("\"m{unit}\""));
    }
    text + &format!(
        "[[array]]\nname = \"disk0\"\ncontroller = \"{controller}\"\nmembers = [{}]\nmax_tags = 64\n{more}",
        names.join(", ")
    )
}

#[test]
fn the_papers_arrays_run_from_a_file_and_repeat() {
    for controller in ["raid5-ide-8", "raid5-scsi-8"] {
        for more in ["", "[array.set]\nwrite_back = false\nbattery = false\n"] {
            let text = topology(controller, more);
            let mut rng = SplitMix64::new(1);
            let requests: Vec<_> = (0..400)
                .map(|i| {
                    let op = [Write, Write, Read, Flush][rng.below(4) as usize];
                    (
                        i * MS / 2,
                        op,
                        rng.below(1 << 24) * 8,
                        if op == Flush { 0 } else { 16 },
                    )
                })
                .collect();
            let go = || {
                run(
                    &mut Lab::new(Topology::from_text("t", &text).unwrap()),
                    &requests,
                )
            };
            let outcome = go();
            assert!(outcome.done.iter().all(|d| d.0 == 0));
            assert_eq!(outcome, go());
        }
    }
}

#[test]
fn topologies_of_arrays_are_checked() {
    let good = topology("raid5-ide-8", "");
    for (from, to, message) in [
        ("\"m7\"]", "\"m6\"]", "array \"disk0\": members: \"m6\" is named twice"),
        (", \"m7\"]", "]", "7 are named; raid5-ide-8 has 8"),
        ("\"m7\"]", "\"m9\"]", "there is no unit \"m9\""),
        ("member = true\n[[array]]", "[[array]]", "unit \"m7\" lacks member = true"),
        ("max_tags = 64", "max_tags = 500", "500 is not 1 to 128"),
        ("name = \"disk0\"", "name = \"m0\"", "a unit or array has it already"),
        ("\"raid5-ide-8\"", "\"raid6\"", "no entry \"raid6\"; there are:"),
        ("[[array]]", "write_cache = true\n[[array]]", "the array decides that of its members"),
        ("[[array]]", "[[unit]]\nname = \"x\"\ndrive = \"deskstar-75gxp\"\nbus = \"bus1\"\nmax_tags = 1\n[[array]]",
         "the bus of an array's members is its own"),
        ("max_tags = 64\n", "max_tags = 64\n[array.set]\nnothing = 1\n", "array raid5-ide-8 has no such value"),
        ("max_tags = 64\n", "max_tags = 64\n[array.set]\nmember_write_cache = true\n", "with battery, member_write_cache"),
        ("max_tags = 64\n", "max_tags = 64\n[array.set]\ncache_kb = 0\n", "there is no cache_kb"),
        ("max_tags = 64\n", "max_tags = 64\n[array.set]\nlevel = \"raid10\"\nmembers = 7\n", "8 are named; raid5-ide-8 has 7"),
    ] {
        assert!(good.contains(from), "{from}");
        let text = good.replacen(from, to, 1);
        let error = Topology::from_text("t.toml", &text).unwrap_err().to_string();
        assert!(error.contains(message), "{message}: {error}");
    }
}
