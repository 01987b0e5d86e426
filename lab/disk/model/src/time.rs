// SPDX-License-Identifier: MIT
//! Time: the inside counts picoseconds, the outside nanoseconds.

/// No event is pending.
pub const NEVER: i64 = i64::MAX;

/// Latest time that can be simulated, in ns: the core counts ps in 63 bits (about 106 days), and
/// leaves a tenth of it for the event that lies furthest ahead.
pub const TIME_MAX_NS: i64 = i64::MAX / 1000 / 10 * 9;

/// Rounds up to a whole ns: an event has happened when the outside sees it.
pub(crate) fn to_ns(ps: i64) -> i64 {
    (ps + 999) / 1000
}
