// SPDX-License-Identifier: MIT
//! blkparse's default output: `maj,min cpu seq time pid action rwbs` and what the action adds.

use super::line::{quoted, scaled, whole, Line};
use super::{Action, List};
use spindle_disk::Error;
use spindle_disk::Op;

/// Digits of a second in ns.
const SECOND: usize = 9;

/// All actions that blkparse prints (blkparse(1), "Action identifiers"; `m` is a message).
const ACTIONS: [&str; 17] = [
    "A", "B", "C", "D", "F", "G", "I", "M", "P", "Q", "R", "S", "T", "U", "UT", "X", "m",
];

const EXPECTED: &str = "maj,min cpu seq seconds pid action rwbs, and for a request: sector + \
                        sectors [process]; blkparse's default output, if need be without its \
                        summary (-q)";

/// Whether `word` is a device as blkparse writes it: `8,0`.
pub(super) fn is_device(word: &str) -> bool {
    word.split_once(',')
        .is_some_and(|(major, minor)| whole(major).is_ok() && whole(minor).is_ok())
}

/// Whether the summary begins here: `CPU0 (8,0):`, or `Total (8,0):`.
fn is_summary(words: &[&str]) -> bool {
    let [first, second, ..] = *words else {
        return false;
    };
    let cpu = first.strip_prefix("CPU").is_some_and(|n| whole(n).is_ok());
    (cpu || first == "Total" || first == "Throughput") && second.starts_with('(')
}

pub(super) fn parse<'a>(
    path: &'a str,
    text: &'a str,
    action: Action,
    list: &mut List<'a>,
) -> Result<(), Error> {
    let mut in_summary = false;
    for (index, content) in text.lines().enumerate() {
        let line = Line {
            path,
            number: index + 1,
            expected: EXPECTED,
        };
        let words: Vec<&str> = content.split_whitespace().take(11).collect();
        match words[..] {
            [] => {}
            [device, ..] if is_device(device) => {
                if in_summary {
                    return Err(line.wrong("an event after the summary: two listings in one?"));
                }
                event(&line, &words, action, list)?;
            }
            _ if in_summary => {}
            ["Input", "file", ..] if list.requests.is_empty() => {}
            _ if is_summary(&words) => in_summary = true,
            _ => return Err(line.wrong(format!("not an event: {}", quoted(content)))),
        }
    }
    Ok(())
}

fn event<'a>(
    line: &Line,
    words: &[&'a str],
    wanted: Action,
    list: &mut List<'a>,
) -> Result<(), Error> {
    let [device, cpu, number, time, pid, action, ref rest @ ..] = *words else {
        return Err(line.wrong(format!("only {} words", words.len())));
    };
    for (name, word) in [("cpu", cpu), ("seq", number), ("pid", pid)] {
        line.whole(name, word)?;
    }
    if !ACTIONS.contains(&action) {
        return Err(line.wrong(format!("action {} is not known", quoted(action))));
    }
    if action != wanted.letter() {
        // Its time is read all the same: a line that is broken should not pass.
        return match scaled(time, SECOND) {
            Ok(_) => Ok(()),
            Err(why) => Err(line.wrong(format!("time {} {why}", quoted(time)))),
        };
    }
    let at_ns = line.time_ns("time", time, SECOND)?;
    let [rwbs, ref rest @ ..] = *rest else {
        return Err(line.wrong("no rwbs word"));
    };
    let kind = Kind::parse(rwbs)
        .ok_or_else(|| line.wrong(format!("rwbs {} is not known", quoted(rwbs))))?;
    let extent = match *rest {
        [sector, "+", sectors, ..] => Extent::Sectors(
            line.whole("sector", sector)?,
            line.whole("sectors", sectors)?,
        ),
        [] => Extent::None,
        [first, ..] if first.starts_with(['[', '(']) => Extent::None,
        [bytes, second, ..] if whole(bytes).is_ok() && second.starts_with(['[', '(']) => {
            Extent::Command
        }
        _ => return Err(line.wrong(format!("no sector and length, but {}", quoted(rest[0])))),
    };
    if kind.flush_before {
        list.push(line, device, at_ns, Op::Flush, (0, 0));
    }
    let op = match (kind.letter, extent) {
        (b'D', _) => {
            list.skipped.trims += 1;
            return Ok(());
        }
        // The flush was all there is.
        (_, Extent::None | Extent::Sectors(_, 0)) if kind.flush_before => return Ok(()),
        (b'N', _) | (_, Extent::Command) => {
            list.skipped.passed_through += 1;
            return Ok(());
        }
        (b'W', _) if kind.fua => Op::WriteFua,
        (b'W', _) => Op::Write,
        _ => Op::Read,
    };
    let Extent::Sectors(lbn, sectors) = extent else {
        return Err(line.wrong("a read or write without sector and length"));
    };
    list.push(line, device, at_ns, op, line.sectors(op, lbn, sectors)?);
    Ok(())
}

/// What stands behind rwbs.
#[derive(Clone, Copy)]
enum Extent {
    None,
    Sectors(u64, u64),
    /// Bytes of a command that is passed through, and perhaps the command.
    Command,
}

/// The rwbs word: `F` for a flush before, one of R W D N, then F (FUA), A, S, M, B.
struct Kind {
    letter: u8,
    flush_before: bool,
    fua: bool,
}

impl Kind {
    fn parse(word: &str) -> Option<Self> {
        let flush = word.strip_prefix('F');
        let (letter, flags) = flush.unwrap_or(word).as_bytes().split_first()?;
        let good = b"RWDN".contains(letter) && flags.iter().all(|f| b"FASMB".contains(f));
        let barrier = flags.contains(&b'B');
        good.then_some(Self {
            letter: *letter,
            flush_before: flush.is_some() || barrier,
            fua: flags.contains(&b'F') || barrier,
        })
    }
}
