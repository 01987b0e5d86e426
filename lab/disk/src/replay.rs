// SPDX-License-Identifier: MIT
//! `spindle-disk replay`: a request list through one unit, open or closed loop.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use spindle_disk::catalogue::Catalogue;
use spindle_disk::topology::Topology;
use spindle_disk::{Error, Lab};
use spindle_replay::one_drive;
use spindle_replay::requests::{self, Action, Format, Options, Request};
use spindle_replay::run::{self, Ends, Plan, Times};
use spindle_replay::summary::Summary;

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
    /// How the requests are given.
    fn plan(&self) -> Result<Plan, Error> {
        if self.trace.is_some() && self.trace == self.results {
            return Err(Error::Call(
                "--trace and --results name the same file".into(),
            ));
        }
        let plan = Plan {
            depth: self.depth,
            think_ns: self.think_ns,
            power_cut_ns: self.power_cut_ns,
            seed: Some(self.seed),
        };
        plan.check()?;
        Ok(plan)
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
    let plan = arguments.plan()?;
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
    let mut trace = new_file(&arguments.trace)?;
    if trace.is_none() {
        lab.trace_off();
    }
    let place = |index: usize| format!("{path}:{}", requests[index].line);
    let outcome = {
        let mut write = trace.as_mut().map(|file| |bytes: &[u8]| file.write(bytes));
        let ends = Ends {
            place: &place,
            trace: write.as_mut().map(|write| write as _),
        };
        run::run(&mut lab, &mut 0, unit, &requests, &plan, ends)?
    };
    if let Some(file) = trace {
        file.finish()?;
    }
    if let Some(file) = results {
        write_results(file, &requests, &outcome.times)?;
    }
    let mut summary = json!(Summary::new(&requests, &outcome));
    summary["format"] = format.name().into();
    summary["trims_skipped"] = skipped.trims.into();
    summary["passed_through_skipped"] = skipped.passed_through.into();
    println!("{summary}");
    Ok(())
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
