// SPDX-License-Identifier: MIT
//! Each request format by lines written by hand, and the words of each error.

use spindle_disk::Op;
use spindle_replay::requests::{
    load, measured, parse, Action, Format, Measured, Options, Requests, Skipped,
};

type Row<'a> = (i64, Op, u64, u64, &'a str);

fn read(text: &str) -> Requests {
    read_as(text, &Options::default())
}

fn read_as(text: &str, options: &Options) -> Requests {
    parse("list", text, options).unwrap_or_else(|e| panic!("{e}"))
}

fn rows(got: &Requests) -> Vec<Row<'_>> {
    let row = |r: &spindle_replay::requests::Request| {
        let device = got.devices[r.device as usize].as_str();
        (r.arrival_ns, r.op, r.lbn, r.sectors, device)
    };
    got.requests.iter().map(row).collect()
}

/// Every text must be refused with its message, and at its line.
fn refused(format: Option<Format>, cases: &[(&str, usize, &str)]) {
    for (text, line, message) in cases {
        let options = Options {
            format,
            ..Options::default()
        };
        let error = parse("list", text, &options).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("list:{line}: {message}")),
            "{text:?}: {error}"
        );
        assert!(error.contains("expected "), "{error}");
    }
}

#[test]
fn list_in_order_of_arrival() {
    let got = read("# ours\n\n2000 W 8 16\n1000 r 0 1\r\n2000 F 0 0\n3000 U 1 2");
    assert_eq!(got.format, Format::List);
    assert_eq!(
        rows(&got),
        [
            (1000, Op::Read, 0, 1, "-"),
            (2000, Op::Write, 8, 16, "-"),
            (2000, Op::Flush, 0, 0, "-"),
            (3000, Op::WriteFua, 1, 2, "-"),
        ]
    );
    let lines: Vec<u32> = got.requests.iter().map(|r| r.line).collect();
    assert_eq!(lines, [4, 3, 5, 6]);
    assert_eq!(read("# nothing\n").requests, []);
}

#[test]
fn list_refuses() {
    refused(
        Some(Format::List),
        &[
            (
                "0 R 0",
                1,
                "3 words, not 4; expected arrival_ns op lbn sectors",
            ),
            ("0 R 0 1 2 3 4 5 6 7 8 9 0", 1, "12 or more words, not 4"),
            (
                "0 R 0 1\n-1 R 0 1",
                2,
                "arrival_ns \"-1\" is not a whole number",
            ),
            ("1.5 R 0 1", 1, "arrival_ns \"1.5\" is not a whole number"),
            (
                "9999999999999999999 R 0 1",
                1,
                "arrival_ns \"9999999999999999999\" lies after",
            ),
            (
                "99999999999999999999 R 0 1",
                1,
                "arrival_ns \"99999999999999999999\" is out of",
            ),
            ("0 X 0 1", 1, "op is not R, W, F or U: \"X\""),
            ("0 R 0 0", 1, "a read or write of no sectors"),
            (
                "0 R 18446744073709551615 1",
                1,
                "1 sectors at 18446744073709551615 are out of",
            ),
            (
                "0 R 18014398509481984 1",
                1,
                "1 sectors at 18014398509481984 are out of range",
            ),
            ("0 R 0 0x8", 1, "sectors \"0x8\" is not a whole number"),
        ],
    );
}

#[test]
fn trace_of_two_units() {
    let text = "# spindle-trace/1 device op\n\
                disk0 R 1234 16 0 1000 1500 9000 8500 32 miss\n\
                disk1 W 8 8 0 900 1500 9500 - 1 cached\n";
    let got = read(text);
    assert_eq!(got.format, Format::Trace);
    assert_eq!(
        rows(&got),
        [
            (900, Op::Write, 8, 8, "disk1"),
            (1000, Op::Read, 1234, 16, "disk0"),
        ]
    );
    let of = |device, unit| read(text).of_device("list", device, unit);
    assert_eq!(of(None, "disk0").unwrap()[0].lbn, 1234);
    assert_eq!(of(Some("disk1"), "disk0").unwrap()[0].lbn, 8);
    assert_eq!(
        of(None, "other").unwrap_err().to_string(),
        "list: has requests of 2 devices; choose one by its name, there are: \"disk0\", \"disk1\""
    );
    refused(
        None,
        &[
            (
                "disk0 R 1234 16 0 1000 1500 9000 later 32 miss",
                1,
                "medium_ns \"later\" is not a whole number",
            ),
            (
                "# spindle-trace/1\ndisk0 R 1234 16 0 1000",
                2,
                "6 words, not 11",
            ),
        ],
    );
}

#[test]
fn disksim_ms_become_ns() {
    let got = read("0.000000 0 1000 8 1\n12.345678 0 2000 16 0\n12.3456785 0 0 1 0x11\n");
    assert_eq!(got.format, Format::DiskSim);
    assert_eq!(
        rows(&got),
        [
            (0, Op::Read, 1000, 8, "0"),
            (12_345_678, Op::Write, 2000, 16, "0"),
            (12_345_679, Op::Read, 0, 1, "0"),
        ]
    );
    refused(
        Some(Format::DiskSim),
        &[
            (
                "1e3 0 0 8 1",
                1,
                "arrival_ms \"1e3\" is not a decimal number",
            ),
            (
                "-0.5 0 0 8 1",
                1,
                "arrival_ms \"-0.5\" is not a decimal number",
            ),
            ("0 a 0 8 1", 1, "devno \"a\" is not a whole number"),
            ("0 0 0 8 g", 1, "flags \"g\" are not hexadecimal"),
            ("0 0 0 8 +1", 1, "flags \"+1\" are not hexadecimal"),
            (
                "0 0 0 8",
                1,
                "4 words, not 5; expected arrival_ms devno blkno blocks flags",
            ),
        ],
    );
    let error = read("0 0 0 8 1\n0 1 0 8 1\n").of_device("list", None, "disk0");
    assert!(error.unwrap_err().to_string().contains("of 2 devices"));
}

#[test]
fn fio_version_2_waits_from_the_start() {
    let got = read(
        "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a read 4096 512\n/dev/a wait 5 0\n\
         /dev/a write 0 1024\n/dev/a wait 4 0\n/dev/a datasync 7 1\n/dev/a trim 0 4096\n\
         /dev/a close\n",
    );
    assert_eq!(got.format, Format::Fio);
    assert_eq!(
        rows(&got),
        [
            (0, Op::Read, 8, 1, "/dev/a"),
            (5_000_000, Op::Write, 0, 2, "/dev/a"),
            (5_000_000, Op::Flush, 0, 0, "/dev/a"),
        ]
    );
    assert_eq!(
        got.skipped,
        Skipped {
            trims: 1,
            passed_through: 0
        }
    );
}

#[test]
fn fio_version_3_has_microseconds() {
    let got = read(
        "fio version 3 iolog\n0 /dev/a add\n1 /dev/a open\n20 /dev/a write 0 512\n\
         30 /dev/a sync 0 0\n31 /dev/a close\n",
    );
    assert_eq!(
        rows(&got),
        [
            (20_000, Op::Write, 0, 1, "/dev/a"),
            (30_000, Op::Flush, 0, 0, "/dev/a"),
        ]
    );
}

#[test]
fn fio_refuses() {
    let three = |line: &str| format!("fio version 3 iolog\n{line}\n");
    let two = |line: &str| format!("fio version 2 iolog\n{line}\n");
    refused(
        None,
        &[
            (
                "fio version 4 iolog\n",
                1,
                "not an iolog that is known: \"fio version 4 iolog\"",
            ),
            (
                &two("/a read 100 512"),
                2,
                "offset of 100 bytes is not divisible by the 512 of a",
            ),
            (
                &two("/a read 512 4000"),
                2,
                "length of 4000 bytes is not divisible by the 512 of a",
            ),
            (&two("/a read 512 0"), 2, "a read or write of no sectors"),
            (
                &two("/a erase 0 0"),
                2,
                "action \"erase\" is not known here",
            ),
            (&two("/a unlink"), 2, "action \"unlink\" is not known here"),
            (
                &two("/a read 0"),
                2,
                "not an action of an iolog: \"/a read 0\"",
            ),
            (
                &two("/a read -1 512"),
                2,
                "offset \"-1\" is not a whole number",
            ),
            (
                &three("/a read 0 512"),
                2,
                "time_us \"/a\" is not a decimal number",
            ),
            (&three("5 /a wait 0 0"), 2, "version 3 has no wait"),
            (&three("5"), 2, "not an action of an iolog: \"5\""),
        ],
    );
    refused(
        Some(Format::Fio),
        &[("", 1, "not an iolog that is known: \"\"")],
    );
}

const BLKPARSE: &str = "\
  8,0    3        1     0.000000000   697  Q  WS 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G  WS 223490 + 8 [kjournald]
  8,0    3        3     0.000003000   697  P   N [kjournald]
  8,0    3        4     0.000004000   697 UT   N [swapper] 1
  8,0    3        5     0.000005000     0  m   N cfq697 insert_request
  8,0    3        6     0.000006000   697  A  WS 223490 + 8 <- (8,1) 223427
  8,0    3       11     0.009507758   697  D  WS 223490 + 8 [kjournald]
  8,0    1        2     1.000000001    12  D   R 0 + 16 (    1234) [my prog]
  8,0    1        3     1.000000002    12  D  FN [kworker/1:1H]
  8,0    1        4     1.000000003    12  D FWFSM 64 + 8 [kworker/1:1H]
  8,0    1        5     1.000000004    12  D WFS 72 + 8 [kworker/1:1H]
  8,0    1        6     1.000000005    12  D  DS 1024 + 2048 [fstrim]
  8,0    1        7     1.000000006    12  D   R 36 (12 00 00 00 24 00 ..) [multipathd]
  8,0    1        8     1.000000007    12  D   N 0 (00 ..) [ksoftirqd/3]
  8,0    1        9     1.000000008    12  D  RA 96 + 8 [cat]
  8,0    3       12     1.011542116   697  C  WS 223490 + 8 [0]

CPU0 (8,0):
 Reads Queued:           2,        8KiB\t Writes Queued:           1,        4KiB
Total (8,0):
Throughput (R/W): 1KiB/s / 2KiB/s
Events (8,0): 16 entries
Skips: 0 forward (0 -   0.0%)
";

#[test]
fn blkparse_issued() {
    let got = read(BLKPARSE);
    assert_eq!(got.format, Format::Blkparse);
    assert_eq!(
        rows(&got),
        [
            (9_507_758, Op::Write, 223_490, 8, "8,0"),
            (1_000_000_001, Op::Read, 0, 16, "8,0"),
            (1_000_000_002, Op::Flush, 0, 0, "8,0"),
            (1_000_000_003, Op::Flush, 0, 0, "8,0"),
            (1_000_000_003, Op::WriteFua, 64, 8, "8,0"),
            (1_000_000_004, Op::WriteFua, 72, 8, "8,0"),
            (1_000_000_008, Op::Read, 96, 8, "8,0"),
        ]
    );
    assert_eq!(
        got.skipped,
        Skipped {
            trims: 1,
            passed_through: 2
        }
    );
}

#[test]
fn blkparse_summary_may_begin_with_the_total() {
    let (events, _) = BLKPARSE.split_once("CPU0").unwrap();
    for first in ["Total (8,0):", "Throughput (R/W): 1KiB/s / 2KiB/s"] {
        let text = format!("{events}{first}\nEvents (8,0): 16 entries\n");
        assert_eq!(rows(&read(&text)), rows(&read(BLKPARSE)));
    }
}

#[test]
fn blkparse_queued() {
    let options = Options {
        format: Some(Format::Blkparse),
        action: Action::from_letter("Q").unwrap(),
    };
    assert_eq!(
        rows(&read_as(BLKPARSE, &options)),
        [(0, Op::Write, 223_490, 8, "8,0")]
    );
    assert!(Action::from_letter("C")
        .unwrap_err()
        .to_string()
        .contains("there are: D"));
}

#[test]
fn blkparse_old_barrier_is_flush_and_fua() {
    let got = read("8,0 0 1 0.5 9 D WB 8 + 8 [a]\n");
    assert_eq!(
        rows(&got),
        [
            (500_000_000, Op::Flush, 0, 0, "8,0"),
            (500_000_000, Op::WriteFua, 8, 8, "8,0"),
        ]
    );
}

#[test]
fn blkparse_names_its_files_before_the_events_only() {
    let options = Options {
        format: Some(Format::Blkparse),
        ..Options::default()
    };
    let event = "8,0 0 1 0.5 9 D W 8 + 8 [a]\n";
    let files = "Input file a.blktrace.0 added\nInput file a.blktrace.1 added\n";
    assert_eq!(
        rows(&read_as(&format!("{files}{event}"), &options)).len(),
        1
    );
    refused(
        Some(Format::Blkparse),
        &[(&format!("{event}{files}"), 2, "not an event: \"Input file")],
    );
}

#[test]
fn blkparse_refuses() {
    refused(
        None,
        &[
            ("8,0 0 1 0.5 9", 1, "only 5 words"),
            ("8,0 0 1 0.5 9 D", 1, "no rwbs word"),
            (
                "8,0 0 1 0.5 9 Y W 8 + 8 [a]",
                1,
                "action \"Y\" is not known",
            ),
            (
                "8,0 0 1 half 9 C W 8 + 8 [a]",
                1,
                "time \"half\" is not a decimal number",
            ),
            (
                "8,0 0 1 0.5 9 D WZ 8 + 8 [a]",
                1,
                "rwbs \"WZ\" is not known",
            ),
            (
                "8,0 0 1 0.5 9 D W 8 - 8 [a]",
                1,
                "no sector and length, but \"8\"",
            ),
            (
                "8,0 0 1 0.5 9 D W 8 + x [a]",
                1,
                "sectors \"x\" is not a whole number",
            ),
            (
                "8,0 0 1 0.5 9 D W [a]",
                1,
                "a read or write without sector and length",
            ),
            (
                "8,0 0 1 0.5 9 D W 8 + 0 [a]",
                1,
                "a read or write of no sectors",
            ),
            ("8,0 0 1 0.5 9 P N [a]\nnoise", 2, "not an event: \"noise\""),
            (
                "8,0 0 1 0.5 9 P N [a]\nCPU0 (8,0):\n8,0 0 1 0.5 9 P N [a]",
                3,
                "an event after the summary",
            ),
        ],
    );
}

#[test]
fn unknown_format_says_what_there_is() {
    refused(
        None,
        &[
            (
                "# x\nhello\n",
                2,
                "the format is not recognised by this line: \"hello\"; expected",
            ),
            (
                "R Hit 1 4 663.0 45422.0\n",
                1,
                "this is the trace of a measured drive",
            ),
        ],
    );
    let error = Format::from_name("csv").unwrap_err().to_string();
    assert!(
        error.ends_with("there are: list, trace, disksim, fio, blkparse"),
        "{error}"
    );
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Ok(format));
    }
}

#[test]
fn measured_us_become_ns() {
    let text = "W Hit    4583176   4    663.00000  45422.00000\n\
                R Miss 1390458 14 12434.375000 27307.318970\n";
    assert_eq!(
        measured("trace", text).unwrap(),
        [
            Measured {
                op: Op::Write,
                lbn: 4_583_176,
                sectors: 4,
                service_ns: 663_000,
                think_ns: 45_422_000,
            },
            Measured {
                op: Op::Read,
                lbn: 1_390_458,
                sectors: 14,
                service_ns: 12_434_375,
                think_ns: 27_307_319,
            },
        ]
    );
    for (text, message) in [
        (
            "F Hit 1 4 1.0 1.0",
            "trace:1: op is not R or W: \"F\"; expected R or W, buffer",
        ),
        ("R Hit 1 4 1.0", "trace:1: 5 words, not 6"),
        (
            "R Hit 1 4 x 1.0",
            "trace:1: service_us \"x\" is not a decimal number",
        ),
        (
            "R Hit 1 4 1 -1",
            "trace:1: think_us \"-1\" is not a decimal number",
        ),
        ("R Hit 1 0 1 1", "trace:1: a read or write of no sectors"),
    ] {
        let error = measured("trace", text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn load_takes_names_that_are_no_utf8() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bytes.txt");
    std::fs::write(&path, b"8,0 0 1 0.5 9 D W 8 + 8 [\xff\xfe]\n").unwrap();
    assert_eq!(load(&path, &Options::default()).unwrap().requests.len(), 1);
    std::fs::write(&path, b"0 R 0 1\xff\n").unwrap();
    let error = load(&path, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("bytes.txt:1: sectors"), "{error}");
    let error = load(&path.join("none"), &Options::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot be read"), "{error}");
}
