// SPDX-License-Identifier: MIT
//! DiskSim parameter files: what is wrong with them must be said with file and line, and what is
//! accepted must come out as a drive file.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use spindle_disk::catalogue::DriveModel;
use spindle_import::import_text;

/// A folder with the seek times that the seeds name.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("spindle-disksim-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the seek times");
    std::fs::write(folder.join("s"), "1, 1.0\n3, 2.5\n5, 2.0\n").expect("the seek times");
    folder
});

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // A path could lead to a device that never ends.
    if text.contains("= source /") || text.contains("curve = /") || text.contains("..") {
        return;
    }
    match import_text("input", text, &FOLDER, None) {
        Err(error) => {
            let shown = error.to_string();
            let file = shown.strip_prefix("input:");
            let beside = shown.contains(FOLDER.to_str().expect("a folder in text"));
            assert!(file.is_some() || beside, "{shown}");
        }
        Ok(imported) => {
            let table: Result<toml::Table, _> = imported.toml.parse();
            assert!(table.is_ok(), "not TOML: {table:?}\n{}", imported.toml);
            if let Err(error) = DriveModel::from_text("input.toml", &imported.toml) {
                assert!(error.to_string().starts_with("input.toml: "), "{error}");
            }
        }
    }
});
