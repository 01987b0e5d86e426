// SPDX-License-Identifier: MIT
//! The C interface from outside, as a program in C calls it: by names and pointers only. What a single call does is
//! tested in `model/src/ffi.rs`.

use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr;

// Linked for its C functions; nothing here knows its types.
use spindle_disk as _;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Completion {
    cookie: u64,
    unit: u32,
    status: i32,
    acknowledged_ns: i64,
    ordinal: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Lost {
    ordinal: u64,
    lbn: u64,
    sectors: u64,
    unit: u32,
}

extern "C" {
    fn spindle_lab_open(
        path: *const c_char,
        lab: *mut *mut c_void,
        err: *mut c_char,
        err_len: usize,
    ) -> i32;
    fn spindle_lab_close(lab: *mut c_void);
    fn spindle_submit(
        lab: *mut c_void,
        now_ns: i64,
        unit: u32,
        op: u32,
        lbn: u64,
        sectors: u64,
        cookie: u64,
        err: *mut c_char,
        err_len: usize,
    ) -> i32;
    fn spindle_next_event_ns(lab: *const c_void) -> i64;
    fn spindle_advance(lab: *mut c_void, now_ns: i64);
    fn spindle_completion(lab: *mut c_void, out: *mut Completion) -> i32;
    fn spindle_power_cut(lab: *mut c_void, now_ns: i64, err: *mut c_char, err_len: usize) -> i32;
    fn spindle_lost(lab: *mut c_void, out: *mut Lost) -> i32;
    fn spindle_trace_read(lab: *mut c_void, buf: *mut c_char, len: usize) -> usize;
}

/// A lab of one drive.
struct Drive(*mut c_void);

impl Drive {
    fn open(name: &str) -> Drive {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue");
        let path = std::env::temp_dir().join(format!("spindle-{name}-{}.toml", std::process::id()));
        let text = format!(
            "schema = \"spindle-topology/1\"\ncatalogue = {folder:?}\n\
             [[bus]]\nname = \"b\"\nentry = \"ata-100\"\n\
             [[unit]]\nname = \"disk0\"\ndrive = \"deskstar-75gxp\"\nbus = \"b\"\nmax_tags = 4\n"
        );
        std::fs::write(&path, text).unwrap();
        let words = CString::new(path.to_str().unwrap()).unwrap();
        let mut lab = ptr::null_mut();
        // SAFETY: the pointers are to live values.
        let status = unsafe { spindle_lab_open(words.as_ptr(), &mut lab, ptr::null_mut(), 0) };
        std::fs::remove_file(&path).unwrap();
        assert_eq!(status, 0);
        Drive(lab)
    }

    fn submit(&self, now_ns: i64, op: u32, lbn: u64, sectors: u64, cookie: u64) {
        // SAFETY: the lab is open.
        let status = unsafe {
            spindle_submit(
                self.0,
                now_ns,
                0,
                op,
                lbn,
                sectors,
                cookie,
                ptr::null_mut(),
                0,
            )
        };
        assert_eq!(status, 0);
    }

    /// Lets time pass until so many commands are complete.
    fn completions(&self, count: usize) -> Vec<Completion> {
        let (mut found, mut one) = (Vec::new(), Completion::default());
        while found.len() < count {
            // SAFETY: the lab is open, and `one` is live.
            unsafe {
                spindle_advance(self.0, spindle_next_event_ns(self.0));
                while spindle_completion(self.0, &mut one) == 1 {
                    found.push(one);
                }
            }
        }
        found
    }

    fn trace(&self) -> String {
        let mut buf = vec![0_u8; 1 << 16];
        // SAFETY: the lab is open, and the buffer as long as it says.
        let len = unsafe { spindle_trace_read(self.0, buf.as_mut_ptr().cast(), buf.len()) };
        String::from_utf8(buf[..len].to_vec()).unwrap()
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        // SAFETY: it is open, and nobody uses it afterwards.
        unsafe { spindle_lab_close(self.0) };
    }
}

#[test]
fn interface_has_four_operations() {
    let drive = Drive::open("operations");
    let mut now_ns = 0;
    for (op, lbn, sectors) in [(0, 0, 8), (1, 800, 8), (3, 1600, 8), (2, 0, 0)] {
        drive.submit(now_ns, op, lbn, sectors, u64::from(op));
        let done = drive.completions(1);
        assert_eq!((done[0].cookie, done[0].status), (u64::from(op), 0));
        now_ns = done[0].acknowledged_ns;
    }
    let trace = drive.trace();
    let operations = trace.lines().filter(|line| !line.starts_with('#'));
    let letters: Vec<&str> = operations
        .map(|line| line.split(' ').nth(1).unwrap())
        .collect();
    assert_eq!(letters, ["R", "W", "U", "F"], "{trace}");
}

/// Who puts back what was overwritten does it in this order: of two writes to one place the older one's comes last.
#[test]
fn interface_gives_the_newest_write_first() {
    let drive = Drive::open("lost");
    for number in 0..3 {
        // One behind the other: the drive has one segment for writes.
        drive.submit(0, 1, 8_000_000 + 8 * number, 8, number);
    }
    let done = drive.completions(3);
    let cut_ns = done.iter().map(|one| one.acknowledged_ns).max().unwrap();
    let (mut ordinals, mut part) = (Vec::new(), Lost::default());
    // SAFETY: the lab is open, and `part` is live.
    unsafe {
        assert_eq!(spindle_power_cut(drive.0, cut_ns, ptr::null_mut(), 0), 0);
        while spindle_lost(drive.0, &mut part) == 1 {
            ordinals.push(part.ordinal);
        }
    }
    assert_eq!(ordinals, [2, 1, 0]);
}

#[test]
fn interface_cuts_messages_between_characters() {
    let path = c"/nowhere/\xc3\xa4\xc3\xb6\xc3\xbc/\xe2\x82\xac.toml";
    let mut lab = ptr::null_mut();
    let mut said = |err: *mut c_char, err_len: usize| {
        // SAFETY: the pointers are to live values, and `err` is as long as it says or NULL.
        unsafe { spindle_lab_open(path.as_ptr(), &mut lab, err, err_len) }
    };
    assert_eq!(said(ptr::null_mut(), 24), -1, "who wants no message");
    let mut whole = [0 as c_char; 512];
    assert_eq!(said(whole.as_mut_ptr(), whole.len()), -1);
    // SAFETY: the message ends within the buffer.
    let whole = unsafe { CStr::from_ptr(whole.as_ptr()) }.to_str().unwrap();
    assert!(whole.contains("/nowhere/äöü/€.toml"), "{whole}");
    for len in 1..whole.len() {
        // What stands behind the buffer must stay.
        let mut err = [b'#' as c_char; 512];
        assert_eq!(said(err.as_mut_ptr(), len), -1);
        assert!(err[len..].iter().all(|&byte| byte == b'#' as c_char));
        // SAFETY: `err` has a NUL, as it is longer than the message.
        let cut = unsafe { CStr::from_ptr(err.as_ptr()) }.to_str().unwrap();
        assert!(
            whole.starts_with(cut) && cut.len() + 4 >= len,
            "{len}: {cut}"
        );
    }
}
