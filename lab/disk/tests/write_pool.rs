// SPDX-License-Identifier: MIT
//! Written data in extents that share a part of the buffer: times computed by hand, on the small
//! drive described in `common`.

mod common;

use common::{lab_of, run, small_drive, small_lab, test_bus, Line, MS, US};
use proptest::prelude::*;
use spindle_disk::rng::SplitMix64;
use spindle_disk::Op::{Flush, Read, Write, WriteFua};

/// A pool of 40 sectors, in 8 extents at the most, sorted by address.
const POOL: &str = "queue = \"clook\"\nwrite_segments = 8\nwrite_pool_sectors = 40\n\
                    read_ahead_stop = \"request\"\n";

fn order(lines: &[Line]) -> Vec<u64> {
    let mut lines: Vec<_> = lines.iter().filter(|l| l.op != 'F').collect();
    lines.sort_by_key(|l| l.medium.unwrap());
    lines.iter().map(|l| l.lbn).collect()
}

#[test]
fn as_many_extents_as_fit_are_sorted() {
    let lbns = [10, 90, 30, 70, 50];
    let requests = lbns.map(|lbn| (0, Write, lbn, 8));
    let lines = run(&mut small_lab(POOL), &requests);
    assert_eq!(order(&lines), [10, 30, 50, 70, 90]);
    // All are in the buffer once the bus has moved them.
    assert!(lines.iter().all(|l| l.acknowledged <= 40 * US));
    // Two segments of the same size together: the third waits for the medium.
    let segments = "queue = \"clook\"\nwrite_segments = 2\nsegment_sectors = 20";
    let lines = run(&mut small_lab(segments), &requests);
    assert!(lines[2].acknowledged > MS);
}

#[test]
fn a_full_pool_waits_for_the_medium() {
    // 40 sectors from five writes, or one less; the sixth, for which that is not enough, gets room
    // when the first, sectors 10 to 17, is on the medium.
    for (fifth, sixth) in [(8, 1), (7, 2)] {
        let mut requests: Vec<_> = [10, 90, 30, 70].map(|lbn| (0, Write, lbn, 8)).into();
        requests.extend([(0, Write, 50, fifth), (0, Write, 110, sixth)]);
        let lines = run(&mut small_lab(POOL), &requests);
        assert_eq!(lines[0].medium, Some(MS + 8 * MS / 10));
        assert_eq!(
            (lines[5].start, lines[5].acknowledged),
            (1_800_000, 1_800_000 + sixth as i64 * US)
        );
    }
}

#[test]
fn no_more_extents_than_segments() {
    let settings = format!("{POOL}write_segments = 2").replace("write_segments = 8\n", "");
    let requests = [10, 30, 50].map(|lbn| (0, Write, lbn, 8));
    let lines = run(&mut small_lab(&settings), &requests);
    assert!(lines[1].acknowledged < MS && lines[2].acknowledged > MS);
}

#[test]
fn a_stream_fills_the_pool() {
    // One extent of four writes, contiguous on the medium: 40 sectors in 4 ms from sector 10 on.
    let requests = [10, 20, 30, 40].map(|lbn| (0, Write, lbn, 10));
    let lines = run(&mut small_lab(POOL), &requests);
    assert!(lines.iter().all(|l| l.acknowledged <= 40 * US));
    assert_eq!(lines[3].medium, Some(5 * MS));
}

#[test]
fn written_data_stays_until_its_room_is_needed() {
    let first = [(0, Write, 10, 8), (0, Write, 30, 8)];
    let hit = |more: &[(i64, spindle_disk::Op, u64, u64)]| {
        let mut requests = first.to_vec();
        requests.extend(more);
        requests.push((90 * MS, Read, 10, 8));
        requests.push((95 * MS, Read, 30, 8));
        let lines = run(&mut small_lab(POOL), &requests);
        let hits = lines.iter().rev().take(2).map(|l| l.hit == "hit");
        hits.collect::<Vec<_>>()
    };
    // Of the reads of 30 and of 10.
    assert_eq!(hit(&[]), [true, true]);
    assert_eq!(hit(&[(20 * MS, Write, 200, 24)]), [true, true]);
    // What was written first makes way, as far as room is needed.
    assert_eq!(hit(&[(20 * MS, Write, 200, 25)]), [true, false]);
    assert_eq!(hit(&[(20 * MS, Write, 200, 33)]), [false, false]);
}

#[test]
fn a_long_write_passes_through_a_small_pool() {
    let lines = run(&mut small_lab(POOL), &[(0, Write, 0, 300)]);
    assert_eq!(lines[0].hit, "cached");
    let medium = lines[0].medium.unwrap();
    assert!(lines[0].acknowledged > 20 * MS && lines[0].acknowledged < medium);
}

#[test]
fn flush_and_fua_wait_for_the_medium() {
    let requests = [
        (0, Write, 90, 4),
        (0, Write, 50, 4),
        (MS / 10, WriteFua, 70, 4),
        (MS / 10, Flush, 0, 0),
    ];
    let lines = run(&mut small_lab(POOL), &requests);
    let medium = |i: usize| lines[i].medium.unwrap();
    // The arm leaves for the first at once.
    assert_eq!(order(&lines), [90, 50, 70]);
    assert!(lines[2].acknowledged >= medium(2));
    assert!(lines[3].acknowledged >= (0..3).map(medium).max().unwrap());
}

#[test]
fn more_extents_serve_random_writes_faster() {
    let ns = |extents: u32, queue: &str| {
        let mut rng = SplitMix64::new(3);
        let requests: Vec<_> = (0..300).map(|_| (Write, rng.below(3990), 4)).collect();
        let drive = small_drive(&format!(
            "queue = \"{queue}\"\nwrite_segments = {extents}\nwrite_pool_sectors = {}",
            4 * extents
        ));
        common::closed_loop(&mut lab_of(drive, test_bus(""), 1), &requests, 1, 0)
    };
    for queue in ["clook", "sptf"] {
        let times = [1, 2, 4, 8, 16, 32].map(|extents| ns(extents, queue));
        assert!(times.windows(2).all(|t| t[1] < t[0]), "{queue}: {times:?}");
    }
}

proptest! {
    /// What is read is the newest that was written: no read passes a write to its sectors that was
    /// acknowledged before it came.
    #[test]
    fn reads_see_what_was_written_before(
        steps in prop::collection::vec((0..3_u8, 0..60_u64, 1..12_u64, 0..4_i64), 1..60),
        extents in 1..10_u32,
        pool in 12..60_u32,
    ) {
        let settings = format!(
            "queue = \"sptf\"\nread_hits_writes = false\nwrite_segments = {extents}\n\
             write_pool_sectors = {pool}"
        );
        let mut at = 0;
        let requests: Vec<_> = steps
            .iter()
            .map(|&(op, lbn, sectors, wait)| {
                at += wait * MS;
                (at, [Read, Write, WriteFua][usize::from(op)], lbn, sectors)
            })
            .collect();
        let lines = run(&mut lab_of(small_drive(&settings), test_bus(""), 16), &requests);
        for read in lines.iter().filter(|l| l.op == 'R' && l.hit == "miss") {
            for write in lines.iter().filter(|l| l.op != 'R' && l.acknowledged <= read.arrival) {
                let apart = write.lbn + write.sectors <= read.lbn || read.lbn + read.sectors <= write.lbn;
                prop_assert!(apart || write.medium.unwrap() <= read.medium.unwrap(), "{:?} {:?}", write, read);
            }
        }
    }
}
