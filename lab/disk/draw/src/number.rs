// SPDX-License-Identifier: MIT
//! Numbers as people read them: always the same characters for the same value.

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time with no digit lost: microseconds below 10 us, milliseconds above.
pub fn time(ns: u64) -> String {
    let (unit, per_unit, places) = if ns < 10_000 {
        ("µs", 1000, 3)
    } else {
        ("ms", 1_000_000, 6)
    };
    let fraction = format!("{:0places$}", ns % per_unit);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction} {unit}", grouped(ns / per_unit))
}

/// Milliseconds to the hundredth, without the unit.
pub fn ms(ns: u64) -> String {
    hundredths(ns, 1_000_000)
}

/// Milliseconds to the microsecond, without the unit.
pub fn ms_fine(ns: u64) -> String {
    let us = (ns + 500) / 1000;
    format!("{}.{:03}", grouped(us / 1000), us % 1000)
}

/// 10^6 bytes a second to the hundredth, without the unit.
pub fn mb_s(bytes_s: u64) -> String {
    hundredths(bytes_s, 1_000_000)
}

/// 10^9 bytes to the hundredth, without the unit.
pub fn gb(bytes: u64) -> String {
    hundredths(bytes, 1_000_000_000)
}

/// Rounded in integers: a float would round 0.125 and 0.135 to different sides.
fn hundredths(number: u64, per_unit: u64) -> String {
    let rounded = (number + per_unit / 200) / (per_unit / 100);
    format!("{}.{:02}", grouped(rounded / 100), rounded % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_groups_digits() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (60_036_480, "60,036,480"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn number_times_keep_every_digit() {
        for (ns, text) in [
            (0, "0 µs"),
            (2000, "2 µs"),
            (2500, "2.5 µs"),
            (10_000, "0.01 ms"),
            (252_290, "0.25229 ms"),
            (4_900_000, "4.9 ms"),
            (14_713_001, "14.713001 ms"),
        ] {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn number_rounds_half_up() {
        assert_eq!(ms(1_234_999), "1.23");
        assert_eq!(ms(1_235_000), "1.24");
        assert_eq!(ms_fine(1_234_499), "1.234");
        assert_eq!(ms_fine(999_500), "1.000");
        assert_eq!(mb_s(36_980_000), "36.98");
        assert_eq!(gb(30_738_677_760), "30.74");
    }
}
