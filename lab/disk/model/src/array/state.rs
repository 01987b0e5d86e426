// SPDX-License-Identifier: MIT
//! What the controller knows of its array's health, and the trace comments that say it.

use super::layout::Level;
use super::Array;
use crate::shared::Shared;
use crate::time::to_ns;

/// How an array is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Every place has all that it should hold.
    Whole,
    /// Something is missing, and a spare is being written.
    Rebuilding,
    /// Something is missing that the others can stand for.
    Degraded,
    /// Data is missing that no other member has.
    Lost,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Rebuilding => "rebuilding",
            Self::Degraded => "degraded",
            Self::Lost => "lost",
        }
    }
}

impl Array {
    /// The device has failed.
    pub(super) fn say_failed(&self, device: usize, shared: &mut Shared) {
        self.say("failed", device, shared);
    }

    /// The device, a spare, begins to be written.
    pub(super) fn say_began(&self, device: usize, shared: &mut Shared) {
        self.say("began", device, shared);
    }

    /// The device, a spare, has all that its place should hold.
    pub(super) fn say_filled(&self, device: usize, shared: &mut Shared) {
        self.say("filled", device, shared);
    }

    fn say(&self, event: &str, device: usize, shared: &mut Shared) {
        let now_ns = to_ns(shared.now_ps);
        let (array, state) = (shared.trace.name(self.unit), self.state().name());
        let member = shared.trace.name(self.devices[device].unit);
        let words = format!("array {array} now_ns {now_ns} {event} {member} state {state}");
        shared.trace.mark(now_ns, &words);
    }

    fn state(&self) -> State {
        // Places are filled from row 0 up, so that the last row lacks what any row lacks.
        let last = self.layout.rows() - 1;
        let places = 0..self.roles.len() as u32;
        let missing: Vec<u32> = places.filter(|m| self.device(*m, last).is_none()).collect();
        let lost = match self.layout.level() {
            Level::Raid0 => !missing.is_empty(),
            Level::Raid1 => missing.len() == self.roles.len(),
            Level::Raid10 => missing.iter().any(|m| missing.contains(&(m ^ 1))),
            Level::Raid5 => missing.len() > 1,
        };
        match (missing.is_empty(), lost, &self.rebuild) {
            (true, ..) => State::Whole,
            (_, true, _) => State::Lost,
            (.., Some(rebuild)) if rebuild.row <= last => State::Rebuilding,
            _ => State::Degraded,
        }
    }
}
