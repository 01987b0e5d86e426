// SPDX-License-Identifier: MIT
//! The trace: one text line per request, in order of acknowledgement, and comments between them
//! (`docs/interfaces.md`).

use crate::command::Op;
use std::collections::{BTreeMap, VecDeque};

/// First line of every trace.
pub const HEADER: &str = "# spindle-trace/1 device op lbn sectors slot arrival_ns start_ns \
                          acknowledged_ns medium_ns depth hit";

/// What the cache did for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// Read: all data was in the buffer.
    Full,
    /// Read: some of it was.
    Part,
    /// Read: nothing was.
    Miss,
    /// Write: acknowledged from the buffer.
    Cached,
    /// Write: acknowledged from the medium.
    Through,
    /// Flush.
    None,
    /// The unit has failed: an I/O error.
    Failed,
}

impl Hit {
    fn name(self) -> &'static str {
        match self {
            Self::Full => "hit",
            Self::Part => "part",
            Self::Miss => "miss",
            Self::Cached => "cached",
            Self::Through => "through",
            Self::None => "-",
            Self::Failed => "failed",
        }
    }
}

/// When a request's data met the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Never: a read hit, a flush.
    None,
    /// Not yet: a cached write.
    Pending,
    /// At this time.
    At(i64),
}

/// One request as it stands in the trace; times in ns.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)] // The columns are described in docs/interfaces.md.
pub struct Line {
    pub op: Op,
    pub lbn: u64,
    pub sectors: u64,
    pub slot: u32,
    pub arrival_ns: i64,
    pub start_ns: i64,
    pub medium: Medium,
    pub depth: u32,
    pub hit: Hit,
}

/// Place of a line in the order: acknowledged, arrival, unit, serial number.
pub type Key = (i64, i64, u32, u64);

/// Lines that wait for their turn, and text that waits to be read.
#[derive(Debug, Default)]
pub struct Trace {
    names: Vec<String>,
    waiting: BTreeMap<Key, Line>,
    /// Comments that wait for the lines before them, by their time.
    marks: VecDeque<(i64, String)>,
    serial: u64,
    text: Vec<u8>,
    taken: usize,
    off: bool,
}

impl Trace {
    /// A trace of units with these names, its header ready to be read.
    pub fn new(names: Vec<String>) -> Self {
        let mut trace = Self {
            names,
            ..Self::default()
        };
        trace.comment(HEADER);
        trace
    }

    /// Stops recording, for callers that do not read the trace.
    pub fn switch_off(&mut self) {
        self.off = true;
        self.text.clear();
        self.taken = 0;
    }

    /// The name of a unit.
    pub fn name(&self, unit: u32) -> &str {
        &self.names[unit as usize]
    }

    /// Adds the comment `# words now_ns ...`, which stands behind all lines acknowledged up to
    /// that time; the time is not before that of the last one.
    pub fn mark(&mut self, now_ns: i64, words: &str) {
        if !self.off {
            self.marks.push_back((now_ns, format!("# {words}\n")));
        }
    }

    /// Adds a comment line; everything before it must have been acknowledged and be final.
    pub fn comment(&mut self, line: &str) {
        if !self.off {
            self.text.extend_from_slice(line.as_bytes());
            self.text.push(b'\n');
        }
    }

    /// Records an acknowledged request; the key serves to set a cached write's medium time.
    pub fn push(&mut self, unit: u32, acknowledged_ns: i64, line: Line) -> Key {
        let key = (acknowledged_ns, line.arrival_ns, unit, self.serial);
        self.serial += 1;
        if !self.off {
            self.waiting.insert(key, line);
        }
        key
    }

    /// The cached write behind `key` is on the medium.
    pub fn on_medium(&mut self, key: Key, ns: i64) {
        if let Some(line) = self.waiting.get_mut(&key) {
            debug_assert_eq!(line.medium, Medium::Pending);
            line.medium = Medium::At(ns);
        }
    }

    /// The cached write behind `key` could not be written.
    pub fn never_on_medium(&mut self, key: Key) {
        if let Some(line) = self.waiting.get_mut(&key) {
            line.medium = Medium::None;
        }
    }

    /// What the buffer of `unit` holds will never reach the medium.
    pub fn abandon(&mut self, unit: u32) {
        let mine = self.waiting.iter_mut().filter(|(key, _)| key.2 == unit);
        for (_, line) in mine.filter(|(_, line)| line.medium == Medium::Pending) {
            line.medium = Medium::None;
        }
    }

    /// Writes out what is final: lines acknowledged before `now_ns` with nothing pending before
    /// them. A line of `now_ns` itself may still get a predecessor of the same time.
    pub fn settle(&mut self, now_ns: i64) {
        loop {
            let mark_ns = self.marks.front().map_or(i64::MAX, |(ns, _)| *ns);
            let first = self.waiting.first_entry();
            match first.filter(|line| line.key().0 <= mark_ns) {
                Some(line) => {
                    let key = *line.key();
                    if key.0 >= now_ns || line.get().medium == Medium::Pending {
                        break;
                    }
                    let line = line.remove();
                    self.format(key, line);
                }
                None if mark_ns < now_ns => self.format_mark(),
                None => break,
            }
        }
    }

    /// Writes out all lines; cached writes that never reached the medium have `-` for its time.
    pub fn settle_all(&mut self) {
        while let Some((key, line)) = self.waiting.pop_first() {
            while self.marks.front().is_some_and(|(ns, _)| *ns < key.0) {
                self.format_mark();
            }
            self.format(key, line);
        }
        while !self.marks.is_empty() {
            self.format_mark();
        }
    }

    /// Copies whole lines into `buf` and returns the number of bytes; 0 when none is left (or
    /// the next does not fit).
    pub fn read(&mut self, buf: &mut [u8]) -> usize {
        let rest = &self.text[self.taken..];
        let fits = &rest[..rest.len().min(buf.len())];
        let len = fits.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
        buf[..len].copy_from_slice(&rest[..len]);
        self.taken += len;
        if self.taken == self.text.len() {
            self.text.clear();
            self.taken = 0;
        }
        len
    }

    fn format_mark(&mut self) {
        let (_, text) = self.marks.pop_front().expect("a comment waits");
        self.text.extend_from_slice(text.as_bytes());
    }

    fn format(&mut self, key: Key, line: Line) {
        let text = &mut self.text;
        text.extend_from_slice(self.names[key.2 as usize].as_bytes());
        text.extend_from_slice(&[b' ', line.op.letter() as u8]);
        put(text, line.lbn);
        put(text, line.sectors);
        put(text, u64::from(line.slot));
        for ns in [line.arrival_ns, line.start_ns, key.0] {
            put_ns(text, ns);
        }
        match line.medium {
            Medium::At(ns) => put_ns(text, ns),
            Medium::None | Medium::Pending => text.extend_from_slice(b" -"),
        }
        put(text, u64::from(line.depth));
        text.push(b' ');
        text.extend_from_slice(line.hit.name().as_bytes());
        text.push(b'\n');
    }
}

/// Adds a space and a time.
fn put_ns(text: &mut Vec<u8>, ns: i64) {
    put(text, u64::try_from(ns).expect("a trace begins at time 0"));
}

/// Adds a space and a number. A line has eight or nine; the standard formatter's way, with its
/// options and through a string, was a quarter of all that a replay at depth 1 does.
fn put(text: &mut Vec<u8>, number: u64) {
    // As many digits as a number of 64 bits has at the most, behind the space.
    let mut digits = [b' '; 21];
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[at - 1..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_formatter_does() {
        let around = |n: u64| [n.wrapping_sub(1), n, n.wrapping_add(1)];
        let powers = (0..20).map(|digits| 10_u64.pow(digits));
        for number in powers.chain([0, u64::MAX]).flat_map(around) {
            let mut text = Vec::new();
            put(&mut text, number);
            assert_eq!(String::from_utf8(text).unwrap(), format!(" {number}"));
        }
    }

    #[test]
    #[should_panic(expected = "a trace begins at time 0")]
    fn no_line_has_a_time_before_the_first() {
        put_ns(&mut Vec::new(), -1);
    }
}
