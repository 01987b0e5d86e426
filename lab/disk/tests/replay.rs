// SPDX-License-Identifier: MIT
//! `spindle-disk replay` as a user meets it: one drive without a topology file, results, errors.

use std::path::{Path, PathBuf};
use std::process::Command;

const DRIVE: [&str; 4] = ["--drive", "ultrastar-36zx", "--bus", "ultra2-scsi"];

/// Runs `replay` with these arguments; the summary, or the message.
fn replay(arguments: &[&str]) -> Result<serde_json::Value, String> {
    let out = Command::new(env!("CARGO_BIN_EXE_spindle-disk"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .arg("replay")
        .args(arguments)
        .output()
        .unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert!(!error.contains("panicked"), "{error}");
    if !out.status.success() {
        return Err(error);
    }
    Ok(serde_json::from_slice(&out.stdout).unwrap())
}

/// A folder of its own for each test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn one_drive_is_the_topology_of_one_drive() {
    let folder = folder("one-drive");
    let list = file(
        &folder,
        "list",
        "0 R 0 16\n5000000 W 900000 8\n9000000 F 0 0\n",
    );
    let topology = file(
        &folder,
        "topology.toml",
        "schema = \"spindle-topology/1\"\ncatalogue = \"lab/disk/catalogue\"\n\
         [[bus]]\nname = \"bus0\"\nentry = \"ultra2-scsi\"\n\
         [[unit]]\nname = \"disk0\"\ndrive = \"ultrastar-36zx\"\nbus = \"bus0\"\nmax_tags = 4\n",
    );
    let [a, b] = ["a.trace", "b.trace"].map(|n| folder.join(n));
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let drive_file = "lab/disk/catalogue/drives/ultrastar-36zx.toml";
    let by_topology = replay(&[
        &list,
        "--topology",
        &topology,
        "--unit",
        "disk0",
        "--trace",
        a,
    ]);
    let by_name = [
        &[list.as_str()][..],
        &DRIVE,
        &["--max-tags", "4", "--trace", b],
    ]
    .concat();
    assert_eq!(replay(&by_name), by_topology);
    assert_eq!(std::fs::read(a).unwrap(), std::fs::read(b).unwrap());
    let by_file = [
        "--drive",
        drive_file,
        "--bus",
        "ultra2-scsi",
        "--max-tags",
        "4",
    ];
    assert_eq!(
        replay(&[&[list.as_str()][..], &by_file].concat()),
        by_topology
    );
}

#[test]
fn results_are_the_trace_in_the_order_of_submission() {
    let folder = folder("results");
    let list = file(
        &folder,
        "list",
        "7000 W 5000000 8\n0 R 0 16\n8000 R 40 8\n9000 F 0 0\n",
    );
    let [results, trace] = ["r.csv", "t.trace"].map(|n| folder.join(n));
    let paths = [
        list.as_str(),
        "--results",
        results.to_str().unwrap(),
        "--trace",
        trace.to_str().unwrap(),
    ];
    let summary = replay(&[&paths[..], &DRIVE].concat()).unwrap();
    let text = std::fs::read_to_string(&results).unwrap();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("number,op,lbn,sectors,arrival_ns,acknowledged_ns,response_ns,lost_sectors")
    );
    let rows: Vec<Vec<&str>> = lines.map(|l| l.split(',').collect()).collect();
    let column = |n: usize| -> Vec<&str> { rows.iter().map(|r| r[n]).collect() };
    assert_eq!(column(0), ["0", "1", "2", "3"]);
    assert_eq!(column(1), ["R", "W", "R", "F"]);
    assert_eq!(column(2), ["0", "5000000", "40", "0"]);
    let number = |word: &str| word.parse::<i64>().unwrap();
    let trace = std::fs::read_to_string(&trace).unwrap();
    let mut responses: Vec<i64> = rows.iter().map(|r| number(r[6])).collect();
    for row in &rows {
        assert_eq!(number(row[5]) - number(row[4]), number(row[6]));
        let [op, lbn, sectors] = [row[1], row[2], row[3]];
        let line = trace
            .lines()
            .find(|l| l.starts_with(&format!("disk0 {op} {lbn} {sectors} ")))
            .unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!([row[4], row[5]], [words[5], words[7]]);
    }
    responses.sort_unstable();
    for (key, value) in [
        ("p50", responses[1]),
        ("p99", responses[3]),
        ("max", responses[3]),
    ] {
        assert_eq!(summary[format!("response_ns_{key}")], value, "{key}");
    }
    assert_eq!(
        summary["response_ns_mean"],
        responses.iter().sum::<i64>() / 4
    );
    assert_eq!(names(&folder), ["list", "r.csv", "t.trace"]);
}

#[test]
fn a_failed_replay_leaves_files_as_they_were() {
    let folder = folder("failed");
    let list = file(&folder, "list", "0 R 0 16\n1000 R 35843670 1\n");
    let results = file(&folder, "r.csv", "old\n");
    let trace = folder.join("t.trace");
    let paths = [
        &list,
        "--results",
        &results,
        "--trace",
        trace.to_str().unwrap(),
    ];
    let error = replay(&[&paths[..], &DRIVE].concat()).unwrap_err();
    assert!(
        error.contains("list:2: unit \"disk0\": R of 1 sectors at 35843670 is outside"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&results).unwrap(), "old\n");
    assert_eq!(names(&folder), ["list", "r.csv"]);
}

#[test]
fn other_formats_and_closed_loop() {
    let folder = folder("formats");
    let fio = file(
        &folder,
        "log",
        "fio version 3 iolog\n0 /dev/a add\n1 /dev/a read 0 4096\n2 /dev/a trim 0 512\n",
    );
    let summary = replay(&[&[fio.as_str()][..], &DRIVE].concat()).unwrap();
    assert_eq!(summary["format"], "fio");
    assert_eq!(summary["requests"], 1);
    assert_eq!(summary["trims_skipped"], 1);
    // More outstanding than there are requests, or memory.
    let depth = ["--depth", "18446744073709551615", "--think-ns", "1000"];
    let again = replay(&[&[fio.as_str()][..], &DRIVE, &depth].concat()).unwrap();
    assert_eq!(again["requests"], 1);
    let two = file(&folder, "two", "0 0 0 8 1\n0.5 1 8 8 0\n");
    let error = replay(&[&[two.as_str()][..], &DRIVE].concat()).unwrap_err();
    assert!(
        error.contains("two: has requests of 2 devices; choose one by"),
        "{error}"
    );
    let chosen = replay(&[&[two.as_str(), "--device", "1"][..], &DRIVE].concat()).unwrap();
    assert_eq!(chosen["bytes"], 4096);
    let queued = file(&folder, "blk", "8,0 0 1 0.5 9 Q W 8 + 8 [a]\n");
    for (action, requests) in [("D", 0), ("Q", 1)] {
        let arguments = [&[queued.as_str(), "--action", action][..], &DRIVE].concat();
        assert_eq!(replay(&arguments).unwrap()["requests"], requests);
    }
}

#[test]
fn replay_says_what_is_wrong() {
    let folder = folder("wrong");
    let list = file(&folder, "list", "0 R 0 16\n");
    let late = file(&folder, "late", "8301034833169293 R 0 16\n");
    let at = |path: &str, more: &[&str]| replay(&[&[path][..], more].concat()).unwrap_err();
    let with = |path: &str, more: &[&str]| at(path, &[&DRIVE[..], more].concat());
    for (error, message) in [
        (
            with(&list, &["--format", "csv"]),
            "no request format \"csv\"; there are: list,",
        ),
        (
            with(&list, &["--format", "fio"]),
            "list:1: not an iolog that is known",
        ),
        (
            with(&list, &["--device", "9"]),
            "has no requests of device \"9\"",
        ),
        (
            with(&list, &["--max-tags", "0"]),
            "0 tags: drive ultrastar-36zx takes 1 (no queue)",
        ),
        (
            with(&list, &["--max-tags", "257"]),
            "takes 1 (no queue) to 256",
        ),
        (
            with(
                &list,
                &["--depth", "1", "--think-ns", "9223372036854775807"],
            ),
            "the think time must be 0 to",
        ),
        (
            with(&list, &["--trace", "x", "--results", "x"]),
            "name the same file",
        ),
        (with(&late, &[]), "late:1: disk0: time 8301034"),
        (at(&list, &[]), "required arguments were not provided"),
        (
            at(&list, &["--drive", "ultrastar-36zx", "--bus", "ata-100"]),
            "does not fit on bus",
        ),
        (
            at(&list, &["--drive", "none.toml", "--bus", "ata-100"]),
            "none.toml: cannot be read",
        ),
        (
            at(&list, &["--drive", "none", "--bus", "ata-100"]),
            "no entry \"none\"; there are:",
        ),
        (at(&list, &["--drive", "ultrastar-36zx"]), "--bus"),
        (at(&list, &["--topology", "none"]), "--unit"),
    ] {
        assert!(error.contains(message), "{message}: {error}");
    }
    // A device gets what is written to it.
    let out = [&[list.as_str(), "--results", "/dev/null"][..], &DRIVE].concat();
    replay(&out).unwrap();
}

#[test]
fn power_cut_is_reported_per_request() {
    let folder = folder("power_cut");
    let list = file(
        &folder,
        "list",
        "0 W 100 8\n100000 Wo 5000 8\n3000000000 R 100 8\n",
    );
    let results = folder.join("r.csv");
    let paths = [list.as_str(), "--results", results.to_str().unwrap()];
    let cut = |ns: &str| {
        let summary = replay(&[&paths[..], &DRIVE, &["--power-cut-ns", ns]].concat()).unwrap();
        let text = std::fs::read_to_string(&results).unwrap();
        let last = |line: &str| line.rsplit(',').next().unwrap().to_string();
        (summary, text.lines().skip(1).map(last).collect::<Vec<_>>())
    };
    // After a ms the first write is in the only write segment and the second waits for it; after
    // a second both are on the medium.
    let (early, lost) = cut("1000000");
    assert_eq!(early["lost_sectors"], 8);
    assert_eq!(
        (
            early["lost_writes"].as_u64(),
            early["acknowledged"].as_u64()
        ),
        (Some(1), Some(1))
    );
    assert_eq!(early["bytes"], 8 * 512);
    assert_eq!(lost, ["8", "0"]);
    let (late, lost) = cut("1000000000");
    assert_eq!(
        (late["lost_sectors"].as_u64(), late["acknowledged"].as_u64()),
        (Some(0), Some(2))
    );
    assert_eq!(lost, ["0", "0"]);
    assert!(replay(&[&paths[..], &DRIVE, &["--power-cut-ns=-1"]].concat()).is_err());
}
