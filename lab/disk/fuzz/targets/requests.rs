// SPDX-License-Identifier: MIT
//! Request lists in every format, recognised and forced, and measured traces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spindle_disk::{Error, Op, TIME_MAX_NS};
use spindle_replay::requests::{measured, parse, Action, Format, Options};

/// Every message starts with path and line.
fn located(error: &Error) {
    let shown = error.to_string();
    let line = shown
        .strip_prefix("list:")
        .and_then(|rest| rest.split_once(": "));
    let number = line.map(|(number, _)| number.parse::<usize>());
    assert!(matches!(number, Some(Ok(1..))), "{shown}");
    assert!(shown.contains("expected "), "{shown}");
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let formats = Format::ALL.into_iter().map(Some).chain([None]);
    for (format, action) in formats.flat_map(|f| [(f, Action::Issued), (f, Action::Queued)]) {
        match parse("list", &text, &Options { format, action }) {
            Err(error) => located(&error),
            Ok(list) => {
                let mut last_ns = 0;
                for r in &list.requests {
                    assert!((last_ns..=TIME_MAX_NS).contains(&r.arrival_ns));
                    assert!(r.sectors > 0 || r.op == Op::Flush);
                    assert!((r.lbn + r.sectors).checked_mul(512).is_some());
                    assert!((r.device as usize) < list.devices.len());
                    last_ns = r.arrival_ns;
                }
                let _ = list.of_device("list", None, "disk0");
            }
        }
    }
    match measured("list", &text) {
        Err(error) => located(&error),
        Ok(list) => {
            for m in list {
                assert!(m.service_ns >= 0 && m.think_ns >= 0 && m.sectors > 0);
            }
        }
    }
});
