// SPDX-License-Identifier: MIT
//! `spindle-disk page`: the whole catalogue as one Markdown page, docs/catalogue.md.
//!
//! Keys, values, marks and sources are taken from the files as they stand there, in their order,
//! so that a new key needs no change here; a key's unit is read from its last word.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use spindle_disk::catalogue::{Catalogue, DriveModel, DESCRIPTIVE};
use spindle_disk::geometry::SECTOR_BYTES;
use spindle_disk::Error;
use toml::{Table, Value};

use crate::number::{gb, grouped, mb_s, ms, time};
use crate::show;

/// The marks, from the firmest to the weakest.
const MARKS: [&str; 6] = ["datasheet", "measured", "seed", "log", "derived", "assumed"];

/// A file of the catalogue.
struct Entry {
    name: String,
    /// What the comment at its head says.
    about: String,
    table: Table,
}

/// A drive's file, and what the model makes of it.
struct Drive {
    entry: Entry,
    model: DriveModel,
}

/// The page of the catalogue in `folder`.
pub fn markdown(folder: &Path) -> Result<String, Error> {
    let catalogue = Catalogue::new(folder);
    // By maker: drives of one maker share documents, firmware and habits.
    let mut makers: BTreeMap<String, Vec<Drive>> = BTreeMap::new();
    for name in catalogue.names("drives")? {
        let model = catalogue.drive(&name, &Table::new())?;
        let entry = read(folder, "drives", name)?;
        let maker = model.file.maker.value.clone();
        makers
            .entry(maker)
            .or_default()
            .push(Drive { entry, model });
    }
    let drives: Vec<&Drive> = makers.values().flatten().collect();
    let mut page = String::from(INTRODUCTION);
    overview(&mut page, &drives);
    trust(&mut page, &drives);
    for (maker, drives) in &makers {
        write_line(&mut page, &format!("\n## {}", escaped(maker)));
        for drive in drives {
            section(&mut page, "drives", &drive.entry);
        }
    }
    for (kind, heading) in [
        ("buses", "Buses"),
        ("controllers", "Controllers"),
        ("arrays", "Arrays"),
    ] {
        write_line(&mut page, &format!("\n## {heading}"));
        for name in catalogue.names(kind)? {
            // Loaded only to be checked.
            match kind {
                "buses" => catalogue.bus(&name).map(drop)?,
                "arrays" => catalogue.array(&name, &Table::new()).map(drop)?,
                _ => catalogue.controller(&name).map(drop)?,
            }
            section(&mut page, kind, &read(folder, kind, name)?);
        }
    }
    Ok(page)
}

const INTRODUCTION: &str = "\
# The catalogue

<!-- Made by spindle-disk page; after a change of the catalogue, in lab/disk: SPINDLE_BLESS=1 cargo test --test page -->

Every drive, bus, controller and array that the disk model knows, with each value, how far it can be trusted and where it comes from. Made from the files in `lab/disk/catalogue/`; its [README](../lab/disk/catalogue/README.md) says what keys and marks mean. `spindle-disk show NAME --svg FILE` draws a drive.

Units: 1 GB is 10^9 bytes, 1 MB/s 10^6 bytes a second, 1 KB 1024 bytes; a sector has 512 bytes; 1 ms is 1000 µs.
";

fn write_line(page: &mut String, line: &str) {
    writeln!(page, "{line}").expect("writing to a string");
}

/// A row of a table; the cells are Markdown already.
fn row(page: &mut String, cells: &[String]) {
    write_line(page, &format!("| {} |", cells.join(" | ")));
}

/// The head of a table: the first `left` columns are text, the others numbers.
fn head(page: &mut String, columns: &[&str], left: usize) {
    let rule = |i: usize| if i < left { "---" } else { "---:" };
    row(
        page,
        &columns.iter().map(|c| c.to_string()).collect::<Vec<_>>(),
    );
    row(
        page,
        &(0..columns.len())
            .map(|i| rule(i).to_string())
            .collect::<Vec<_>>(),
    );
}

fn overview(page: &mut String, drives: &[&Drive]) {
    write_line(
        page,
        "\n## Drives\n\nMean seeks and sustained rates (outer and inner zone) are those of the model: \
         over all pairs of cylinders, and with head and cylinder switches.\n",
    );
    let columns = [
        "drive",
        "model",
        "interface",
        "rpm",
        "heads",
        "cylinders",
        "capacity (GB)",
        "mean seek, read (ms)",
        "write (ms)",
        "sustained, outer (MB/s)",
        "inner (MB/s)",
        "buffer (KB)",
        "tags",
    ];
    head(page, &columns, 3);
    for Drive { entry, model } in drives {
        let (file, geometry, zones) = (&model.file, &model.geometry, show::rows(model));
        let cells = [
            link(&entry.name),
            escaped(&format!("{} {}", file.maker.value, file.model.value)),
            escaped(&file.interface.value),
            grouped(file.rpm.value.into()),
            geometry.heads.to_string(),
            grouped(geometry.cylinders.into()),
            gb(geometry.sectors * SECTOR_BYTES),
            ms(model.seek_read.mean_ns()),
            ms(model.seek_write.mean_ns()),
            mb_s(zones[0].sustained_bytes_s),
            mb_s(zones[zones.len() - 1].sustained_bytes_s),
            grouped(file.buffer_kb.value),
            file.max_tags.value.to_string(),
        ];
        row(page, &cells);
    }
}

/// How many values of each drive have which mark.
fn trust(page: &mut String, drives: &[&Drive]) {
    write_line(
        page,
        &format!(
            "\n## How far they can be trusted\n\nHow many of a drive's values have which mark. The \
             last column leaves out the labels ({}): of the values that decide what the model \
             does, so many are assumptions.\n",
            DESCRIPTIVE.map(|label| format!("`{label}`")).join(", ")
        ),
    );
    let mut columns = vec!["drive"];
    columns.extend(MARKS);
    columns.extend(["all values", "assumed of those that decide"]);
    head(page, &columns, 1);
    for Drive { entry, .. } in drives {
        let marked: Vec<(&str, &str)> = entry
            .table
            .iter()
            .filter_map(|(key, value)| Some((key.as_str(), value.get("mark")?.as_str()?)))
            .collect();
        let count = |wanted: &str| marked.iter().filter(|(_, mark)| *mark == wanted).count();
        let deciding = marked.iter().filter(|(key, _)| !DESCRIPTIVE.contains(key));
        let assumed = deciding.clone().filter(|(_, mark)| *mark == "assumed");
        let (assumed, deciding) = (assumed.count(), deciding.count());
        let mut cells = vec![link(&entry.name)];
        cells.extend(MARKS.map(|mark| count(mark).to_string()));
        cells.push(marked.len().to_string());
        cells.push(format!(
            "{assumed} of {deciding} ({} %)",
            (assumed * 100 + deciding / 2) / deciding.max(1)
        ));
        row(page, &cells);
    }
}

/// A file with all it says. Sources stand in a list below the table, each one once: many values
/// come from the same page of the same paper.
fn section(page: &mut String, kind: &str, entry: &Entry) {
    let Entry { name, about, table } = entry;
    write_line(page, &format!("\n### {name}\n"));
    let file = format!("[{kind}/{name}.toml](../lab/disk/catalogue/{kind}/{name}.toml)");
    write_line(page, format!("{} {file}", escaped(about)).trim());
    write_line(page, "");
    head(page, &["key", "value", "mark", "source"], 3);
    let mut sources: Vec<&str> = Vec::new();
    for (key, item) in table {
        let Some(mark) = item.get("mark").and_then(Value::as_str) else {
            plain(page, key, item);
            continue;
        };
        let source = item
            .get("source")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let place = sources.iter().position(|s| *s == source);
        let place = place.unwrap_or_else(|| {
            sources.push(source);
            sources.len() - 1
        });
        let shown = item.get("value").map(|v| value(key, v));
        let cells = [
            format!("`{key}`"),
            shown.unwrap_or_default(),
            mark.into(),
            (place + 1).to_string(),
        ];
        row(page, &cells);
    }
    write_line(page, "\nSources:\n");
    for (place, source) in sources.iter().enumerate() {
        write_line(page, &format!("{}. {}", place + 1, escaped(source)));
    }
}

/// Rows of a table whose values have no mark: how QEMU and the guest are told of a controller.
fn plain(page: &mut String, key: &str, item: &Value) {
    for (inner, item) in item.as_table().into_iter().flatten() {
        let shown = match item.as_str() {
            Some("") => "none".into(),
            Some(text) => format!("`{text}`"),
            None => value(inner, item),
        };
        row(
            page,
            &[
                format!("`{key}.{inner}`"),
                shown,
                String::new(),
                String::new(),
            ],
        );
    }
}

/// A value as Markdown, with the unit that the key ends in.
fn value(key: &str, value: &Value) -> String {
    match value {
        Value::Boolean(true) => "yes".into(),
        Value::Boolean(false) => "no".into(),
        Value::Integer(number) => quantity(key, *number),
        Value::String(text) => escaped(text),
        Value::Array(rows) if key == "zones" => zones(rows),
        Value::Array(pair) if key.starts_with("overhead_") && pair.len() == 2 => {
            let times: Vec<_> = pair.iter().map(|v| self::value(key, v)).collect();
            format!("{} after a read, {} after a write", times[0], times[1])
        }
        Value::Array(items) => joined(items.iter().map(|v| self::value(key, v))),
        Value::Table(table) => joined(table.iter().map(|(inner, v)| curve(inner, v))),
        Value::Float(number) => number.to_string(),
        Value::Datetime(time) => time.to_string(),
    }
}

/// A number with its unit.
fn quantity(key: &str, number: i64) -> String {
    let Ok(number) = u64::try_from(number) else {
        return number.to_string();
    };
    if key.ends_with("_ns") {
        return time(number);
    }
    let unit = [
        ("_mb_s", "MB/s"),
        ("_gb", "GB"),
        ("_kb", "KB"),
        ("sectors", "sectors"),
        ("rpm", "revolutions a minute"),
    ]
    .into_iter()
    .find(|(end, _)| key.ends_with(end));
    match unit {
        Some((_, unit)) => format!("{} {unit}", grouped(number)),
        None => grouped(number),
    }
}

/// A seek curve: its formula, or some of its points.
fn curve(key: &str, value: &Value) -> String {
    let numbers = integers(value);
    if let ("curve_ns", [constant, root, linear]) = (key, numbers.as_slice()) {
        return format!(
            "{} + {} · √d + {} · d over d cylinders",
            time(*constant),
            time(*root),
            time(*linear)
        );
    }
    let points: Vec<Vec<u64>> = value
        .as_array()
        .into_iter()
        .flatten()
        .map(integers)
        .collect();
    if key != "table_ns" || points.iter().any(|point| point.len() != 2) {
        return format!("{key}: {}", self::value(key, value));
    }
    let shown = points
        .iter()
        .map(|point| format!("{} over {}", time(point[1]), grouped(point[0])));
    let shown = shortened(shown.collect());
    format!("{} points: {shown} cylinders", points.len())
}

/// The zones, from the outer edge in.
fn zones(rows: &[Value]) -> String {
    let zone = |row: &Value| match integers(row).as_slice() {
        [first, sectors] => format!("{} from cylinder {}", grouped(*sectors), grouped(*first)),
        [first, sectors, track, cylinder] => format!(
            "{} from cylinder {} (skews {track} and {cylinder})",
            grouped(*sectors),
            grouped(*first)
        ),
        _ => value("", row),
    };
    let shown = shortened(rows.iter().map(zone).collect());
    let plural = if rows.len() == 1 { "" } else { "s" };
    format!("{} zone{plural}, sectors per track: {shown}", rows.len())
}

/// The whole numbers of an array that are not negative.
fn integers(value: &Value) -> Vec<u64> {
    let items = value.as_array().into_iter().flatten();
    items
        .filter_map(|item| u64::try_from(item.as_integer()?).ok())
        .collect()
}

/// The ends of a long list; the file has all of it.
fn shortened(mut items: Vec<String>) -> String {
    const ALL_UP_TO: usize = 6;
    if items.len() > ALL_UP_TO {
        items.splice(3..items.len() - 2, ["…".into()]);
    }
    items.join(", ")
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// A link to an entry's section of the page: Markdown viewers leave punctuation out of anchors.
fn link(name: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || "-_".contains(*c);
    let anchor: String = name.to_lowercase().chars().filter(kept).collect();
    format!("[{name}](#{anchor})")
}

/// Text in which nothing is taken for Markdown, on one line.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let within_word =
            before.is_alphanumeric() && characters.peek().is_some_and(|c| c.is_alphanumeric());
        match character {
            '\n' => safe.push(' '),
            // Within a word it means nothing, and an address must stay as it is.
            '_' if within_word => safe.push('_'),
            '\\' | '|' | '*' | '_' | '<' | '[' | '`' | '~' => {
                safe.push('\\');
                safe.push(character);
            }
            _ => safe.push(character),
        }
        before = character;
    }
    safe
}

/// Reads an entry as it stands in its file. The catalogue has checked it before.
fn read(folder: &Path, kind: &str, name: String) -> Result<Entry, Error> {
    let path = folder.join(kind).join(format!("{name}.toml"));
    let fault = |message: String| Error::File {
        path: path.display().to_string(),
        message,
    };
    let text = std::fs::read_to_string(&path).map_err(|e| fault(format!("cannot be read: {e}")))?;
    let table = toml::from_str(&text).map_err(|e| fault(e.to_string().trim_end().into()))?;
    let about: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix('#'))
        .map(str::trim)
        .filter(|line| !line.starts_with("SPDX"))
        .collect();
    Ok(Entry {
        name,
        about: about.join(" "),
        table,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let table: Table = line.parse().unwrap();
        let (key, item) = table.iter().next().unwrap();
        value(key, item)
    }

    #[test]
    fn page_spells_out_values() {
        for (line, expected) in [
            ("rpm = 7200", "7,200 revolutions a minute"),
            ("head_switch_ns = 650000", "0.65 ms"),
            ("command_ns = 2000", "2 µs"),
            ("sectors = 60036480", "60,036,480 sectors"),
            ("buffer_kb = 2048", "2,048 KB"),
            ("rate_mb_s = 100", "100 MB/s"),
            ("capacity_gb = 30", "30 GB"),
            ("heads = 4", "4"),
            ("write_cache = true", "yes"),
            ("queue_algorithms = [\"fcfs\", \"sptf\"]", "fcfs, sptf"),
            (
                "overhead_read_hit_ns = [82000, 121000]",
                "0.082 ms after a read, 0.121 ms after a write",
            ),
            (
                "seek_read = { curve_ns = [552000, 47850, 412] }",
                "0.552 ms + 0.04785 ms · √d + 0.412 µs · d over d cylinders",
            ),
            (
                "seek_read = { table_ns = [[1, 600000], [5000, 7000000]] }",
                "2 points: 0.6 ms over 1, 7 ms over 5,000 cylinders",
            ),
            (
                "zones = [[0, 382, 42, 71]]",
                "1 zone, sectors per track: 382 from cylinder 0 (skews 42 and 71)",
            ),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    #[test]
    fn page_shortens_long_tables() {
        let rows: Vec<_> = (0..9).map(|i| format!("[{i}, {}]", 90 - i)).collect();
        assert_eq!(
            shown(&format!("zones = [{}]", rows.join(", "))),
            "9 zones, sectors per track: 90 from cylinder 0, 89 from cylinder 1, \
             88 from cylinder 2, …, 83 from cylinder 7, 82 from cylinder 8"
        );
    }

    #[test]
    fn page_escapes_markdown() {
        assert_eq!(
            escaped("a*b | c_d _e_\n<f> [g]"),
            "a\\*b \\| c_d \\_e\\_ \\<f> \\[g]"
        );
    }
}
