// SPDX-License-Identifier: MIT
//! Every parser of a file on valid inputs that were damaged, and on any text: it refuses or
//! accepts, never panics, and its message says where. `fuzz/` does the same guided by coverage.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::{select, Index};
use spindle_disk::catalogue::{BusFile, Catalogue, ControllerFile, DriveFile, DriveModel};
use spindle_disk::topology::Topology;
use spindle_replay::requests::{self, measured, Action, Format, Options};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The fuzzers' seeds of one target: small, valid, written by hand.
fn seeds(target: &str) -> Vec<String> {
    let folder = root().join("fuzz/seeds").join(target);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no seeds for {target}");
    paths
        .iter()
        .map(|p| std::fs::read_to_string(p).unwrap())
        .collect()
}

/// Where in a text, what becomes of it, and with which word.
type Damage = (Index, u8, String);

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let word = prop_oneof![
        select(vec![
            "",
            "-1",
            "0",
            "1",
            "4294967295",
            "4294967296",
            "9223372036854775807",
            "18446744073709551615",
            "99999999999999999999",
            "0.5",
            "1e9",
            "nan",
            "\"\"",
            "[]",
            "[[0, 1]]",
            "{ table_ns = [] }",
            "true",
            "\n",
            "#",
            "\0",
            "\u{feff}",
            ",",
            ".",
            "=",
        ])
        .prop_map(String::from),
        "\\PC{0,8}",
    ];
    prop::collection::vec((any::<Index>(), 0..5_u8, word), 1..4)
}

/// `text` with words and lines replaced, doubled or dropped.
fn damaged(text: &str, damages: &[Damage]) -> String {
    let mut text = text.to_string();
    for (place, how, word) in damages {
        let whole_lines = how % 2 == 1;
        let parts = |text: &str| -> Vec<String> {
            let end = |c: char| c == '\n' || (!whole_lines && (c == ' ' || c == ','));
            text.split_inclusive(end).map(String::from).collect()
        };
        let mut all = parts(&text);
        if all.is_empty() {
            continue;
        }
        let at = place.index(all.len());
        match how {
            0 => {
                let end = all[at].pop().unwrap_or('\n');
                all[at] = format!("{word}{end}");
            }
            1 => all[at] = format!("{word}\n"),
            2 | 3 => {
                all.remove(at);
            }
            _ => all.insert(at, all[at].clone()),
        }
        text = all.concat();
    }
    text
}

/// Damaged seeds of a target, or any text.
fn inputs(target: &str) -> impl Strategy<Value = String> {
    let broken = (select(seeds(target)), damage()).prop_map(|(t, d)| damaged(&t, &d));
    prop_oneof![9 => broken, 1 => "(?s).{0,200}"]
}

fn check_requests(text: &str) -> Result<(), TestCaseError> {
    let located = |error: String| {
        let line = error
            .strip_prefix("dir/list:")
            .and_then(|e| e.split_once(": "));
        let number = line.map(|(number, _)| number.parse::<usize>());
        prop_assert!(matches!(number, Some(Ok(1..))), "{error}");
        prop_assert!(error.contains("; expected "), "{error}");
        Ok(())
    };
    for format in Format::ALL.into_iter().map(Some).chain([None]) {
        for action in [Action::Issued, Action::Queued] {
            let options = Options { format, action };
            if let Err(e) = requests::parse("dir/list", text, &options) {
                located(e.to_string())?;
            }
        }
    }
    measured("dir/list", text).map_or_else(|e| located(e.to_string()), |_| Ok(()))
}

/// A message about TOML text has its line, one about a value its field.
fn check_toml<T: serde::de::DeserializeOwned>(text: &str) -> Result<Option<T>, TestCaseError> {
    match toml::from_str::<T>(text) {
        Ok(file) => Ok(Some(file)),
        Err(e) => {
            // The longest names all keys of a drive file.
            prop_assert!(e.message().len() < 1600, "{}", e.message());
            Ok(None)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn requests_refuse_or_accept(text in inputs("requests")) {
        check_requests(&text)?;
    }

    #[test]
    fn drive_refuses_or_accepts(text in inputs("drive")) {
        if let Some(file) = check_toml::<DriveFile>(&text)? {
            if let Err(e) = DriveModel::new("dir/drive.toml", file) {
                prop_assert!(e.to_string().starts_with("dir/drive.toml: "), "{e}");
            }
        }
    }

    #[test]
    fn bus_and_controller_refuse_or_accept(bus in inputs("bus"), controller in inputs("controller")) {
        check_toml::<BusFile>(&bus)?;
        check_toml::<ControllerFile>(&controller)?;
    }

    #[test]
    fn topology_refuses_or_accepts(text in inputs("topology")) {
        let text = with_catalogue(&text);
        if let Err(e) = Topology::from_text("dir/lab.toml", &text) {
            // A fault of a catalogue entry is told of the entry.
            let known = ["dir/lab.toml: ", "unit.set", "drives", "buses"];
            prop_assert!(known.iter().any(|k| e.to_string().contains(k)), "{e}");
        }
    }
}

/// `@` stands for the real catalogue, as in the fuzzer.
fn with_catalogue(text: &str) -> String {
    text.replace("\"@\"", &format!("{:?}", root().join("catalogue")))
}

#[test]
fn seeds_are_valid() {
    for text in seeds("requests") {
        let list = requests::parse("seed", &text, &Options::default());
        assert!(list.is_ok() || measured("seed", &text).is_ok(), "{text}");
    }
    for text in seeds("drive") {
        let file: DriveFile = toml::from_str(&text).unwrap();
        DriveModel::new("seed", file).unwrap_or_else(|e| panic!("{e}"));
    }
    for text in seeds("bus") {
        toml::from_str::<BusFile>(&text).unwrap();
    }
    for text in seeds("controller") {
        toml::from_str::<ControllerFile>(&text).unwrap();
    }
    for text in seeds("topology") {
        Topology::from_text("seed", &with_catalogue(&text)).unwrap();
    }
}

/// Through a file, as a user has it: the message has path and line.
#[test]
fn toml_faults_are_told_with_path_and_line() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parsers-catalogue");
    for kind in ["drives", "buses", "controllers", "arrays"] {
        std::fs::create_dir_all(folder.join(kind)).unwrap();
        std::fs::write(folder.join(kind).join("bad.toml"), "\n\n[name\n").unwrap();
    }
    let catalogue = Catalogue::new(&folder);
    for error in [
        catalogue.drive("bad", &toml::Table::new()).unwrap_err(),
        catalogue.bus("bad").unwrap_err(),
        catalogue.controller("bad").unwrap_err(),
        Topology::from_text("bad.toml", "\n\n[name\n").unwrap_err(),
    ] {
        let shown = error.to_string();
        assert!(
            shown.contains("bad.toml: TOML parse error at line 3"),
            "{shown}"
        );
    }
}
