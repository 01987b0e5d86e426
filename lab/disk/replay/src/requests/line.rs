// SPDX-License-Identifier: MIT
//! One line of a request list: its place for messages, and the numbers in it.

use std::fmt::Display;

use spindle_disk::geometry::SECTOR_BYTES;
use spindle_disk::Error;
use spindle_disk::{Op, TIME_MAX_NS};

/// No list reaches beyond 2^63 bytes: sums of sectors and bytes cannot overflow.
const SECTORS_END: u64 = (1 << 63) / SECTOR_BYTES;

/// Where a line stands and what it should be.
pub(super) struct Line<'a> {
    pub path: &'a str,
    pub number: usize,
    pub expected: &'static str,
}

impl Line<'_> {
    /// An error at this line.
    pub fn wrong(&self, message: impl Display) -> Error {
        Error::file(
            format!("{}:{}", self.path, self.number),
            format!("{message}; expected {}", self.expected),
        )
    }

    /// A whole number called `name`.
    pub fn whole(&self, name: &str, word: &str) -> Result<u64, Error> {
        whole(word).map_err(|why| self.wrong(format!("{name} {} {why}", quoted(word))))
    }

    /// A decimal number of units of 10^`digits` ns, in ns.
    pub fn time_ns(&self, name: &str, word: &str, digits: usize) -> Result<i64, Error> {
        let wrong = |why: &str| self.wrong(format!("{name} {} {why}", quoted(word)));
        let ns = scaled(word, digits).map_err(wrong)?;
        i64::try_from(ns)
            .ok()
            .filter(|ns| *ns <= TIME_MAX_NS)
            .ok_or_else(|| wrong("lies after the end of simulated time, about 96 days"))
    }

    /// A range of sectors; only a flush may be empty.
    pub fn sectors(&self, op: Op, lbn: u64, sectors: u64) -> Result<(u64, u64), Error> {
        if sectors == 0 && op != Op::Flush {
            return Err(self.wrong("a read or write of no sectors"));
        }
        match lbn.checked_add(sectors) {
            Some(end) if end <= SECTORS_END => Ok((lbn, sectors)),
            _ => Err(self.wrong(format!(
                "{sectors} sectors at {lbn} are out of range: they end beyond 2^63 bytes"
            ))),
        }
    }

    /// A range of bytes, in sectors.
    pub fn bytes(&self, op: Op, offset: u64, length: u64) -> Result<(u64, u64), Error> {
        for (name, value) in [("offset", offset), ("length", length)] {
            if value % SECTOR_BYTES != 0 {
                return Err(self.wrong(format!(
                    "{name} of {value} bytes is not divisible by the {SECTOR_BYTES} of a sector"
                )));
            }
        }
        self.sectors(op, offset / SECTOR_BYTES, length / SECTOR_BYTES)
    }
}

/// A word as it is shown in messages: escaped, and not endless.
pub(super) fn quoted(word: &str) -> String {
    let mut shown: String = word.chars().take(60).collect();
    if shown.len() < word.len() {
        shown.push_str("...");
    }
    format!("{shown:?}")
}

/// A number of decimal digits alone.
pub(super) fn whole(word: &str) -> Result<u64, &'static str> {
    if word.is_empty() || !word.bytes().all(|b| b.is_ascii_digit()) {
        return Err("is not a whole number");
    }
    word.parse().map_err(|_| "is out of range")
}

/// The decimal number in `word` times 10^`digits`, the rest rounded to the nearest (half: up).
pub(super) fn scaled(word: &str, digits: usize) -> Result<u64, &'static str> {
    const NOT: &str = "is not a decimal number";
    let (units, rest) = match word.split_once('.') {
        None => (word, ""),
        Some((_, "")) => return Err(NOT),
        Some(parts) => parts,
    };
    let digit = |b: u8| u64::from(b - b'0');
    if units.is_empty()
        || !units
            .bytes()
            .chain(rest.bytes())
            .all(|b| b.is_ascii_digit())
    {
        return Err(NOT);
    }
    let kept = rest.bytes().chain(std::iter::repeat(b'0')).take(digits);
    let value = units
        .bytes()
        .chain(kept)
        .try_fold(0_u64, |sum, b| sum.checked_mul(10)?.checked_add(digit(b)));
    let up = rest.as_bytes().get(digits).is_some_and(|&b| b >= b'5');
    value
        .and_then(|v| v.checked_add(u64::from(up)))
        .ok_or("is out of range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_scaled_is_exact() {
        for (word, digits, value) in [
            ("0", 6, 0),
            ("1.5", 6, 1_500_000),
            ("0.000001", 6, 1),
            ("12.3456789", 6, 12_345_679),
            ("12.3456784999", 6, 12_345_678),
            ("27307.318970", 3, 27_307_319),
            ("0.1", 6, 100_000),
            ("18446744073709.551615", 6, u64::MAX),
            ("7.9", 0, 8),
        ] {
            assert_eq!(scaled(word, digits), Ok(value), "{word}");
        }
        for word in [
            "", ".", ".5", "5.", "-1", "+1", "1e3", "1.2.3", "0x1", "inf",
        ] {
            assert_eq!(scaled(word, 6), Err("is not a decimal number"), "{word}");
        }
        for word in [
            "18446744073709.551616",
            "18446744073709.5516155",
            "99999999999999999999",
        ] {
            assert_eq!(scaled(word, 6), Err("is out of range"), "{word}");
        }
    }

    #[test]
    fn line_whole_is_digits_alone() {
        assert_eq!(whole("0018"), Ok(18));
        assert_eq!(whole("+1"), Err("is not a whole number"));
        assert_eq!(whole("18446744073709551616"), Err("is out of range"));
    }

    #[test]
    fn line_quoted_is_short() {
        assert_eq!(quoted("a\tb"), "\"a\\tb\"");
        assert!(quoted(&"x".repeat(1000)).len() < 70);
    }
}
