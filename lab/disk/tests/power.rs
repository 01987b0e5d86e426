// SPDX-License-Identifier: MIT
//! Power cuts: what is lost, and what never is.

mod common;

use common::{lab_of, small_drive, small_lab, test_bus, MS, US};
use proptest::prelude::*;
use spindle_disk::Op::{self, Flush, Read, Write, WriteFua};
use spindle_disk::{Lab, Lost, NEVER};

/// Runs up to `until_ns` and returns the completions' cookies.
fn run_to(lab: &mut Lab, until_ns: i64) -> Vec<u64> {
    let mut done = Vec::new();
    while lab.next_event_ns() <= until_ns {
        lab.advance(lab.next_event_ns());
        while let Some(completion) = lab.completion() {
            assert_eq!(completion.ordinal, done.len() as u64);
            done.push(completion.cookie);
        }
    }
    done
}

fn trace_of(lab: &mut Lab) -> String {
    let mut buf = vec![0; 1 << 16];
    let len = lab.trace_read(&mut buf);
    String::from_utf8(buf[..len].to_vec()).unwrap()
}

#[test]
fn power_cut_takes_what_is_in_the_buffer() {
    // Acknowledged at 10 us; the medium begins at 5 ms (slot 50) and takes 0.1 ms a sector.
    let mut lab = small_lab("");
    lab.submit(0, 0, Write, 50, 10, 1).unwrap();
    assert_eq!(run_to(&mut lab, MS), [1]);
    assert_eq!(lab.oldest_volatile(), Some(0));
    let lost = lab.cut_power(4 * MS).unwrap();
    let all = Lost {
        ordinal: 0,
        unit: 0,
        lbn: 50,
        sectors: 10,
    };
    assert_eq!(lost, [all]);
    assert_eq!(lab.next_event_ns(), NEVER);
    assert!(lab.idle());
    let error = lab
        .submit(5 * MS, 0, Read, 0, 1, 2)
        .unwrap_err()
        .to_string();
    assert!(error.contains("the power is off"), "{error}");
    let trace = trace_of(&mut lab);
    assert!(trace.contains(" 10000 - 1 cached\n"), "{trace}");
    assert!(
        trace.ends_with("# power cut now_ns 4000000 lost_writes 1 lost_sectors 10\n"),
        "{trace}"
    );
}

#[test]
fn power_cut_tears_the_write_under_the_head() {
    for (cut_ns, lost_from) in [
        (5 * MS, 50),
        (5 * MS + 100 * US, 51),
        (5 * MS + 399 * US, 53),
        (5 * MS + 900 * US, 59),
    ] {
        let mut lab = small_lab("");
        lab.submit(0, 0, Write, 50, 10, 1).unwrap();
        run_to(&mut lab, cut_ns);
        let lost = lab.cut_power(cut_ns).unwrap();
        assert_eq!((lost[0].lbn, lost[0].sectors), (lost_from, 60 - lost_from));
    }
    let mut lab = small_lab("");
    lab.submit(0, 0, Write, 50, 10, 1).unwrap();
    run_to(&mut lab, 6 * MS);
    assert_eq!(lab.oldest_volatile(), None);
    assert_eq!(lab.cut_power(6 * MS).unwrap(), []);
}

#[test]
fn marks_before_a_power_cut_stand_behind_what_was_acknowledged() {
    // Both are acknowledged at once, the first at the time of the mark, and on no medium yet.
    let mut lab = small_lab("");
    lab.submit(0, 0, Write, 50, 10, 0).unwrap();
    lab.advance(10 * US);
    assert_eq!(lab.completion().unwrap().acknowledged_ns, 10 * US);
    lab.mark(10 * US, "between").unwrap();
    lab.submit(2 * MS, 0, Write, 300, 10, 1).unwrap();
    lab.advance(3 * MS);
    assert_eq!(lab.completion().unwrap().cookie, 1);
    lab.mark(3 * MS, "behind").unwrap();
    assert_eq!(lab.cut_power(4 * MS).unwrap().len(), 2);
    let trace = trace_of(&mut lab);
    let lines = [
        " W 50 10 ",
        "# between ",
        " W 300 10 ",
        "# behind ",
        "# power cut ",
    ];
    let places = lines.map(|line| {
        trace
            .find(line)
            .unwrap_or_else(|| panic!("{line}: {trace}"))
    });
    assert!(places.is_sorted(), "{trace}");
}

#[test]
fn power_cut_after_a_flush_takes_only_later_writes() {
    // Two writes on different tracks, a flush, and a write after it.
    let mut lab = small_lab("");
    lab.submit(0, 0, Write, 50, 10, 0).unwrap();
    lab.submit(0, 0, Write, 300, 10, 1).unwrap();
    lab.submit(MS, 0, Flush, 0, 0, 2).unwrap();
    let mut done = Vec::new();
    while !done.contains(&2) {
        lab.advance(lab.next_event_ns());
        done.extend(std::iter::from_fn(|| lab.completion()).map(|c| c.cookie));
    }
    // The medium has both: the first by 6.0 ms, the other, at slot 40 of its track, by 15.0 ms.
    let flushed_ns = 15 * MS;
    assert_eq!(lab.next_event_ns(), NEVER);
    lab.submit(flushed_ns, 0, Write, 700, 10, 3).unwrap();
    lab.advance(flushed_ns + 10 * US);
    let lost = lab.cut_power(flushed_ns + 10 * US).unwrap();
    assert_eq!(lost.iter().map(|l| l.lbn).collect::<Vec<_>>(), [700]);
}

#[test]
fn power_cut_without_a_cache_loses_nothing() {
    let mut lab = lab_of(small_drive("write_cache = false"), test_bus(""), 4);
    for (i, lbn) in [50, 700, 20].into_iter().enumerate() {
        lab.submit(0, 0, Write, lbn, 4, i as u64).unwrap();
    }
    run_to(&mut lab, 8 * MS);
    assert_eq!(lab.cut_power(8 * MS).unwrap(), []);
}

proptest! {
    /// Whatever is cut when: a flush that has completed covers all writes acknowledged before it
    /// was given, FUA writes are never lost, and nothing is lost that was never acknowledged.
    #[test]
    fn power_cut_spares_what_a_flush_or_fua_covered(
        ops in prop::collection::vec((0..4_u8, 0..3900_u64, 1..40_u64, 0..3_i64), 1..60),
        cut_permille in 0..1000_i64,
        sptf: bool,
        pool in prop::option::of((1..12_u32, 2..100_u32)),
    ) {
        let queue = if sptf { "queue = \"sptf\"\n" } else { "" };
        let pool = pool.map_or(String::new(), |(extents, sectors)| {
            format!("write_segments = {extents}\nwrite_pool_sectors = {sectors}")
        });
        let mut lab = lab_of(small_drive(&format!("{queue}{pool}")), test_bus(""), 8);
        let mut given: Vec<(Op, u64, u64, i64)> = Vec::new();
        let mut at_ns = 0;
        for (op, lbn, sectors, gap_ms) in ops {
            let op = [Write, WriteFua, Flush, Read][usize::from(op)];
            at_ns += gap_ms * MS;
            given.push((op, lbn, sectors, at_ns));
        }
        let cut_ns = (at_ns + 20 * MS) * cut_permille / 1000;
        // Of each completion, by number: the request, and when it was acknowledged.
        let mut done: Vec<(usize, i64)> = Vec::new();
        let mut next = 0;
        loop {
            let arrival = given.get(next).map_or(NEVER, |g| g.3);
            let now_ns = arrival.min(lab.next_event_ns());
            if now_ns > cut_ns {
                break;
            }
            if arrival == now_ns {
                let (op, lbn, sectors, _) = given[next];
                lab.submit(now_ns, 0, op, lbn, sectors, next as u64).unwrap();
                next += 1;
            } else {
                lab.advance(now_ns);
            }
            while let Some(c) = lab.completion() {
                done.push((c.cookie as usize, c.acknowledged_ns));
            }
        }
        let oldest = lab.oldest_volatile();
        for lost in lab.cut_power(cut_ns).unwrap() {
            let (request, acknowledged_ns) = done[lost.ordinal as usize];
            let (op, lbn, sectors, _) = given[request];
            prop_assert_eq!(op, Write);
            prop_assert!(lbn <= lost.lbn && lost.lbn + lost.sectors <= lbn + sectors);
            prop_assert!(oldest.is_some_and(|o| o <= lost.ordinal));
            for &(other, _) in &done {
                let flushed = given[other].0 == Flush && given[other].3 > acknowledged_ns;
                prop_assert!(!flushed, "request {} is lost, flush {} came after", request, other);
            }
        }
    }
}
