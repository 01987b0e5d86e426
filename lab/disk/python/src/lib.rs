// SPDX-License-Identifier: MIT
//! The disk model as a Python module: `spindle_disk._model`, which the package `spindle_disk`
//! beside this crate turns into what people import. Its types and texts for people are in
//! `package/spindle_disk/_model.pyi`.
#![deny(unsafe_code)]

mod arrays;
mod drive;
mod failure;
mod lab;
mod place;
mod requests;

#[pyo3::pymodule(name = "_model")]
mod model {
    #[pymodule_export]
    use crate::drive::{names, Drive};
    #[pymodule_export]
    use crate::failure::DiskError;
    #[pymodule_export]
    use crate::lab::{Completion, Lab, Lost, Unit};
    #[pymodule_export]
    use crate::requests::read_requests;
}
