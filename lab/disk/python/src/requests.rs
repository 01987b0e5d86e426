// SPDX-License-Identifier: MIT
//! Request lists of several programs, as columns.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spindle_replay::one_drive;
use spindle_replay::requests::{self, Action, Format, Options, Request};

use crate::failure::raised;

/// Reads a list; returns its columns by name.
#[pyfunction]
#[pyo3(signature = (path, *, format = None, device = None, action = "D"))]
pub fn read_requests<'py>(
    py: Python<'py>,
    path: PathBuf,
    format: Option<&str>,
    device: Option<&str>,
    action: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let read = || {
        let options = Options {
            format: format.map(Format::from_name).transpose()?,
            action: Action::from_letter(action)?,
        };
        let list = requests::load(&path, &options)?;
        list.of_device(&path.display().to_string(), device, one_drive::UNIT)
    };
    let requests = read().map_err(raised)?;
    let numbers = |value: fn(&Request) -> i64| -> Bound<'py, PyArray1<i64>> {
        let column: Vec<i64> = requests.iter().map(value).collect();
        column.into_pyarray(py)
    };
    let letters: String = requests.iter().map(|r| r.op.letter()).collect();
    let ordered: Vec<bool> = requests.iter().map(|r| r.ordered).collect();
    let columns = PyDict::new(py);
    columns.set_item("arrival_ns", numbers(|r| r.arrival_ns))?;
    columns.set_item("op", letters)?;
    // A list can name sectors that no drive has; then they stay too large.
    columns.set_item("lbn", numbers(|r| i64::try_from(r.lbn).unwrap_or(i64::MAX)))?;
    columns.set_item(
        "sectors",
        numbers(|r| i64::try_from(r.sectors).unwrap_or(i64::MAX)),
    )?;
    columns.set_item("ordered", ordered.into_pyarray(py))?;
    Ok(columns)
}
