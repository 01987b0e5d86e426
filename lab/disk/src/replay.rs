// SPDX-License-Identifier: MIT
//! `spindle-disk replay`: a request list through one unit, open or closed loop.

use std::collections::VecDeque;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use spindle_disk::catalogue::Catalogue;
use spindle_disk::topology::Topology;
use spindle_disk::{Error, Lab, Op, Tag, NEVER, TIME_MAX_NS};
use spindle_replay::one_drive;
use spindle_replay::requests::{self, Action, Format, Options, Request};

use crate::place;
use crate::whole_file::WholeFile;

/// Arguments of `replay`.
#[derive(Args)]
pub struct Arguments {
    /// Requests: `arrival_ns op lbn sectors` on each line, op one of R, W, F, U (with an o behind
    /// it: ordered tag); a trace of this program; DiskSim's ASCII input; fio's iolog; or
    /// blkparse's output.
    requests: PathBuf,
    /// Format of the requests (list, trace, disksim, fio, blkparse), if not to be recognised.
    #[arg(long)]
    format: Option<String>,
    /// Device of the list to replay (unit, device number, file), if it has several. In a trace of
    /// this program: the unit.
    #[arg(long)]
    device: Option<String>,
    /// blkparse: D replays what was issued to the drive, Q what was queued.
    #[arg(long, default_value = "D", value_name = "D|Q")]
    action: String,
    /// Topology file.
    #[arg(
        long,
        requires = "unit",
        required_unless_present = "drive",
        conflicts_with = "drive"
    )]
    topology: Option<PathBuf>,
    /// Unit of the topology.
    #[arg(long, requires = "topology")]
    unit: Option<String>,
    /// In place of a topology, one drive: a drive file (ending in .toml) or a catalogue name.
    #[arg(long, requires = "bus")]
    drive: Option<String>,
    /// Bus of that drive: a catalogue name.
    #[arg(long, requires = "drive")]
    bus: Option<String>,
    /// Commands that can be outstanding at that drive; as many as it takes unless given.
    #[arg(long, requires = "drive")]
    max_tags: Option<u32>,
    /// Catalogue folder for --drive and --bus.
    #[arg(long, default_value_os_t = place::catalogue())]
    catalogue: PathBuf,
    /// Write the trace to this file.
    #[arg(long)]
    trace: Option<PathBuf>,
    /// Write one line of CSV per request, in the order of submission, to this file.
    #[arg(long)]
    results: Option<PathBuf>,
    /// Closed loop: keep this many requests outstanding and ignore arrival times.
    #[arg(long)]
    depth: Option<usize>,
    /// Closed loop: time of the host between a completion and the next request, in ns.
    #[arg(long, default_value_t = 0, requires = "depth")]
    think_ns: i64,
    /// Cut the power this long after the start, in ns. The summary counts what was acknowledged
    /// and is lost; --results has its sectors.
    #[arg(long)]
    power_cut_ns: Option<i64>,
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

impl Arguments {
    fn check(&self) -> Result<(), Error> {
        if self.depth == Some(0) || !(0..=TIME_MAX_NS).contains(&self.think_ns) {
            return Err(Error::Call(format!(
                "--depth must be 1 or more, --think-ns 0 to {TIME_MAX_NS}"
            )));
        }
        if self
            .power_cut_ns
            .is_some_and(|ns| !(0..=TIME_MAX_NS / 2).contains(&ns))
        {
            return Err(Error::Call(format!(
                "--power-cut-ns must be 0 to {}",
                TIME_MAX_NS / 2
            )));
        }
        if self.trace.is_some() && self.trace == self.results {
            return Err(Error::Call(
                "--trace and --results name the same file".into(),
            ));
        }
        Ok(())
    }

    /// The lab, and the name of the unit that is replayed on.
    fn lab(&self) -> Result<(Topology, &str), Error> {
        match (&self.topology, &self.unit, &self.drive, &self.bus) {
            (Some(topology), Some(unit), ..) => Ok((Topology::load(topology)?, unit)),
            (None, _, Some(drive), Some(bus)) => {
                let catalogue = Catalogue::new(&self.catalogue);
                let topology = one_drive::topology(&catalogue, drive, bus, self.max_tags)?;
                Ok((topology, one_drive::UNIT))
            }
            _ => Err(Error::Call(
                "name --topology and --unit, or --drive and --bus".into(),
            )),
        }
    }
}

/// Runs the requests and prints a summary as JSON.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    arguments.check()?;
    let (topology, unit) = arguments.lab()?;
    let options = Options {
        format: arguments
            .format
            .as_deref()
            .map(Format::from_name)
            .transpose()?,
        action: Action::from_letter(&arguments.action)?,
    };
    let list = requests::load(&arguments.requests, &options)?;
    let (format, skipped) = (list.format, list.skipped);
    let path = arguments.requests.display().to_string();
    let requests = list.of_device(&path, arguments.device.as_deref(), unit)?;

    let mut lab = Lab::new(topology);
    let unit = lab.unit(unit)?;
    for (key, value) in [
        ("queue", &arguments.queue),
        ("write-cache", &arguments.write_cache),
    ] {
        if let Some(value) = value {
            lab.set(unit, key, value)?;
        }
    }
    let new_file = |path: &Option<PathBuf>| path.as_deref().map(WholeFile::new).transpose();
    let results = new_file(&arguments.results)?;
    let trace = new_file(&arguments.trace)?;
    if trace.is_none() {
        lab.trace_off();
    }
    let start_ns = lab.reset(0, "replay", arguments.seed)?;
    let mut replay = Replay {
        path: &path,
        requests: &requests,
        lab,
        unit,
        times: Vec::with_capacity(requests.len()),
        trace,
        buffer: vec![0; 1 << 16],
        cut_ns: arguments
            .power_cut_ns
            .map_or(NEVER, |cut_ns| start_ns + cut_ns),
        by_ordinal: Vec::new(),
    };
    match arguments.depth {
        None => replay.open_loop(start_ns)?,
        Some(depth) => replay.closed_loop(start_ns, depth, arguments.think_ns)?,
    }
    let times = replay.finish()?;
    if let Some(file) = results {
        write_results(file, &requests, &times)?;
    }

    let bytes: u64 = requests
        .iter()
        .zip(&times)
        .filter(|(r, t)| r.op != Op::Flush && t.done_ns != NEVER)
        .map(|(r, _)| r.sectors * 512)
        .fold(0, u64::saturating_add);
    let last_ns = times.iter().filter_map(Times::acknowledged_ns).max();
    let elapsed_ns = (last_ns.unwrap_or(start_ns) - start_ns).max(1);
    let responses = Responses::new(&times);
    let lost: u64 = times.iter().map(|t| t.lost_sectors).sum();
    let summary = json!({
        "format": format.name(),
        "requests": requests.len(),
        "acknowledged": responses.0.len(),
        "lost_writes": times.iter().filter(|t| t.lost_sectors > 0).count(),
        "lost_sectors": lost,
        "trims_skipped": skipped.trims,
        "passed_through_skipped": skipped.passed_through,
        "bytes": bytes,
        "elapsed_ns": elapsed_ns,
        "rate_mb_s": (bytes as f64 * 1e3 / elapsed_ns as f64 * 1e3).round() / 1e3,
        "response_ns_mean": responses.mean(),
        "response_ns_p50": responses.percentile(50),
        "response_ns_p95": responses.percentile(95),
        "response_ns_p99": responses.percentile(99),
        "response_ns_max": responses.percentile(100),
    });
    println!("{summary}");
    Ok(())
}

/// When a request came and when it was acknowledged ([`NEVER`]: it was not), in the lab's ns.
struct Times {
    arrival_ns: i64,
    done_ns: i64,
    /// Acknowledged, and taken by a power cut.
    lost_sectors: u64,
}

impl Times {
    fn acknowledged_ns(&self) -> Option<i64> {
        Some(self.done_ns).filter(|ns| *ns != NEVER)
    }

    fn response_ns(&self) -> Option<i64> {
        Some(self.acknowledged_ns()? - self.arrival_ns)
    }
}

/// A run on its way. Requests are submitted in their order; the cookie is the index.
struct Replay<'a> {
    path: &'a str,
    requests: &'a [Request],
    lab: Lab,
    unit: u32,
    /// Of the requests submitted so far.
    times: Vec<Times>,
    trace: Option<WholeFile>,
    buffer: Vec<u8>,
    /// When the power is cut, in the lab's ns.
    cut_ns: i64,
    /// Of each completion, the request; kept only where the power is cut.
    by_ordinal: Vec<usize>,
}

impl Replay<'_> {
    fn open_loop(&mut self, start_ns: i64) -> Result<(), Error> {
        loop {
            let next = self.requests.get(self.times.len());
            let arrival = next.map_or(NEVER, |r| start_ns + r.arrival_ns);
            let event = self.lab.next_event_ns();
            if arrival.min(event) > self.cut_ns {
                return Ok(());
            }
            if next.is_some() && arrival <= event {
                self.submit(arrival)?;
            } else if event == NEVER {
                return Ok(());
            } else {
                self.advance(event)?;
            }
            self.collect(|_| {})?;
        }
    }

    fn closed_loop(&mut self, start_ns: i64, depth: usize, think_ns: i64) -> Result<(), Error> {
        // Times at which the host is ready to submit; completions come in order, so it is sorted.
        let mut ready = VecDeque::from(vec![start_ns; depth.min(self.requests.len())]);
        loop {
            let event = self.lab.next_event_ns();
            let more = self.times.len() < self.requests.len();
            let submit = ready.front().copied().filter(|_| more).unwrap_or(NEVER);
            if submit.min(event) > self.cut_ns {
                return Ok(());
            }
            match ready.front() {
                Some(&at) if more && at <= event => {
                    ready.pop_front();
                    self.submit(at)?;
                }
                _ if event == NEVER => return Ok(()),
                _ => self.advance(event)?,
            }
            self.collect(|done_ns| ready.push_back(done_ns + think_ns))?;
        }
    }

    /// Hands over the next request.
    fn submit(&mut self, at_ns: i64) -> Result<(), Error> {
        let cookie = self.times.len();
        let r = &self.requests[cookie];
        let tag = if r.ordered { Tag::Ordered } else { Tag::Simple };
        self.lab
            .submit_tagged(at_ns, self.unit, r.op, r.lbn, r.sectors, cookie as u64, tag)
            .map_err(|e| Error::File {
                path: format!("{}:{}", self.path, r.line),
                message: e.to_string(),
            })?;
        self.times.push(Times {
            arrival_ns: at_ns,
            done_ns: NEVER,
            lost_sectors: 0,
        });
        Ok(())
    }

    fn advance(&mut self, to_ns: i64) -> Result<(), Error> {
        if to_ns > TIME_MAX_NS {
            return Err(Error::Call(format!(
                "after {} requests the replay reaches the end of simulated time, {TIME_MAX_NS} ns",
                self.times.len()
            )));
        }
        self.lab.advance(to_ns);
        Ok(())
    }

    /// Takes completions and trace lines.
    fn collect(&mut self, mut done: impl FnMut(i64)) -> Result<(), Error> {
        while let Some(completion) = self.lab.completion() {
            self.times[completion.cookie as usize].done_ns = completion.acknowledged_ns;
            if self.cut_ns != NEVER {
                self.by_ordinal.push(completion.cookie as usize);
            }
            done(completion.acknowledged_ns);
        }
        let Some(file) = &mut self.trace else {
            return Ok(());
        };
        loop {
            match self.lab.trace_read(&mut self.buffer) {
                0 => return Ok(()),
                len => file.write(&self.buffer[..len])?,
            }
        }
    }

    /// Cuts the power, if that is asked for, and closes the trace.
    fn finish(mut self) -> Result<Vec<Times>, Error> {
        if self.cut_ns != NEVER {
            self.advance(self.cut_ns)?;
            self.collect(|_| {})?;
            for lost in self.lab.cut_power(self.cut_ns)? {
                let request = self.by_ordinal[lost.ordinal as usize];
                self.times[request].lost_sectors += lost.sectors;
            }
        }
        self.collect(|_| {})?;
        if let Some(file) = self.trace {
            file.finish()?;
        }
        Ok(self.times)
    }
}

/// One line per request, in the order of submission; empty fields where there was no completion.
fn write_results(mut file: WholeFile, requests: &[Request], times: &[Times]) -> Result<(), Error> {
    file.write(b"number,op,lbn,sectors,arrival_ns,acknowledged_ns,response_ns,lost_sectors\n")?;
    let shown = |ns: Option<i64>| ns.map_or(String::new(), |ns| ns.to_string());
    for (number, (r, t)) in requests.iter().zip(times).enumerate() {
        let line = format!(
            "{number},{},{},{},{},{},{},{}\n",
            r.op.letter(),
            r.lbn,
            r.sectors,
            t.arrival_ns,
            shown(t.acknowledged_ns()),
            shown(t.response_ns()),
            t.lost_sectors,
        );
        file.write(line.as_bytes())?;
    }
    file.finish()
}

/// Response times, sorted.
struct Responses(Vec<i64>);

impl Responses {
    fn new(times: &[Times]) -> Self {
        let mut sorted: Vec<i64> = times.iter().filter_map(Times::response_ns).collect();
        sorted.sort_unstable();
        Self(sorted)
    }

    /// Rounded down; 0 of none.
    fn mean(&self) -> i64 {
        let sum: i128 = self.0.iter().map(|&ns| i128::from(ns)).sum();
        (sum / self.0.len().max(1) as i128) as i64
    }

    /// The least response time that `percent` of all do not exceed (nearest rank); 0 of none.
    fn percentile(&self, percent: usize) -> i64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0.get(rank.max(1) - 1).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_by_nearest_rank() {
        let times: Vec<Times> = (1..=20)
            .rev()
            .map(|ns| Times {
                arrival_ns: 5,
                done_ns: 5 + ns,
                lost_sectors: 0,
            })
            .collect();
        let responses = Responses::new(&times);
        assert_eq!(responses.mean(), 10);
        let ranks = [50, 95, 99, 100].map(|p| responses.percentile(p));
        assert_eq!(ranks, [10, 19, 20, 20]);
        let none = Responses::new(&[]);
        assert_eq!((none.mean(), none.percentile(50)), (0, 0));
    }
}
