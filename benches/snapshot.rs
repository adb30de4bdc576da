//! What loading a snapshot costs, from bytes in memory to answers about shards, beside what serde_json and simd-json take to
//! fill the standard library's maps, and simd-json to build its tape, which answers nothing yet.

#![allow(missing_docs, reason = "criterion_group! makes undocumented items")]

use std::collections::HashMap;
use std::fmt::Write;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use membrane_codec::sha256;
use membrane_codec::snapshot::Snapshot;
use serde::Deserialize;

/// The peer: what an embedder would write.
#[derive(Deserialize)]
#[allow(dead_code, reason = "read by serde alone")]
struct Peer {
    schema_version: u32,
    cluster_epoch: u64,
    captured_at: f64,
    membership: Vec<PeerMember>,
    shards: PeerShards,
    server: HashMap<String, u64>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "read by serde alone")]
struct PeerMember {
    node_id: String,
    host: String,
    port: u16,
}

#[derive(Deserialize)]
struct PeerShards {
    primary_map: HashMap<String, String>,
    replica_map: HashMap<String, Vec<String>>,
}

/// Written as Python's `json.dumps` does: hashes as keys, 64 nodes, two replicas of each shard.
fn snapshot_of(shards: u32) -> String {
    let node = |number: u32| number.wrapping_mul(2_654_435_761) >> 26;
    let (mut primary, mut replica, mut membership) = (String::new(), String::new(), String::new());
    for number in 0..shards {
        let hash = sha256(&number.to_le_bytes());
        let separator = if number == 0 { "" } else { ", " };
        let _ = write!(primary, "{separator}\"{hash}\": \"node-{}\"", node(number));
        let replicas = (node(number.wrapping_add(7)), node(number.wrapping_add(19)));
        let _ = write!(replica, "{separator}\"{hash}\": [\"node-{}\", \"node-{}\"]", replicas.0, replicas.1);
    }
    for number in 0..64 {
        let separator = if number == 0 { "" } else { ", " };
        let member = format!("{{\"node_id\": \"node-{number}\", \"host\": \"10.0.0.{number}\", \"port\": 8080}}");
        membership.extend([separator, &member]);
    }
    format!(
        "{{\"schema_version\": 5, \"cluster_epoch\": 17, \"captured_at\": 1735600000.123, \"membership\": [{membership}], \
         \"shards\": {{\"primary_map\": {{{primary}}}, \"replica_map\": {{{replica}}}}}, \
         \"server\": {{\"request_count\": 123, \"error_count\": 4}}}}"
    )
}

fn snapshot_load(criterion: &mut Criterion) {
    for shards in [1000, 1_000_000] {
        let json = snapshot_of(shards).into_bytes();
        let hash = sha256(&7_u32.to_le_bytes()).to_string();
        let snapshot = Snapshot::from_json(&json[..]).expect("a snapshot");
        let peer: Peer = serde_json::from_slice(&json).expect("a snapshot");
        assert_eq!(snapshot.shards.primary(&hash).expect("it is there"), peer.shards.primary_map[&hash].as_str());
        let replicas = snapshot.shards.replicas(&hash).expect("it is there");
        assert!(replicas.map(String::from).eq(peer.shards.replica_map[&hash].iter().cloned()));
        drop((snapshot, peer));

        let mut group = criterion.benchmark_group(format!("snapshot_load/{shards}"));
        group.throughput(Throughput::Bytes(json.len() as u64));
        group.sampling_mode(SamplingMode::Flat).sample_size(10);
        let owned = || json.clone();
        let size = if shards > 1000 { BatchSize::PerIteration } else { BatchSize::LargeInput };
        group.bench_function("membrane", |bencher| {
            bencher.iter_batched(owned, |json| Snapshot::from_json(json).expect("a snapshot"), size);
        });
        group.bench_function("serde_json_hash_maps", |bencher| {
            bencher.iter_batched(
                owned,
                |json| (serde_json::from_slice::<Peer>(black_box(&json)).expect("a snapshot"), json),
                size,
            );
        });
        group.bench_function("simd_json_hash_maps", |bencher| {
            bencher.iter_batched(
                owned,
                |mut json| (simd_json::from_slice::<Peer>(black_box(&mut json)).expect("a snapshot"), json),
                size,
            );
        });
        group.bench_function("simd_json_tape", |bencher| {
            bencher.iter_batched(
                owned,
                |mut json| {
                    assert!(simd_json::to_tape(black_box(&mut json)).expect("JSON").0.len() > 4 * shards as usize);
                    json
                },
                size,
            );
        });
        group.finish();
    }
}

fn snapshot_look_up(criterion: &mut Criterion) {
    let json = snapshot_of(1_000_000);
    let hashes: Vec<_> = (0..4096_u32).map(|number| sha256(&(number * 244).to_le_bytes()).to_string()).collect();
    let peer: Peer = serde_json::from_str(&json).expect("a snapshot");
    let snapshot = Snapshot::from_json(json).expect("a snapshot");
    let mut group = criterion.benchmark_group("snapshot_look_up/1000000");
    group.throughput(Throughput::Elements(hashes.len() as u64));
    group.bench_function("membrane", |bencher| {
        bencher.iter(|| hashes.iter().filter(|hash| snapshot.shards.primary(black_box(hash)).is_some()).count());
    });
    group.bench_function("hash_map", |bencher| {
        bencher.iter(|| hashes.iter().filter(|hash| peer.shards.primary_map.contains_key(black_box(*hash))).count());
    });
    group.finish();
}

criterion_group!(benches, snapshot_load, snapshot_look_up);
criterion_main!(benches);
