// SPDX-License-Identifier: MIT
//! Topology files. `@` alone as the catalogue's name stands for the real catalogue.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spindle_disk::topology::Topology;
use spindle_disk::Lab;

const CATALOGUE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../catalogue");

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let text = text.replace("\"@\"", &format!("{CATALOGUE:?}"));
    match Topology::from_text("input.toml", &text) {
        Err(error) => assert!(error.to_string().contains(':'), "{error}"),
        Ok(topology) => {
            let units = (topology.units.len() + topology.arrays.len()) as u32;
            assert_eq!(Lab::new(topology).units(), units);
        }
    }
});
