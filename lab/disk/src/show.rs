// SPDX-License-Identifier: MIT
//! `spindle-disk show`: what a drive file means, as text, JSON or a picture.

use std::path::{Path, PathBuf};

use spindle_disk::catalogue::{Catalogue, DriveModel};
use spindle_disk::Error;
use spindle_draw::{picture, show};

use crate::whole_file;

/// Prints a drive's page, or writes its picture to the file `svg` (`-`: prints it).
pub fn run(
    drive: &str,
    catalogue: &Catalogue,
    as_json: bool,
    svg: Option<PathBuf>,
) -> Result<(), Error> {
    let (name, model) = load(drive, catalogue)?;
    match svg {
        None => print!("{}", show::page(&name, &model, as_json)),
        Some(path) if path == Path::new("-") => print!("{}", picture::page(&name, &model)),
        Some(path) => {
            whole_file::write(&path, &picture::page(&name, &model))?;
        }
    }
    Ok(())
}

/// The drive called `drive` in the catalogue, or the drive file of that path, and its name.
fn load(drive: &str, catalogue: &Catalogue) -> Result<(String, DriveModel), Error> {
    let model = catalogue.drive_or_file(drive)?;
    let name = match drive.strip_suffix(".toml") {
        Some(path) => Path::new(path)
            .file_name()
            .unwrap_or_default()
            .to_string_lossy(),
        None => drive.into(),
    };
    Ok((name.into_owned(), model))
}
