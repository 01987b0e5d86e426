// SPDX-License-Identifier: MIT
//! Random 8 KB reads through the small drive at constant depth, with SPTF: requests a second.

#[path = "../tests/common/mod.rs"]
mod common;

use criterion::{criterion_group, criterion_main, BatchSize, Criterion, Throughput};
use spindle_disk::catalogue::Catalogue;
use spindle_disk::rng::SplitMix64;
use spindle_disk::Op;

const REQUESTS: u64 = 10_000;

fn replay(c: &mut Criterion) {
    let catalogue = Catalogue::new(concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue"));
    let model = catalogue
        .drive("ultrastar-36zx", &toml::Table::new())
        .unwrap();
    let mut rng = SplitMix64::new(1);
    let blocks = model.geometry.sectors / 16;
    let requests: Vec<_> = (0..REQUESTS)
        .map(|_| (Op::Read, rng.below(blocks) * 16, 16))
        .collect();
    let mut group = c.benchmark_group("random_read");
    group
        .throughput(Throughput::Elements(REQUESTS))
        .sample_size(10);
    for depth in [1, 32, 128] {
        let lab = || {
            let mut model = model.clone();
            model.file.queue.value = spindle_disk::catalogue::QueueAlgorithm::Sptf;
            let mut lab = common::lab_of(model, common::test_bus(""), depth as u32);
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

criterion_group!(benches, replay);
criterion_main!(benches);
