// SPDX-License-Identifier: MIT
//! Drive files.
#![no_main]

use std::sync::LazyLock;

use entry::Scratch;
use libfuzzer_sys::fuzz_target;

static SCRATCH: LazyLock<Scratch> = LazyLock::new(Scratch::new);

fuzz_target!(|data: &[u8]| {
    let catalogue = SCRATCH.with("drives", data);
    if let Err(error) = catalogue.drive("input", &toml::Table::new()) {
        assert!(error.to_string().contains("input.toml"), "{error}");
    }
});
