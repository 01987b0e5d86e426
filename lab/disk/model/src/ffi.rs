// SPDX-License-Identifier: MIT
//! The C interface, the only `unsafe` code of the crate.
//!
//! Who calls: the QEMU block driver, from one thread at a time. What may fail says so by a
//! negative result and a message in `err`. A panic inside is a fault of the model or a broken
//! clock of the caller: it prints its message and aborts, it never unwinds into C.

use std::ffi::{c_char, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::ptr;

use crate::command::{Lost, Op};
use crate::error::Error;
use crate::lab::Lab;
use crate::topology::Topology;

/// Version of this interface; compare with `spindle_abi_version()`.
pub const SPINDLE_ABI_VERSION: u32 = 3;

/// Time of an event that never comes.
pub const SPINDLE_NEVER: i64 = i64::MAX;

const _: () = assert!(SPINDLE_NEVER == crate::time::NEVER);

/// Status of a command that ended with an I/O error.
pub const SPINDLE_EIO: i32 = -5;

const _: () = assert!(SPINDLE_EIO == crate::command::EIO);

/// What a command does.
#[repr(C)]
#[allow(clippy::enum_variant_names)] // In C the variants have no namespace of their own.
pub enum SpindleOp {
    /// Read.
    SpindleRead = 0,
    /// Write, acknowledged from the buffer when the write cache is on.
    SpindleWrite = 1,
    /// Completes when all data acknowledged before is on the medium.
    SpindleFlush = 2,
    /// Write that is acknowledged from the medium.
    SpindleWriteFua = 3,
}

/// A command that is done.
#[repr(C)]
pub struct SpindleCompletion {
    /// What `spindle_submit` was given.
    pub cookie: u64,
    /// Unit number.
    pub unit: u32,
    /// 0: all went well; `SPINDLE_EIO`: an I/O error, as the drive has failed.
    pub status: i32,
    /// Virtual time of the acknowledgement, ns.
    pub acknowledged_ns: i64,
    /// How many completions of the lab came before it.
    pub ordinal: u64,
}

/// A part of an acknowledged write that a power cut took.
#[repr(C)]
pub struct SpindleLost {
    /// Number of the write's completion.
    pub ordinal: u64,
    /// First lost sector.
    pub lbn: u64,
    /// Lost sectors.
    pub sectors: u64,
    /// Unit number.
    pub unit: u32,
}

/// One lab: the units and buses of one topology file.
pub struct SpindleLab {
    lab: Lab,
    /// What a power cut took and the caller has not asked for yet, oldest first.
    lost: Vec<Lost>,
}

fn guard<T>(what: &str, call: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        // The panic hook has printed message and place.
        eprintln!("spindle-disk: {what} cannot go on; this is a fault in the model or its caller");
        std::process::abort()
    })
}

/// Copies a message into `err`, cut to fit at a character and NUL-terminated; returns -1.
unsafe fn fail(error: &Error, err: *mut c_char, err_len: usize) -> i32 {
    if !err.is_null() && err_len > 0 {
        // A NUL inside would cut the message in C.
        let text = error.to_string().replace('\0', "?");
        let mut len = text.len().min(err_len - 1);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        // SAFETY: the caller gives `err_len` writable bytes, and len + 1 <= err_len.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr().cast(), err, len);
            *err.add(len) = 0;
        }
    }
    -1
}

unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Error> {
    if pointer.is_null() {
        return Err(Error::Call(format!("{what} is NULL")));
    }
    // SAFETY: not NULL, and the caller gives a NUL-terminated string that outlives the call.
    unsafe { CStr::from_ptr(pointer) }
        .to_str()
        .map_err(|_| Error::Call(format!("{what} is not UTF-8")))
}

/// Version of the interface that the library was built with.
#[no_mangle]
pub extern "C" fn spindle_abi_version() -> u32 {
    SPINDLE_ABI_VERSION
}

/// Opens the lab that the topology file describes, at time 0. Returns 0 and sets `lab`, or -1
/// and a message: a file that cannot be read, an unknown key or name, an impossible drive.
///
/// # Safety
/// Pointers must be valid; `err` has `err_len` bytes (or is NULL).
#[no_mangle]
pub unsafe extern "C" fn spindle_lab_open(
    topology_path: *const c_char,
    lab: *mut *mut SpindleLab,
    err: *mut c_char,
    err_len: usize,
) -> i32 {
    guard("spindle_lab_open", || {
        // SAFETY: the caller's string.
        let path = unsafe { text(topology_path, "topology_path") };
        match path.and_then(|p| Topology::load(Path::new(p))) {
            Ok(topology) => {
                let boxed = Box::new(SpindleLab {
                    lab: Lab::new(topology),
                    lost: Vec::new(),
                });
                // SAFETY: `lab` is valid for a pointer.
                unsafe { *lab = Box::into_raw(boxed) };
                0
            }
            // SAFETY: the caller's buffer.
            Err(error) => unsafe { fail(&error, err, err_len) },
        }
    })
}

/// Frees a lab; NULL is allowed.
///
/// # Safety
/// `lab` comes from `spindle_lab_open` and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn spindle_lab_close(lab: *mut SpindleLab) {
    if !lab.is_null() {
        // SAFETY: made by Box::into_raw in spindle_lab_open.
        guard("spindle_lab_close", || drop(unsafe { Box::from_raw(lab) }));
    }
}

/// Number of the unit called `name`, or -1 and a message that lists the names.
///
/// # Safety
/// Pointers must be valid; `err` has `err_len` bytes (or is NULL).
#[no_mangle]
pub unsafe extern "C" fn spindle_unit_find(
    lab: *const SpindleLab,
    name: *const c_char,
    err: *mut c_char,
    err_len: usize,
) -> i32 {
    guard("spindle_unit_find", || {
        // SAFETY: the caller's lab and string.
        let found = unsafe { text(name, "name").and_then(|n| (*lab).lab.unit(n)) };
        match found {
            Ok(unit) => unit as i32,
            // SAFETY: the caller's buffer.
            Err(error) => unsafe { fail(&error, err, err_len) },
        }
    })
}

/// Capacity of a unit in sectors; 0: a null unit, as large as its file (or no such unit).
///
/// # Safety
/// `lab` must be valid.
#[no_mangle]
pub unsafe extern "C" fn spindle_unit_sectors(lab: *const SpindleLab, unit: u32) -> u64 {
    // SAFETY: the caller's lab.
    guard("spindle_unit_sectors", || unsafe {
        (*lab).lab.sectors(unit)
    })
}

/// Commands that can be outstanding at a unit (more wait before it); 0: no such unit.
///
/// # Safety
/// `lab` must be valid.
#[no_mangle]
pub unsafe extern "C" fn spindle_unit_max_tags(lab: *const SpindleLab, unit: u32) -> u32 {
    // SAFETY: the caller's lab.
    guard("spindle_unit_max_tags", || unsafe {
        (*lab).lab.max_tags(unit)
    })
}

/// Sets `queue` (an algorithm that the drive offers) or `write-cache` (on, off) before the first
/// command of the lab. Returns 0, or -1 and a message.
///
/// # Safety
/// Pointers must be valid; `err` has `err_len` bytes (or is NULL).
#[no_mangle]
pub unsafe extern "C" fn spindle_unit_set(
    lab: *mut SpindleLab,
    unit: u32,
    key: *const c_char,
    value: *const c_char,
    err: *mut c_char,
    err_len: usize,
) -> i32 {
    guard("spindle_unit_set", || {
        // SAFETY: the caller's lab and strings.
        let done = unsafe {
            text(key, "key")
                .and_then(|k| text(value, "value").and_then(|v| (*lab).lab.set(unit, k, v)))
        };
        match done {
            Ok(()) => 0,
            // SAFETY: the caller's buffer.
            Err(error) => unsafe { fail(&error, err, err_len) },
        }
    })
}

/// The marker: puts all drives into a stated state (arm at cylinder 0 and head 0, caches empty,
/// spindle phases drawn from `seed`), writes `label` to the trace and returns 0 with a start
/// delay of up to one revolution, or -1 and a message, as when the lab is not idle.
///
/// # Safety
/// Pointers must be valid; `err` has `err_len` bytes (or is NULL).
#[no_mangle]
pub unsafe extern "C" fn spindle_lab_reset(
    lab: *mut SpindleLab,
    now_ns: i64,
    label: *const c_char,
    seed: u64,
    start_delay_ns: *mut i64,
    err: *mut c_char,
    err_len: usize,
) -> i32 {
    guard("spindle_lab_reset", || {
        // SAFETY: the caller's lab and string.
        let done = unsafe { text(label, "label").and_then(|l| (*lab).lab.reset(now_ns, l, seed)) };
        match done {
            Ok(delay) => {
                // SAFETY: the caller's variable.
                unsafe { *start_delay_ns = delay };
                0
            }
            // SAFETY: the caller's buffer.
            Err(error) => unsafe { fail(&error, err, err_len) },
        }
    })
}

/// Writes the comment line `# words now_ns ...` into the trace, behind the requests acknowledged up
/// to `now_ns`. Returns 0, or -1 and a message: words that are not one line of printable ASCII, or
/// time going back.
///
/// # Safety
/// Pointers must be valid; `err` has `err_len` bytes (or is NULL).
#[no_mangle]
pub unsafe extern "C" fn spindle_lab_mark(
    lab: *mut SpindleLab,
    now_ns: i64,
    words: *const c_char,
    err: *mut c_char,
    err_len: usize,
) -> i32 {
    guard("spindle_lab_mark", || {
        // SAFETY: the caller's lab and string.
        let done = unsafe { text(words, "words").and_then(|w| (*lab).lab.mark(now_ns, w)) };
        match done {
            Ok(()) => 0,
            // SAFETY: the caller's buffer.
            Err(error) => unsafe { fail(&error, err, err_len) },
        }
    })
}

/// Commands of modelled units and arrays that were submitted and are not acknowledged; those of
/// null units do not count.
///
/// # Safety
/// `lab` must be valid.
#[no_mangle]
pub unsafe extern "C" fn spindle_lab_outstanding(lab: *const SpindleLab) -> u64 {
    // SAFETY: the caller's lab.
    guard("spindle_lab_outstanding", || unsafe {
        (*lab).lab.outstanding()
    })
}

/// Hands a command (`op` is a `SpindleOp`) to a unit. Nothing completes inside this call. Returns
/// 0, or -1 and a message: unknown unit or operation, a range outside the drive, time going back.
///
/// # Safety
/// Pointers must be valid; `err` has `err_len` bytes (or is NULL).
#[no_mangle]
pub unsafe extern "C" fn spindle_submit(
    lab: *mut SpindleLab,
    now_ns: i64,
    unit: u32,
    op: u32,
    lbn: u64,
    sectors: u64,
    cookie: u64,
    err: *mut c_char,
    err_len: usize,
) -> i32 {
    guard("spindle_submit", || {
        let op = match op {
            o if o == SpindleOp::SpindleRead as u32 => Ok(Op::Read),
            o if o == SpindleOp::SpindleWrite as u32 => Ok(Op::Write),
            o if o == SpindleOp::SpindleFlush as u32 => Ok(Op::Flush),
            o if o == SpindleOp::SpindleWriteFua as u32 => Ok(Op::WriteFua),
            other => Err(Error::Call(format!(
                "no operation {other}; use enum SpindleOp"
            ))),
        };
        // SAFETY: the caller's lab.
        let lab = unsafe { &mut (*lab).lab };
        match op.and_then(|op| lab.submit(now_ns, unit, op, lbn, sectors, cookie)) {
            Ok(()) => 0,
            // SAFETY: the caller's buffer.
            Err(error) => unsafe { fail(&error, err, err_len) },
        }
    })
}

/// When something happens next: arm one timer at it. `SPINDLE_NEVER`: nothing is pending.
///
/// # Safety
/// `lab` must be valid.
#[no_mangle]
pub unsafe extern "C" fn spindle_next_event_ns(lab: *const SpindleLab) -> i64 {
    // SAFETY: the caller's lab.
    guard("spindle_next_event_ns", || unsafe {
        (*lab).lab.next_event_ns()
    })
}

/// Lets time pass up to and including `now_ns`, which never goes back.
///
/// # Safety
/// `lab` must be valid.
#[no_mangle]
pub unsafe extern "C" fn spindle_advance(lab: *mut SpindleLab, now_ns: i64) {
    // SAFETY: the caller's lab.
    guard("spindle_advance", || unsafe { (*lab).lab.advance(now_ns) })
}

/// Takes the next completion: 1 and `out` is filled, or 0 when there is none.
///
/// # Safety
/// Pointers must be valid.
#[no_mangle]
pub unsafe extern "C" fn spindle_completion(
    lab: *mut SpindleLab,
    out: *mut SpindleCompletion,
) -> i32 {
    guard("spindle_completion", || {
        // SAFETY: the caller's lab.
        let Some(done) = (unsafe { (*lab).lab.completion() }) else {
            return 0;
        };
        let completion = SpindleCompletion {
            cookie: done.cookie,
            unit: done.unit,
            status: done.status,
            acknowledged_ns: done.acknowledged_ns,
            ordinal: done.ordinal,
        };
        // SAFETY: the caller's variable.
        unsafe { ptr::write(out, completion) };
        1
    })
}

/// Number of the oldest completion whose data is not all on the medium; writes completed before it
/// are safe from a power cut. `UINT64_MAX`: all are.
///
/// # Safety
/// `lab` must be valid.
#[no_mangle]
pub unsafe extern "C" fn spindle_oldest_volatile(lab: *const SpindleLab) -> u64 {
    // SAFETY: the caller's lab.
    guard("spindle_oldest_volatile", || unsafe {
        (*lab).lab.oldest_volatile().unwrap_or(u64::MAX)
    })
}

/// Cuts the power of all drives at `now_ns`: nothing completes any more, and what was acknowledged
/// from a buffer but is not on the medium is lost (`spindle_lost`). Take the completions up to
/// `now_ns` before. Returns 0, or -1 and a message.
///
/// # Safety
/// Pointers must be valid; `err` has `err_len` bytes (or is NULL).
#[no_mangle]
pub unsafe extern "C" fn spindle_power_cut(
    lab: *mut SpindleLab,
    now_ns: i64,
    err: *mut c_char,
    err_len: usize,
) -> i32 {
    guard("spindle_power_cut", || {
        // SAFETY: the caller's lab.
        let lab = unsafe { &mut *lab };
        match lab.lab.cut_power(now_ns) {
            Ok(mut lost) => {
                lost.reverse();
                lab.lost = lost;
                0
            }
            // SAFETY: the caller's buffer.
            Err(error) => unsafe { fail(&error, err, err_len) },
        }
    })
}

/// Takes the next lost part, newest write first: 1 and `out` is filled, or 0 when there is none.
///
/// # Safety
/// Pointers must be valid.
#[no_mangle]
pub unsafe extern "C" fn spindle_lost(lab: *mut SpindleLab, out: *mut SpindleLost) -> i32 {
    guard("spindle_lost", || {
        // SAFETY: the caller's lab.
        let lab = unsafe { &mut *lab };
        let Some(lost) = lab.lost.pop() else {
            return 0;
        };
        let part = SpindleLost {
            ordinal: lost.ordinal,
            lbn: lost.lbn,
            sectors: lost.sectors,
            unit: lost.unit,
        };
        // SAFETY: the caller's variable.
        unsafe { ptr::write(out, part) };
        1
    })
}

/// 1: no command is outstanding and all data is on the medium; 0 otherwise.
///
/// # Safety
/// `lab` must be valid.
#[no_mangle]
pub unsafe extern "C" fn spindle_lab_idle(lab: *const SpindleLab) -> i32 {
    // SAFETY: the caller's lab.
    guard("spindle_lab_idle", || {
        i32::from(unsafe { (*lab).lab.idle() })
    })
}

/// Copies whole lines of the trace into `buf` and returns the bytes (no NUL follows); 0 when no
/// more are final. Give at least 512 bytes, and call it now and then: unread lines stay in memory.
///
/// # Safety
/// `lab` must be valid, and `buf` have `len` bytes.
#[no_mangle]
pub unsafe extern "C" fn spindle_trace_read(
    lab: *mut SpindleLab,
    buf: *mut c_char,
    len: usize,
) -> usize {
    guard("spindle_trace_read", || {
        if buf.is_null() || len == 0 {
            return 0;
        }
        // SAFETY: the caller gives `len` writable bytes; zeroed, so that none is uninitialised.
        let buf = unsafe {
            ptr::write_bytes(buf, 0, len);
            std::slice::from_raw_parts_mut(buf.cast::<u8>(), len)
        };
        // SAFETY: the caller's lab.
        unsafe { (*lab).lab.trace_read(buf) }
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    #[test]
    fn ffi_runs_a_lab() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../catalogue");
        let path = std::env::temp_dir().join(format!("spindle-ffi-{}.toml", std::process::id()));
        let text = format!(
            "schema = \"spindle-topology/1\"\ncatalogue = {folder:?}\n\
             [[bus]]\nname = \"b\"\nentry = \"ata-100\"\n\
             [[unit]]\nname = \"disk0\"\ndrive = \"deskstar-75gxp\"\nbus = \"b\"\nmax_tags = 4\n\
             [[unit]]\nname = \"system\"\nnull_latency_ns = 20000\n"
        );
        std::fs::write(&path, text).unwrap();
        let path_c = CString::new(path.to_str().unwrap()).unwrap();
        let (disk, nothing, label) = (c"disk0", c"nothing", c"cell");
        let mut err = [1 as c_char; 24];
        let (e, n) = (err.as_mut_ptr(), err.len());
        let mut lab = ptr::null_mut();
        // SAFETY: all pointers are to live values, and the lab is open between open and close.
        unsafe {
            assert_eq!(spindle_lab_open(path_c.as_ptr(), &mut lab, e, n), 0);
            std::fs::remove_file(&path).unwrap();
            assert_eq!(spindle_unit_find(lab, nothing.as_ptr(), e, n), -1);
            assert_eq!(
                CStr::from_ptr(e).to_bytes().len(),
                n - 1,
                "cut and terminated"
            );
            let unit = spindle_unit_find(lab, disk.as_ptr(), e, n) as u32;
            assert_eq!(
                (
                    unit,
                    spindle_unit_sectors(lab, 0),
                    spindle_unit_sectors(lab, 1)
                ),
                (0, 60_036_480, 0)
            );
            assert_eq!(spindle_unit_max_tags(lab, unit), 4);
            assert_eq!(
                spindle_unit_set(lab, unit, c"queue".as_ptr(), c"fcfs".as_ptr(), e, n),
                0
            );
            let mut delay = -1;
            assert_eq!(
                spindle_lab_reset(lab, 0, label.as_ptr(), 1, &mut delay, e, n),
                0
            );
            assert!((0..8_333_334).contains(&delay));
            assert_eq!(spindle_next_event_ns(lab), SPINDLE_NEVER);
            assert_eq!(spindle_submit(lab, delay, unit, 9, 0, 8, 7, e, n), -1);
            assert_eq!(spindle_submit(lab, delay, unit, 0, 0, 8, 7, e, n), 0);
            assert_eq!(spindle_submit(lab, delay, 1, 2, 0, 0, 8, e, n), 0);
            assert_eq!(
                spindle_lab_outstanding(lab),
                1,
                "the null unit's does not count"
            );
            let words = |w: &CStr| spindle_lab_mark(lab, delay, w.as_ptr(), e, n);
            assert_eq!(
                [
                    words(c"two\nlines"),
                    words(c""),
                    words(c"drained 3 commands")
                ],
                [-1, -1, 0]
            );
            let mut done = Vec::new();
            while spindle_next_event_ns(lab) != SPINDLE_NEVER {
                spindle_advance(lab, spindle_next_event_ns(lab));
                let mut one = SpindleCompletion {
                    cookie: 0,
                    unit: 9,
                    status: 9,
                    acknowledged_ns: 0,
                    ordinal: 9,
                };
                while spindle_completion(lab, &mut one) == 1 {
                    done.push((one.cookie, one.unit, one.status, one.acknowledged_ns));
                }
            }
            assert_eq!(done[0], (8, 1, 0, delay + 20_000));
            assert_eq!((done[1].0, done[1].1, done[1].2), (7, 0, 0));
            assert_eq!(
                (spindle_lab_idle(lab), spindle_lab_outstanding(lab)),
                (1, 0)
            );
            assert_eq!(spindle_oldest_volatile(lab), u64::MAX);
            let mut buf = [0 as c_char; 1024];
            let len = spindle_trace_read(lab, buf.as_mut_ptr(), buf.len());
            let text: Vec<u8> = buf[..len].iter().map(|&c| c as u8).collect();
            let text = String::from_utf8(text).unwrap();
            assert_eq!(text.lines().count(), 4, "{text}");
            let marked = format!("# drained 3 commands now_ns {delay}");
            assert_eq!(text.lines().nth(2), Some(marked.as_str()));
            assert!(
                text.lines().nth(3).unwrap().starts_with("disk0 R 0 8 0 "),
                "{text}"
            );
            // A cached write that the power cut overtakes: number 2, all of it.
            let now = 1_000_000_000;
            assert_eq!(spindle_submit(lab, now, unit, 1, 80, 8, 9, e, n), 0);
            let mut one = std::mem::zeroed::<SpindleCompletion>();
            while spindle_completion(lab, &mut one) == 0 {
                spindle_advance(lab, spindle_next_event_ns(lab));
            }
            assert_eq!(
                (one.cookie, one.ordinal, spindle_oldest_volatile(lab)),
                (9, 2, 2)
            );
            assert_eq!(spindle_power_cut(lab, one.acknowledged_ns, e, n), 0);
            let mut lost = std::mem::zeroed::<SpindleLost>();
            assert_eq!(spindle_lost(lab, &mut lost), 1);
            assert_eq!(
                (lost.ordinal, lost.lbn, lost.sectors, lost.unit),
                (2, 80, 8, 0)
            );
            assert_eq!(spindle_lost(lab, &mut lost), 0);
            assert_eq!(spindle_submit(lab, 2 * now, unit, 0, 0, 8, 9, e, n), -1);
            spindle_lab_close(lab);
        }
    }

    /// A lab of one null unit.
    fn null_lab(name: &str) -> *mut SpindleLab {
        let path = std::env::temp_dir().join(format!("spindle-{name}-{}.toml", std::process::id()));
        let text = "schema = \"spindle-topology/1\"\ncatalogue = \".\"\n\
                    [[unit]]\nname = \"system\"\nnull_latency_ns = 20000\n";
        std::fs::write(&path, text).unwrap();
        let path_c = CString::new(path.to_str().unwrap()).unwrap();
        let mut lab = ptr::null_mut();
        // SAFETY: all pointers are to live values.
        let opened = unsafe { spindle_lab_open(path_c.as_ptr(), &mut lab, ptr::null_mut(), 0) };
        std::fs::remove_file(&path).unwrap();
        assert_eq!(opened, 0);
        lab
    }

    #[test]
    fn ffi_aborts_with_a_message() {
        const CHILD: &str = "SPINDLE_FFI_ABORTS";
        if std::env::var_os(CHILD).is_some() {
            let lab = null_lab("abort");
            // SAFETY: the lab is open. Time goes back, which is a broken clock of the caller.
            unsafe {
                spindle_advance(lab, 1000);
                spindle_advance(lab, 999);
            }
            std::process::exit(0);
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "ffi::tests::ffi_aborts_with_a_message",
            "--nocapture",
        ]);
        let out = child.env(CHILD, "1").output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(
            said.contains("advance to 999 ns: the lab is at 1000 ns already"),
            "{said}"
        );
        assert!(said.contains("spindle_advance cannot go on"), "{said}");
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(
            out.status.signal(),
            Some(6),
            "it aborts, and unwinds into no C"
        );
    }

    #[test]
    fn ffi_tells_an_io_error() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../catalogue");
        let path = std::env::temp_dir().join(format!("spindle-eio-{}.toml", std::process::id()));
        let mut text = format!(
            "schema = \"spindle-topology/1\"\ncatalogue = {folder:?}\n\
             [[array]]\nname = \"disk0\"\ncontroller = \"raid1-2\"\nmembers = [\"m0\", \"m1\"]\n"
        );
        for member in ["m0", "m1"] {
            text += &format!(
                "[[bus]]\nname = \"{member}\"\nentry = \"ata-100\"\n\
                 [[unit]]\nname = \"{member}\"\ndrive = \"deskstar-75gxp\"\nbus = \"{member}\"\n\
                 max_tags = 1\nmember = true\n\
                 [[fault]]\nunit = \"{member}\"\nafter_marker_ns = 1000000\n"
            );
        }
        std::fs::write(&path, text).unwrap();
        let path_c = CString::new(path.to_str().unwrap()).unwrap();
        let mut err = [0 as c_char; 256];
        let (e, n) = (err.as_mut_ptr(), err.len());
        let mut lab = ptr::null_mut();
        // SAFETY: all pointers are to live values, and the lab is open between open and close.
        unsafe {
            assert_eq!(spindle_lab_open(path_c.as_ptr(), &mut lab, e, n), 0);
            std::fs::remove_file(&path).unwrap();
            let unit = spindle_unit_find(lab, c"disk0".as_ptr(), e, n) as u32;
            assert_eq!((unit, spindle_unit_sectors(lab, unit)), (2, 60_036_480));
            let mut delay = 0;
            let label = c"cell".as_ptr();
            assert_eq!(spindle_lab_reset(lab, 0, label, 1, &mut delay, e, n), 0);
            assert_eq!(
                spindle_submit(lab, 2_000_000 + delay, unit, 0, 0, 8, 7, e, n),
                0
            );
            let mut one = std::mem::zeroed::<SpindleCompletion>();
            while spindle_completion(lab, &mut one) == 0 {
                spindle_advance(lab, spindle_next_event_ns(lab));
            }
            assert_eq!((one.cookie, one.unit, one.status), (7, unit, SPINDLE_EIO));
            assert_eq!(spindle_lab_idle(lab), 1);
            spindle_lab_close(lab);
        }
    }
}
