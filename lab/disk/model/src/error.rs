// SPDX-License-Identifier: MIT
//! The crate's one error type: every message says what is wrong, where, and what to do next.

use std::fmt;

/// Why a catalogue, a topology or a call was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A file could not be read or parsed.
    File {
        /// Path of the file.
        path: String,
        /// What went wrong and what to do.
        message: String,
    },
    /// A field holds a value that no drive, bus or topology can have.
    Field {
        /// Path of the file, or the name of the entry.
        path: String,
        /// Name of the field as it stands in the file.
        field: String,
        /// What is wrong with it and what to do.
        message: String,
    },
    /// A call that the state or the arguments do not allow.
    Call(String),
}

impl Error {
    /// A file at fault.
    pub fn file(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::File {
            path: path.into(),
            message: message.into(),
        }
    }

    /// A field at fault.
    pub fn field(
        path: impl Into<String>,
        field: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::Field {
            path: path.into(),
            field: field.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, message } => write!(f, "{path}: {message}"),
            Self::Field {
                path,
                field,
                message,
            } => write!(f, "{path}: {field}: {message}"),
            Self::Call(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}
