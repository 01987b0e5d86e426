// SPDX-License-Identifier: MIT
//! Where the catalogue lies.

use std::path::PathBuf;

use pyo3::prelude::*;
use spindle_disk::catalogue::Catalogue;

/// The catalogue in `folder`; without it, that of the checkout that the caller stands in, or of the
/// one in which this module was built.
pub fn catalogue(py: Python<'_>, folder: Option<PathBuf>) -> PyResult<Catalogue> {
    if let Some(folder) = folder {
        return Ok(Catalogue::new(folder));
    }
    let module: PathBuf = py
        .import("spindle_disk._model")?
        .getattr("__file__")?
        .extract()?;
    let module = std::fs::canonicalize(module).ok();
    Ok(Catalogue::new(spindle_replay::place::catalogue(module)))
}
