// SPDX-License-Identifier: MIT
//! The model's errors as Python's.

use pyo3::exceptions::PyValueError;
use pyo3::{create_exception, PyErr};
use spindle_disk::Error;

create_exception!(
    spindle_disk,
    DiskError,
    PyValueError,
    "The model refuses something; the message says what, where, and what to do next."
);

/// The exception with the model's own message.
pub fn raised(error: Error) -> PyErr {
    DiskError::new_err(error.to_string())
}

/// The exception with a message of the bindings.
pub fn refused(message: impl Into<String>) -> PyErr {
    DiskError::new_err(message.into())
}
