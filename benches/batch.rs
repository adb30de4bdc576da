//! Many messages and many frames at once, beside the libraries that hash one, a peer that hashes many, and what the
//! hardware allows.

#![allow(missing_docs, reason = "criterion_group! makes undocumented items")]

mod sample;

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use membrane_codec::{BatchVerifier, Kernel, parse_canonical, sha256_many, sha256_many_with};
use rand::{RngExt, SeedableRng};
use sha2::Digest;

/// Bytes that no hash can profit from, the same in every run.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    rand_chacha::ChaCha8Rng::seed_from_u64(seed).fill(&mut bytes[..]);
    bytes
}

/// About this much is hashed in one iteration: more than a first-level cache has, less than a third-level one.
const BATCH_LEN: usize = 16 << 20;

fn equal_messages(len: usize) -> Vec<Vec<u8>> {
    // Eight lanes' worth at the least.
    (0..(BATCH_LEN / len).max(8)).map(|number| noise(number as u64, len)).collect()
}

/// From 1 KiB to 16 MiB, log-uniform: each power of two as likely as any other.
fn uneven_messages() -> Vec<Vec<u8>> {
    let mut lengths = rand_chacha::ChaCha8Rng::seed_from_u64(5);
    (0..96).map(|number| noise(number, 2_f64.powf(lengths.random_range(10.0..24.0)) as usize)).collect()
}

/// The four contenders on the same messages, in one thread.
fn contenders(group: &mut BenchmarkGroup<'_, WallTime>, messages: &[Vec<u8>], id: impl Fn(&str) -> BenchmarkId) {
    group.throughput(Throughput::Bytes(messages.iter().map(|message| message.len() as u64).sum()));
    group.bench_function(id("membrane"), |bencher| bencher.iter(|| sha256_many(black_box(messages))));
    group.bench_function(id("sha2"), |bencher| {
        bencher.iter(|| black_box(messages).iter().map(sha2::Sha256::digest).collect::<Vec<_>>());
    });
    group.bench_function(id("ring"), |bencher| {
        let digest = |message: &Vec<u8>| ring::digest::digest(&ring::digest::SHA256, message);
        bencher.iter(|| black_box(messages).iter().map(digest).collect::<Vec<_>>());
    });
    group.bench_function(id("tape_sha256"), |bencher| {
        bencher.iter(|| {
            let messages: Vec<&[u8]> = black_box(messages).iter().map(Vec::as_slice).collect();
            let mut digests = vec![[0; 32]; messages.len()];
            tape_sha256::hash_many(&messages, &mut digests);
            digests
        });
    });
}

fn batch_equal(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batch_equal");
    for len in [256, 4096, 65536, 1_048_576, 8_388_608] {
        contenders(&mut group, &equal_messages(len), |contender| BenchmarkId::new(contender, len));
    }
    group.finish();
}

fn batch_uneven(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batch_uneven");
    contenders(&mut group, &uneven_messages(), |contender| BenchmarkId::from_parameter(contender));
    group.finish();
}

/// Each kernel in turn, on messages of 64 KiB, and the lanes of the fastest one by one.
fn batch_kernels(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batch_kernels");
    let messages = equal_messages(65536);
    group.throughput(Throughput::Bytes(BATCH_LEN as u64));
    for kernel in Kernel::available() {
        group.bench_function(BenchmarkId::from_parameter(kernel), |bencher| {
            bencher.iter(|| sha256_many_with(kernel, black_box(&messages)));
        });
    }
    for lanes in 1..=Kernel::default().lanes() {
        // As many messages at a time as there are lanes to be filled.
        let messages = &messages[..messages.len() / lanes * lanes];
        group.throughput(Throughput::Bytes(messages.iter().map(|message| message.len() as u64).sum()));
        group.bench_function(BenchmarkId::new("lanes", lanes), |bencher| {
            bencher.iter(|| black_box(messages).chunks_exact(lanes).map(sha256_many).collect::<Vec<_>>());
        });
    }
    group.finish();
}

fn frames(payload_len: usize) -> Vec<Vec<u8>> {
    equal_messages(payload_len).iter().map(|payload| sample::frame_of(payload)).collect()
}

/// How cost grows with the number of frames, in one thread.
fn batch_count(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batch_count");
    let frames = frames(4096);
    for count in [1, 2, 4, 16, 256, 4096] {
        let frames = &frames[..count];
        group.throughput(Throughput::Bytes(frames.iter().map(|frame| frame.len() as u64).sum()));
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| BatchVerifier::new().verify_in_this_thread(black_box(frames)));
        });
    }
    group.finish();
}

fn batch_threads(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batch_threads");
    let frames = frames(65536);
    group.throughput(Throughput::Bytes(frames.iter().map(|frame| frame.len() as u64).sum()));
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let verifier = BatchVerifier::new().pool(&pool);
        assert!(verifier.verify(&frames).report.all_well());
        group.bench_function(BenchmarkId::from_parameter(threads), |bencher| {
            bencher.iter(|| verifier.verify(black_box(&frames)));
        });
    }
    // What the payloads alone cost, and the whole of small frames.
    let payloads = equal_messages(65536);
    group.throughput(Throughput::Bytes(BATCH_LEN as u64));
    group.bench_function(BenchmarkId::new("payloads_alone", 65536), |bencher| {
        bencher.iter(|| sha256_many(black_box(&payloads)));
    });
    for payload_len in [1024, 4096, 65536] {
        let frames = self::frames(payload_len);
        group.bench_function(BenchmarkId::new("in_this_thread", payload_len), |bencher| {
            bencher.iter(|| BatchVerifier::new().verify_in_this_thread(black_box(&frames)));
        });
        group.bench_function(BenchmarkId::new("one_after_another", payload_len), |bencher| {
            bencher.iter(|| black_box(&frames).iter().filter(|frame| parse_canonical(frame).is_ok()).count());
        });
    }
    // Fewer frames than there are lanes: they must be dealt out.
    let few = &self::frames(4 << 20)[..4];
    group.throughput(Throughput::Bytes(4 * (4 << 20)));
    for threads in [1, 2] {
        group.bench_function(BenchmarkId::new("four_large", threads), |bencher| {
            bencher.iter(|| BatchVerifier::new().threads(threads).verify(black_box(few)));
        });
    }
    group.finish();
}

fn sha_unit_bound(criterion: &mut Criterion) {
    const BLOCKS: usize = BATCH_LEN / 64 / 4;
    if !Kernel::run_sha_unit(1) {
        eprintln!("skipped: sha_unit_bound: this processor has no SHA unit");
        return;
    }
    let mut group = criterion.benchmark_group("sha_unit_bound");
    group.throughput(Throughput::Bytes(BATCH_LEN as u64));
    group.bench_function(BenchmarkId::from_parameter(BATCH_LEN), |bencher| {
        bencher.iter(|| Kernel::run_sha_unit(black_box(BLOCKS)));
    });
    group.finish();
}

fn read_bandwidth(criterion: &mut Criterion) {
    let data = noise(0, BATCH_LEN);
    let mut group = criterion.benchmark_group("read_bandwidth");
    group.throughput(Throughput::Bytes(BATCH_LEN as u64));
    group.bench_function(BenchmarkId::from_parameter(BATCH_LEN), |bencher| {
        bencher.iter(|| {
            let words = black_box(&data).as_chunks::<8>().0;
            words.iter().fold(0, |sum: u64, word| sum ^ u64::from_ne_bytes(*word))
        });
    });
    group.finish();
}

criterion_group!(
    benches,
    batch_equal,
    batch_uneven,
    batch_kernels,
    batch_threads,
    batch_count,
    sha_unit_bound,
    read_bandwidth
);
criterion_main!(benches);
