//! What reading a frame costs: structure, identity on each road and with a peer, and everything together beside the
//! bare hash of the payload.

#![allow(missing_docs, reason = "criterion_group! makes undocumented items")]

mod sample;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use membrane_codec::{Frame, IdentityView, PayloadIdentity, parse_canonical, sha256};
use serde::Deserialize;

/// The peer: what an embedder would write with serde_json, as fast as it gets there. Borrowed strings, no `Vec`.
#[derive(Deserialize)]
#[allow(dead_code, reason = "read by serde_json alone")]
struct Typed<'a> {
    payload_hash: &'a str,
    model_id: &'a str,
    model_revision: &'a str,
    tokenizer_name: &'a str,
    tokenizer_revision: &'a str,
    layer_range: [i64; 2],
    head_range: [i64; 2],
    token_span: [i64; 2],
    dtype: &'a str,
    shape: [u64; 5],
}

fn frame(payload_len: usize) -> Vec<u8> {
    let payload: Vec<u8> = (0..payload_len).map(|at| (at * 31 + at / 251) as u8).collect();
    sample::frame_of(&payload)
}

fn parse(criterion: &mut Criterion) {
    let bytes = frame(4096);
    let json = Frame::parse(&bytes).expect("sound").identity_bytes();
    let pretty = pretty(json);
    assert!(IdentityView::parse(json).expect("valid").is_canonical());
    assert!(!IdentityView::parse(&pretty).expect("valid").is_canonical());

    let mut group = criterion.benchmark_group("parse");
    group.bench_function("frame_parse", |bencher| bencher.iter(|| Frame::parse(black_box(&bytes))));
    group.bench_function("identity_canonical", |bencher| bencher.iter(|| IdentityView::parse(black_box(json))));
    group.bench_function("identity_general", |bencher| bencher.iter(|| IdentityView::parse(black_box(&pretty))));
    group.bench_function("identity_serde_json", |bencher| {
        bencher.iter(|| serde_json::from_slice::<Typed<'_>>(black_box(json)).expect("valid"));
    });
    for payload_len in [4096, 65536, 8_388_608] {
        let bytes = frame(payload_len);
        let payload = Frame::parse(&bytes).expect("sound").payload();
        group.throughput(Throughput::Bytes(payload_len as u64));
        group.bench_function(BenchmarkId::new("parse_canonical", payload_len), |bencher| {
            bencher.iter(|| parse_canonical(black_box(&bytes)));
        });
        group.bench_function(BenchmarkId::new("bare_hash", payload_len), |bencher| {
            bencher.iter(|| sha256(black_box(payload)));
        });
    }
    group.finish();
}

/// The same identity with a space after each colon and comma, as Python's `json.dumps` writes it by default.
fn pretty(json: &[u8]) -> Vec<u8> {
    let value: PayloadIdentity = serde_json::from_slice(json).expect("valid");
    let text = serde_json::to_string(&value).expect("JSON");
    text.replace("\":", "\": ").replace(",", ", ").into_bytes()
}

criterion_group!(benches, parse);
criterion_main!(benches);
