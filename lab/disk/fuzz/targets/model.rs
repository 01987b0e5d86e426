// SPDX-License-Identifier: MIT
//! What the drive parser accepts, the model must be able to run: a few requests at both ends and
//! in the middle of the drive, queued and with cache, until nothing is pending.
#![no_main]

use std::sync::LazyLock;

use entry::Scratch;
use libfuzzer_sys::fuzz_target;
use spindle_disk::catalogue::BusKind;
use spindle_disk::{one_drive, Lab, Op, NEVER, TIME_MAX_NS};

static SCRATCH: LazyLock<Scratch> = LazyLock::new(Scratch::new);

fuzz_target!(|data: &[u8]| {
    let catalogue = SCRATCH.with("drives", data);
    let Ok(model) = catalogue.drive("input", &toml::Table::new()) else {
        return;
    };
    let bus = match model.file.bus_kind.value {
        BusKind::Ata => "ata-100",
        BusKind::Scsi => "ultra2-scsi",
    };
    let Ok(topology) = one_drive::topology(&catalogue, "input", bus, None) else {
        return;
    };
    let mut lab = Lab::new(topology);
    let end = lab.sectors(0);
    let mut now_ns = lab.reset(0, "fuzz", 1).expect("an idle lab");
    let mut cookie = 0;
    for op in [Op::Read, Op::Write, Op::WriteFua, Op::Flush] {
        for (lbn, sectors) in [(0, 1), (end / 2, 16), (end.saturating_sub(64), 64)] {
            if lab.submit(now_ns, 0, op, lbn, sectors, cookie).is_ok() {
                cookie += 1;
            }
        }
        now_ns += 1_000_000;
    }
    let mut done = 0;
    for _ in 0..10_000 {
        while let Some(completion) = lab.completion() {
            assert!(completion.acknowledged_ns >= 0);
            done += 1;
        }
        match lab.next_event_ns() {
            NEVER => {
                assert_eq!(done, cookie, "requests are lost");
                return;
            }
            next if next > TIME_MAX_NS => return,
            next => lab.advance(next),
        }
    }
    // Zones of one sector a track have many events; that they end is the replay's affair.
});
