// SPDX-License-Identifier: MIT
//! The marker, which begins a cell: drives in a stated state, and comments in the trace.

use super::{Lab, Unit};
use crate::array::Array;
use crate::error::Error;
use crate::event::Event;
use crate::rng::SplitMix64;
use crate::time::NEVER;

impl Lab {
    /// The marker: puts every drive into a stated state (arm at cylinder 0 and head 0, caches
    /// empty, spindle phase drawn from `seed`) and returns a start delay of up to one revolution
    /// of the slowest drive, drawn first.
    ///
    /// # Errors
    /// The lab is not idle, or the label would break a trace line.
    pub fn reset(&mut self, now_ns: i64, label: &str, seed: u64) -> Result<i64, Error> {
        if label.is_empty() || label.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(Error::Call(format!(
                "reset: label {label:?} must be one word"
            )));
        }
        self.check_time("reset", now_ns)?;
        self.advance(now_ns);
        if !self.idle() {
            return Err(Error::Call(format!(
                "reset to \"{label}\": the lab is not idle ({} commands outstanding); wait until \
                 it is",
                self.shared.outstanding
            )));
        }
        self.stop_background();
        let mut rng = SplitMix64::new(seed);
        let drives = || {
            self.units.iter().filter_map(|u| match u {
                Unit::Drive(d) => Some(d),
                Unit::Null { .. } => None,
            })
        };
        let longest_ps = drives().map(|d| d.model().geometry.revolution_ps).max();
        let start_delay_ns = longest_ps.map_or(0, |ps| rng.below((ps / 1000) as u64) as i64);
        let now_ps = now_ns * 1000;
        for unit in &mut self.units {
            if let Unit::Drive(drive) = unit {
                let phase = rng.below(drive.model().geometry.revolution_ps as u64) as i64;
                drive.reset(now_ps, phase);
            }
        }
        self.shared.host_free_ps = now_ps;
        self.faults.start(now_ps, label);
        let arrays = self.arrays.iter_mut();
        arrays.for_each(|array| array.reset(&mut self.shared));
        self.shared.trace.settle(NEVER);
        self.shared.trace.comment(&format!(
            "# cell {label} seed {seed} now_ns {now_ns} start_delay_ns {start_delay_ns}"
        ));
        Ok(start_delay_ns)
    }

    /// Writes the comment `# words now_ns ...` into the trace, behind the requests acknowledged
    /// up to then.
    ///
    /// # Errors
    /// Words that are not one line of printable ASCII, or a time before one already seen.
    pub fn mark(&mut self, now_ns: i64, words: &str) -> Result<(), Error> {
        let printable = |c: char| c == ' ' || c.is_ascii_graphic();
        if words.trim().is_empty() || !words.chars().all(printable) {
            return Err(Error::Call(format!(
                "mark: {words:?} must be one line of printable ASCII"
            )));
        }
        self.check_time("mark", now_ns)?;
        self.advance(now_ns);
        self.shared
            .trace
            .mark(now_ns, &format!("{words} now_ns {now_ns}"));
        Ok(())
    }

    /// Takes the commands of rebuilds back: a marker leaves no drive at work.
    fn stop_background(&mut self) {
        for unit in 0..self.units.len() {
            let array = self.shared.array_of[unit].map(|a| &self.arrays[a]);
            if !array.is_some_and(Array::background) {
                continue;
            }
            if let Unit::Drive(drive) = &mut self.units[unit] {
                drive.stop();
                self.shared.forget(unit as u32, drive.bus());
                self.shared.trace.abandon(unit as u32);
                if let Some(refused) = &mut self.faults.failed[unit] {
                    refused.clear();
                    let refusal = Event::Refused { unit: unit as u32 };
                    self.shared.drop_events(refusal);
                }
            }
        }
        self.shared.member_done.clear();
    }
}
