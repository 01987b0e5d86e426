// SPDX-License-Identifier: MIT
//! The command line as a user meets it.

use std::path::{Path, PathBuf};
use std::process::Command;

fn spindle_disk(arguments: &[&str]) -> (bool, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_spindle-disk"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (out.status.success(), text(out.stdout), text(out.stderr))
}

fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

fn topology(name: &str) -> String {
    file(
        name,
        "schema = \"spindle-topology/1\"\ncatalogue = \"lab/disk/catalogue\"\n\
         [[bus]]\nname = \"bus0\"\nentry = \"ultra2-scsi\"\n\
         [[unit]]\nname = \"disk0\"\ndrive = \"ultrastar-36zx\"\nbus = \"bus0\"\nmax_tags = 8\n",
    )
}

#[test]
fn the_catalogue_is_found_from_any_folder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (_, wanted, _) = spindle_disk(&["show", "deskstar-75gxp"]);
    for folder in [root.join("lab/disk/catalogue/drives"), root.join("docs")] {
        let out = Command::new(env!("CARGO_BIN_EXE_spindle-disk"))
            .current_dir(folder)
            .args(["show", "deskstar-75gxp"])
            .output()
            .unwrap();
        assert!(out.status.success());
        assert_eq!(String::from_utf8(out.stdout).unwrap(), wanted);
    }
}

#[test]
fn show_has_what_the_report_needs() {
    let (good, out, _) = spindle_disk(&["show", "deskstar-75gxp", "--json"]);
    assert!(good);
    let page: serde_json::Value = serde_json::from_str(&out).unwrap();
    for key in ["model", "maker", "interface", "media"] {
        assert!(page[key].is_string(), "{key}");
    }
    for (key, value) in [
        ("capacity_gb", 30.0),
        ("sectors", 60_036_480.0),
        ("rpm", 7200.0),
        ("seek_read_ms_mean", 7.005),
        ("seek_write_ms_mean", 7.997),
        ("seek_read_ms_full", 14.713),
        ("sustained_outer_mb_s", 36.98),
        ("sustained_inner_mb_s", 21.73),
        ("buffer_kb", 2048.0),
        ("interface_mb_s", 100.0),
    ] {
        assert_eq!(page[key].as_f64(), Some(value), "{key}");
    }
    let (good, out, _) = spindle_disk(&["show", "ultrastar-36zx"]);
    assert!(
        good && out.contains("mean of all pairs    4.902     5.900"),
        "{out}"
    );
}

#[test]
fn show_names_the_drives_there_are() {
    let (good, _, err) = spindle_disk(&["show", "deskstar"]);
    assert!(
        !good && err.contains("no entry \"deskstar\"; there are: deskstar-75gxp"),
        "{err}"
    );
}

#[test]
fn check_passes_the_catalogue() {
    let (good, out, _) = spindle_disk(&["check"]);
    assert!(
        good && out.ends_with("entries are good, 0 are not\n"),
        "{out}"
    );
}

#[test]
fn replay_of_its_own_trace_repeats_it() {
    let list: String = (0..50_i64)
        .map(|i| {
            format!(
                "{} {} {} 16\n",
                i * 1_000_000,
                ["R", "W"][i as usize % 2],
                i * 700_001
            )
        })
        .collect();
    let (list, topology) = (file("list.txt", &list), topology("replay.toml"));
    let trace = file("first.trace", "");
    let again = file("second.trace", "");
    let replay = |from: &str, to: &str| {
        let arguments = [
            "replay",
            from,
            "--topology",
            &topology,
            "--unit",
            "disk0",
            "--trace",
            to,
        ];
        let (good, out, err) = spindle_disk(&arguments);
        assert!(good, "{err}");
        let page: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(page["requests"], 50);
        std::fs::read_to_string(to).unwrap()
    };
    let first = replay(&list, &trace);
    assert_eq!(first.lines().count(), 52);
    assert_eq!(first, replay(&list, &again));
    // Its own trace is a request list too.
    assert_eq!(replay(&trace, &again).lines().count(), 52);
}

#[test]
fn replay_points_at_a_bad_line() {
    let (list, topology) = (
        file("bad.txt", "0 R 0 16\n0 X 0 16\n"),
        topology("bad.toml"),
    );
    let arguments = [
        "replay",
        &list,
        "--topology",
        &topology,
        "--unit",
        "disk0",
        "--depth",
        "4",
    ];
    let (good, _, err) = spindle_disk(&arguments);
    assert!(
        !good && err.contains("bad.txt:2: op is not R, W, F or U"),
        "{err}"
    );
}
