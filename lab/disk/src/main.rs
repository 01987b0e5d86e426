// SPDX-License-Identifier: MIT
//! The command line: `show`, `page`, `replay`, `validate`, `import-disksim`, `units`, `inputs` and
//! `check`.

mod describe;
mod place;
mod replay;
mod show;
mod validate;
mod whole_file;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use spindle_disk::catalogue::{Catalogue, DriveModel};
use spindle_disk::Error;
use spindle_draw::page;

/// Mechanical disks in virtual time.
#[derive(Parser)]
#[command(name = "spindle-disk", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a drive's geometry, seek curve and zone rates.
    Show {
        /// Name of the drive in the catalogue, or path of a drive file (ends in .toml).
        drive: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Write a picture to this file instead; - prints it.
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        svg: Option<PathBuf>,
        /// Catalogue folder.
        #[arg(long, default_value_os_t = place::catalogue())]
        catalogue: PathBuf,
    },
    /// Run a request list through a unit and write its trace.
    Replay(Box<replay::Arguments>),
    /// Compare the model with a measured trace of a real drive.
    Validate(validate::Arguments),
    /// Turn DiskSim 4.0 parameter files into a drive file.
    ImportDisksim {
        /// NAME.diskspecs; the files that it names are looked for beside it.
        diskspecs: PathBuf,
        /// Drive file to write; its folder must exist.
        #[arg(short, long)]
        output: PathBuf,
        /// Time in which the host of the extraction moved a sector, in us, where the file says 0.
        #[arg(long)]
        sector_transfer_us: Option<f64>,
    },
    /// Print the whole catalogue as a Markdown page.
    Page {
        /// Catalogue folder.
        #[arg(long, default_value_os_t = place::catalogue())]
        catalogue: PathBuf,
    },
    /// Print the units and arrays of a topology, with their sizes.
    Units {
        /// Topology file.
        #[arg(long)]
        topology: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print what the model reads of the catalogue for a topology.
    Inputs {
        /// Topology file.
        #[arg(long)]
        topology: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check every entry of a catalogue.
    Check {
        /// Catalogue folder.
        #[arg(default_value_os_t = place::catalogue())]
        catalogue: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Show {
            drive,
            json,
            svg,
            catalogue,
        } => show::run(&drive, &Catalogue::new(catalogue), json, svg),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Validate(arguments) => validate::run(&arguments),
        Command::ImportDisksim {
            diskspecs,
            output,
            sector_transfer_us,
        } => import(&diskspecs, &output, sector_transfer_us),
        Command::Page { catalogue } => page::markdown(&catalogue).map(|page| print!("{page}")),
        Command::Units { topology, json } => describe::units(&topology, json),
        Command::Inputs { topology, json } => describe::inputs(&topology, json),
        Command::Check { catalogue } => check(&Catalogue::new(catalogue)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spindle-disk: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the drive file only when it is whole and loads.
fn import(diskspecs: &Path, output: &Path, sector_us: Option<f64>) -> Result<(), Error> {
    let sector_ns = match sector_us {
        None => None,
        Some(us) if (0.0..=1e6).contains(&us) => Some((us * 1000.0).round() as u64),
        Some(us) => {
            return Err(Error::Call(format!(
                "--sector-transfer-us: {us} is not a time of 0 to 1000000 us"
            )))
        }
    };
    let imported = spindle_import::import(diskspecs, sector_ns)?;
    DriveModel::from_text(&diskspecs.display().to_string(), &imported.toml)?;
    whole_file::write(output, &imported.toml)?;
    for note in imported.notes {
        eprintln!("spindle-disk: note: {note}");
    }
    Ok(())
}

/// Loads every entry and reports all faults, not only the first.
fn check(catalogue: &Catalogue) -> Result<(), Error> {
    let (mut good, mut faults) = (0, 0);
    for kind in ["drives", "buses", "controllers", "arrays"] {
        for name in catalogue.names(kind)? {
            let loaded = match kind {
                "drives" => catalogue.drive(&name, &toml::Table::new()).map(drop),
                "buses" => catalogue.bus(&name).map(drop),
                "arrays" => catalogue.array(&name, &toml::Table::new()).map(drop),
                _ => catalogue.controller(&name).map(drop),
            };
            match loaded {
                Ok(()) => good += 1,
                Err(error) => {
                    eprintln!("{error}");
                    faults += 1;
                }
            }
        }
    }
    println!("{good} entries are good, {faults} are not");
    if faults > 0 {
        return Err(Error::Call(format!(
            "{faults} entries of the catalogue are not usable"
        )));
    }
    Ok(())
}
