// SPDX-License-Identifier: MIT
//! DiskSim 4.0 parameter files, read into a drive file of ours.
//!
//! Format and meaning: J. Bucy, J. Schindler, S. Schlosser, G. Ganger et al., The DiskSim
//! Simulation Environment Version 4.0 Reference Manual, CMU-PDL-08-101, 2008. Layout model g1 with
//! all its sparing and mapping schemes, mechanical model g1 with all its seek types. A parameter
//! that our model has no counterpart for must have the value that switches it off, or is named in
//! a note.

#![deny(missing_docs)]
#![deny(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use spindle_disk::geometry::{Geometry, Layout, Sparing, SurfaceOrder, ZoneSpec};
use spindle_disk::Error;

/// Time in which the host of an extraction moved a sector, in ns, for drives whose file says 0. It
/// is no property of the drive: DiskSim's validation runs set it on the bus, to 0.14841 ms for the
/// HP C2490A, 0.14550 ms for the HP C3323A and 0.09552 ms for the ST41601N. For other drives of HP,
/// which were extracted at HP, the mean of the first two; for all others the third.
const HP_HOST_SECTOR_NS: u64 = 147_000;
const OTHER_HOST_SECTOR_NS: u64 = 95_520;

/// Deepest nesting of blocks and lists that is read.
const NESTING_MAX: usize = 16;

/// A value of a parameter.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Word(String),
    List(Vec<Value>),
    Block(Block),
}

/// `type name { key = value, ... }`.
#[derive(Debug, Clone, PartialEq, Default)]
struct Block {
    kind: String,
    /// File and line where it starts, for messages.
    at: String,
    values: BTreeMap<String, Value>,
}

/// A file as characters, with the place for messages.
struct Reader<'a> {
    path: &'a str,
    text: &'a [u8],
    next: usize,
}

impl Reader<'_> {
    fn at(&self) -> String {
        let before = &self.text[..self.next.min(self.text.len())];
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        format!("{}:{line}", self.path)
    }

    fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::file(self.at(), message))
    }

    /// The next character that is neither space nor comment.
    fn peek(&mut self) -> Option<u8> {
        while let Some(&b) = self.text.get(self.next) {
            match b {
                b'#' => {
                    while self.text.get(self.next).is_some_and(|&b| b != b'\n') {
                        self.next += 1;
                    }
                }
                b if b.is_ascii_whitespace() => self.next += 1,
                b => return Some(b),
            }
        }
        None
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.next += usize::from(found);
        found
    }

    /// Text up to one of `stops`, its spaces made single.
    fn until(&mut self, stops: &[u8]) -> Result<String, Error> {
        let mut words = String::new();
        while let Some(b) = self.peek() {
            if stops.contains(&b) {
                break;
            }
            let from = self.next;
            while let Some(&b) = self.text.get(self.next) {
                if b.is_ascii_whitespace() || b == b'#' || stops.contains(&b) {
                    break;
                }
                self.next += 1;
            }
            let Ok(word) = std::str::from_utf8(&self.text[from..self.next]) else {
                return self.wrong("is not text");
            };
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
        }
        Ok(words)
    }

    /// The pairs of a block up to its closing brace.
    fn block(&mut self, kind: String, depth: usize) -> Result<Block, Error> {
        let mut block = Block {
            kind,
            at: self.at(),
            ..Block::default()
        };
        if depth > NESTING_MAX {
            return self.wrong(format!("over {NESTING_MAX} blocks inside each other"));
        }
        loop {
            while self.take(b',') {}
            if self.take(b'}') {
                return Ok(block);
            }
            let key = self.until(b"={}[],")?;
            if key.is_empty() || !self.take(b'=') {
                return self.wrong(format!(
                    "expected \"key = value\" in block {}, or }} after it",
                    block.kind
                ));
            }
            let value = self.value(depth)?;
            block.values.insert(key, value);
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Error> {
        if depth > NESTING_MAX {
            return self.wrong(format!("over {NESTING_MAX} lists inside each other"));
        }
        if self.take(b'[') {
            let mut list = Vec::new();
            loop {
                while self.take(b',') {}
                if self.take(b']') {
                    return Ok(Value::List(list));
                }
                if self.peek().is_none() {
                    return self.wrong("a list has no ] at its end");
                }
                list.push(self.value(depth + 1)?);
            }
        }
        let word = self.until(b",{}[]=")?;
        if self.take(b'{') {
            return Ok(Value::Block(self.block(word, depth + 1)?));
        }
        if word.is_empty() {
            return self.wrong("a value is missing");
        }
        Ok(Value::Word(word))
    }
}

/// The blocks of a file, by name.
fn blocks(path: &str, text: &str) -> Result<Vec<(String, Block)>, Error> {
    let mut reader = Reader {
        path,
        text: text.as_bytes(),
        next: 0,
    };
    let mut found = Vec::new();
    while reader.peek().is_some() {
        let head = reader.until(b"{}[],=")?;
        if !reader.take(b'{') {
            return reader.wrong("expected \"type name { key = value, ... }\"");
        }
        let (kind, name) = head.split_once(' ').unwrap_or((&head, ""));
        let name = name.to_string();
        found.push((name, reader.block(kind.to_string(), 0)?));
    }
    Ok(found)
}

impl Block {
    fn wrong<T>(&self, key: &str, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::field(&self.at, key, message))
    }

    fn word(&self, key: &str) -> Result<&str, Error> {
        match self.values.get(key) {
            Some(Value::Word(word)) => Ok(word),
            Some(_) => self.wrong(key, "is not a single value"),
            None => self.wrong(key, format!("is missing in this {}", self.kind)),
        }
    }

    fn number(&self, key: &str) -> Result<f64, Error> {
        let word = self.word(key)?;
        match word.parse::<f64>() {
            Ok(number) if number.is_finite() && number.abs() < 1e15 => Ok(number),
            _ => self.wrong(key, format!("{word} is not a number")),
        }
    }

    /// A number, or 0 where the key is missing.
    fn number_or_0(&self, key: &str) -> Result<f64, Error> {
        match self.values.get(key) {
            None => Ok(0.0),
            Some(_) => self.number(key),
        }
    }

    fn whole(&self, key: &str) -> Result<u64, Error> {
        let number = self.number(key)?;
        if number < 0.0 || number.fract() != 0.0 {
            return self.wrong(key, format!("{number} is not a whole number"));
        }
        Ok(number as u64)
    }

    fn small(&self, key: &str) -> Result<u32, Error> {
        match u32::try_from(self.whole(key)?) {
            Ok(number) => Ok(number),
            Err(_) => self.wrong(key, "is out of range"),
        }
    }

    /// Milliseconds as whole ns, of a drive whose overheads are all to be scaled by `scale`.
    fn scaled_ns(&self, key: &str, scale: f64) -> Result<u64, Error> {
        let ns = self.unsigned_ns(key)?;
        Ok((ns as f64 * scale).round() as u64)
    }

    fn whole_or_0(&self, key: &str) -> Result<u64, Error> {
        match self.values.get(key) {
            None => Ok(0),
            Some(_) => self.whole(key),
        }
    }

    /// Milliseconds as whole ns.
    fn ns(&self, key: &str) -> Result<i64, Error> {
        Ok(to_ns(self.number_or_0(key)?))
    }

    fn unsigned_ns(&self, key: &str) -> Result<u64, Error> {
        match u64::try_from(self.ns(key)?) {
            Ok(ns) => Ok(ns),
            Err(_) => self.wrong(key, "is a negative time"),
        }
    }

    fn list(&self, key: &str) -> Result<&[Value], Error> {
        match self.values.get(key) {
            Some(Value::List(list)) => Ok(list),
            Some(_) => self.wrong(key, "is not a list"),
            None => Ok(&[]),
        }
    }

    fn numbers(&self, key: &str) -> Result<Vec<f64>, Error> {
        let mut numbers = Vec::new();
        for value in self.list(key)? {
            let Value::Word(word) = value else {
                return self.wrong(key, "has something else than numbers");
            };
            // Commas may be left out between numbers.
            for word in word.split(' ') {
                match word.parse::<f64>() {
                    Ok(number) if number.is_finite() => numbers.push(number),
                    _ => return self.wrong(key, format!("{word} is not a number")),
                }
            }
        }
        Ok(numbers)
    }

    fn places(&self, key: &str) -> Result<Vec<u64>, Error> {
        let mut places = Vec::new();
        for number in self.numbers(key)? {
            if number < 0.0 || number.fract() != 0.0 || number > 1e15 {
                return self.wrong(key, format!("{number} is not a place on the medium"));
            }
            places.push(number as u64);
        }
        Ok(places)
    }

    /// A block under a key, or in the file that the key names by `source`.
    fn block(&self, key: &str, folder: &Path) -> Result<Block, Error> {
        let word = match self.values.get(key) {
            Some(Value::Block(block)) => return Ok(block.clone()),
            Some(Value::Word(word)) => word,
            _ => return self.wrong(key, format!("is missing in this {}", self.kind)),
        };
        let Some(file) = word.strip_prefix("source ") else {
            return self.wrong(key, "is neither a block nor \"source FILE\"");
        };
        let path = folder.join(file);
        let shown = path.display().to_string();
        let mut found = blocks(&shown, &spindle_disk::catalogue::read(&path)?)?;
        match found.len() {
            1 => Ok(found.remove(0).1),
            n => Err(Error::file(shown, format!("holds {n} blocks, not one"))),
        }
    }
}

fn to_ns(ms: f64) -> i64 {
    (ms * 1e6).round() as i64
}

/// A drive file made from DiskSim's, and what could not be carried over.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The drive file, TOML.
    pub toml: String,
    /// What our model does otherwise; one sentence each.
    pub notes: Vec<String>,
}

/// Reads `path` (`.diskspecs`) and the files that it names. `sector_ns` is the time in which the
/// host of the extraction moved a sector, for drives whose file leaves it at 0.
///
/// # Errors
/// A file that cannot be read or parsed, a missing value, or a scheme that is not known, with
/// file, line and key.
pub fn import(path: &Path, sector_ns: Option<u64>) -> Result<Imported, Error> {
    let text = spindle_disk::catalogue::read(path)?;
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    import_text(&path.display().to_string(), &text, &folder, sector_ns)
}

/// The same from text; `path` is for messages, other files are looked for in `folder`.
///
/// # Errors
/// As [`import`].
pub fn import_text(
    path: &str,
    text: &str,
    folder: &Path,
    sector_ns: Option<u64>,
) -> Result<Imported, Error> {
    let found = blocks(path, text)?;
    let mut disks = found.into_iter().filter(|(_, b)| b.kind == "disksim_disk");
    let Some((name, specs)) = disks.next() else {
        return Err(Error::file(path, "holds no block disksim_disk"));
    };
    let model = specs.block("Model", folder)?;
    let mechanics = model.block("Mechanical Model", folder)?;
    let layout = model.block("Layout Model", folder)?;
    for (block, known) in [(&mechanics, "dm_mech_g1"), (&layout, "dm_layout_g1")] {
        if block.kind != known {
            return block.wrong(
                &block.kind,
                format!("is not a model that can be imported; only {known} is"),
            );
        }
    }
    let mut drive = Writer::new(name, sector_ns);
    drive.model(&specs)?;
    drive.layout(&model, &mechanics, &layout)?;
    drive.seeks(&mechanics, folder)?;
    drive.buffer(&specs)?;
    drive.overheads(&specs)?;
    drive.notes(&specs)?;
    Ok(Imported {
        toml: drive.toml,
        notes: drive.notes,
    })
}

/// Parameters of a drive that the importer reads.
const USED: [&str; 52] = [
    "Model",
    "Scheduler",
    "Max queue length",
    "Bulk sector transfer time",
    "Segment size (in blks)",
    "Number of buffer segments",
    "Maximum number of write segments",
    "Use separate write segment",
    "Per-request overhead time",
    "Time scale for overheads",
    "Enable caching in buffer",
    "Buffer continuous read",
    "Minimum read-ahead (blks)",
    "Maximum read-ahead (blks)",
    "Read-ahead over requested",
    "Read-ahead on idle hit",
    "Read any free blocks",
    "Allow read hits on write data",
    "High (read) water mark",
    "Set watermark by reqsize",
    "Fast write level",
    "Immediate buffer read",
    "Immediate buffer write",
    "Read hit over. after read",
    "Read hit over. after write",
    "Read miss over. after read",
    "Read miss over. after write",
    "Write hit over. after read",
    "Write hit over. after write",
    "Write miss over. after read",
    "Write miss over. after write",
    "Read completion overhead",
    "Write completion overhead",
    "Data preparation overhead",
    "First reselect overhead",
    "Other reselect overhead",
    "Extra write disconnect",
    "Extradisc command overhead",
    "Extradisc disconnect overhead",
    "Extradisc inter-disconnect delay",
    "Extradisc 2nd disconnect overhead",
    "Extradisc seek delta",
    "Minimum seek delay",
    "Allow almost read hits",
    "Allow sneaky full read hits",
    "Allow sneaky partial read hits",
    "Allow sneaky intermediate read hits",
    "Allow write prebuffering",
    "Preseeking level",
    "Combine seq writes",
    "Read directly to buffer",
    "Immed transfer partial hit",
];

/// Parameters that change nothing here: they are of DiskSim's own bookkeeping, of its buses, or of
/// what several commands at a time would do. `docs/validity.md` says of each why.
const LEFT_OUT: [&str; 13] = [
    "Print stats",
    "Avg sectors per cylinder",
    "Calc sector by sector",
    "Never disconnect",
    "Hold bus entire read xfer",
    "Hold bus entire write xfer",
    "Low (write) water mark",
    "Stop prefetch in sector",
    "Disconnect write if seek",
    "Write hit stop prefetch",
    "Read disconnect afterread",
    "Read disconnect afterwrite",
    "Write disconnect overhead",
];

/// What a key says in a file that our model treats otherwise when it is not the value given.
const SWITCHED_OFF: [(&str, f64); 12] = [
    ("Allow almost read hits", 0.0),
    ("Allow sneaky full read hits", 0.0),
    ("Allow sneaky partial read hits", 0.0),
    ("Allow sneaky intermediate read hits", 0.0),
    ("Allow write prebuffering", 0.0),
    ("Preseeking level", 0.0),
    ("Read disconnect afterread", 0.0),
    ("Read disconnect afterwrite", 0.0),
    ("Write disconnect overhead", 0.0),
    ("Combine seq writes", 1.0),
    ("Read directly to buffer", 1.0),
    ("Immed transfer partial hit", 1.0),
];

struct Writer {
    name: String,
    source: String,
    sector_ns: Option<u64>,
    toml: String,
    notes: Vec<String>,
    cylinders: u32,
}

impl Writer {
    fn new(name: String, sector_ns: Option<u64>) -> Self {
        let source = format!("DiskSim 4.0 parameters of {name}");
        let toml = "# SPDX-License-Identifier: MIT\n# Made by spindle-disk import-disksim.\n";
        Self {
            name,
            source,
            sector_ns,
            toml: toml.into(),
            notes: Vec::new(),
            cylinders: 0,
        }
    }

    fn put(&mut self, key: &str, value: impl std::fmt::Display, mark: &str, why: &str) {
        let source = match (mark, why) {
            ("measured", "") => self.source.clone(),
            ("measured" | "derived", why) => format!("{}: {why}", self.source),
            (_, why) => why.into(),
        };
        // A source is printed as a TOML string, which has no room for control characters.
        let source = source.replace(char::is_control, " ");
        let source = source.replace('\\', "\\\\").replace('"', "\\\"");
        writeln!(
            self.toml,
            "\n[{key}]\nvalue = {value}\nmark = \"{mark}\"\nsource = \"{source}\""
        )
        .expect("writing to a string");
    }

    fn text(&mut self, key: &str, value: &str, mark: &str, why: &str) {
        self.put(key, format!("\"{value}\""), mark, why);
    }

    fn model(&mut self, specs: &Block) -> Result<(), Error> {
        let tidy = |c: char| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        };
        let name: String = self.name.chars().map(tidy).collect();
        self.text("model", &name, "measured", "name of the block");
        self.text("maker", "see model", "assumed", "not in the file");
        self.text(
            "interface",
            "SCSI",
            "assumed",
            "not in the file; every drive extracted was SCSI",
        );
        self.put(
            "interface_mb_s",
            10,
            "assumed",
            "not in the file; for tables only, the bus decides",
        );
        self.text("bus_kind", "scsi", "assumed", "as interface");
        let tags = match specs.whole_or_0("Max queue length")? {
            0 => 256,
            n => n.min(256),
        };
        self.put("max_tags", tags, "measured", "max queue length");
        let policy = match specs.values.get("Scheduler") {
            Some(Value::Block(queue)) => queue.whole_or_0("Scheduling policy")?,
            _ => 1,
        };
        let queue = match policy {
            1 => "fcfs",
            2 => "look",
            3 => "clook",
            4 => "sstf",
            21 => "sptf",
            other => {
                self.notes.push(format!(
                    "Scheduling policy {other} is taken as sptf; fcfs (1), look (2), clook (3), \
                     sstf (4) and sptf (21) have their own"
                ));
                "sptf"
            }
        };
        self.put(
            "queue_algorithms",
            "[\"fcfs\", \"look\", \"clook\", \"sstf\", \"sptf\", \"aged_sptf\"]",
            "assumed",
            "the model's; the file names one",
        );
        self.text(
            "queue",
            queue,
            "measured",
            &format!("scheduling policy {policy}"),
        );
        Ok(())
    }

    fn layout(&mut self, model: &Block, mechanics: &Block, layout: &Block) -> Result<(), Error> {
        let heads = model.small("Number of data surfaces")?;
        let cylinders = model.small("Number of cylinders")?;
        let (sparing, sparing_name) = match layout.whole("Sparing scheme used")? {
            0 => (Sparing::None, "none"),
            1 => (Sparing::Tracks, "tracks"),
            2 => (Sparing::Cylinder, "cylinder"),
            3 => (Sparing::Track, "track"),
            4 => (Sparing::CylinderSlipToEnd, "cylinder_slip_to_end"),
            5 => (Sparing::CylinderFront, "cylinder_front"),
            6 => (
                Sparing::CylinderFrontSlipToEnd,
                "cylinder_front_slip_to_end",
            ),
            7 => (Sparing::End, "end"),
            8 => (Sparing::Range, "range"),
            9 => (Sparing::Zone, "zone"),
            10 => (Sparing::ZoneSlipToEnd, "zone_slip_to_end"),
            other => {
                return layout.wrong(
                    "Sparing scheme used",
                    format!("{other} is not one of layout g1's 0 to 10"),
                )
            }
        };
        let (surface_order, order_name) = match layout.whole("LBN-to-PBN mapping scheme")? {
            0 => (SurfaceOrder::Forward, "forward"),
            1 => (SurfaceOrder::Serpentine, "serpentine"),
            2 => (SurfaceOrder::SerpentineByCylinder, "serpentine_by_cylinder"),
            other => {
                return layout.wrong(
                    "LBN-to-PBN mapping scheme",
                    format!("{other} is not one of layout g1's 0 to 2"),
                )
            }
        };
        if let Some(Value::Word(unit)) = layout.values.get("Skew units") {
            if unit.trim_matches('"') != "sectors" {
                return layout.wrong("Skew units", format!("{unit} cannot be read; only sectors"));
            }
        }
        let range = match layout.values.get("Rangesize for sparing") {
            Some(_) => layout.small("Rangesize for sparing")?.max(1),
            None => 1,
        };
        let rpm = mechanics.number("Rotation speed (in rpms)")?;
        if !(300.0..=100_000.0).contains(&rpm) {
            return mechanics.wrong(
                "Rotation speed (in rpms)",
                format!("{rpm} is no spindle speed"),
            );
        }
        let revolution_ns = (60e9 / rpm).round() as u64;
        let mut zones = zones(layout)?;
        // One of DiskSim's own files counts one cylinder too few.
        let last = zones.iter().filter_map(|z| z.last_cylinder).max();
        let cylinders = cylinders.max(last.map_or(0, |c| c.saturating_add(1)));
        self.cylinders = cylinders;
        let shape = Layout {
            sparing,
            spare_range_cylinders: range,
            surface_order,
        };
        // DiskSim, too, takes what the zones hold in place of the stated count.
        let revolution_ps = revolution_ns as i64 * 1000;
        let lay =
            |zones: &[ZoneSpec]| Geometry::of_zones(zones, shape, heads, cylinders, revolution_ps);
        let mut laid = lay(&zones);
        if laid.is_err() && zones.iter().any(|z| !z.remaps.is_empty()) {
            // A stand-in that cannot be one costs its defect, not the drive.
            zones.iter_mut().for_each(|z| z.remaps.clear());
            laid = lay(&zones);
            self.notes.push(
                "the remapped defects cannot all be where the file says; they are left out".into(),
            );
        }
        let sectors = laid
            .map_err(|(_, message)| Error::field(&layout.at, "Zones", message))?
            .sectors;
        let stated = model.whole_or_0("Block count")?;
        if stated != sectors {
            self.notes.push(format!(
                "Block count says {stated}, the zones hold {sectors}; the zones are used"
            ));
        }
        let capacity_gb = (sectors * 512).div_ceil(1_000_000_000);
        self.text(
            "media",
            &format!("{heads} heads"),
            "measured",
            "number of data surfaces",
        );
        self.put(
            "capacity_gb",
            capacity_gb,
            "derived",
            "from sectors, rounded up",
        );
        self.put(
            "sectors",
            sectors,
            "derived",
            "what the zones hold without their spares",
        );
        self.put("rpm", rpm.round(), "measured", "");
        self.put(
            "revolution_ns",
            revolution_ns,
            "derived",
            "60 s / rotation speed",
        );
        self.put("heads", heads, "measured", "");
        self.put("cylinders", cylinders, "measured", "");
        self.text("sparing", sparing_name, "measured", "sparing scheme used");
        self.put(
            "spare_range_cylinders",
            range,
            "measured",
            "rangesize for sparing",
        );
        self.text(
            "surface_order",
            order_name,
            "measured",
            "LBN-to-PBN mapping scheme",
        );
        self.put(
            "zones",
            format!("[\n{}]", rows(&zones)),
            "measured",
            "layout model g1",
        );
        Ok(())
    }

    fn seeks(&mut self, mechanics: &Block, folder: &Path) -> Result<(), Error> {
        let cylinders = self.cylinders;
        if let Some(Value::Word(kind)) = mechanics.values.get("Access time type") {
            if kind != "trackSwitchPlusRotation" {
                return mechanics.wrong(
                    "Access time type",
                    format!("{kind} is not a mechanical drive; only trackSwitchPlusRotation is"),
                );
            }
        }
        let written = mechanics.word("Seek type")?;
        let kind: String = written
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        let measured = match kind.as_str() {
            "extracted" => extracted(mechanics, folder)?,
            "linear" | "threepointline" => three_points(mechanics, cylinders, false)?,
            "curve" | "threepoint" | "threepointcurve" => three_points(mechanics, cylinders, true)?,
            "hpl" => hpl(mechanics, cylinders, false)?,
            "hplplus10" => hpl(mechanics, cylinders, true)?,
            "constant" | "const" => {
                let key = ["Constant seek time", "Average seek time"]
                    .into_iter()
                    .find(|key| mechanics.values.contains_key(*key))
                    .unwrap_or("Average seek time");
                vec![(1, to_ns(mechanics.number(key)?))]
            }
            _ => {
                let message = format!(
                    "{written} is not known; there are extracted, linear and curve (three-point), \
                     hpl, hplplus10 and constant"
                );
                return mechanics.wrong("Seek type", message);
            }
        };
        let reads = monotone(&measured);
        if reads != measured {
            self.notes.push(
                "the measured seek curve falls in places; it is smoothed by pooling neighbours \
                 until it does not"
                    .into(),
            );
        }
        let settle_ns = mechanics.ns("Add. write settling delay")?;
        let writes: Vec<_> = reads
            .iter()
            .map(|&(d, t)| (d, (t + settle_ns).max(0)))
            .collect();
        let table = |points: &[(u64, i64)]| {
            let mut text = String::from("{ table_ns = [");
            for (i, (distance, ns)) in points.iter().enumerate() {
                let gap = if i % 8 == 0 { "\n    " } else { " " };
                write!(text, "{gap}[{distance}, {ns}],").expect("writing to a string");
            }
            text + "\n] }"
        };
        let mean = |points: &[(u64, i64)]| {
            let points = points.iter().map(|&(d, t)| [d, t.max(0) as u64]).collect();
            let spec = spindle_disk::seek::SeekSpec::TableNs(points);
            spindle_disk::seek::SeekTable::new(&spec, cylinders)
                .map(|t| t.mean_ns())
                .map_err(|m| Error::field(&mechanics.at, "Seek type", m))
        };
        let kind = format!("seek type {}", mechanics.word("Seek type")?);
        let note = format!("{kind}; where it falls, smoothed");
        self.put("seek_read", table(&reads), "measured", &note);
        self.put(
            "seek_write",
            table(&writes),
            "derived",
            "seek_read and the write settling delay",
        );
        self.put(
            "seek_read_mean_ns",
            mean(&reads)?,
            "derived",
            "mean of the curve",
        );
        self.put(
            "seek_write_mean_ns",
            mean(&writes)?,
            "derived",
            "mean of the curve",
        );
        self.put(
            "head_switch_ns",
            mechanics.unsigned_ns("Head switch time")?,
            "measured",
            "",
        );
        self.put(
            "write_settle_ns",
            settle_ns,
            "measured",
            "add. write settling delay",
        );
        Ok(())
    }

    fn buffer(&mut self, specs: &Block) -> Result<(), Error> {
        let caching = specs.whole_or_0("Enable caching in buffer")?;
        let segments = specs.small("Number of buffer segments")?.max(1);
        let separate = specs.whole_or_0("Use separate write segment")? != 0;
        let writes = specs.whole_or_0("Maximum number of write segments")?;
        let writes = writes.clamp(1, u64::from(segments)) as u32;
        let size = specs.whole("Segment size (in blks)")?.max(2);
        let all = u64::from(segments) + u64::from(writes);
        self.put(
            "buffer_kb",
            (all * size).div_ceil(2),
            "derived",
            "segments times their size",
        );
        self.put(
            "read_segments",
            segments,
            "measured",
            "number of buffer segments",
        );
        self.put(
            "write_segments",
            writes,
            "measured",
            if separate {
                "a segment of its own"
            } else {
                "counted on top of the read segments"
            },
        );
        self.put("segment_sectors", size, "measured", "");
        let fast = specs.whole_or_0("Fast write level")?;
        if fast > 2 {
            return specs.wrong("Fast write level", format!("{fast} is not 0 to 2"));
        }
        self.put(
            "write_cache",
            fast > 0,
            "measured",
            &format!("fast write level {fast}"),
        );
        self.put(
            "write_cache_appends_only",
            fast == 1,
            "measured",
            &format!("fast write level {fast}"),
        );
        let stop = match (caching, specs.whole_or_0("Buffer continuous read")?) {
            (0, _) | (_, 0) => "request",
            (_, 1) => "track",
            (_, 2) => "cylinder",
            (_, 3) => "segment",
            (_, 4) => "stream",
            (_, other) => {
                return specs.wrong("Buffer continuous read", format!("{other} is not 0 to 4"))
            }
        };
        self.text(
            "read_ahead_stop",
            stop,
            "measured",
            "buffer continuous read",
        );
        let least = specs.whole_or_0("Minimum read-ahead (blks)")?.min(size);
        self.put("read_ahead_min_sectors", least, "measured", "");
        // DiskSim leaves the maximum out of its scheme 4, and takes 0 for none.
        let most = match specs.whole_or_0("Maximum read-ahead (blks)")? {
            _ if stop == "stream" => size,
            0 => size,
            n => n,
        };
        self.put("read_ahead_max_sectors", most, "measured", "");
        let over = specs.number_or_0("Read-ahead over requested")?;
        if ![-1.0, 0.0, 1.0].contains(&over) {
            return specs.wrong(
                "Read-ahead over requested",
                format!("{over} is not -1 to 1"),
            );
        }
        // The maximum holds whatever the other parameters of read-ahead say.
        let maximum = stop != "stream" && specs.whole_or_0("Maximum read-ahead (blks)")? > 0;
        self.put(
            "read_ahead_over_requested",
            over != 0.0 || maximum,
            "measured",
            if maximum {
                "maximum read-ahead, which counts whatever is overwritten"
            } else {
                "read-ahead over requested"
            },
        );
        if over < 0.0 {
            let why = "read-ahead over requested = -1: what the host has had is dropped";
            self.put("read_data_kept", false, "measured", why);
        }
        if stop == "stream" {
            let why = "buffer continuous read = 4 ends with the track, not with the segment";
            self.put("read_ahead_wraps", true, "measured", why);
        }
        let resume = specs.whole_or_0("Read-ahead on idle hit")? != 0;
        self.put(
            "read_ahead_resume",
            resume,
            "measured",
            "read-ahead on idle hit",
        );
        self.text(
            "read_ahead_abort",
            "arm",
            "assumed",
            "only what needs the arm stops read-ahead",
        );
        let free = specs.whole_or_0("Read any free blocks")? != 0;
        self.put("read_on_arrival", free, "measured", "read any free blocks");
        let hits = caching == 1 && specs.whole_or_0("Allow read hits on write data")? != 0;
        self.put(
            "read_hits_writes",
            hits,
            "measured",
            "allow read hits on write data",
        );
        let mark = specs.number_or_0("High (read) water mark")?;
        if !(0.0..=1.0).contains(&mark) {
            return specs.wrong("High (read) water mark", format!("{mark} is not 0 to 1"));
        }
        let permille = (mark * 1000.0).round();
        self.put(
            "read_water_mark_permille",
            permille,
            "measured",
            "high (read) water mark",
        );
        let of_segment = specs.values.contains_key("Set watermark by reqsize")
            && specs.whole("Set watermark by reqsize")? == 0;
        if mark > 0.0 && of_segment {
            let why = "set watermark by reqsize = 0";
            self.put("read_water_mark_of_segment", true, "measured", why);
        }
        for (key, name) in [
            ("zero_latency_read", "Immediate buffer read"),
            ("zero_latency_write", "Immediate buffer write"),
        ] {
            let on = specs.whole_or_0(name)? != 0;
            self.put(key, on, "measured", &name.to_lowercase());
        }
        Ok(())
    }

    fn overheads(&mut self, specs: &Block) -> Result<(), Error> {
        let scale = match specs.number_or_0("Time scale for overheads")? {
            s if s > 0.0 => s,
            _ => 1.0,
        };
        let scaled = |key: &str| specs.scaled_ns(key, scale);
        let each = scaled("Per-request overhead time")?;
        let prepare = scaled("Data preparation overhead")?;
        let reselect = scaled("First reselect overhead")?;
        let cached = specs.whole_or_0("Fast write level")? > 0;
        // Before the data of a hit and of a write nothing else is done meanwhile, but that the arm
        // of a write which must reach the medium is on its way.
        for (key, name, more) in [
            ("overhead_read_hit_ns", "Read hit over. after", prepare),
            ("overhead_read_miss_ns", "Read miss over. after", 0),
            (
                "overhead_write_hit_ns",
                "Write hit over. after",
                if cached { prepare } else { 0 },
            ),
            ("overhead_write_miss_ns", "Write miss over. after", 0),
        ] {
            let after = |what: &str| Ok(scaled(&format!("{name} {what}"))? + each + more);
            let (read, write) = (after("read")?, after("write")?);
            self.put(key, format!("[{read}, {write}]"), "measured", "");
        }
        self.put(
            "overhead_data_ready_ns",
            prepare + reselect,
            "measured",
            "data preparation and first reselect overhead",
        );
        if prepare > 0 && !cached {
            let why = "data preparation overhead";
            self.put("overhead_write_data_ns", prepare, "measured", why);
        }
        if reselect > 0 {
            let why = "first reselect overhead";
            self.put("overhead_write_status_ns", reselect, "measured", why);
        }
        if specs.whole_or_0("Extra write disconnect")? != 0 {
            let command = each + scaled("Extradisc command overhead")?;
            let arm = command + scaled("Extradisc seek delta")?;
            let data = command
                + scaled("Extradisc disconnect overhead")?
                + scaled("Extradisc inter-disconnect delay")?
                + reselect
                + prepare;
            let status = scaled("Other reselect overhead")?;
            self.put(
                "overhead_write_disconnect_ns",
                format!("[{arm}, {}, {status}]", data.saturating_sub(arm)),
                "measured",
                "extra write disconnect",
            );
        }
        let least = scaled("Minimum seek delay")?;
        if least > 0 {
            self.put("write_seek_min_ns", least, "measured", "minimum seek delay");
        }
        let read = scaled("Read completion overhead")?;
        let write = scaled("Write completion overhead")?;
        self.put(
            "overhead_completion_ns",
            format!("[{read}, {write}]"),
            "measured",
            "",
        );
        match specs.unsigned_ns("Bulk sector transfer time")? {
            0 => {
                let hp = self.name.to_ascii_uppercase().starts_with("HP");
                let (own_ns, whose) = if hp {
                    (HP_HOST_SECTOR_NS, "HP C2490A and C3323A")
                } else {
                    (OTHER_HOST_SECTOR_NS, "ST41601N")
                };
                let (ns, mark, why) = match self.sector_ns {
                    Some(ns) => (
                        ns,
                        "measured",
                        "the host of the extraction, as given".into(),
                    ),
                    None => (
                        own_ns,
                        "assumed",
                        format!(
                            "0 in the file: the host of the extraction decides; as DiskSim's \
                             validation runs of the {whose} set it on the bus"
                        ),
                    ),
                };
                self.put("sector_transfer_ns", ns, mark, &why);
            }
            ns => self.put(
                "sector_transfer_ns",
                ns,
                "measured",
                "bulk sector transfer time",
            ),
        }
        Ok(())
    }

    fn notes(&mut self, specs: &Block) -> Result<(), Error> {
        for key in specs.values.keys() {
            if !USED.contains(&key.as_str()) && !LEFT_OUT.contains(&key.as_str()) {
                return specs.wrong(key, "is no parameter of a drive that the importer knows");
            }
        }
        for (key, off) in SWITCHED_OFF {
            if specs.values.contains_key(key) && specs.number(key)? != off {
                self.notes.push(format!(
                    "{key} = {} has no counterpart and is left out",
                    specs.word(key)?
                ));
            }
        }
        Ok(())
    }
}

/// Zones as the file has them.
fn zones(layout: &Block) -> Result<Vec<ZoneSpec>, Error> {
    let mut specs = Vec::new();
    for value in layout.list("Zones")? {
        let Value::Block(zone) = value else {
            return layout.wrong("Zones", "has something else than zones");
        };
        let milli = |key: &str| {
            let number = zone.number_or_0(key)?;
            if !(0.0..=1e6).contains(&number) {
                return zone.wrong(key, format!("{number} is not a number of sectors"));
            }
            Ok((number * 1000.0).round() as u32)
        };
        let defects = zone.places("defects")?;
        if defects.len() % 2 != 0 {
            return zone.wrong(
                "defects",
                "must be pairs: a place, and the one in its stead",
            );
        }
        let per_track = zone.small("Blocks per track")?;
        let offset = match milli("Offset of first block")? {
            // Some files count past the revolution.
            milli if per_track > 0 => milli % (per_track.saturating_mul(1000)),
            milli => milli,
        };
        specs.push(ZoneSpec {
            first_cylinder: zone.small("First cylinder number")?,
            last_cylinder: Some(zone.small("Last cylinder number")?),
            sectors_per_track: per_track,
            track_skew_milli: milli("Skew for track switch")?,
            cylinder_skew_milli: milli("Skew for cylinder switch")?,
            offset_milli: Some(offset),
            empty_sectors: zone.whole_or_0("Empty space at zone front")?,
            spares: zone.whole_or_0("Number of spares")?,
            slips: zone.places("slips")?,
            remaps: defects.chunks(2).map(|p| [p[0], p[1]]).collect(),
        });
    }
    if specs.is_empty() {
        return layout.wrong("Zones", "are missing");
    }
    Ok(specs)
}

/// Zones as rows of TOML.
fn rows(zones: &[ZoneSpec]) -> String {
    let row = |zone: &ZoneSpec| {
        format!(
            "  {{ first_cylinder = {}, last_cylinder = {}, sectors_per_track = {}, \
             track_skew_millisectors = {}, cylinder_skew_millisectors = {}, \
             offset_millisectors = {}, empty_sectors = {}, spares = {}, slips = {:?}, \
             remaps = {:?} }},\n",
            zone.first_cylinder,
            zone.last_cylinder.unwrap_or(zone.first_cylinder),
            zone.sectors_per_track,
            zone.track_skew_milli,
            zone.cylinder_skew_milli,
            zone.offset_milli.unwrap_or(0),
            zone.empty_sectors,
            zone.spares,
            zone.slips,
            zone.remaps,
        )
    };
    zones.iter().map(row).collect()
}

/// Measured seek times: distance in cylinders and ns.
fn extracted(mechanics: &Block, folder: &Path) -> Result<Vec<(u64, i64)>, Error> {
    let key = "Full seek curve";
    let word = mechanics.word(key)?;
    let path = folder.join(word.strip_prefix("source ").unwrap_or(word));
    let shown = path.display().to_string();
    let text = spindle_disk::catalogue::read(&path)?;
    let mut points = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("Seek") {
            continue;
        }
        let words: Vec<&str> = line
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|w| !w.is_empty())
            .collect();
        let parsed = match words[..] {
            [distance, ms] => distance
                .parse::<u64>()
                .ok()
                .zip(ms.parse::<f64>().ok().filter(|ms| (0.0..1e4).contains(ms)))
                .map(|(distance, ms)| (distance, to_ns(ms))),
            _ => None,
        };
        let Some(point) = parsed else {
            return Err(Error::file(
                format!("{shown}:{}", i + 1),
                "expected \"distance, ms\"",
            ));
        };
        points.push(point);
    }
    points.sort_unstable();
    points.dedup_by_key(|p| p.0);
    match points.first() {
        None => Err(Error::file(shown, "holds no seek times")),
        Some(&(0, _)) => Err(Error::file(shown, "has a seek over no distance")),
        Some(&(1, _)) => Ok(points),
        Some(&(_, ns)) => {
            points.insert(0, (1, ns));
            Ok(points)
        }
    }
}

/// Distances at which a formula is tabulated: all short ones, then a few hundred.
fn distances(cylinders: u32) -> Vec<u64> {
    let last = u64::from(cylinders.saturating_sub(1)).max(1);
    let mut list: Vec<u64> = (1..=last.min(100)).collect();
    while let Some(&d) = list.last().filter(|&&d| d < last) {
        list.push((d + (d / 50).max(1)).min(last));
    }
    list
}

fn three_points(mechanics: &Block, cylinders: u32, curve: bool) -> Result<Vec<(u64, i64)>, Error> {
    let one = mechanics.number("Single cylinder seek time")?;
    let mean = mechanics.number("Average seek time")?;
    let full = mechanics.number("Full strobe seek time")?;
    if !(0.0 <= one && one <= mean && mean <= full) {
        return mechanics.wrong(
            "Average seek time",
            "must lie between the single-cylinder and the full seek time",
        );
    }
    let last = f64::from(cylinders.max(3) - 1);
    let time = |d: f64| {
        if !curve {
            // Straight lines through the mean at a third of the stroke.
            let third = last / 3.0;
            return if d <= third {
                one + (mean - one) * (d - 1.0) / (third - 1.0).max(1.0)
            } else {
                mean + (full - mean) * (d - third) / (last - third)
            };
        }
        // one + b*sqrt(d-1) + c*(d-1) with the stated mean over random seeks and full stroke
        // (E. Lee, R. Katz, An analytic performance model of disk arrays, 1993).
        let b = (-10.0 * one + 15.0 * mean - 5.0 * full) / (3.0 * last.sqrt());
        let c = (7.0 * one - 15.0 * mean + 8.0 * full) / (3.0 * last);
        one + b * (d - 1.0).sqrt() + c * (d - 1.0)
    };
    let points = distances(cylinders).into_iter();
    Ok(points.map(|d| (d, to_ns(time(d as f64)))).collect())
}

/// C. Ruemmler, J. Wilkes, An introduction to disk drive modeling, 1994: square root up to a
/// distance, a line beyond; with the first ten seeks given or only the first.
fn hpl(mechanics: &Block, cylinders: u32, ten: bool) -> Result<Vec<(u64, i64)>, Error> {
    let key = "HPL seek equation values";
    let values = mechanics.numbers(key)?;
    let [split, a, b, c, d, single] = values[..] else {
        return mechanics.wrong(key, format!("has {} values, not 6", values.len()));
    };
    let first = if ten {
        let key = "First ten seek times";
        let first = mechanics.numbers(key)?;
        if first.len() != 10 {
            return mechanics.wrong(key, format!("has {} values, not 10", first.len()));
        }
        first
    } else if single >= 0.0 {
        vec![single]
    } else {
        Vec::new()
    };
    let time = |distance: u64| {
        let x = distance as f64;
        match first.get(distance as usize - 1) {
            Some(&ms) => ms,
            None if x < split => a + b * x.sqrt(),
            None => c + d * x,
        }
    };
    let points = distances(cylinders).into_iter();
    Ok(points.map(|d| (d, to_ns(time(d)).max(0))).collect())
}

/// The nearest curve (least squares) through `(distance, ns)` points that does not fall:
/// neighbours that do are replaced by their mean until none is left (pool adjacent violators).
fn monotone(points: &[(u64, i64)]) -> Vec<(u64, i64)> {
    let mut pools: Vec<(i64, i64)> = Vec::with_capacity(points.len());
    for &(_, ns) in points {
        pools.push((ns, 1));
        while let [.., (low, m), (high, n)] = pools[..] {
            // Compared as fractions: whole ns would pool what only rounding makes equal.
            if low * n <= high * m {
                break;
            }
            pools.truncate(pools.len() - 2);
            pools.push((low + high, m + n));
        }
    }
    let flat = pools
        .iter()
        .flat_map(|&(sum, n)| std::iter::repeat_n(sum / n, n as usize));
    points.iter().map(|p| p.0).zip(flat).collect()
}
