// SPDX-License-Identifier: MIT
//! docs/catalogue.md is made from the catalogue: this test compares it, and rewrites it with
//! `SPINDLE_BLESS=1`.

use std::path::{Path, PathBuf};
use std::process::Command;

use spindle_disk::catalogue::Catalogue;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `spindle-disk page` prints, or its message.
fn page(arguments: &[&str]) -> Result<String, String> {
    let out = Command::new(env!("CARGO_BIN_EXE_spindle-disk"))
        .current_dir(root())
        .arg("page")
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    match out.status.success() {
        true => Ok(text(out.stdout)),
        false => Err(text(out.stderr)),
    }
}

#[test]
fn page_is_fresh() {
    let made = page(&[]).unwrap();
    let path = root().join("docs/catalogue.md");
    if std::env::var_os("SPINDLE_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = made.lines().zip(there.lines());
    let differs = lines.take_while(|(made, there)| made == there).count() + 1;
    assert!(
        there == made,
        "docs/catalogue.md:{differs}: not what spindle-disk page makes of the catalogue; \
         run SPINDLE_BLESS=1 cargo test --test page and commit it"
    );
}

#[test]
fn page_has_every_value_of_every_file() {
    let page = page(&[]).unwrap();
    let folder = root().join("lab/disk/catalogue");
    let mut values = 0;
    for kind in ["drives", "buses", "controllers", "arrays"] {
        for name in Catalogue::new(&folder).names(kind).unwrap() {
            let section = page
                .split("\n### ")
                .find(|s| s.starts_with(&format!("{name}\n")));
            let section = section.unwrap_or_else(|| panic!("no section {name}"));
            let text = std::fs::read_to_string(folder.join(kind).join(format!("{name}.toml")));
            let table: toml::Table = text.unwrap().parse().unwrap();
            for (key, item) in &table {
                let Some(mark) = item.get("mark").and_then(|m| m.as_str()) else {
                    continue;
                };
                let start = format!("| `{key}` | ");
                let row = section.lines().find(|line| line.starts_with(&start));
                let row = row.unwrap_or_else(|| panic!("{name} lacks {key}"));
                let cells: Vec<&str> = row.rsplit(" | ").collect();
                assert_eq!(cells[1], mark, "{name}: {key}");
                // The source's number leads to the source.
                let number = cells[0].trim_end_matches(" |");
                let start = format!("{number}. ");
                let source = section.lines().find_map(|line| line.strip_prefix(&start));
                let plain = |text: &str| text.replace('\\', "");
                let expected = item["source"].as_str().unwrap();
                assert_eq!(plain(source.unwrap()), plain(expected), "{name}: {key}");
                values += 1;
            }
        }
    }
    assert!(values > 80, "only {values} values were looked at");
}

#[test]
fn page_counts_marks_and_computes_rates() {
    let page = page(&[]).unwrap();
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| [ultrastar-36zx](#ultrastar-36zx) |"))
        .collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
    let overview = "| 10,000 | 10 | 11,634 | 18.35 | 4.90 | 5.90 | 29.22 | 14.88 | 2,048 | 256 |";
    assert!(rows[0].ends_with(overview), "{}", rows[0]);
    let file = root().join("lab/disk/catalogue/drives/ultrastar-36zx.toml");
    let file = std::fs::read_to_string(file).unwrap();
    let cells: Vec<&str> = rows[1].split(" | ").collect();
    for (column, mark) in ["datasheet", "measured", "seed", "log", "derived", "assumed"]
        .into_iter()
        .enumerate()
    {
        let count = file.matches(&format!("mark = \"{mark}\"")).count();
        assert_eq!(cells[column + 1], count.to_string(), "{mark}");
    }
}

#[test]
fn page_of_no_catalogue_says_where() {
    let message = page(&["--catalogue", "nowhere"]).unwrap_err();
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(
        message.contains("nowhere/drives") && message.contains("is this a catalogue folder?"),
        "{message}"
    );
}
