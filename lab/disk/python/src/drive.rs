// SPDX-License-Identifier: MIT
//! A drive of the catalogue, as it is: its geometry and its seek curve.

use std::path::PathBuf;

use pyo3::prelude::*;
use spindle_disk::catalogue::{BusKind, DriveModel};
use spindle_draw::show;

use crate::failure::{raised, refused};
use crate::place;

/// Names of the entries of a kind.
#[pyfunction]
#[pyo3(signature = (kind = "drives", *, catalogue = None))]
pub fn names(py: Python<'_>, kind: &str, catalogue: Option<PathBuf>) -> PyResult<Vec<String>> {
    place::catalogue(py, catalogue)?.names(kind).map_err(raised)
}

/// A drive.
#[pyclass(frozen, module = "spindle_disk")]
pub struct Drive {
    name: String,
    model: DriveModel,
    buses: Vec<String>,
}

#[pymethods]
impl Drive {
    #[new]
    #[pyo3(signature = (drive, *, catalogue = None))]
    fn new(py: Python<'_>, drive: &str, catalogue: Option<PathBuf>) -> PyResult<Self> {
        let catalogue = place::catalogue(py, catalogue)?;
        let model = catalogue.drive_or_file(drive).map_err(raised)?;
        let mut buses = catalogue.names("buses").map_err(raised)?;
        let mut kinds = Vec::new();
        for bus in &buses {
            kinds.push(catalogue.bus(bus).map_err(raised)?.kind.value);
        }
        let fits = |kind: &BusKind| *kind == model.file.bus_kind.value;
        let mut fitting = kinds.iter().map(fits);
        buses.retain(|_| fitting.next().unwrap_or(false));
        Ok(Self {
            name: drive.into(),
            model,
            buses,
        })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn buses(&self) -> Vec<String> {
        self.buses.clone()
    }

    #[getter]
    fn sectors(&self) -> u64 {
        self.model.geometry.sectors
    }

    #[getter]
    fn cylinders(&self) -> u32 {
        self.model.geometry.cylinders
    }

    #[getter]
    fn heads(&self) -> u32 {
        self.model.geometry.heads
    }

    #[getter]
    fn revolution_ns(&self) -> i64 {
        self.model.geometry.revolution_ps / 1000
    }

    #[getter]
    fn max_tags(&self) -> u32 {
        self.model.file.max_tags.value
    }

    #[getter]
    fn queues(&self) -> Vec<&'static str> {
        let offered = &self.model.file.queue_algorithms.value;
        offered.iter().map(|queue| queue.name()).collect()
    }

    #[getter]
    fn queue(&self) -> &'static str {
        self.model.file.queue.value.name()
    }

    #[getter]
    fn write_cache(&self) -> bool {
        self.model.file.write_cache.value
    }

    #[pyo3(signature = (cylinders, *, write = false))]
    fn seek_ns(&self, cylinders: u32, write: bool) -> PyResult<u32> {
        if cylinders >= self.model.geometry.cylinders {
            return Err(refused(format!(
                "{}: a seek over {cylinders} cylinders is farther than its arm moves; the most is {}",
                self.name,
                self.model.geometry.cylinders - 1
            )));
        }
        let table = if write {
            &self.model.seek_write
        } else {
            &self.model.seek_read
        };
        Ok(table.ns(cylinders))
    }

    fn locate(&self, lbn: u64) -> PyResult<(u32, u32, i64)> {
        let geometry = &self.model.geometry;
        if lbn >= geometry.sectors {
            return Err(refused(format!(
                "{}: there is no sector {lbn}; it has {}",
                self.name, geometry.sectors
            )));
        }
        let track = geometry.track(lbn);
        let angle_ns = geometry.angle_ps(&track, lbn) / 1000;
        Ok((track.place.cylinder, track.place.head, angle_ns))
    }

    fn _page(&self) -> String {
        show::page(&self.name, &self.model, true)
    }

    fn __repr__(&self) -> String {
        format!("Drive({:?})", self.name)
    }
}
