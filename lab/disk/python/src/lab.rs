// SPDX-License-Identifier: MIT
//! A lab: the units and buses of one topology, on a clock that the caller moves.

use std::collections::VecDeque;
use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use spindle_disk::topology::Topology;
use spindle_disk::{Error, Op, Tag, NEVER, TIME_MAX_NS};
use spindle_replay::one_drive;
use spindle_replay::run::{self, Ends, Plan, Times};
use spindle_replay::summary::Summary;

use crate::arrays::{self, Columns};
use crate::failure::{raised, refused};
use crate::place;

/// A unit of a lab.
#[pyclass(frozen, get_all, eq, module = "spindle_disk")]
#[derive(PartialEq)]
pub struct Unit {
    name: String,
    sectors: u64,
    max_tags: u32,
}

#[pymethods]
impl Unit {
    fn __repr__(&self) -> String {
        format!(
            "Unit(name={:?}, sectors={}, max_tags={})",
            self.name, self.sectors, self.max_tags
        )
    }
}

/// A command that is done.
#[pyclass(frozen, get_all, eq, module = "spindle_disk")]
#[derive(Clone, PartialEq)]
pub struct Completion {
    cookie: u64,
    unit: String,
    status: i32,
    acknowledged_ns: i64,
    ordinal: u64,
}

#[pymethods]
impl Completion {
    fn __repr__(&self) -> String {
        format!(
            "Completion(cookie={}, unit={:?}, status={}, acknowledged_ns={}, ordinal={})",
            self.cookie, self.unit, self.status, self.acknowledged_ns, self.ordinal
        )
    }
}

/// A part of an acknowledged write that a power cut took.
#[pyclass(frozen, get_all, eq, module = "spindle_disk")]
#[derive(PartialEq)]
pub struct Lost {
    ordinal: u64,
    unit: String,
    lbn: u64,
    sectors: u64,
}

#[pymethods]
impl Lost {
    fn __repr__(&self) -> String {
        format!(
            "Lost(ordinal={}, unit={:?}, lbn={}, sectors={})",
            self.ordinal, self.unit, self.lbn, self.sectors
        )
    }
}

/// What a replay leaves: summary as JSON, times of arrival and acknowledgement (-1: it was not
/// acknowledged), lost sectors, the trace.
type Replayed<'py> = (
    String,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    String,
);

/// A lab.
#[pyclass(module = "spindle_disk")]
pub struct Lab {
    lab: spindle_disk::Lab,
    names: Vec<String>,
    now_ns: i64,
    /// Completions that the caller has not taken.
    done: VecDeque<Completion>,
    /// A call is on its way, or has ended in a fault of the model.
    broken: bool,
    next_cookie: u64,
}

impl Lab {
    fn of(topology: Topology, trace: bool) -> Self {
        let units = topology.units.iter().map(|unit| unit.name.clone());
        let arrays = topology.arrays.iter().map(|array| array.name.clone());
        let names = units.chain(arrays).collect();
        let mut lab = spindle_disk::Lab::new(topology);
        if !trace {
            lab.trace_off();
        }
        Self {
            lab,
            names,
            now_ns: 0,
            done: VecDeque::new(),
            broken: false,
            next_cookie: 0,
        }
    }

    /// Calls the model; after a fault in it, nothing that the lab says could be trusted.
    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut spindle_disk::Lab) -> Result<T, Error>,
    ) -> PyResult<T> {
        if self.broken {
            return Err(refused(
                "a fault of the model ended this lab; open another one",
            ));
        }
        self.broken = true;
        let done = call(&mut self.lab);
        self.broken = false;
        while let Some(c) = self.lab.completion() {
            self.done.push_back(Completion {
                cookie: c.cookie,
                unit: self.names[c.unit as usize].clone(),
                status: c.status,
                acknowledged_ns: c.acknowledged_ns,
                ordinal: c.ordinal,
            });
        }
        done.map_err(raised)
    }

    /// The number of the unit called `name`; without it, of the only one.
    fn number(&self, name: Option<&str>) -> PyResult<u32> {
        match name {
            Some(name) => self.lab.unit(name).map_err(raised),
            None if self.names.len() == 1 => Ok(0),
            None => Err(refused(format!(
                "the lab has several units; name one: {}",
                self.names.join(", ")
            ))),
        }
    }

    /// When a call happens: at `at_ns`, or now.
    fn time(&self, what: &str, at_ns: Option<i64>) -> PyResult<i64> {
        let at_ns = at_ns.unwrap_or(self.now_ns);
        if (self.now_ns..=TIME_MAX_NS).contains(&at_ns) {
            return Ok(at_ns);
        }
        Err(refused(format!(
            "{what}: time {at_ns} ns lies before the lab's {} ns or after its end {TIME_MAX_NS} ns",
            self.now_ns
        )))
    }

    fn advance_to(&mut self, to_ns: i64) -> PyResult<()> {
        let to_ns = self.time("advance", Some(to_ns))?;
        self.call(|lab| {
            lab.advance(to_ns);
            Ok(())
        })?;
        self.now_ns = to_ns;
        Ok(())
    }

    fn read_trace(&mut self) -> String {
        let (mut text, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            match self.lab.trace_read(&mut buffer) {
                // The model writes ASCII alone, but a unit's name may be anything.
                0 => return String::from_utf8_lossy(&text).into_owned(),
                len => text.extend_from_slice(&buffer[..len]),
            }
        }
    }
}

#[pymethods]
impl Lab {
    #[staticmethod]
    #[pyo3(signature = (path, *, trace = true))]
    fn of_topology(path: PathBuf, trace: bool) -> PyResult<Self> {
        let topology = Topology::load(&path).map_err(raised)?;
        Ok(Self::of(topology, trace))
    }

    #[staticmethod]
    #[pyo3(signature = (text, *, trace = true))]
    fn of_toml(text: &str, trace: bool) -> PyResult<Self> {
        let topology = Topology::from_text("topology", text).map_err(raised)?;
        Ok(Self::of(topology, trace))
    }

    #[staticmethod]
    #[pyo3(signature = (drive, bus, *, max_tags = None, queue = None, write_cache = None,
                        catalogue = None, trace = true))]
    #[allow(clippy::too_many_arguments)] // In Python they are keywords.
    fn of_drive(
        py: Python<'_>,
        drive: &str,
        bus: &str,
        max_tags: Option<u32>,
        queue: Option<&str>,
        write_cache: Option<bool>,
        catalogue: Option<PathBuf>,
        trace: bool,
    ) -> PyResult<Self> {
        let catalogue = place::catalogue(py, catalogue)?;
        let topology = one_drive::topology(&catalogue, drive, bus, max_tags).map_err(raised)?;
        let mut lab = Self::of(topology, trace);
        let write_cache = write_cache.map(|on| if on { "on" } else { "off" });
        for (key, value) in [("queue", queue), ("write-cache", write_cache)] {
            if let Some(value) = value {
                lab.set(key, value, None)?;
            }
        }
        Ok(lab)
    }

    #[getter]
    fn units(&self) -> Vec<Unit> {
        let unit = |(number, name): (u32, &String)| Unit {
            name: name.clone(),
            sectors: self.lab.sectors(number),
            max_tags: self.lab.max_tags(number),
        };
        (0..).zip(&self.names).map(unit).collect()
    }

    #[getter]
    fn now_ns(&self) -> i64 {
        self.now_ns
    }

    #[getter]
    fn next_event_ns(&self) -> Option<i64> {
        Some(self.lab.next_event_ns()).filter(|ns| *ns != NEVER)
    }

    #[getter]
    fn outstanding(&self) -> u64 {
        self.lab.outstanding()
    }

    #[getter]
    fn idle(&self) -> bool {
        self.lab.idle()
    }

    #[pyo3(signature = (key, value, *, unit = None))]
    fn set(&mut self, key: &str, value: &str, unit: Option<&str>) -> PyResult<()> {
        let number = self.number(unit)?;
        self.call(|lab| lab.set(number, key, value))
    }

    #[pyo3(signature = (label = "cell", *, seed = 0, at_ns = None))]
    fn reset(&mut self, label: &str, seed: u64, at_ns: Option<i64>) -> PyResult<i64> {
        let at_ns = self.time("reset", at_ns)?;
        let delay_ns = self.call(|lab| lab.reset(at_ns, label, seed))?;
        self.now_ns = at_ns;
        Ok(delay_ns)
    }

    #[pyo3(signature = (op, lbn, sectors, *, unit = None, at_ns = None, cookie = None,
                        ordered = false))]
    #[allow(clippy::too_many_arguments)] // In Python they are keywords.
    fn submit(
        &mut self,
        op: &str,
        lbn: u64,
        sectors: u64,
        unit: Option<&str>,
        at_ns: Option<i64>,
        cookie: Option<u64>,
        ordered: bool,
    ) -> PyResult<u64> {
        let at_ns = at_ns.unwrap_or(self.now_ns);
        let unit = self.number(unit)?;
        let op = Op::from_letter(op).ok_or_else(|| refused(arrays::no_op(op)))?;
        let tag = if ordered { Tag::Ordered } else { Tag::Simple };
        let cookie = cookie.unwrap_or(self.next_cookie);
        self.call(|lab| lab.submit_tagged(at_ns, unit, op, lbn, sectors, cookie, tag))?;
        self.next_cookie = cookie.wrapping_add(1);
        self.now_ns = at_ns;
        Ok(cookie)
    }

    fn advance(&mut self, to_ns: i64) -> PyResult<()> {
        self.advance_to(to_ns)
    }

    fn completions(&mut self) -> Vec<Completion> {
        self.done.drain(..).collect()
    }

    fn finish(&mut self) -> PyResult<Vec<Completion>> {
        while let Some(next_ns) = self.next_event_ns() {
            self.advance_to(next_ns)?;
        }
        Ok(self.completions())
    }

    #[pyo3(signature = (*, at_ns = None))]
    fn cut_power(&mut self, at_ns: Option<i64>) -> PyResult<Vec<Lost>> {
        let at_ns = self.time("power cut", at_ns)?;
        let lost = self.call(|lab| lab.cut_power(at_ns))?;
        self.now_ns = at_ns;
        let part = |lost: spindle_disk::Lost| Lost {
            ordinal: lost.ordinal,
            unit: self.names[lost.unit as usize].clone(),
            lbn: lost.lbn,
            sectors: lost.sectors,
        };
        Ok(lost.into_iter().map(part).collect())
    }

    #[pyo3(signature = (words, *, at_ns = None))]
    fn mark(&mut self, words: &str, at_ns: Option<i64>) -> PyResult<()> {
        let at_ns = self.time("mark", at_ns)?;
        self.call(|lab| lab.mark(at_ns, words))?;
        self.now_ns = at_ns;
        Ok(())
    }

    fn trace(&mut self) -> String {
        self.read_trace()
    }

    #[allow(clippy::too_many_arguments)] // Only the package's replay() calls it.
    fn _replay<'py>(
        &mut self,
        py: Python<'py>,
        unit: Option<&str>,
        arrival_ns: Option<PyReadonlyArray1<'py, i64>>,
        op: PyReadonlyArray1<'py, u8>,
        lbn: PyReadonlyArray1<'py, i64>,
        sectors: PyReadonlyArray1<'py, i64>,
        ordered: Option<PyReadonlyArray1<'py, bool>>,
        plan: (Option<usize>, i64, Option<i64>, Option<u64>),
    ) -> PyResult<Replayed<'py>> {
        let unit = self.number(unit)?;
        let columns = Columns {
            arrival_ns,
            op,
            lbn,
            sectors,
            ordered,
        };
        let requests = columns.requests()?;
        let (depth, think_ns, power_cut_ns, seed) = plan;
        let plan = Plan {
            depth,
            think_ns,
            power_cut_ns,
            seed,
        };
        if !self.done.is_empty() {
            return Err(refused(
                "replay: completions of earlier commands wait; take them with completions() first",
            ));
        }
        let (mut trace, mut now_ns) = (Vec::new(), self.now_ns);
        // Other threads of Python go on meanwhile.
        let outcome = py.detach(|| {
            self.call(|lab| {
                let mut write = |bytes: &[u8]| {
                    trace.extend_from_slice(bytes);
                    Ok(())
                };
                let ends = Ends {
                    place: &arrays::row,
                    trace: Some(&mut write),
                };
                run::run(lab, &mut now_ns, unit, &requests, &plan, ends)
            })
        });
        self.now_ns = now_ns;
        let outcome = outcome?;
        let summary = serde_json::to_string(&Summary::new(&requests, &outcome))
            .map_err(|error| refused(error.to_string()))?;
        let column = |value: fn(&Times) -> i64| {
            let values: Vec<i64> = outcome.times.iter().map(value).collect();
            values.into_pyarray(py)
        };
        Ok((
            summary,
            column(|t| t.arrival_ns),
            column(|t| t.acknowledged_ns().unwrap_or(-1)),
            column(|t| t.lost_sectors as i64),
            String::from_utf8_lossy(&trace).into_owned(),
        ))
    }

    fn __repr__(&self) -> String {
        format!("Lab({}, now_ns={})", self.names.join(", "), self.now_ns)
    }
}
