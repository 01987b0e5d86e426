// SPDX-License-Identifier: MIT
//! The command line: `show`, `replay` and `check`.

mod replay;
mod show;
mod whole_file;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use spindle_disk::catalogue::Catalogue;
use spindle_disk::Error;

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
        /// Name of the drive in the catalogue, without .toml.
        drive: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Catalogue folder.
        #[arg(long, default_value = "lab/disk/catalogue")]
        catalogue: PathBuf,
    },
    /// Run a request list through a unit and write its trace.
    Replay(Box<replay::Arguments>),
    /// Check every entry of a catalogue.
    Check {
        /// Catalogue folder.
        #[arg(default_value = "lab/disk/catalogue")]
        catalogue: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Show {
            drive,
            json,
            catalogue,
        } => Catalogue::new(catalogue)
            .drive(&drive, &toml::Table::new())
            .map(|model| print!("{}", show::drive(&drive, &model, json))),
        Command::Replay(arguments) => replay::run(&arguments),
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

/// Loads every entry and reports all faults, not only the first.
fn check(catalogue: &Catalogue) -> Result<(), Error> {
    let (mut good, mut faults) = (0, 0);
    for kind in ["drives", "buses", "controllers"] {
        for name in catalogue.names(kind)? {
            let loaded = match kind {
                "drives" => catalogue.drive(&name, &toml::Table::new()).map(drop),
                "buses" => catalogue.bus(&name).map(drop),
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
