// SPDX-License-Identifier: MIT
//! What is replayed through the model: request lists of several programs, a topology of one drive
//! for those who have no topology file, the replay loop, and the comparison with a measured drive.
#![deny(missing_docs)]
#![deny(unsafe_code)]

pub mod one_drive;
pub mod place;
pub mod requests;
pub mod run;
pub mod summary;
pub mod validation;
