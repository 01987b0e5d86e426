// SPDX-License-Identifier: MIT
//! `spindle-disk replay`: a request list through one unit, open or closed loop.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use spindle_disk::topology::Topology;
use spindle_disk::{Error, Lab, Op, NEVER};

/// Arguments of `replay`.
#[derive(Args)]
pub struct Arguments {
    /// Requests: `arrival_ns op lbn sectors` on each line, op one of R, W, F, U; or a trace of
    /// this program (lines of other units are left out).
    requests: PathBuf,
    /// Topology file.
    #[arg(long)]
    topology: PathBuf,
    /// Unit of the topology.
    #[arg(long)]
    unit: String,
    /// Write the trace to this file.
    #[arg(long)]
    trace: Option<PathBuf>,
    /// Closed loop: keep this many requests outstanding and ignore arrival times.
    #[arg(long)]
    depth: Option<usize>,
    /// Closed loop: time of the host between a completion and the next request, in ns.
    #[arg(long, default_value_t = 0, requires = "depth")]
    think_ns: i64,
    /// Seed of the marker at the start (spindle phase, start delay).
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Queue algorithm in place of the topology's.
    #[arg(long)]
    queue: Option<String>,
    /// Write cache, on or off, in place of the topology's.
    #[arg(long)]
    write_cache: Option<String>,
}

struct Request {
    arrival_ns: i64,
    op: Op,
    lbn: u64,
    sectors: u64,
}

/// Runs the requests and prints a summary as JSON.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let requests = read_requests(&arguments.requests, &arguments.unit)?;
    if arguments.depth == Some(0) || arguments.think_ns < 0 {
        return Err(Error::Call(
            "--depth must be 1 or more, --think-ns 0 or more".into(),
        ));
    }
    let mut lab = Lab::new(Topology::load(&arguments.topology)?);
    let unit = lab.unit(&arguments.unit)?;
    for (key, value) in [
        ("queue", &arguments.queue),
        ("write-cache", &arguments.write_cache),
    ] {
        if let Some(value) = value {
            lab.set(unit, key, value)?;
        }
    }
    let mut trace = Output::new(arguments.trace.as_deref())?;
    if trace.file.is_none() {
        lab.trace_off();
    }
    let start_ns = lab.reset(0, "replay", arguments.seed)?;
    let run = match arguments.depth {
        None => open_loop(&mut lab, unit, &requests, start_ns, &mut trace)?,
        Some(depth) => closed_loop(
            &mut lab,
            unit,
            &requests,
            start_ns,
            depth,
            arguments.think_ns,
            &mut trace,
        )?,
    };
    while lab.next_event_ns() != NEVER {
        lab.advance(lab.next_event_ns());
    }
    trace.drain(&mut lab)?;
    trace.finish()?;
    let bytes: u64 = requests
        .iter()
        .filter(|r| r.op != Op::Flush)
        .map(|r| r.sectors * 512)
        .sum();
    let elapsed_ns = (run.last_ns - start_ns).max(1);
    let summary = json!({
        "requests": requests.len(),
        "bytes": bytes,
        "elapsed_ns": elapsed_ns,
        "rate_mb_s": (bytes as f64 * 1e3 / elapsed_ns as f64 * 1e3).round() / 1e3,
        "response_ns_mean": run.response_ns / requests.len().max(1) as i128,
    });
    println!("{summary}");
    Ok(())
}

/// When the last request was acknowledged, and the sum of all response times.
struct Run {
    last_ns: i64,
    response_ns: i128,
}

fn open_loop(
    lab: &mut Lab,
    unit: u32,
    requests: &[Request],
    start_ns: i64,
    trace: &mut Output,
) -> Result<Run, Error> {
    let mut run = Run {
        last_ns: start_ns,
        response_ns: 0,
    };
    let mut next = 0;
    while next < requests.len() || lab.next_event_ns() != NEVER {
        let arrival = requests
            .get(next)
            .map_or(NEVER, |r| start_ns + r.arrival_ns);
        if arrival <= lab.next_event_ns() {
            let r = &requests[next];
            lab.submit(arrival, unit, r.op, r.lbn, r.sectors, next as u64)?;
            next += 1;
        } else {
            lab.advance(lab.next_event_ns());
        }
        while let Some(done) = lab.completion() {
            let arrived = start_ns + requests[done.cookie as usize].arrival_ns;
            run.response_ns += i128::from(done.acknowledged_ns - arrived);
            run.last_ns = done.acknowledged_ns;
        }
        trace.drain(lab)?;
    }
    Ok(run)
}

fn closed_loop(
    lab: &mut Lab,
    unit: u32,
    requests: &[Request],
    start_ns: i64,
    depth: usize,
    think_ns: i64,
    trace: &mut Output,
) -> Result<Run, Error> {
    let mut run = Run {
        last_ns: start_ns,
        response_ns: 0,
    };
    let mut arrivals = vec![0; requests.len()];
    let mut next = 0;
    // Times at which the host is ready to submit; completions come in order, so it is sorted.
    let mut ready = std::collections::VecDeque::from(vec![start_ns; depth]);
    loop {
        let submit = if next < requests.len() {
            ready.front().copied()
        } else {
            None
        };
        let event = lab.next_event_ns();
        match submit {
            Some(at) if at <= event => {
                ready.pop_front();
                let r = &requests[next];
                arrivals[next] = at;
                lab.submit(at, unit, r.op, r.lbn, r.sectors, next as u64)?;
                next += 1;
            }
            _ if event == NEVER => return Ok(run),
            _ => lab.advance(event),
        }
        while let Some(done) = lab.completion() {
            run.response_ns += i128::from(done.acknowledged_ns - arrivals[done.cookie as usize]);
            run.last_ns = done.acknowledged_ns;
            ready.push_back(done.acknowledged_ns + think_ns);
        }
        trace.drain(lab)?;
    }
}

/// The trace file, if one is wanted.
struct Output {
    path: String,
    file: Option<BufWriter<File>>,
    buffer: Vec<u8>,
}

impl Output {
    fn new(path: Option<&Path>) -> Result<Self, Error> {
        let shown = path.map_or(String::new(), |p| p.display().to_string());
        let file = match path {
            None => None,
            Some(path) => Some(BufWriter::new(File::create(path).map_err(|e| {
                Error::File {
                    path: shown.clone(),
                    message: format!("cannot be made: {e}"),
                }
            })?)),
        };
        Ok(Self {
            path: shown,
            file,
            buffer: vec![0; 1 << 16],
        })
    }

    fn drain(&mut self, lab: &mut Lab) -> Result<(), Error> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        loop {
            let len = lab.trace_read(&mut self.buffer);
            if len == 0 {
                return Ok(());
            }
            file.write_all(&self.buffer[..len])
                .map_err(|e| write_error(&self.path, &e))?;
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        match &mut self.file {
            Some(file) => file.flush().map_err(|e| write_error(&self.path, &e)),
            None => Ok(()),
        }
    }
}

fn write_error(path: &str, error: &std::io::Error) -> Error {
    Error::File {
        path: path.into(),
        message: format!("cannot be written: {error}"),
    }
}

fn read_requests(path: &Path, unit: &str) -> Result<Vec<Request>, Error> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| Error::File {
        path: shown.clone(),
        message: format!("cannot be read: {e}"),
    })?;
    let mut requests: Vec<Request> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = |message: &str| Error::File {
            path: format!("{shown}:{}", number + 1),
            message: format!("{message}; write: arrival_ns op lbn sectors"),
        };
        let fields = match words[..] {
            [] => continue,
            [first, ..] if first.starts_with('#') => continue,
            [arrival, op, lbn, sectors] => [arrival, op, lbn, sectors],
            [device, op, lbn, sectors, _, arrival, _, _, _, _, _] => {
                if device != unit {
                    continue;
                }
                [arrival, op, lbn, sectors]
            }
            _ => return Err(wrong("neither 4 words nor the 11 of a trace line")),
        };
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong("not a number"));
        let arrival_ns =
            i64::try_from(number(fields[0])?).map_err(|_| wrong("arrival out of range"))?;
        let op = Op::from_letter(fields[1]).ok_or_else(|| wrong("op is not R, W, F or U"))?;
        let (lbn, sectors) = (number(fields[2])?, number(fields[3])?);
        requests.push(Request {
            arrival_ns,
            op,
            lbn,
            sectors,
        });
    }
    // A trace is in the order of acknowledgement.
    requests.sort_by_key(|r| r.arrival_ns);
    Ok(requests)
}
