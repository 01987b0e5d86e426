// SPDX-License-Identifier: MIT
//! The catalogue for people: a drive as text, JSON or a picture, and all entries as one page.
#![deny(missing_docs)]
#![deny(unsafe_code)]

mod number;
pub mod page;
pub mod picture;
mod plot;
pub mod show;
