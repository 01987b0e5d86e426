// SPDX-License-Identifier: MIT
//! What the compiler does not see: floats and host clocks in the core, and two lock files that
//! disagree. Circles between modules `tests/test_structure.py` finds, in Rust and in Python.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A crate of this folder, and those of its files where figures are made for people, so that they
/// may be rounded.
const CORE: [(&str, &[&str]); 2] = [("model", &[]), ("replay", &["validation.rs", "summary.rs"])];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Source files of the crate in `folder`.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut paths = vec![root().join(folder).join("src")];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn core_has_no_float_clock_or_thread() {
    let banned = [
        ("f32", "integers"),
        ("f64", "integers"),
        ("Instant", "the caller's time"),
        ("SystemTime", "the caller's time"),
        ("thread::", "events"),
        ("HashMap", "BTreeMap or Vec: hash order is random"),
        ("HashSet", "BTreeSet or Vec: hash order is random"),
        ("static mut", "state in Lab"),
    ];
    let mut faults = String::new();
    let mut files = 0;
    let core = CORE.iter().flat_map(|(folder, outside)| {
        let files = sources(folder).into_iter();
        files.map(move |path| (path, outside))
    });
    for (path, outside) in core {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("// SPDX-License-Identifier: MIT\n"),
            "{name}: licence line"
        );
        if name != "ffi.rs" && name != "lib.rs" && text.contains("unsafe") {
            faults += &format!("{name}: unsafe belongs into ffi.rs\n");
        }
        if outside.contains(&name.as_str()) {
            continue;
        }
        files += 1;
        for (number, line) in text.lines().enumerate() {
            for (word, instead) in banned {
                if line.contains(word) {
                    faults += &format!("{name}:{}: {word}, use {instead}\n", number + 1);
                }
            }
        }
    }
    assert!(files > 10, "the core was not found");
    assert!(faults.is_empty(), "\n{faults}");
}

/// Name, version and checksum of what a lock file holds.
fn locked(path: &str) -> BTreeSet<(String, String, String)> {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let packages = table["package"].as_array().unwrap().iter();
    let word = |package: &toml::Value, key: &str| {
        let word = package.get(key).and_then(|word| word.as_str());
        word.unwrap_or_default().to_string()
    };
    packages
        .map(|p| (word(p, "name"), word(p, "version"), word(p, "checksum")))
        .collect()
}

#[test]
fn program_and_library_have_one_model() {
    let (all, model) = (locked("Cargo.lock"), locked("model/Cargo.lock"));
    assert!(model.len() > 3, "{model:?}");
    let other: Vec<_> = model.difference(&all).collect();
    assert!(
        other.is_empty(),
        "model/Cargo.lock has what Cargo.lock has not: {other:?}; take over its versions with \
         cargo update --precise in lab/disk"
    );
    let profiles = ["Cargo.toml", "model/Cargo.toml"].map(|path| {
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        text.parse::<toml::Table>().unwrap()["profile"]["release"].clone()
    });
    assert_eq!(
        profiles[0], profiles[1],
        "they compute with different checks"
    );
}
