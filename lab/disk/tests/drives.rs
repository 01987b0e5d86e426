// SPDX-License-Identifier: MIT
//! Many drives in one lab: how their rates add up, and what a drive that fails leaves behind.

mod common;

use common::{finish, lab_of, parse_trace, read_trace, run, test_bus, MS};
use spindle_disk::catalogue::Catalogue;
use spindle_disk::rng::SplitMix64;
use spindle_disk::topology::Topology;
use spindle_disk::Op::{self, Flush, Read, Write};
use spindle_disk::{Lab, EIO, NEVER};

const CATALOGUE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue");

/// `drives` of one kind, on one bus together or on one each, and further lines.
fn text(drives: usize, drive: &str, entry: &str, shared: bool, tags: u32, more: &str) -> String {
    let mut text = format!("schema = \"spindle-topology/1\"\ncatalogue = {CATALOGUE:?}\n{more}\n");
    for bus in 0..if shared { 1 } else { drives } {
        text += &format!("[[bus]]\nname = \"bus{bus}\"\nentry = \"{entry}\"\n");
    }
    for unit in 0..drives {
        let bus = if shared { 0 } else { unit };
        text += &format!(
            "[[unit]]\nname = \"disk{unit}\"\ndrive = \"{drive}\"\nbus = \"bus{bus}\"\n\
             max_tags = {tags}\n"
        );
    }
    text
}

fn lab(text: &str) -> Lab {
    Lab::new(Topology::from_text("test.toml", text).unwrap())
}

fn scsi(drives: usize) -> String {
    text(drives, "ultrastar-36zx", "ultra2-scsi", true, 32, "")
}

fn ide(drives: usize, host: &str) -> String {
    text(drives, "deskstar-75gxp", "ata-100", false, 32, host)
}

/// `next` of each drive makes its next request; `depth` are outstanding at each. Returns the time
/// from the marker to the last acknowledgement, and the trace.
fn drive_all(
    lab: &mut Lab,
    drives: u32,
    depth: u32,
    requests: u32,
    mut next: impl FnMut(u32, u64) -> (Op, u64, u64),
) -> (i64, String) {
    let start = lab.reset(0, "cell", 1).unwrap();
    let mut given = vec![0_u64; drives as usize];
    let mut submit = |lab: &mut Lab, at: i64, unit: u32| {
        let count = &mut given[unit as usize];
        if *count < u64::from(requests) {
            let (op, lbn, sectors) = next(unit, *count);
            lab.submit(at, unit, op, lbn, sectors, *count).unwrap();
            *count += 1;
        }
    };
    for unit in (0..depth).flat_map(|_| 0..drives) {
        submit(lab, start, unit);
    }
    let (mut last, mut trace) = (start, String::new());
    loop {
        while let Some(done) = lab.completion() {
            assert_eq!(done.status, 0);
            last = done.acknowledged_ns;
            submit(lab, last, done.unit);
        }
        trace += &read_trace(lab);
        match lab.next_event_ns() {
            NEVER => return (last - start, trace),
            event => lab.advance(event),
        }
    }
}

/// Rate of all drives in KB/s (10^3 bytes).
fn random_kb_s(lab: &mut Lab, drives: u32) -> i64 {
    let mut rngs: Vec<_> = (0..drives).map(|d| SplitMix64::new(d.into())).collect();
    let sectors = lab.sectors(0) / 16;
    let next = |unit: u32, _| (Read, rngs[unit as usize].below(sectors) * 16, 16);
    let (ns, _) = drive_all(lab, drives, 4, 400, next);
    i64::from(drives) * 400 * 8192 * 1_000_000 / ns
}

fn sequential_kb_s(lab: &mut Lab, drives: u32, depth: u32) -> i64 {
    let next = |_, count: u64| (Read, count * 128, 128);
    let (ns, _) = drive_all(lab, drives, depth, 400, next);
    i64::from(drives) * 400 * 65536 * 1_000_000 / ns
}

#[test]
fn random_reads_scale_with_the_drives() {
    let one = random_kb_s(&mut lab(&ide(1, "")), 1);
    for drives in [2, 4, 8, 15] {
        let all = random_kb_s(&mut lab(&ide(drives as usize, "")), drives);
        let permille = all * 1000 / one / i64::from(drives);
        assert!((930..=1030).contains(&permille), "{drives}: {permille}");
    }
    // 15 drives do not fill the bus with random reads either: it carries commands and 8 KB.
    let one = random_kb_s(&mut lab(&scsi(1)), 1);
    let all = random_kb_s(&mut lab(&scsi(15)), 15);
    assert!(all * 100 / one / 15 > 85, "{one} {all}");
}

#[test]
fn sequential_reads_saturate_the_shared_bus() {
    // 64 KB take 819.2 us at 80 MB/s, 12 us of command and 12 of reconnection and status: 77.7.
    let rates = [1, 2, 3, 4, 8, 15].map(|d| sequential_kb_s(&mut lab(&scsi(d)), d as u32, 2));
    println!("Ultra2, drives 1 2 3 4 8 15: {rates:?} KB/s");
    let most = 65536 * 1_000_000 / (819_200 + 12_000 + 8_000 + 4_000);
    assert!(rates.iter().all(|r| *r <= most), "{rates:?} {most}");
    assert!(rates[1] * 100 / rates[0] > 195, "two drives fit: {rates:?}");
    // A drive that waits for the bus too long loses a revolution now and then.
    assert!(rates[2..].iter().all(|r| r * 100 / most > 92), "{rates:?}");
    // A bus each: nothing is lost.
    let one = sequential_kb_s(&mut lab(&ide(1, "")), 1, 2);
    let eight = sequential_kb_s(&mut lab(&ide(8, "")), 8, 2);
    println!("ATA, drives 1 8: {one} {eight} KB/s");
    assert!(
        (970..=1030).contains(&(eight * 1000 / one / 8)),
        "{one} {eight}"
    );
}

#[test]
fn the_host_bus_caps_the_sum() {
    let host = "[host_bus]\nrate_kb_s = 98500";
    let rates = [1, 2, 3, 4, 8].map(|d| sequential_kb_s(&mut lab(&ide(d, host)), d as u32, 2));
    println!("ATA behind PCI, drives 1 2 3 4 8: {rates:?} KB/s");
    assert!(rates.iter().all(|r| *r <= 98_500), "{rates:?}");
    assert!(rates[1] * 100 / rates[0] > 195, "{rates:?}");
    // Fractions of a MB/s count: no bus of 98 MB/s gives so much.
    assert!(rates[3] > 97_000 && rates[4] > 98_000, "{rates:?}");
}

/// Four drives, each an array of its own with one member; `card` is a line of each of them.
fn singles(card: &str) -> String {
    let mut text = format!("schema = \"spindle-topology/1\"\ncatalogue = {CATALOGUE:?}\n");
    for n in 0..4 {
        text += &format!(
            "[[bus]]\nname = \"bus{n}\"\nentry = \"ata-66\"\n\
             [[unit]]\nname = \"m{n}\"\ndrive = \"quantum-fireball-lct08\"\nbus = \"bus{n}\"\n\
             max_tags = 1\nmember = true\n"
        );
    }
    for n in 0..4 {
        text += &format!(
            "[[array]]\nname = \"disk{n}\"\ncontroller = \"3w5400-single\"\nmembers = [\"m{n}\"]\n{card}\n"
        );
    }
    text
}

#[test]
fn arrays_of_one_card_share_its_link() {
    // A write of 64 KB to each, into the drives' buffers: 1.56 ms on a link of 42 MB/s, then 1 ms
    // on a string of its own.
    let ended = |card: &str| {
        let mut lab = lab(&singles(card));
        for n in 0..4 {
            let unit = lab.unit(&format!("disk{n}")).unwrap();
            lab.submit(0, unit, Write, 0, 128, n).unwrap();
        }
        finish(&mut lab).iter().map(|done| done.1).max().unwrap()
    };
    let four = 4 * 65_536_000 / 42;
    let (apart, together) = (ended(""), ended("card = \"card\""));
    assert!(apart < 4 * MS, "{apart}");
    assert!(four < together && together < four + 2 * MS, "{together}");
}

#[test]
fn one_card_has_one_link() {
    let text = singles("card = \"card\"");
    let other = text.replacen(
        "3w5400-single\"\nmembers = [\"m3\"]",
        "3w5400-single\"\nmembers = [\"m3\"]\nset = { host_bus = \"ultra2-scsi\" }",
        1,
    );
    assert_ne!(text, other);
    let message = Topology::from_text("test.toml", &other)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains(
            "array \"disk3\": card: its link is ultra2-scsi, that of \"disk0\" pci-3w5400"
        ),
        "{message}"
    );
}

#[test]
fn a_host_bus_is_checked() {
    for (line, message) in [
        ("rate_kb_s = 0", "host_bus.rate_kb_s: must be above 0"),
        (
            "rate_kb_s = 1\nwrite_rate_kb_s = 0",
            "host_bus.write_rate_kb_s: must be above 0",
        ),
        (
            "rate_kb_s = 1\nrequest_ns = 1000000001",
            "host_bus.request_ns: must be at most 1000000000",
        ),
    ] {
        let text = ide(1, &format!("[host_bus]\n{line}"));
        let said = Topology::from_text("test.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn many_drives_repeat_to_the_byte() {
    for drives in [4, 8, 15] {
        let run = |text: &str| {
            let mut rng = SplitMix64::new(5);
            let ops = [Read, Write, Read, Write, Flush];
            drive_all(&mut lab(text), drives, 3, 60, |_, _| {
                let op = ops[rng.below(5) as usize];
                (
                    op,
                    rng.below(1 << 20) * 16,
                    if op == Flush { 0 } else { 16 },
                )
            })
        };
        for text in [
            scsi(drives as usize),
            ide(drives as usize, "[host_bus]\nrate_kb_s = 98500"),
        ] {
            let (first, second) = (run(&text), run(&text));
            assert_eq!(first, second);
            assert_eq!(parse_trace(&first.1).len() as u32, drives * 60);
        }
    }
}

#[test]
fn a_bus_takes_so_many_drives() {
    for (text, message) in [
        (
            scsi(16),
            "bus \"bus0\": has 16 drives; ultra2-scsi takes 15",
        ),
        (
            text(3, "deskstar-75gxp", "ata-100", true, 1, ""),
            "bus \"bus0\": has 3 drives; ata-100 takes 2",
        ),
    ] {
        let error = Topology::from_text("t.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{error}");
    }
}

fn failing(drives: usize, unit: &str, after_ns: i64) -> String {
    format!(
        "{}[[fault]]\nunit = \"{unit}\"\nafter_marker_ns = {after_ns}\n",
        scsi(drives)
    )
}

#[test]
fn a_failed_drive_ends_its_commands_with_an_error() {
    let mut lab = lab(&failing(2, "disk1", 4 * MS));
    // Before the first marker the clock of the fault does not run.
    lab.submit(0, 1, Read, 0, 8, 0).unwrap();
    finish(&mut lab);
    let marker = 100 * MS;
    lab.reset(marker, "cell", 3).unwrap();
    let at = marker + 3 * MS + MS / 2;
    for (cookie, lbn) in [(1, 20_000_000), (2, 9_000_000), (3, 30_000_000)] {
        lab.submit(at, 1, Read, lbn, 8, cookie).unwrap();
    }
    lab.submit(at, 0, Read, 20_000_000, 8, 4).unwrap();
    let mut done = Vec::new();
    let mut later = Some(marker + 5 * MS);
    loop {
        while let Some(c) = lab.completion() {
            done.push((c.cookie, c.unit, c.status, c.acknowledged_ns - marker));
        }
        let event = lab.next_event_ns();
        match later.filter(|l| *l < event) {
            Some(at) => {
                lab.submit(at, 1, Write, 0, 8, 5).unwrap();
                later = None;
            }
            None if event == NEVER => break,
            None => lab.advance(event),
        }
    }
    let failed: Vec<_> = done.iter().filter(|d| d.1 == 1).copied().collect();
    let in_flight = [1, 2, 3].map(|cookie| (cookie, 1, EIO, 4 * MS));
    assert_eq!(failed[..3], in_flight);
    assert_eq!(failed[3..], [(5, 1, EIO, 5 * MS + 1000)]);
    // The other drive does what it would have done.
    let other = done.iter().find(|d| d.1 == 0).unwrap();
    assert_eq!((other.0, other.2), (4, 0));
    let lines = parse_trace(&read_trace(&mut lab));
    let failed = lines
        .iter()
        .filter(|l| l.device == "disk1" && l.hit == "failed");
    assert_eq!(failed.clone().count(), 4);
    assert!(failed.clone().all(|l| l.medium.is_none()));
    assert!(lab.idle());
    lab.reset(lab.next_event_ns().min(marker + 900 * MS), "next", 1)
        .unwrap();
    lab.submit(marker + 950 * MS, 1, Read, 0, 8, 9).unwrap();
    lab.advance(lab.next_event_ns());
    assert_eq!(lab.completion().unwrap().status, EIO, "it stays failed");
}

#[test]
fn a_failed_drive_never_holds_the_bus() {
    // A long transfer of the failing drive is on the bus: the other one gets it at once. And what
    // was only in its buffer keeps neither the trace nor the lab waiting.
    let mut lab = lab(&failing(2, "disk0", MS));
    lab.reset(0, "cell", 3).unwrap();
    lab.submit(0, 0, Write, 0, 8, 0).unwrap();
    lab.submit(MS / 2, 0, Write, 5000, 2000, 1).unwrap();
    lab.submit(MS - 1, 1, Write, 0, 8, 2).unwrap();
    let mut done = Vec::new();
    while lab.next_event_ns() != NEVER {
        lab.advance(lab.next_event_ns());
        done.extend(
            std::iter::from_fn(|| lab.completion())
                .map(|c| (c.cookie, c.status, c.acknowledged_ns)),
        );
    }
    assert_eq!(done[0].0, 0, "acknowledged from the buffer: {done:?}");
    assert_eq!(done[1], (1, EIO, MS));
    let other = done[2];
    let alone = 12_000 + 8_000 + 8 * 512 * 1000 / 80 + 4_000;
    let overhead = 100_000;
    assert_eq!((other.0, other.1), (2, 0));
    assert!(
        (alone..alone + overhead).contains(&(other.2 - MS)),
        "{other:?}"
    );
    assert!(lab.idle());
    assert_eq!(lab.oldest_volatile(), None);
    let lines = parse_trace(&read_trace(&mut lab));
    assert_eq!(lines.len(), 3);
    assert_eq!((lines[0].hit.as_str(), lines[0].medium), ("cached", None));
}

/// Drive 0 of two has `busy` long reads from the marker on, drive 1 gets a short one later. Returns
/// cookie, status and time after the marker of all.
fn beside(text: &str, busy: u64, given_ns: i64) -> Vec<(u64, i32, i64)> {
    let mut lab = lab(text);
    lab.reset(0, "cell", 3).unwrap();
    for cookie in 0..busy {
        let lbn = 200_000 * (cookie + 1);
        lab.submit(0, 0, Read, lbn, 4096, cookie).unwrap();
    }
    let mut done = Vec::new();
    let mut later = Some(given_ns);
    loop {
        done.extend(
            std::iter::from_fn(|| lab.completion())
                .map(|c| (c.cookie, c.status, c.acknowledged_ns)),
        );
        let event = lab.next_event_ns();
        match later.filter(|l| *l <= event) {
            Some(at) => {
                lab.submit(at, 1, Read, 100_000, 8, 9).unwrap();
                later = None;
            }
            None if event == NEVER => break,
            None => lab.advance(event),
        }
    }
    assert!(lab.idle());
    done
}

#[test]
fn a_failed_drive_lets_go_of_the_bus_and_of_its_commands() {
    for (drive, entry, shared, host, given_ns) in [
        // Owned from the command to its end, between its phases too.
        ("deskstar-75gxp", "ata-100", true, "", 2 * MS),
        // Owned while the data moves with the medium.
        ("sun-911-ipi", "ipi-2", true, "", 59 * MS),
        // Buses of their own below one ceiling: what the failed drive will not move keeps nobody.
        (
            "deskstar-75gxp",
            "ata-100",
            false,
            "[host_bus]\nrate_kb_s = 1500\n",
            61 * MS,
        ),
    ] {
        let fail_ns = if given_ns < 10 * MS { 4 * MS } else { 60 * MS };
        let fault = format!("{host}[[fault]]\nunit = \"disk0\"\nafter_marker_ns = {fail_ns}\n");
        let whole = text(2, drive, entry, shared, 1, host);
        let done = beside(&text(2, drive, entry, shared, 1, &fault), 3, given_ns);
        // One was at work, two had no tag yet: all end at once, in the order of their arrival.
        let failed: Vec<_> = done.iter().filter(|d| d.0 < 9).copied().collect();
        assert_eq!(failed, [0, 1, 2].map(|c| (c, EIO, fail_ns)), "{entry}");
        // The other drive gets the bus as if nobody had used it,
        let other = |done: &[(u64, i32, i64)]| *done.iter().find(|d| d.0 == 9).unwrap();
        let alone = other(&beside(&whole, 0, given_ns.max(fail_ns)));
        assert_eq!(other(&done), alone, "{entry}");
        // for which it would have had to wait.
        let waits = other(&beside(&whole, 3, given_ns));
        assert!(waits.2 > alone.2 + MS, "{entry}: {waits:?}, {alone:?}");
    }
}

#[test]
fn faults_are_checked() {
    for (fault, message) in [
        (
            "unit = \"disk7\"\nafter_marker_ns = 1",
            "fault of \"disk7\": there is no such unit",
        ),
        (
            "unit = \"disk0\"\nafter_marker_ns = -1",
            "after_marker_ns must be 0 or more",
        ),
        (
            "unit = \"null\"\nafter_marker_ns = 1",
            "only a drive can fail",
        ),
    ] {
        let text = format!(
            "{}[[unit]]\nname = \"null\"\nnull_latency_ns = 1\n[[fault]]\n{fault}\n",
            scsi(1)
        );
        let error = Topology::from_text("t.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn refused_commands_have_the_slots_that_they_would_have_had() {
    let fault = "[[fault]]\nunit = \"disk0\"\nafter_marker_ns = 0\n";
    let mut lab = lab(&format!("{}{fault}", scsi(1)));
    lab.reset(0, "cell", 1).unwrap();
    for i in 0..3 {
        lab.submit(MS, 0, Read, i * 8, 8, i).unwrap();
    }
    finish(&mut lab);
    let lines = parse_trace(&read_trace(&mut lab));
    let said: Vec<_> = lines
        .iter()
        .map(|l| (l.hit.as_str(), l.slot, l.depth))
        .collect();
    assert_eq!(said, [("failed", 0, 1), ("failed", 1, 2), ("failed", 2, 3)]);
}

#[test]
fn commands_of_null_units_are_not_outstanding() {
    let null = "[[unit]]\nname = \"null\"\nnull_latency_ns = 1000\n";
    let mut lab = lab(&format!("{}{null}", scsi(1)));
    lab.submit(0, 0, Read, 1_000_000, 8, 0).unwrap();
    for i in 1..4 {
        lab.submit(0, 1, Read, 0, 8, i).unwrap();
    }
    assert_eq!(lab.outstanding(), 1);
    lab.advance(1000);
    let null = std::iter::from_fn(|| lab.completion());
    assert_eq!(null.map(|c| c.cookie).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(lab.outstanding(), 1, "the drive is still at it");
    finish(&mut lab);
    assert_eq!(lab.outstanding(), 0);
}

/// Read-ahead is worked out when the next request comes, however late: each drive of the catalogue
/// after an hour and after ninety days, first on the track where it stopped, then elsewhere.
#[test]
fn a_drive_may_wait_for_its_next_request_for_long() {
    let catalogue = Catalogue::new(CATALOGUE);
    for name in catalogue.names("drives").unwrap() {
        for wait in [25_000 * MS, 3_600_000 * MS, 90 * 86_400_000 * MS] {
            let model = catalogue.drive(&name, &toml::Table::new()).unwrap();
            if model.file.read_segments.value == 0 {
                // An IPI-2 drive has no buffer to read ahead into, and a bus of its own kind.
                continue;
            }
            let requests = [
                (0, Read, 100_000, 16),
                (wait, Read, 100_016, 16),
                (wait + 1, Write, 50_000, 16),
                (wait + 25_000 * MS, Read, 100_032, 16),
            ];
            let lines = run(&mut lab_of(model, test_bus(""), 1), &requests);
            let longest = lines.iter().map(|line| line.acknowledged - line.arrival);
            assert!(longest.max() < Some(200 * MS), "{name}: {lines:?}");
        }
    }
}
