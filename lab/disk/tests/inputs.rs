// SPDX-License-Identifier: MIT
//! What `spindle-disk inputs` lists is what the model reads: every key of every entry is changed,
//! and the loaded model changes (or refuses) if and only if the key is listed.

use std::path::{Path, PathBuf};
use std::process::Command;

use spindle_disk::catalogue::{Catalogue, Reader};
use toml::{Table, Value};

const KINDS: [&str; 4] = ["drives", "buses", "controllers", "arrays"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue")
}

/// A catalogue of its own for each test, beside which one entry is changed at a time.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("inputs-{name}"));
        for kind in KINDS {
            std::fs::create_dir_all(scratch.join(kind)).unwrap();
            for file in std::fs::read_dir(folder().join(kind)).unwrap() {
                let file = file.unwrap();
                std::fs::copy(file.path(), scratch.join(kind).join(file.file_name())).unwrap();
            }
        }
        Self(scratch)
    }

    /// What comes of an entry with this text: the loaded model as text, without and with its
    /// tables; none if it is refused.
    fn load(&self, kind: &str, name: &str, table: &Table) -> Option<Loaded> {
        let path = self.0.join(kind).join(format!("{name}.toml"));
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, written(table)).unwrap();
        let catalogue = Catalogue::new(&self.0);
        let loaded = match kind {
            "drives" => catalogue.drive(name, &Table::new()).map(|model| Loaded {
                file: format!("{:?}", model.file),
                all: format!("{model:?}"),
            }),
            "buses" => catalogue.bus(name).map(|bus| Loaded::of(&bus)),
            _ => catalogue
                .array(name, &Table::new())
                .map(|array| Loaded::of(&array)),
        };
        std::fs::write(&path, before).unwrap();
        loaded.ok()
    }
}

#[derive(PartialEq)]
struct Loaded {
    file: String,
    all: String,
}

impl Loaded {
    fn of(model: &impl std::fmt::Debug) -> Self {
        let all = format!("{model:?}");
        Self {
            file: all.clone(),
            all,
        }
    }
}

/// A catalogue file with these entries; the crate that reads TOML is built without its writer.
fn written(table: &Table) -> String {
    let lines = table
        .iter()
        .map(|(key, v)| format!("{key} = {}\n", inline(v)));
    lines.collect()
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(s) => format!("{s:?}"),
        Value::Integer(n) => n.to_string(),
        Value::Boolean(b) => b.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(table) => {
            let items = table.iter().map(|(k, v)| format!("{k} = {}", inline(v)));
            format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
        }
        other => panic!("no value of the catalogue is {other:?}"),
    }
}

/// Other values of the same type.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Integer(n) => vec![(n + 1).into(), (n * 3 + 1000).into(), 0.into()],
        Value::Boolean(b) => vec![(!b).into()],
        Value::String(s) => vec![format!("{s}x").into()],
        Value::Array(items) => {
            let mut shorter = items.clone();
            shorter.pop();
            let first = items.first().into_iter().flat_map(others).map(|other| {
                let mut changed = items.clone();
                changed[0] = other;
                changed.into()
            });
            std::iter::once(shorter.into()).chain(first).collect()
        }
        Value::Table(table) => {
            let changed = table.iter().flat_map(|(key, value)| {
                others(value).into_iter().map(move |other| {
                    let mut changed = table.clone();
                    changed.insert(key.clone(), other);
                    changed.into()
                })
            });
            changed.collect()
        }
        other => panic!("no value of the catalogue is {other:?}"),
    }
}

#[test]
fn a_key_changes_the_model_if_and_only_if_it_is_listed() {
    let (scratch, catalogue) = (Scratch::new("keys"), Catalogue::new(folder()));
    let mut keys = 0;
    for kind in ["drives", "buses", "arrays"] {
        for name in catalogue.names(kind).unwrap() {
            let listed = catalogue.inputs(kind, &name, &Table::new()).unwrap();
            let text = std::fs::read_to_string(folder().join(kind).join(format!("{name}.toml")));
            let table: Table = text.unwrap().parse().unwrap();
            let as_it_is = scratch.load(kind, &name, &table).expect("it loads");
            for (key, entry) in &table {
                let changes = |value: &Value| {
                    let mut table = table.clone();
                    table[key]["value"] = value.clone();
                    scratch
                        .load(kind, &name, &table)
                        .is_none_or(|with| with != as_it_is)
                };
                let (value, mut tried) = (&entry["value"], others(&entry["value"]).into_iter());
                if listed.contains_key(key) {
                    assert_eq!(&listed[key], value, "{kind}/{name}: {key}");
                    assert!(
                        tried.any(|v| changes(&v)),
                        "{kind}/{name}: {key} is not read"
                    );
                } else if Reader::of(kind, key) == Reader::Nobody {
                    assert!(!tried.any(|v| changes(&v)), "{kind}/{name}: {key} is read");
                }
                keys += 1;
            }
            for word in ["mark", "source"] {
                let mut table = table.clone();
                for (_, entry) in table.iter_mut() {
                    entry[word] = "assumed".into();
                }
                let with = scratch.load(kind, &name, &table);
                assert!(
                    with.is_some_and(|with| with == as_it_is),
                    "{kind}/{name}: {word}"
                );
            }
        }
    }
    assert!(keys > 900, "only {keys} keys were looked at");
}

/// A field of a file that no code asks for would be listed although nothing depends on it.
#[test]
fn every_listed_key_is_asked_for_in_the_code() {
    let mut code = String::new();
    let mut paths = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("model/src")];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()));
        } else {
            code += &std::fs::read_to_string(path).unwrap();
        }
    }
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cell");
    let python = std::fs::read_dir(lab).unwrap().map(|e| e.unwrap().path());
    let python = python.filter(|path| path.extension().is_some_and(|e| e == "py"));
    let python: String = python
        .map(|p| std::fs::read_to_string(p).unwrap())
        .collect();
    let catalogue = Catalogue::new(folder());
    for kind in KINDS {
        for name in catalogue.names(kind).unwrap() {
            let text = std::fs::read_to_string(folder().join(kind).join(format!("{name}.toml")));
            let table: Table = text.unwrap().parse().unwrap();
            for key in table.keys() {
                let asked = |start: &str| {
                    let wanted = format!("{start}{key}");
                    let found = code.match_indices(&wanted);
                    found
                        .map(|(at, word)| &code[at + word.len()..])
                        .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
                };
                match Reader::of(kind, key) {
                    Reader::Model => assert!(asked("."), "{kind}/{name}: nobody reads {key}"),
                    Reader::Lab => assert!(
                        python.contains(&format!("\"{key}\"")),
                        "{kind}/{name}: lab/cell does not read {key}"
                    ),
                    Reader::Nobody => {}
                }
            }
        }
    }
}

fn spindle_disk(arguments: &[&str]) -> Result<serde_json::Value, String> {
    let out = Command::new(env!("CARGO_BIN_EXE_spindle-disk"))
        .args(arguments)
        .output()
        .unwrap();
    match out.status.success() {
        true => Ok(serde_json::from_slice(&out.stdout).unwrap()),
        false => Err(String::from_utf8(out.stderr).unwrap()),
    }
}

fn file(name: &str, text: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let catalogue = folder();
    let head = format!("schema = \"spindle-topology/1\"\ncatalogue = {catalogue:?}\n");
    std::fs::write(&path, head + text).unwrap();
    path.to_str().unwrap().into()
}

fn mirror(set: &str) -> String {
    let member = |name: &str, set: &str| {
        format!(
            "[[bus]]\nname = \"{name}\"\nentry = \"ata-100\"\n\
             [[unit]]\nname = \"{name}\"\ndrive = \"deskstar-75gxp\"\nbus = \"{name}\"\n\
             max_tags = 1\nmember = true\n{set}"
        )
    };
    let array = "[[array]]\nname = \"disk0\"\ncontroller = \"raid1-2\"\n\
                 members = [\"m0\", \"m1\"]\n[array.set]\nstripe_unit_kb = 128\n";
    let system = "[[unit]]\nname = \"system\"\nnull_latency_ns = 20000\n";
    member("m0", "") + &member("m1", set) + system + array
}

#[test]
fn units_have_sizes() {
    let path = file("units.toml", &mirror(""));
    let units = spindle_disk(&["units", "--topology", &path, "--json"]).unwrap();
    let drive = |name: &str| {
        serde_json::json!({"name": name, "kind": "drive", "sectors": 60_036_480, "max_tags": 1,
                           "member": true})
    };
    // Whole stripe units count: 60036480 sectors are 234517 and a half of them.
    let expected = serde_json::json!([
        drive("m0"),
        drive("m1"),
        {"name": "system", "kind": "null", "sectors": 0, "max_tags": 256, "member": false},
        {"name": "disk0", "kind": "array", "sectors": 60_036_480 / 256 * 256,
         "max_tags": units[3]["max_tags"], "member": false},
    ]);
    assert_eq!(units, expected);
}

#[test]
fn inputs_name_every_entry_and_what_is_set() {
    let path = file("inputs.toml", &mirror(""));
    let inputs = spindle_disk(&["inputs", "--topology", &path, "--json"]).unwrap();
    let entries: Vec<&String> = inputs.as_object().unwrap().keys().collect();
    let host_bus = inputs["arrays/raid1-2"]["host_bus"].as_str().unwrap();
    let host_bus = format!("buses/{host_bus}");
    let mut expected = [
        "arrays/raid1-2",
        "buses/ata-100",
        "drives/deskstar-75gxp",
        &host_bus,
    ];
    expected.sort_unstable();
    assert_eq!(entries, expected);
    assert_eq!(inputs["arrays/raid1-2"]["stripe_unit_kb"], 128);
    assert_eq!(inputs["buses/ata-100"]["kind"], "ata");
    let drive = inputs["drives/deskstar-75gxp"].as_object().unwrap();
    assert!(drive.contains_key("rpm") && !drive.contains_key("maker"));
    // Where units differ, each has its own; a description that is set counts as read.
    let set = "[unit.set]\nread_segments = 3\nmaker = \"other\"\n";
    let path = file("inputs-set.toml", &mirror(set));
    let inputs = spindle_disk(&["inputs", "--topology", &path, "--json"]).unwrap();
    let drive = |unit: &str| &inputs[format!("drives/deskstar-75gxp {unit}")];
    assert_eq!(drive("m1")["read_segments"], 3);
    assert_eq!(drive("m1")["maker"], "other");
    assert_ne!(drive("m0")["read_segments"], 3);
    assert!(drive("m0").get("maker").is_none());
}

#[test]
fn units_of_no_topology_say_where() {
    for command in ["units", "inputs"] {
        let message = spindle_disk(&[command, "--topology", "nowhere.toml"]).unwrap_err();
        assert!(
            message.contains("nowhere.toml: cannot be read"),
            "{message}"
        );
    }
}
