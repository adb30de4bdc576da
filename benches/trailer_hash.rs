//! The libraries that can hash one message, side by side: decides `src/digest/backend.rs`.

#![allow(missing_docs, reason = "criterion_group! makes undocumented items")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sha2::Digest;

fn trailer_hash(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("trailer_hash");
    for len in [0, 64, 256, 1024, 4096, 65536, 8_388_608] {
        let message: Vec<u8> = (0..len).map(|at| (at * 31 + at / 251) as u8).collect();
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::new("sha2", len), |bencher| {
            bencher.iter(|| sha2::Sha256::digest(black_box(&message)));
        });
        group.bench_function(BenchmarkId::new("ring", len), |bencher| {
            bencher.iter(|| ring::digest::digest(&ring::digest::SHA256, black_box(&message)));
        });
    }
    group.finish();
}

criterion_group!(benches, trailer_hash);
criterion_main!(benches);
