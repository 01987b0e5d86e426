// SPDX-License-Identifier: MIT
//! Bus files.
#![no_main]

use std::sync::LazyLock;

use entry::Scratch;
use libfuzzer_sys::fuzz_target;

static SCRATCH: LazyLock<Scratch> = LazyLock::new(Scratch::new);

fuzz_target!(|data: &[u8]| {
    if let Err(error) = SCRATCH.with("buses", data).bus("input") {
        assert!(error.to_string().contains("input.toml"), "{error}");
    }
});
