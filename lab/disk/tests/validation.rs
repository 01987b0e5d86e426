// SPDX-License-Identifier: MIT
//! The model against measured traces of real drives, as bounds that fail.
//!
//! The traces and parameters are DiskSim's public validation set and not part of the project.
//! They are looked for in the folder that `SPINDLE_TRACES` names, or else beside the project; the
//! tests that need them say so when they are not there.

use std::path::{Path, PathBuf};

use spindle_disk::catalogue::DriveModel;
use spindle_disk::{disksim, requests, validation};

/// Drive, its rms demerit in DiskSim 4.0 (our bound) and what the model reached, in ms. The third
/// is a second, tighter bound: a change that loses a twentieth of it must say why.
const DRIVES: [(&str, f64, f64); 6] = [
    ("atlas10k", 0.267, 0.142),
    ("ibm18es", 0.136, 0.106),
    ("cheetah9LP", 0.107, 0.089),
    ("barracuda", 0.348, 0.237),
    ("hp_c2490a", 0.254, 0.209),
    ("hp_c3323a", 0.305, 0.261),
];

fn traces() -> Option<PathBuf> {
    let folder = match std::env::var_os("SPINDLE_TRACES") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/disks/disksim"),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no measured traces; SPINDLE_TRACES=DIR names their folder");
    None
}

fn import(folder: &Path, drive: &str) -> DriveModel {
    let specs = [
        format!("{drive}.diskspecs"),
        format!("{drive}_validate.diskspecs"),
    ];
    let path = specs.iter().map(|s| folder.join(s)).find(|p| p.exists());
    let imported = disksim::import(&path.expect("a .diskspecs file"), None).unwrap();
    DriveModel::from_text(drive, &imported.toml).unwrap()
}

#[test]
fn demerit_is_no_worse_than_disksims() {
    let Some(folder) = traces() else { return };
    let mut better = 0;
    for (drive, disksim_ms, reached_ms) in DRIVES {
        let path = folder.join(format!("{drive}.trace"));
        let text = std::fs::read_to_string(&path).unwrap();
        let requests = requests::measured(drive, &text).unwrap();
        let mut lab = validation::bare_lab(import(&folder, drive));
        let times = validation::replay(&mut lab, &requests).unwrap();
        let measured: Vec<_> = requests.iter().map(|r| r.service_ns).collect();
        let report = validation::report(&times, &measured);
        println!(
            "{drive}: {:.3} ms, DiskSim {disksim_ms}, mean error {:+.3} ms",
            report.rms_demerit_ms, report.mean_error_ms
        );
        assert!(
            report.rms_demerit_ms <= disksim_ms,
            "{drive}: worse than DiskSim"
        );
        assert!(
            report.rms_demerit_ms <= reached_ms * 1.05,
            "{drive}: worse than before"
        );
        better += i32::from(report.rms_demerit_ms < disksim_ms);
    }
    assert!(better >= 3, "better than DiskSim on {better} drives only");
}

#[test]
fn imported_drives_take_little_memory() {
    let Some(folder) = traces() else { return };
    for (drive, ..) in DRIVES {
        let bytes = import(&folder, drive).bytes();
        assert!(bytes < 20_000_000, "{drive} takes {bytes} bytes");
    }
}

#[test]
fn demerit_by_hand() {
    // Sorted, 1 3 against 2 7 ms: distances 1 and 4, mean square 8.5; the mean is 2.5 ms lower.
    let report = validation::report(&[3_000_000, 1_000_000], &[2_000_000, 7_000_000]);
    assert_eq!(report.requests, 2);
    assert!((report.rms_demerit_ms - 8.5_f64.sqrt()).abs() < 1e-9);
    assert!((report.mean_error_ms + 2.5).abs() < 1e-9);
    assert!((report.rms_demerit_relative - 8.5_f64.sqrt() / 4.5).abs() < 1e-9);
}
