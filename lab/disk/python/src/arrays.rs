// SPDX-License-Identifier: MIT
//! Columns of a data frame as requests.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use spindle_disk::Op;
use spindle_replay::requests::Request;

use crate::failure::refused;

/// The columns of a list of requests, all of one length.
pub struct Columns<'py> {
    /// ns; None where arrival times do not count.
    pub arrival_ns: Option<PyReadonlyArray1<'py, i64>>,
    /// Letters, as bytes.
    pub op: PyReadonlyArray1<'py, u8>,
    /// First sectors.
    pub lbn: PyReadonlyArray1<'py, i64>,
    /// Numbers of sectors.
    pub sectors: PyReadonlyArray1<'py, i64>,
    /// Whether the tag is ordered; None: none is.
    pub ordered: Option<PyReadonlyArray1<'py, bool>>,
}

/// The name of a row in messages.
pub fn row(index: usize) -> String {
    format!("row {index}")
}

impl Columns<'_> {
    /// The requests, in the order of the rows.
    ///
    /// # Errors
    /// Columns of several lengths, or an operation or a number that no request can have.
    pub fn requests(&self) -> PyResult<Vec<Request>> {
        let (op, lbn, sectors) = (
            self.op.as_array(),
            self.lbn.as_array(),
            self.sectors.as_array(),
        );
        let arrival_ns = self.arrival_ns.as_ref().map(|column| column.as_array());
        let ordered = self.ordered.as_ref().map(|column| column.as_array());
        let rows = op.len();
        let lengths = [
            lbn.len(),
            sectors.len(),
            arrival_ns.map_or(rows, |column| column.len()),
            ordered.map_or(rows, |column| column.len()),
        ];
        if lengths != [rows; 4] {
            return Err(refused("the columns of the requests are not of one length"));
        }
        let natural = |index: usize, name: &str, value: i64| {
            u64::try_from(value)
                .map_err(|_| refused(format!("{}: {name} {value} is below 0", row(index))))
        };
        (0..rows)
            .map(|index| {
                let letter = char::from(op[index]);
                let arrival_ns = arrival_ns.map_or(0, |column| column[index]);
                natural(index, "arrival_ns", arrival_ns)?;
                Ok(Request {
                    arrival_ns,
                    op: Op::from_letter(letter.encode_utf8(&mut [0; 4]))
                        .ok_or_else(|| refused(unknown_op(index, &letter.to_string())))?,
                    lbn: natural(index, "lbn", lbn[index])?,
                    sectors: natural(index, "sectors", sectors[index])?,
                    ordered: ordered.is_some_and(|column| column[index]),
                    device: 0,
                    line: 0,
                })
            })
            .collect()
    }
}

fn unknown_op(index: usize, op: &str) -> String {
    format!("{}: {}", row(index), no_op(op))
}

/// That there is no such operation.
pub fn no_op(op: &str) -> String {
    format!("no operation {op:?}; there are: R (read), W (write), F (flush), U (write with FUA)")
}
