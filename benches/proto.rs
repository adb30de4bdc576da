//! The hashes of a payload's chunks, many at once as a `Chunker` makes them, and one by one.

#![allow(missing_docs, reason = "criterion_group! makes undocumented items")]

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use membrane_codec::proto::Chunker;
use membrane_codec::sha256;
use rand::{RngExt, SeedableRng};
use sha2::Digest;

const PAYLOAD_LEN: usize = 64 << 20;

fn chunk_hash(criterion: &mut Criterion) {
    let mut payload = vec![0; PAYLOAD_LEN];
    rand_chacha::ChaCha8Rng::seed_from_u64(1).fill(&mut payload[..]);
    let payload = Bytes::from(payload);
    // Known, so that cutting hashes the chunks alone.
    let chunker = Chunker::new().content_digest(sha256(&payload));

    let mut group = criterion.benchmark_group("chunk_hash");
    group.throughput(Throughput::Bytes(PAYLOAD_LEN as u64));
    group.bench_function("membrane", |bencher| bencher.iter(|| chunker.cut(black_box(&payload).clone())));
    group.bench_function("sha2", |bencher| {
        let chunks = || black_box(&payload).chunks(Chunker::DEFAULT_CHUNK_LEN);
        bencher.iter(|| chunks().map(sha2::Sha256::digest).collect::<Vec<_>>());
    });
    group.bench_function("ring", |bencher| {
        let digest = |chunk| ring::digest::digest(&ring::digest::SHA256, chunk);
        let chunks = || black_box(&payload).chunks(Chunker::DEFAULT_CHUNK_LEN);
        bencher.iter(|| chunks().map(digest).collect::<Vec<_>>());
    });
    group.finish();
}

criterion_group!(benches, chunk_hash);
criterion_main!(benches);
