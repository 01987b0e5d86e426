// SPDX-License-Identifier: MIT
//! Where the catalogue lies, from whatever folder a program is called.

use std::path::{Path, PathBuf};

/// The catalogue's folder, from a checkout's root.
const CATALOGUE: &str = "lab/disk/catalogue";

/// The catalogue of the checkout that the caller stands in, or else of the one in which the file
/// `beside` lies; where there is neither, its name from a root.
pub fn catalogue(beside: Option<PathBuf>) -> PathBuf {
    // As messages should name it.
    if Path::new(CATALOGUE).is_dir() {
        return CATALOGUE.into();
    }
    let here = std::env::current_dir().ok();
    [here, beside]
        .into_iter()
        .flatten()
        .find_map(|place| above(&place))
        .unwrap_or_else(|| CATALOGUE.into())
}

/// The catalogue of the nearest folder at or above `place` that has one.
fn above(place: &Path) -> Option<PathBuf> {
    place
        .ancestors()
        .map(|folder| folder.join(CATALOGUE))
        .find(|folder| folder.is_dir())
}
