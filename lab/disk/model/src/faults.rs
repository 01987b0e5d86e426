// SPDX-License-Identifier: MIT
//! When drives fail, and the commands that failed ones refuse.

use std::collections::VecDeque;

use crate::command::Request;
use crate::time::TIME_MAX_NS;
use crate::topology::Fault;

/// A command that a failed drive refuses.
#[derive(Debug)]
pub(crate) struct Refused {
    pub request: Request,
    pub arrival_ns: i64,
    pub depth: u32,
}

/// When drives fail, and those that have.
#[derive(Debug)]
pub(crate) struct Faults {
    /// As the topology has them; taken at their markers.
    given: Vec<Fault>,
    /// Time in ps and unit, the next one last.
    pub waiting: Vec<(i64, u32)>,
    /// By unit: whether it has failed, and the commands that it is about to refuse.
    pub failed: Vec<Option<VecDeque<Refused>>>,
}

impl Faults {
    pub fn new(given: Vec<Fault>, units: usize) -> Self {
        Self {
            given,
            waiting: Vec::new(),
            failed: (0..units).map(|_| None).collect(),
        }
    }

    /// A marker: the clock of the faults starts that count from it.
    pub fn start(&mut self, now_ps: i64, label: &str) {
        let counts = |f: &Fault| f.marker.as_ref().is_none_or(|marker| marker == label);
        let (begun, kept): (Vec<_>, Vec<_>) = self.given.drain(..).partition(counts);
        self.given = kept;
        let time = |f: &Fault| (now_ps + f.after_marker_ns.min(TIME_MAX_NS) * 1000, f.unit);
        self.waiting.extend(begun.iter().map(time));
        self.waiting.sort_unstable_by(|one, other| other.cmp(one));
    }

    pub fn next_ps(&self) -> i64 {
        self.waiting.last().map_or(i64::MAX, |(at, _)| *at)
    }
}
