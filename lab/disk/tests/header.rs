// SPDX-License-Identifier: MIT
//! The C header is generated: this test compares it, and rewrites it with `SPINDLE_BLESS=1`.

use std::path::Path;

#[test]
fn header_is_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(root.join("model/src/ffi.rs"))
        .generate()
        .unwrap()
        .write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = root.join("model/include/spindle_disk.h");
    if std::env::var_os("SPINDLE_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == made,
        "model/include/spindle_disk.h is not what cbindgen makes of model/src/ffi.rs; \
         run SPINDLE_BLESS=1 cargo test --test header and commit it"
    );
}
