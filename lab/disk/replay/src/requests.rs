// SPDX-License-Identifier: MIT
//! Request lists: what a replay submits, read from our own files and from other programs'.
//!
//! | format | lines | source |
//! |---|---|---|
//! | `list` | `arrival_ns op lbn sectors`, `#` comments | ours |
//! | `trace` | the 11 words of a trace line, `#` comments | `docs/model.md` |
//! | `disksim` | `arrival_ms devno blkno blocks flags`, `#` comments | DiskSim 4.0 manual, ASCII input |
//! | `fio` | iolog version 2 and 3 | fio's HOWTO, "Trace file format" |
//! | `blkparse` | blkparse's default output | blkparse(1), "Default output" |
//!
//! Sectors and DiskSim's blocks have 512 bytes. Times become whole ns from decimal digits without
//! floating point; digits below a ns are rounded to the nearest. A line that cannot be read is an
//! error with file, line and what was expected; nothing is left out but what [`Skipped`] counts
//! and what the format's own section names.
//!
//! `fio`: `add`, `open` and `close` are ignored, `sync` and `datasync` are flushes, `trim` is
//! counted in [`Skipped`]. Version 3 has microseconds since the start (the unit that fio writes
//! and reads; its documentation names none). Version 2 has no times: all requests arrive at 0, or
//! after a `wait T 0`, T milliseconds after the start. So fio replays it and so its maintainers
//! explain it (fio issues 247 and 756); its documentation says microseconds after the `wait`
//! before, which no version does.
//!
//! `blkparse`: only lines of one [`Action`] count. `F` before the letter is a flush before the
//! request, after it FUA; the old barrier `B` is both. Discards and commands passed through to
//! the drive are counted in [`Skipped`]. The summary at the end is left out.
//!
//! The trace of a measured drive (DiskSim's `validate` format) is no request list: its times are
//! results. [`measured`] reads it.

mod blkparse;
mod fio;
mod line;
mod plain;

use std::collections::BTreeMap;
use std::path::Path;

use line::{quoted, Line};
pub use plain::{measured, Measured};
use spindle_disk::Error;
use spindle_disk::Op;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When it arrives, in ns after the start of the list.
    pub arrival_ns: i64,
    /// What it does.
    pub op: Op,
    /// First sector.
    pub lbn: u64,
    /// Number of sectors of 512 bytes; at least 1 except for a flush.
    pub sectors: u64,
    /// Whether it has an ordered tag.
    pub ordered: bool,
    /// Index in [`Requests::devices`].
    pub device: u32,
    /// Line of the file, from 1, for messages.
    pub line: u32,
}

/// How a request list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Our own list.
    List,
    /// Our own trace.
    Trace,
    /// DiskSim's ASCII input.
    DiskSim,
    /// fio's iolog.
    Fio,
    /// blkparse's default output.
    Blkparse,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] = [
        Self::List,
        Self::Trace,
        Self::DiskSim,
        Self::Fio,
        Self::Blkparse,
    ];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Trace => "trace",
            Self::DiskSim => "disksim",
            Self::Fio => "fio",
            Self::Blkparse => "blkparse",
        }
    }

    /// The format called `name`.
    ///
    /// # Errors
    /// There is none; the message lists them.
    pub fn from_name(name: &str) -> Result<Self, Error> {
        let known = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|f| f.name() == name)
            .ok_or_else(|| Error::Call(format!("no request format \"{name}\"; there are: {known}")))
    }
}

/// Which of blkparse's actions are the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Action {
    /// `D`, issued to the drive: merged and sorted by the host already.
    #[default]
    Issued,
    /// `Q`, queued by the file system or program.
    Queued,
}

impl Action {
    /// The action with blkparse's letter.
    ///
    /// # Errors
    /// It is neither D nor Q.
    pub fn from_letter(letter: &str) -> Result<Self, Error> {
        match letter {
            "D" | "d" => Ok(Self::Issued),
            "Q" | "q" => Ok(Self::Queued),
            _ => Err(Error::Call(format!(
                "no action \"{letter}\" to replay; there are: D (issued), Q (queued)"
            ))),
        }
    }

    fn letter(self) -> &'static str {
        match self {
            Self::Issued => "D",
            Self::Queued => "Q",
        }
    }
}

/// How to read a list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The format; recognised by the first line unless given.
    pub format: Option<Format>,
    /// For blkparse.
    pub action: Action,
}

/// Requests that the model has no operation for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Trims and discards.
    pub trims: u64,
    /// Commands passed through to the drive (inquiries and the like).
    pub passed_through: u64,
}

/// A request list that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    /// The format it had; `List` for a file without requests.
    pub format: Format,
    /// The requests by rising arrival time, those of one time in the file's order.
    pub requests: Vec<Request>,
    /// Names of the devices (units, files), in the order of their first request; `-` where the
    /// format has none.
    pub devices: Vec<String>,
    /// What was left out.
    pub skipped: Skipped,
}

/// Reads a request list. Bytes that are no UTF-8 spoil the number they stand in, but not the name
/// of a process.
///
/// # Errors
/// A file that cannot be read, and those of [`parse`].
pub fn load(path: &Path, options: &Options) -> Result<Requests, Error> {
    let shown = path.display().to_string();
    let bytes =
        std::fs::read(path).map_err(|e| Error::file(&shown, format!("cannot be read: {e}")))?;
    parse(&shown, &String::from_utf8_lossy(&bytes), options)
}

/// The same from text; `path` is for messages.
///
/// # Errors
/// The first line that is not in the format.
pub fn parse(path: &str, text: &str, options: &Options) -> Result<Requests, Error> {
    let format = match options.format {
        Some(format) => format,
        None => recognise(path, text)?,
    };
    let mut list = List::default();
    match format {
        Format::List => plain::list(path, text, &mut list)?,
        Format::Trace => plain::trace(path, text, &mut list)?,
        Format::DiskSim => plain::disksim(path, text, &mut list)?,
        Format::Fio => fio::parse(path, text, &mut list)?,
        Format::Blkparse => blkparse::parse(path, text, options.action, &mut list)?,
    }
    // A trace is in the order of acknowledgement, and blkparse joins several CPUs.
    list.requests.sort_by_key(|r| r.arrival_ns);
    Ok(Requests {
        format,
        requests: list.requests,
        devices: list.devices,
        skipped: list.skipped,
    })
}

impl Requests {
    /// The requests for one drive: those of `device`; without it, those of the device called
    /// `unit` in a trace of ours, and all of them if there is only one device.
    ///
    /// # Errors
    /// No such device, or several and none chosen; `path` is for the message.
    pub fn of_device(
        self,
        path: &str,
        device: Option<&str>,
        unit: &str,
    ) -> Result<Vec<Request>, Error> {
        let find = |name: &str| self.devices.iter().position(|d| d == name);
        let index = match device {
            Some(name) => find(name),
            None if self.devices.len() <= 1 => Some(0),
            None if self.format == Format::Trace => find(unit),
            None => None,
        };
        let Some(index) = index else {
            let mut names: Vec<String> = self.devices.iter().take(8).map(|d| quoted(d)).collect();
            if self.devices.len() > names.len() {
                names.push("...".into());
            }
            let problem = match device {
                Some(name) => format!("has no requests of device {}", quoted(name)),
                None => format!("has requests of {} devices", self.devices.len()),
            };
            return Err(Error::file(
                path,
                format!(
                    "{problem}; choose one by its name, there are: {}",
                    names.join(", ")
                ),
            ));
        };
        let mut requests = self.requests;
        requests.retain(|r| r.device as usize == index);
        Ok(requests)
    }
}

/// What a parser fills.
#[derive(Default)]
struct List<'a> {
    requests: Vec<Request>,
    devices: Vec<String>,
    indices: BTreeMap<&'a str, u32>,
    skipped: Skipped,
}

impl<'a> List<'a> {
    /// Index of the device with this name.
    fn device(&mut self, name: &'a str) -> u32 {
        *self.indices.entry(name).or_insert_with(|| {
            self.devices.push(name.into());
            (self.devices.len() - 1) as u32
        })
    }

    fn push(&mut self, line: &Line, device: &'a str, at_ns: i64, op: Op, extent: (u64, u64)) {
        let device = self.device(device);
        self.requests.push(Request {
            arrival_ns: at_ns,
            op,
            lbn: extent.0,
            sectors: extent.1,
            ordered: false,
            device,
            line: u32::try_from(line.number).unwrap_or(u32::MAX),
        });
    }

    /// The request just pushed has an ordered tag.
    fn order_last(&mut self) {
        if let Some(last) = self.requests.last_mut() {
            last.ordered = true;
        }
    }
}

/// The format that the first line with content has; an empty file is a list.
fn recognise(path: &str, text: &str) -> Result<Format, Error> {
    for (index, content) in text.lines().enumerate() {
        let words: Vec<&str> = content.split_whitespace().take(12).collect();
        let line = Line {
            path,
            number: index + 1,
            expected: "a line of list, trace, disksim, fio or blkparse; if it is one, name the \
                       format (--format)",
        };
        match words[..] {
            [] => {}
            ["#", "spindle-trace/1", ..] => return Ok(Format::Trace),
            [first, ..] if first.starts_with('#') => {}
            ["fio", "version", ..] => return Ok(Format::Fio),
            ["Input", "file", ..] => return Ok(Format::Blkparse),
            [first, ..] if blkparse::is_device(first) => return Ok(Format::Blkparse),
            ["R" | "W", note, _, _, _, _] if line::whole(note).is_err() => {
                return Err(line.wrong(
                    "this is the trace of a measured drive, whose times are results: compare it \
                     with `spindle-disk validate`",
                ));
            }
            [_, op, _, _] if op.len() == 1 && line::whole(op).is_err() => return Ok(Format::List),
            [_, _, _, _, _] if line::scaled(words[0], 0).is_ok() => return Ok(Format::DiskSim),
            _ if words.len() == 11 => return Ok(Format::Trace),
            _ => {
                return Err(line.wrong(format!(
                    "the format is not recognised by this line: {}",
                    quoted(content)
                )))
            }
        }
    }
    Ok(Format::List)
}
