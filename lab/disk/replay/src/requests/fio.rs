// SPDX-License-Identifier: MIT
//! fio's iolog, version 2 and 3.

use super::line::{quoted, Line};
use super::List;
use spindle_disk::Error;
use spindle_disk::Op;

/// Digits of a ms and a us in ns.
const MS: usize = 6;
const US: usize = 3;

const HEAD: &str = "the first line \"fio version 2 iolog\" or \"fio version 3 iolog\"";
const VERSION_2: &str = "file action, or file action offset length, the action one of add, open, \
                         close, read, write, sync, datasync, trim, wait";
const VERSION_3: &str = "time_us file action, or time_us file action offset length, the action \
                         one of add, open, close, read, write, sync, datasync, trim";

pub(super) fn parse<'a>(path: &'a str, text: &'a str, list: &mut List<'a>) -> Result<(), Error> {
    let mut lines = text.lines().enumerate();
    let head = lines.find(|(_, content)| !content.trim().is_empty());
    let (number, content) = head.map_or((1, ""), |(index, content)| (index + 1, content.trim()));
    let stamped = match content {
        "fio version 2 iolog" => false,
        "fio version 3 iolog" => true,
        _ => {
            let line = Line {
                path,
                number,
                expected: HEAD,
            };
            return Err(line.wrong(format!("not an iolog that is known: {}", quoted(content))));
        }
    };
    let mut clock_ns = 0;
    for (index, content) in lines {
        let line = Line {
            path,
            number: index + 1,
            expected: if stamped { VERSION_3 } else { VERSION_2 },
        };
        let words: Vec<&str> = content.split_whitespace().take(6).collect();
        let words = match words[..] {
            [] => continue,
            [time, ..] if stamped => {
                clock_ns = line.time_ns("time_us", time, US)?;
                &words[1..]
            }
            _ => &words[..],
        };
        match *words {
            [_, "add" | "open" | "close"] => {}
            [_, action] => return Err(unknown(&line, action)),
            [_, "wait", _, _] if stamped => {
                return Err(line.wrong("version 3 has no wait: its lines carry times"));
            }
            [_, "wait", until, _] => {
                // Time since the start: a wait for a time that has passed is none.
                clock_ns = clock_ns.max(line.time_ns("wait", until, MS)?);
            }
            [file, action, offset, length] => {
                let offset = line.whole("offset", offset)?;
                let length = line.whole("length", length)?;
                let op = match action {
                    "read" => Op::Read,
                    "write" => Op::Write,
                    "sync" | "datasync" => Op::Flush,
                    "trim" => {
                        list.skipped.trims += 1;
                        continue;
                    }
                    _ => return Err(unknown(&line, action)),
                };
                // What a flush was told to cover means nothing: it covers the whole drive.
                let extent = match op {
                    Op::Flush => (0, 0),
                    _ => line.bytes(op, offset, length)?,
                };
                list.push(&line, file, clock_ns, op, extent);
            }
            _ => return Err(line.wrong(format!("not an action of an iolog: {}", quoted(content)))),
        }
    }
    Ok(())
}

fn unknown(line: &Line, action: &str) -> Error {
    line.wrong(format!("action {} is not known here", quoted(action)))
}
