// SPDX-License-Identifier: MIT
//! Controller files.
#![no_main]

use std::sync::LazyLock;

use entry::Scratch;
use libfuzzer_sys::fuzz_target;

static SCRATCH: LazyLock<Scratch> = LazyLock::new(Scratch::new);

fuzz_target!(|data: &[u8]| {
    if let Err(error) = SCRATCH.with("controllers", data).controller("input") {
        // A bus that is not there is named by the folder of buses.
        let shown = error.to_string();
        assert!(
            shown.contains("input.toml") || shown.contains("buses"),
            "{shown}"
        );
    }
});
