// SPDX-License-Identifier: MIT
//! `spindle-disk validate`: a measured trace against the model.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use spindle_disk::catalogue::Catalogue;
use spindle_disk::Error;
use spindle_replay::{requests, validation};

use crate::{place, whole_file};

/// Arguments of `validate`.
#[derive(Args)]
pub struct Arguments {
    /// Drive file (.toml), or the name of a drive in the catalogue.
    #[arg(long)]
    drive: String,
    /// Measured trace: `R|W action LBN sectors service_us think_us` on each line.
    #[arg(long)]
    trace: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Write measured and modelled service times of each request to this CSV file.
    #[arg(long)]
    results: Option<PathBuf>,
    /// Catalogue folder.
    #[arg(long, default_value_os_t = place::catalogue())]
    catalogue: PathBuf,
}

/// Runs the trace and prints how far the model is from the drive.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let model = Catalogue::new(&arguments.catalogue).drive_or_file(&arguments.drive)?;
    let path = arguments.trace.display().to_string();
    let text = std::fs::read_to_string(&arguments.trace).map_err(|e| Error::File {
        path: path.clone(),
        message: format!("cannot be read: {e}"),
    })?;
    let requests = requests::measured(&path, &text)?;
    let mut lab = validation::bare_lab(model);
    let clock = Instant::now();
    let times = validation::replay(&mut lab, &requests)?;
    // The one figure that depends on the machine.
    let seconds = clock.elapsed().as_secs_f64();
    let measured: Vec<i64> = requests.iter().map(|r| r.service_ns).collect();
    let report = validation::report(&times, &measured);
    let rounded = |x: f64, digits: i32| (x * 10_f64.powi(digits)).round() / 10_f64.powi(digits);
    let page = json!({
        "requests": report.requests,
        "rms_demerit_ms": rounded(report.rms_demerit_ms, 4),
        "rms_demerit_relative": rounded(report.rms_demerit_relative, 5),
        "mean_error_ms": rounded(report.mean_error_ms, 4),
        "requests_per_s": (report.requests as f64 / seconds).round(),
    });
    if let Some(path) = &arguments.results {
        let mut rows = String::from("number,op,lbn,sectors,measured_ns,modelled_ns\n");
        for (i, (request, time)) in requests.iter().zip(&times).enumerate() {
            rows += &format!(
                "{i},{},{},{},{},{time}\n",
                request.op.letter(),
                request.lbn,
                request.sectors,
                request.service_ns
            );
        }
        whole_file::write(path, &rows)?;
    }
    if arguments.json {
        println!("{page}");
    } else {
        println!(
            "{} requests: rms demerit {:.3} ms ({:.2} % of the mean service time), mean error \
             {:+.3} ms",
            report.requests,
            report.rms_demerit_ms,
            report.rms_demerit_relative * 100.0,
            report.mean_error_ms
        );
    }
    Ok(())
}
