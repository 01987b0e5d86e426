// SPDX-License-Identifier: MIT
//! How far the model is from a measured drive: replay of a measured trace, and the rms demerit.

use crate::catalogue::{BusFile, BusKind, DriveModel, Entry, Mark};
use crate::error::Error;
use crate::lab::{Lab, Op, NEVER};
use crate::topology::{Topology, UnitKind, UnitSpec};

/// A request with the service time of the real drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Read or write.
    pub op: Op,
    /// First sector.
    pub lbn: u64,
    /// Sectors.
    pub sectors: u64,
    /// Service time of the real drive in ns.
    pub service_ns: i64,
    /// From its completion to the next request, in ns.
    pub think_ns: i64,
}

/// Reads a measured trace: `R|W action LBN blocks service_us think_us` on each line, one request
/// outstanding at a time; the action is the tracer's note and no input.
///
/// # Errors
/// A line of another form, with its number.
pub fn measured(path: &str, text: &str) -> Result<Vec<Measured>, Error> {
    let mut requests = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = |message: &str| {
            let expected = "expected R|W action LBN sectors service_us think_us";
            Err(Error::file(
                format!("{path}:{}", i + 1),
                format!("{message}; {expected}"),
            ))
        };
        let [op, _, lbn, sectors, service, think] = words[..] else {
            if words.is_empty() {
                continue;
            }
            return wrong("not 6 words");
        };
        let op = match op {
            "R" => Op::Read,
            "W" => Op::Write,
            _ => return wrong("neither R nor W"),
        };
        let (Ok(lbn), Ok(sectors)) = (lbn.parse(), sectors.parse()) else {
            return wrong("LBN or sectors is not a whole number");
        };
        let (Some(service_ns), Some(think_ns)) = (us_to_ns(service), us_to_ns(think)) else {
            return wrong("a time is not a number of us");
        };
        requests.push(Measured {
            op,
            lbn,
            sectors,
            service_ns,
            think_ns,
        });
    }
    if requests.is_empty() {
        return Err(Error::file(path, "holds no request"));
    }
    Ok(requests)
}

/// Decimal microseconds as ns, digits past the ns cut off: no rounding by a float.
fn us_to_ns(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|b| b.is_ascii_digit()) || !whole.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut ns: i64 = whole.parse().ok()?;
    for i in 0..3 {
        let digit = fraction
            .as_bytes()
            .get(i)
            .map_or(0, |b| i64::from(b - b'0'));
        ns = ns.checked_mul(10)?.checked_add(digit)?;
    }
    Some(ns)
}

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
    let kind = match model.file.bus_kind.value {
        BusKind::Ipi => BusKind::Ipi,
        // With one command at a time, an ATA bus is like any other.
        BusKind::Ata | BusKind::Scsi => model.file.bus_kind.value,
    };
    let bus = BusFile {
        name: entry("bare".into()),
        kind: entry(kind),
        rate_mb_s: entry(1_000_000),
        command_ns: entry(0),
        reconnect_ns: entry(0),
        status_ns: entry(0),
    };
    let (queue, write_cache) = (model.file.queue.value, model.file.write_cache.value);
    Lab::new(Topology {
        buses: vec![bus],
        units: vec![UnitSpec {
            name: "drive".into(),
            max_tags: 1,
            kind: UnitKind::Drive {
                model: Box::new(model),
                bus: 0,
                queue,
                write_cache,
            },
        }],
        host_bus_mb_s: None,
    })
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
