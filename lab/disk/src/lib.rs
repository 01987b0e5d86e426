// SPDX-License-Identifier: MIT
//! An event-driven model of mechanical disks in virtual time.
//!
//! A [`Lab`] holds the units (drives, null units) and buses of one topology. The caller owns the
//! clock: it submits commands at a time, asks for the time of the next event, advances to it and
//! takes completions. Inside there is no clock, thread, file or global, and no floating point
//! in a result: times are whole picoseconds, seek curves are tables. Opening reads topology and catalogue.
//!
//! The C interface is in `ffi.rs` and `include/spindle_disk.h`.
#![deny(missing_docs)]
#![deny(unsafe_code)]

pub mod array;
mod bus;
pub mod catalogue;
pub mod disksim;
mod drive;
mod error;
#[allow(unsafe_code)]
mod ffi;
pub mod geometry;
mod lab;
mod mechanics;
pub mod one_drive;
pub mod requests;
pub mod rng;
pub mod seek;
mod tags;
pub mod topology;
mod trace;
pub mod validation;

pub use error::Error;
pub use lab::{Completion, Lab, Lost, Op, Tag, EIO, NEVER, TIME_MAX_NS};
