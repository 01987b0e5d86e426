// SPDX-License-Identifier: MIT
//! What a power cut takes from the drive.

use super::arm::Job;
use super::Drive;
use crate::command::Lost;

impl Drive {
    /// The number of the oldest acknowledged write that is not all on the medium.
    pub fn oldest_volatile(&self) -> Option<u64> {
        let open = self.open_writes.iter();
        open.filter_map(|w| w.line.map(|(_, ordinal)| ordinal))
            .min()
    }

    /// What a power cut takes: of every acknowledged write the sectors that are not on the medium.
    /// The drive is dead afterwards.
    pub fn cut_power(&mut self, now_ps: i64, lost: &mut Vec<Lost>) {
        // Sectors of the piece under the head that have passed are written.
        let written = match (self.job, &self.writing) {
            (Some(Job::Write { .. }), Some((start, end))) => {
                let mut head = *start;
                self.mechanics.pass_until(&mut head, now_ps, *end);
                start.lbn..head.lbn
            }
            _ => 0..0,
        };
        let unit = self.unit;
        for segment in &self.write_segments {
            for piece in segment.pieces.iter().chain(&segment.overwrites) {
                let open = self.open_writes.iter().find(|w| w.serial == piece.serial);
                let Some((_, ordinal)) = open.and_then(|w| w.line) else {
                    continue;
                };
                let mut part = |lbn: u64, end: u64| {
                    if lbn < end {
                        lost.push(Lost {
                            ordinal,
                            unit,
                            lbn,
                            sectors: end - lbn,
                        });
                    }
                };
                part(piece.lbn, piece.end.min(written.start.max(piece.lbn)));
                part(piece.lbn.max(written.end), piece.end);
            }
        }
    }
}
