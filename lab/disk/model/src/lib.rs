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

mod command;
mod drive;
mod entries;
mod error;
mod event;
mod faults;
#[allow(unsafe_code)]
mod ffi;
pub mod geometry;
mod lab;
mod mechanics;
pub mod rng;
pub mod seek;
mod shared;
mod tags;
mod time;
pub mod topology;
mod trace;

pub use command::{Completion, Lost, Op, Tag, EIO};
pub use error::Error;
pub use lab::Lab;
pub use time::{NEVER, TIME_MAX_NS};
