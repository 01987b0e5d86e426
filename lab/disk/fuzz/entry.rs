// SPDX-License-Identifier: MIT
//! A catalogue folder in which a harness puts its input: entries are only read from files.

use std::path::PathBuf;

use spindle_disk::catalogue::Catalogue;

/// A folder for one entry called `input`, beside a copy of the real bus entries.
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Makes the folder; each process has its own.
    pub fn new() -> Self {
        let name = format!("spindle-fuzz-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        for kind in ["drives", "buses", "controllers"] {
            std::fs::create_dir_all(folder.join(kind)).expect("a folder for the entry");
        }
        for bus in ["ata-100", "ultra2-scsi"] {
            let entry = format!("buses/{bus}.toml");
            let from = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../catalogue"));
            std::fs::copy(from.join(&entry), folder.join(&entry)).expect("a copy of a bus");
        }
        Self { folder }
    }

    /// The catalogue with `text` as the entry `input` of `kind`.
    pub fn with(&self, kind: &str, text: &[u8]) -> Catalogue {
        let path = self.folder.join(kind).join("input.toml");
        std::fs::write(path, text).expect("the entry");
        Catalogue::new(&self.folder)
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}
