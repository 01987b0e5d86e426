// SPDX-License-Identifier: MIT
//! What a replay is summed up to: the figures that `spindle-disk replay` prints.

use serde::Serialize;
use spindle_disk::{Op, NEVER};

use crate::requests::Request;
use crate::run::{Outcome, Times};

/// The figures of a replay; `docs/model.md` says what each is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)] // The names say it, with that page.
pub struct Summary {
    pub requests: usize,
    pub acknowledged: usize,
    pub lost_writes: usize,
    pub lost_sectors: u64,
    pub bytes: u64,
    pub elapsed_ns: i64,
    pub rate_mb_s: f64,
    pub response_ns_mean: i64,
    pub response_ns_p50: i64,
    pub response_ns_p95: i64,
    pub response_ns_p99: i64,
    pub response_ns_max: i64,
}

impl Summary {
    /// Sums up what came of these requests.
    pub fn new(requests: &[Request], outcome: &Outcome) -> Self {
        let (times, start_ns) = (&outcome.times, outcome.start_ns);
        let bytes: u64 = requests
            .iter()
            .zip(times)
            .filter(|(r, t)| r.op != Op::Flush && t.done_ns != NEVER)
            .map(|(r, _)| r.sectors * 512)
            .fold(0, u64::saturating_add);
        let last_ns = times.iter().filter_map(Times::acknowledged_ns).max();
        let elapsed_ns = (last_ns.unwrap_or(start_ns) - start_ns).max(1);
        let responses = Responses::new(times);
        let lost: u64 = times.iter().map(|t| t.lost_sectors).sum();
        Self {
            requests: requests.len(),
            acknowledged: responses.0.len(),
            lost_writes: times.iter().filter(|t| t.lost_sectors > 0).count(),
            lost_sectors: lost,
            bytes,
            elapsed_ns,
            rate_mb_s: (bytes as f64 * 1e3 / elapsed_ns as f64 * 1e3).round() / 1e3,
            response_ns_mean: responses.mean(),
            response_ns_p50: responses.percentile(50),
            response_ns_p95: responses.percentile(95),
            response_ns_p99: responses.percentile(99),
            response_ns_max: responses.percentile(100),
        }
    }
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
