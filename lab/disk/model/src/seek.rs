// SPDX-License-Identifier: MIT
//! Seek time by distance, as an integer table made once when the drive is loaded.

use serde::Deserialize;

/// A seek curve as it stands in the catalogue.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SeekSpec {
    /// `[a, b, c]` in ns: t(d) = a + b*sqrt(d) + c*d for a distance of d cylinders, d >= 1.
    CurveNs([u64; 3]),
    /// `[distance, ns]` points in rising distance, straight lines between them, the first
    /// one at distance 1; past the last point the last line goes on.
    TableNs(Vec<[u64; 2]>),
}

/// Seek time in ns for every distance that the drive has.
#[derive(Debug, Clone)]
pub struct SeekTable {
    ns: Vec<u32>,
}

impl SeekTable {
    /// Tabulates `spec` for a drive of `cylinders` cylinders.
    ///
    /// # Errors
    /// What is wrong with the curve: it falls, is empty, or reaches a time of over 4 s.
    pub fn new(spec: &SeekSpec, cylinders: u32) -> Result<Self, String> {
        let last = u64::from(cylinders - 1);
        let mut ns = Vec::with_capacity(cylinders as usize);
        ns.push(0);
        if let SeekSpec::TableNs(points) = spec {
            check_points(points)?;
        }
        for distance in 1..=last {
            let time = match spec {
                SeekSpec::CurveNs([a, b, c]) => curve(*a, *b, *c, distance),
                SeekSpec::TableNs(points) => interpolate(points, distance),
            };
            let time = time
                .and_then(|t| u32::try_from(t).ok())
                .ok_or_else(|| format!("over 4 s at distance {distance}; times are in ns"))?;
            ns.push(time);
        }
        Ok(Self { ns })
    }

    /// Seek time over `distance` cylinders in ns; 0 for no distance.
    #[inline]
    pub fn ns(&self, distance: u32) -> u32 {
        self.ns[distance as usize]
    }

    /// Heap bytes of the table.
    pub fn bytes(&self) -> usize {
        self.ns.len() * std::mem::size_of::<u32>()
    }

    /// Seek time over the whole drive in ns.
    pub fn full_ns(&self) -> u32 {
        self.ns[self.ns.len() - 1]
    }

    /// Mean over start and target cylinders drawn uniformly and independently, in ns.
    /// Distance d > 0 has the probability 2(N-d)/N^2.
    pub fn mean_ns(&self) -> u64 {
        let n = self.ns.len() as u128;
        let sum: u128 = self
            .ns
            .iter()
            .enumerate()
            .map(|(d, &t)| 2 * (n - d as u128) * u128::from(t))
            .sum();
        (sum / (n * n)) as u64
    }
}

fn check_points(points: &[[u64; 2]]) -> Result<(), String> {
    match points.first() {
        Some([1, _]) => {}
        _ => return Err("the first point must be at distance 1".into()),
    }
    for pair in points.windows(2) {
        if pair[1][0] <= pair[0][0] {
            return Err(format!("distance {} does not rise", pair[1][0]));
        }
        if pair[1][1] < pair[0][1] {
            return Err(format!(
                "the curve falls between distance {} and {}; smooth the measured points",
                pair[0][0], pair[1][0]
            ));
        }
    }
    Ok(())
}

fn curve(a: u64, b: u64, c: u64, distance: u64) -> Option<u64> {
    // b*sqrt(d) = sqrt(b*b*d), which an integer square root gives to the nanosecond.
    let root = b.checked_mul(b)?.checked_mul(distance)?.isqrt();
    a.checked_add(root)?.checked_add(c.checked_mul(distance)?)
}

fn interpolate(points: &[[u64; 2]], distance: u64) -> Option<u64> {
    let next = points.partition_point(|p| p[0] < distance);
    if let Some(p) = points.get(next) {
        if p[0] == distance || next == 0 {
            return Some(p[1]);
        }
    }
    if points.len() == 1 {
        return Some(points[0][1]);
    }
    let upper = next.min(points.len() - 1);
    let ([d0, t0], [d1, t1]) = (points[upper - 1], points[upper]);
    t0.checked_add((t1 - t0).checked_mul(distance - d0)? / (d1 - d0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seek_curve_by_hand() {
        let table = SeekTable::new(&SeekSpec::CurveNs([1000, 100, 7]), 101).unwrap();
        assert_eq!(table.ns(0), 0);
        assert_eq!(table.ns(1), 1000 + 100 + 7);
        assert_eq!(table.ns(4), 1000 + 200 + 28);
        assert_eq!(table.ns(2), 1000 + 141 + 14);
        assert_eq!(table.full_ns(), 1000 + 1000 + 700);
    }

    #[test]
    fn seek_table_interpolates_and_extends() {
        let spec = SeekSpec::TableNs(vec![[1, 100], [5, 180], [7, 200]]);
        let table = SeekTable::new(&spec, 12).unwrap();
        assert_eq!(table.ns(1), 100);
        assert_eq!(table.ns(3), 140);
        assert_eq!(table.ns(5), 180);
        assert_eq!(table.ns(6), 190);
        assert_eq!(table.ns(11), 240);
    }

    #[test]
    fn seek_table_refuses_falling_points() {
        let spec = SeekSpec::TableNs(vec![[1, 100], [5, 90]]);
        let message = SeekTable::new(&spec, 12).unwrap_err();
        assert!(
            message.contains("falls between distance 1 and 5"),
            "{message}"
        );
    }

    #[test]
    fn seek_mean_of_three_cylinders() {
        // Nine pairs: distance 0 three times, 1 four times, 2 twice.
        let spec = SeekSpec::TableNs(vec![[1, 90], [2, 180]]);
        assert_eq!(
            SeekTable::new(&spec, 3).unwrap().mean_ns(),
            (4 * 90 + 2 * 180) / 9
        );
    }
}
