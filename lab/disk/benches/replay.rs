// SPDX-License-Identifier: MIT
//! Requests a second on one core: random reads, sequential reads, and a mix of both with writes,
//! at a constant number outstanding, under SPTF; no trace is kept. `cargo bench` prints the rates;
//! the line before each group says what memory the drive's tables take.

#[path = "../tests/common/mod.rs"]
mod common;

use criterion::{criterion_group, criterion_main, BatchSize, Criterion, Throughput};
use spindle_disk::catalogue::{Catalogue, QueueAlgorithm};
use spindle_disk::rng::SplitMix64;
use spindle_disk::Op;

const REQUESTS: u64 = 10_000;
const DEPTHS: [usize; 4] = [1, 32, 128, 256];

/// 8 KB each.
const SECTORS: u64 = 16;

fn replay(c: &mut Criterion) {
    let catalogue = Catalogue::new(concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue"));
    let model = catalogue.drive("ultrastar-36zx", &toml::Table::new());
    let mut model = model.unwrap();
    model.file.queue.value = QueueAlgorithm::Sptf;
    eprintln!("tables of the drive: {} bytes", model.bytes());
    let blocks = model.geometry.sectors / SECTORS;
    let mut rng = SplitMix64::new(1);
    let random: Vec<_> = (0..REQUESTS)
        .map(|_| (Op::Read, rng.below(blocks) * SECTORS, SECTORS))
        .collect();
    let sequential: Vec<_> = (0..REQUESTS)
        .map(|i| (Op::Read, i * SECTORS, SECTORS))
        .collect();
    let mixed: Vec<_> = (0..REQUESTS)
        .map(|i| match i % 4 {
            0 | 1 => (Op::Read, i * SECTORS, SECTORS),
            2 => (Op::Read, rng.below(blocks) * SECTORS, SECTORS),
            _ => (Op::Write, rng.below(blocks) * SECTORS, SECTORS),
        })
        .collect();
    for (name, requests) in [
        ("random_read", random),
        ("sequential_read", sequential),
        ("mixed", mixed),
    ] {
        let mut group = c.benchmark_group(name);
        group
            .throughput(Throughput::Elements(REQUESTS))
            .sample_size(10);
        for depth in DEPTHS {
            let lab = || {
                let bus = common::test_bus("");
                let mut lab = common::lab_of(model.clone(), bus, depth as u32);
                lab.trace_off();
                lab
            };
            group.bench_function(format!("depth_{depth}"), |b| {
                b.iter_batched_ref(
                    lab,
                    |lab| common::closed_loop(lab, &requests, depth, 0),
                    BatchSize::LargeInput,
                );
            });
        }
        group.finish();
    }
}

criterion_group!(benches, replay);
criterion_main!(benches);
