// SPDX-License-Identifier: MIT
//! What the compiler does not see: floats and host clocks in the core, circles between the
//! model's modules, and two lock files that disagree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A crate of this folder, and those of its files where figures are made for people, so that they
/// may be rounded.
const CORE: [(&str, &[&str]); 2] = [("model", &[]), ("replay", &["validation.rs"])];

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

/// Which modules of the model, each with the folder of its name, use which others. What stands in
/// a file as `crate::name` counts, wherever it stands.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let source = root().join("model/src");
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources("model") {
        let inside = path.strip_prefix(&source).unwrap();
        let module = inside.components().next().unwrap().as_os_str();
        let module = module.to_str().unwrap().trim_end_matches(".rs").to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        let named = text.split("crate::").skip(1).map(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            rest[..end.unwrap_or(rest.len())].to_string()
        });
        let named: Vec<String> = named.filter(|name| *name != module).collect();
        for name in &named {
            let there = source.join(format!("{name}.rs")).exists();
            assert!(
                there,
                "{}: crate::{name} is no module; name the one that has it",
                path.display()
            );
        }
        uses.entry(module).or_default().extend(named);
    }
    uses
}

#[test]
fn modules_of_the_model_form_no_circle() {
    let mut uses = uses();
    assert!(uses.len() > 15, "the modules were not found");
    // Modules that use none of the rest can be taken away; what cannot is in a circle or uses one.
    loop {
        let free: Vec<String> = uses
            .iter()
            .filter(|(_, used)| used.is_empty())
            .map(|(module, _)| module.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        for module in free {
            uses.remove(&module);
            for used in uses.values_mut() {
                used.remove(&module);
            }
        }
    }
    assert!(
        uses.is_empty(),
        "these modules use each other in a circle: {uses:#?}"
    );
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
