// SPDX-License-Identifier: MIT
//! Files that are there whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Error as IoError, Write};
use std::path::{Path, PathBuf};

use spindle_disk::Error;

/// A file that gets its name when it is finished; dropped before that, nothing is left.
pub struct WholeFile {
    shown: String,
    target: PathBuf,
    /// None where there is nothing to rename: pipes and devices.
    temporary: Option<PathBuf>,
    file: BufWriter<File>,
}

impl WholeFile {
    /// Starts the file at `path`; one that is there stays until the new one is finished.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let shown = path.display().to_string();
        // The name of a link stays a link.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let special = target.metadata().is_ok_and(|m| !m.is_file());
        let temporary = (!special).then(|| {
            let mut name = target.clone().into_os_string();
            name.push(format!(".{}.partial", std::process::id()));
            PathBuf::from(name)
        });
        let file =
            File::create(temporary.as_deref().unwrap_or(&target)).map_err(|e| Error::File {
                path: shown.clone(),
                message: format!("cannot be made: {e}; its folder must exist"),
            })?;
        Ok(Self {
            shown,
            target,
            temporary,
            file: BufWriter::new(file),
        })
    }

    /// Adds to it.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let done = self.file.write_all(bytes);
        done.map_err(|e| self.cannot(&e))
    }

    /// Gives it its name.
    pub fn finish(mut self) -> Result<(), Error> {
        let done = self.file.flush().and_then(|()| match &self.temporary {
            Some(temporary) => std::fs::rename(temporary, &self.target),
            None => Ok(()),
        });
        done.map_err(|e| self.cannot(&e))?;
        self.temporary = None;
        Ok(())
    }

    fn cannot(&self, error: &IoError) -> Error {
        Error::File {
            path: self.shown.clone(),
            message: format!("cannot be written: {error}"),
        }
    }
}

/// Writes `text` as the file at `path`.
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    let mut file = WholeFile::new(path)?;
    file.write(text.as_bytes())?;
    file.finish()
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The error that ends the program is the one to report.
            let _ = std::fs::remove_file(temporary);
        }
    }
}
