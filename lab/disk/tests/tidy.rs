// SPDX-License-Identifier: MIT
//! Hazards that the compiler does not see: floats and host clocks in the core.

use std::path::Path;

/// The command line and the comparison with real drives, where figures are made for people, and
/// the reading of decimal files before a drive exists.
const OUTSIDE: [&str; 8] = [
    "main.rs",
    "show.rs",
    "replay.rs",
    "picture.rs",
    "plot.rs",
    "validate.rs",
    "validation.rs",
    "disksim.rs",
];

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
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut faults = String::new();
    let mut files = 0;
    let mut paths = vec![source];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()));
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("// SPDX-License-Identifier: MIT\n"),
            "{name}: licence line"
        );
        if name != "ffi.rs" && name != "lib.rs" && text.contains("unsafe") {
            faults += &format!("{name}: unsafe belongs into ffi.rs\n");
        }
        if OUTSIDE.contains(&name.as_str()) {
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
