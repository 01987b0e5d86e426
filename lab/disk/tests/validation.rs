// SPDX-License-Identifier: MIT
//! The model against measured traces of real drives, as bounds that fail.
//!
//! The traces and parameters are DiskSim's public validation set and not part of the project.
//! They are looked for in the folder that `SPINDLE_TRACES` names, or else beside the project; the
//! tests that need them count as ignored where they are not there.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use spindle_disk::catalogue::DriveModel;
use spindle_disk::Op;
use spindle_replay::requests::{self, Measured};
use spindle_replay::validation;

/// Drive, and its rms demerit in DiskSim 4.0 in ms: our bound. On the ST41601N, on which DiskSim
/// did not finish, the bound is what an earlier state of this model reached.
const DRIVES: [(&str, f64); 8] = [
    ("atlas10k", 0.267),
    ("ibm18es", 0.136),
    ("cheetah9LP", 0.107),
    ("barracuda", 0.348),
    ("hp_c2490a", 0.254),
    ("hp_c3323a", 0.305),
    ("atlas_III", 0.378),
    ("st41601n", 0.336),
];

/// Sectors between two requests that are near each other.
const NEAR: u64 = 1000;

/// What a request is to the one before it.
fn regime(before: &Measured, request: &Measured) -> &'static str {
    let read = request.op == Op::Read;
    match request.lbn.abs_diff(before.lbn + before.sectors) {
        0 if read => "reads, sequential",
        0 => "writes, sequential",
        1..NEAR if read => "reads, near",
        1..NEAR => "writes, near",
        _ if read => "reads, far",
        _ => "writes, far",
    }
}

fn traces() -> Option<PathBuf> {
    let folder = match std::env::var_os("SPINDLE_TRACES") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/disks/disksim"),
    };
    folder.is_dir().then_some(folder)
}

fn import(folder: &Path, drive: &str) -> DriveModel {
    let specs = [
        format!("{drive}.diskspecs"),
        format!("{drive}_validate.diskspecs"),
    ];
    let path = specs.iter().map(|s| folder.join(s)).find(|p| p.exists());
    let imported = spindle_import::import(&path.expect("a .diskspecs file"), None).unwrap();
    DriveModel::from_text(drive, &imported.toml).unwrap()
}

/// Measured and modelled service times of a drive's trace.
fn replay(folder: &Path, drive: &str) -> (Vec<Measured>, Vec<i64>) {
    let text = std::fs::read_to_string(folder.join(format!("{drive}.trace"))).unwrap();
    let requests = requests::measured(drive, &text).unwrap();
    let mut lab = validation::bare_lab(import(folder, drive));
    let times = validation::replay(&mut lab, &requests).unwrap();
    (requests, times)
}

fn demerit_is_no_worse_than_disksims(folder: &Path) {
    let mut csv = String::from(
        "drive,regime,requests,measured_ms_mean,modelled_ms_mean,rms_demerit_ms,disksim_ms\n",
    );
    let mut better = 0;
    for (drive, disksim_ms) in DRIVES {
        let (requests, times) = replay(folder, drive);
        let mut groups: BTreeMap<&str, (Vec<i64>, Vec<i64>)> = BTreeMap::new();
        for (i, request) in requests.iter().enumerate() {
            let part = i.checked_sub(1).map(|j| regime(&requests[j], request));
            for name in ["all"].into_iter().chain(part) {
                let group = groups.entry(name).or_default();
                group.0.push(times[i]);
                group.1.push(request.service_ns);
            }
        }
        for (name, (modelled, measured)) in &groups {
            let report = validation::report(modelled, measured);
            let mean = report.rms_demerit_ms / report.rms_demerit_relative;
            let bound = if *name == "all" {
                disksim_ms.to_string()
            } else {
                String::new()
            };
            writeln!(
                csv,
                "{drive},\"{name}\",{},{mean:.3},{:.3},{:.3},{bound}",
                report.requests,
                mean + report.mean_error_ms,
                report.rms_demerit_ms
            )
            .unwrap();
            if *name == "all" {
                println!(
                    "{drive:12} rms demerit {:.3} ms (DiskSim {disksim_ms:.3}), mean error {:+.3} \
                     ms of {mean:.3}",
                    report.rms_demerit_ms, report.mean_error_ms
                );
                let worse = report.rms_demerit_ms > disksim_ms;
                assert!(!worse, "{drive}: worse than DiskSim's {disksim_ms} ms");
                better += i32::from(report.rms_demerit_ms < disksim_ms);
            }
        }
    }
    assert!(better >= 3, "better than DiskSim on {better} drives only");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("validation/measured.csv");
    if std::env::var_os("SPINDLE_BLESS").is_some() {
        std::fs::write(&path, &csv).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == csv,
        "validation/measured.csv is not what the model gives now:\n{csv}\nif the change is meant, \
         say why in its commit and run SPINDLE_BLESS=1 cargo test --test validation"
    );
}

fn imported_drives_take_little_memory(folder: &Path) {
    for (drive, ..) in DRIVES {
        let bytes = import(folder, drive).bytes();
        assert!(bytes < 20_000_000, "{drive} takes {bytes} bytes");
    }
}

fn demerit_by_hand() {
    // Sorted, 1 3 against 2 7 ms: distances 1 and 4, mean square 8.5; the mean is 2.5 ms lower.
    let report = validation::report(&[3_000_000, 1_000_000], &[2_000_000, 7_000_000]);
    assert_eq!(report.requests, 2);
    assert!((report.rms_demerit_ms - 8.5_f64.sqrt()).abs() < 1e-9);
    assert!((report.mean_error_ms + 2.5).abs() < 1e-9);
    assert!((report.rms_demerit_relative - 8.5_f64.sqrt() / 4.5).abs() < 1e-9);
}

/// A test of measured traces; without them it is ignored, and its name says why.
fn of_traces(name: &str, folder: Option<&Path>, test: fn(&Path)) -> Trial {
    let Some(folder) = folder.map(Path::to_owned) else {
        return Trial::test(name, || Ok(()))
            .with_kind("no measured traces: SPINDLE_TRACES names their folder")
            .with_ignored_flag(true);
    };
    Trial::test(name, move || done(|| test(&folder)))
}

/// The harness takes a panic for a failure; this makes the types fit.
fn done(test: impl FnOnce()) -> Result<(), Failed> {
    test();
    Ok(())
}

fn main() {
    let folder = traces();
    let folder = folder.as_deref();
    let tests = vec![
        of_traces(
            "demerit_is_no_worse_than_disksims",
            folder,
            demerit_is_no_worse_than_disksims,
        ),
        of_traces(
            "imported_drives_take_little_memory",
            folder,
            imported_drives_take_little_memory,
        ),
        Trial::test("demerit_by_hand", || done(demerit_by_hand)),
    ];
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}
