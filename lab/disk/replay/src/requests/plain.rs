// SPDX-License-Identifier: MIT
//! Formats with one request a line and no state: ours, DiskSim's.

use super::line::{quoted, Line};
use super::List;
use spindle_disk::Error;
use spindle_disk::Op;

/// Digits of a ms and a us in ns.
const MS: usize = 6;
const US: usize = 3;

/// Bit of DiskSim's flags that says read (`disksim_global.h`).
const DISKSIM_READ: u64 = 1;

/// Calls `take` with the words of each line that is neither empty nor a comment.
fn lines<'a>(
    path: &'a str,
    text: &'a str,
    expected: &'static str,
    mut take: impl FnMut(&Line, &[&'a str]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut words = Vec::new();
    for (index, content) in text.lines().enumerate() {
        words.clear();
        // One word more than any format has is enough to see that there are too many.
        words.extend(content.split_whitespace().take(12));
        if words.first().is_none_or(|first| first.starts_with('#')) {
            continue;
        }
        let line = Line {
            path,
            number: index + 1,
            expected,
        };
        take(&line, &words)?;
    }
    Ok(())
}

fn count(line: &Line, words: &[&str], wanted: &str) -> Error {
    let many = if words.len() > 11 { " or more" } else { "" };
    line.wrong(format!("{}{many} words, not {wanted}", words.len()))
}

fn op(line: &Line, word: &str) -> Result<Op, Error> {
    Op::from_letter(word)
        .ok_or_else(|| line.wrong(format!("op is not R, W, F or U: {}", quoted(word))))
}

fn sectors(line: &Line, op: Op, lbn: &str, sectors: &str) -> Result<(u64, u64), Error> {
    let lbn = line.whole("lbn", lbn)?;
    line.sectors(op, lbn, line.whole("sectors", sectors)?)
}

/// A time that must be whole ns.
fn whole_ns(line: &Line, name: &str, word: &str) -> Result<i64, Error> {
    line.whole(name, word)?;
    line.time_ns(name, word, 0)
}

/// `arrival_ns op lbn sectors`; an `o` after the letter of the operation is an ordered tag.
pub(super) fn list<'a>(path: &'a str, text: &'a str, list: &mut List<'a>) -> Result<(), Error> {
    lines(path, text, "arrival_ns op lbn sectors", |line, words| {
        let [arrival, letter, lbn, count_] = *words else {
            return Err(count(line, words, "4"));
        };
        let at_ns = whole_ns(line, "arrival_ns", arrival)?;
        let simple = letter.strip_suffix('o').filter(|l| !l.is_empty());
        let op = op(line, simple.unwrap_or(letter))?;
        list.push(line, "-", at_ns, op, sectors(line, op, lbn, count_)?);
        if simple.is_some() {
            list.order_last();
        }
        Ok(())
    })
}

/// Our own trace.
pub(super) fn trace<'a>(path: &'a str, text: &'a str, list: &mut List<'a>) -> Result<(), Error> {
    let expected = "device op lbn sectors slot arrival_ns start_ns acknowledged_ns medium_ns \
                    depth hit";
    lines(path, text, expected, |line, words| {
        let [device, letter, lbn, count_, slot, arrival, start, done, medium, depth, _hit] = *words
        else {
            return Err(count(line, words, "11"));
        };
        let op = op(line, letter)?;
        let extent = sectors(line, op, lbn, count_)?;
        let at_ns = whole_ns(line, "arrival_ns", arrival)?;
        for (name, word) in [
            ("slot", slot),
            ("start_ns", start),
            ("acknowledged_ns", done),
            ("depth", depth),
        ] {
            line.whole(name, word)?;
        }
        if medium != "-" {
            line.whole("medium_ns", medium)?;
        }
        list.push(line, device, at_ns, op, extent);
        Ok(())
    })
}

/// DiskSim's ASCII input: `arrival_ms devno blkno blocks flags`, the flags in hexadecimal.
pub(super) fn disksim<'a>(path: &'a str, text: &'a str, list: &mut List<'a>) -> Result<(), Error> {
    let expected = "arrival_ms devno blkno blocks flags (hexadecimal, bit 0: read)";
    lines(path, text, expected, |line, words| {
        let [arrival, device, lbn, count_, flags] = *words else {
            return Err(count(line, words, "5"));
        };
        let at_ns = line.time_ns("arrival_ms", arrival, MS)?;
        line.whole("devno", device)?;
        let digits = flags.strip_prefix("0x").unwrap_or(flags);
        let bits = Some(digits)
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|d| u64::from_str_radix(d, 16).ok())
            .ok_or_else(|| line.wrong(format!("flags {} are not hexadecimal", quoted(flags))))?;
        let op = if bits & DISKSIM_READ != 0 {
            Op::Read
        } else {
            Op::Write
        };
        let lbn = line.whole("blkno", lbn)?;
        let extent = line.sectors(op, lbn, line.whole("blocks", count_)?)?;
        list.push(line, device, at_ns, op, extent);
        Ok(())
    })
}

/// A request as a real drive served it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Read or write.
    pub op: Op,
    /// First sector.
    pub lbn: u64,
    /// Number of sectors of 512 bytes.
    pub sectors: u64,
    /// Time from its submission to its completion, in ns.
    pub service_ns: i64,
    /// Time from its completion to the submission of the next, in ns.
    pub think_ns: i64,
}

/// Reads the trace of a measured drive, DiskSim's `validate` format: lines
/// `R|W action lbn blocks service_us think_us`, one request outstanding at a time; the action is
/// the tracer's note on the drive's buffer. `path` is for messages.
///
/// # Errors
/// The first line that is not in the format.
pub fn measured(path: &str, text: &str) -> Result<Vec<Measured>, Error> {
    let mut requests = Vec::new();
    let expected = "R or W, buffer action, lbn, blocks, service_us, think_us";
    lines(path, text, expected, |line, words| {
        let [letter, _action, lbn, count_, service, think] = *words else {
            return Err(count(line, words, "6"));
        };
        let op = match letter {
            "R" => Op::Read,
            "W" => Op::Write,
            _ => return Err(line.wrong(format!("op is not R or W: {}", quoted(letter)))),
        };
        let lbn = line.whole("lbn", lbn)?;
        let (lbn, sectors) = line.sectors(op, lbn, line.whole("blocks", count_)?)?;
        requests.push(Measured {
            op,
            lbn,
            sectors,
            service_ns: line.time_ns("service_us", service, US)?,
            think_ns: line.time_ns("think_us", think, US)?,
        });
        Ok(())
    })?;
    Ok(requests)
}
