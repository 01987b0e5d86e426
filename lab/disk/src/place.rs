// SPDX-License-Identifier: MIT
//! Where the catalogue lies.

use std::path::PathBuf;

/// The catalogue of the checkout that the caller stands in, or of the one in which this program
/// was built.
pub fn catalogue() -> PathBuf {
    let program = std::env::current_exe().and_then(std::fs::canonicalize);
    spindle_replay::place::catalogue(program.ok())
}
