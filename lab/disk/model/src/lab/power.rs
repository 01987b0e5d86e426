// SPDX-License-Identifier: MIT
//! Power cuts: what is not on the media, and what a cut takes of it.

use super::{Lab, Unit};
use crate::command::Lost;
use crate::error::Error;

impl Lab {
    /// Cuts the power of all drives at `now_ns` and returns what that takes of acknowledged writes,
    /// newest first: data in a volatile buffer that has not reached the medium. What a flush or a
    /// write with FUA covered is never among it. Commands that are outstanding never complete; of
    /// their writes, nothing counts as written. Nothing can be submitted afterwards.
    ///
    /// # Errors
    /// A time before one already seen.
    pub fn cut_power(&mut self, now_ns: i64) -> Result<Vec<Lost>, Error> {
        self.check_time("power cut", now_ns)?;
        self.advance(now_ns);
        let mut lost = Vec::new();
        for unit in &mut self.units {
            if let Unit::Drive(drive) = unit {
                drive.cut_power(self.shared.now_ps, &mut lost);
            }
        }
        // What a member has lost is for its array to say.
        let units = &self.units;
        lost.retain(|l| self.shared.array_of[l.unit as usize].is_none());
        for array in &self.arrays {
            array.cut_power(|unit| volatile(units, unit), &mut lost);
        }
        lost.sort_unstable_by(|a, b| b.cmp(a));
        self.dead = true;
        self.shared.events.clear();
        (self.shared.outstanding, self.null_outstanding) = (0, 0);
        self.shared.trace.settle_all();
        let mut writes: Vec<u64> = lost.iter().map(|l| l.ordinal).collect();
        writes.dedup();
        self.shared.trace.comment(&format!(
            "# power cut now_ns {now_ns} lost_writes {} lost_sectors {}",
            writes.len(),
            lost.iter().map(|l| l.sectors).sum::<u64>()
        ));
        Ok(lost)
    }

    /// Number of the oldest completed write of which something is not on the medium; what was
    /// completed before it is safe from a power cut.
    pub fn oldest_volatile(&self) -> Option<u64> {
        let alone = |unit: &u32| self.shared.array_of[*unit as usize].is_none();
        let units = (0..self.units.len() as u32).filter(alone);
        let drives = units.filter_map(|unit| volatile(&self.units, unit));
        let arrays = self.arrays.iter();
        let arrays = arrays.filter_map(|a| a.oldest_volatile(|unit| volatile(&self.units, unit)));
        drives.chain(arrays).min()
    }
}

/// The number of a drive's oldest acknowledged write that is not all on the medium.
pub(super) fn volatile(units: &[Unit], unit: u32) -> Option<u64> {
    match &units[unit as usize] {
        Unit::Drive(drive) => drive.oldest_volatile(),
        Unit::Null { .. } => None,
    }
}
