// SPDX-License-Identifier: MIT
//! How far the model is from a measured drive: replay of a measured trace, and the rms demerit.

use crate::one_drive;
use crate::requests::Measured;
use spindle_disk::catalogue::{BusFile, DriveModel, Entry, Mark, Note};
use spindle_disk::Error;
use spindle_disk::{Lab, NEVER};

/// What a replay came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// Number of requests.
    pub requests: usize,
    /// Root mean square distance of the two distributions of service times, in ms (C. Ruemmler,
    /// J. Wilkes, An introduction to disk drive modeling, 1994).
    pub rms_demerit_ms: f64,
    /// The same over the mean measured service time.
    pub rms_demerit_relative: f64,
    /// Mean of modelled minus measured service time, in ms.
    pub mean_error_ms: f64,
}

/// Compares modelled with measured service times, both in ns and of the same length.
pub fn report(modelled: &[i64], measured: &[i64]) -> Report {
    assert!(!modelled.is_empty() && modelled.len() == measured.len());
    let sorted = |times: &[i64]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        times
    };
    let n = modelled.len() as f64;
    let pairs = sorted(modelled).into_iter().zip(sorted(measured));
    // Squares of ns fit i128 whatever the times; their sum is exact.
    let squares: i128 = pairs.map(|(a, b)| i128::from(a - b).pow(2)).sum();
    let sum = |times: &[i64]| times.iter().map(|&t| i128::from(t)).sum::<i128>() as f64;
    let rms_ns = (squares as f64 / n).sqrt();
    Report {
        requests: modelled.len(),
        rms_demerit_ms: rms_ns / 1e6,
        rms_demerit_relative: rms_ns / (sum(measured) / n),
        mean_error_ms: (sum(modelled) - sum(measured)) / n / 1e6,
    }
}

/// A lab of one drive on a bus that costs nothing: what a drive's own figures say.
pub fn bare_lab(model: DriveModel) -> Lab {
    fn entry<T>(value: T) -> Entry<T> {
        Entry {
            value,
            mark: Mark::Assumed,
            source: "a bus without any time of its own".into(),
        }
    }
    let bus = BusFile {
        name: Note {
            value: "bare".into(),
            mark: Mark::Assumed,
            source: String::new(),
        },
        kind: entry(model.file.bus_kind.value),
        rate_mb_s: entry(1_000_000),
        write_rate_mb_s: None,
        command_ns: entry(0),
        reconnect_ns: entry(0),
        status_ns: entry(0),
    };
    Lab::new(one_drive::of(model, bus, 1))
}

/// Replays a measured trace, one request outstanding, and returns the modelled service times in
/// ns, in order.
///
/// # Errors
/// A request outside the drive.
pub fn replay(lab: &mut Lab, requests: &[Measured]) -> Result<Vec<i64>, Error> {
    lab.trace_off();
    let mut now_ns = 0;
    let mut times = Vec::with_capacity(requests.len());
    for (i, request) in requests.iter().enumerate() {
        lab.submit(
            now_ns,
            0,
            request.op,
            request.lbn,
            request.sectors,
            i as u64,
        )?;
        let done_ns = loop {
            if let Some(done) = lab.completion() {
                break done.acknowledged_ns;
            }
            let next = lab.next_event_ns();
            if next == NEVER {
                return Err(Error::Call(format!("request {i} never completes")));
            }
            lab.advance(next);
        };
        times.push(done_ns - now_ns);
        now_ns = done_ns + request.think_ns;
    }
    Ok(times)
}
