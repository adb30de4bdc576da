//! What parsing a message costs on each road, beside serde_json into owned fields, and simd-json through serde and alone.

#![allow(missing_docs, reason = "criterion_group! makes undocumented items")]

mod sample;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use membrane_codec::{FragmentMessage, Frame, MessageParser, PayloadIdentity};
use serde::Deserialize;

/// The peer: what a server would write with serde_json.
#[derive(Deserialize)]
#[allow(dead_code, reason = "read by serde_json alone")]
struct Owned {
    schema_version: u32,
    tenant_id: String,
    identity: OwnedIdentity,
    payload_ref: Option<String>,
    payload_size: u64,
    ttl: f64,
    reuse_score: f64,
    version_id: u64,
    consistency: String,
    hlc: u64,
    fingerprint_compat: String,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "read by serde_json alone")]
struct OwnedIdentity {
    payload_hash: String,
    model_id: String,
    model_revision: String,
    tokenizer_name: String,
    tokenizer_revision: String,
    layer_range: (i64, i64),
    head_range: (i64, i64),
    token_span: (i64, i64),
    dtype: String,
    shape: Vec<u64>,
}

/// The body as the Python reference writes it: the keys of the specification in its order, a space after each colon and
/// comma.
fn reference_body() -> String {
    let frame = sample::frame_of(&[7; 64]);
    let identity = Frame::parse(&frame).expect("sound").identity().expect("valid").to_identity();
    let identity_json = serde_json::to_string(&identity as &PayloadIdentity).expect("JSON");
    let message = FragmentMessage::builder(identity)
        .payload_size(8 << 20)
        .ttl(3600.0)
        .reuse_score(0.87)
        .hlc(1_735_600_000_123_456_789)
        .build()
        .expect("legal");
    let json = message.to_json().replace(&message.identity.canonical_json(), &identity_json);
    json.replace("\":", "\": ").replace(',', ", ")
}

fn parse(criterion: &mut Criterion) {
    let body = reference_body();
    let written = FragmentMessage::from_json(body.as_bytes()).expect("valid").to_json();
    let escaped = body.replacen("\"strong\"", "\"str\\u006fng\"", 1);
    assert!(MessageParser::parse_plain(body.as_bytes()).is_some());
    assert!(MessageParser::parse_plain(escaped.as_bytes()).is_none());

    let mut group = criterion.benchmark_group("message_parse");
    group.throughput(Throughput::Bytes(body.len() as u64));
    let mut parser = MessageParser::new();
    group.bench_function("membrane", |bencher| {
        bencher.iter(|| black_box(parser.parse(black_box(body.as_bytes())).is_ok()));
    });
    group.bench_function("membrane_compact", |bencher| {
        bencher.iter(|| black_box(parser.parse(black_box(written.as_bytes())).is_ok()));
    });
    group.bench_function("membrane_escapes", |bencher| {
        bencher.iter(|| black_box(parser.parse(black_box(escaped.as_bytes())).is_ok()));
    });
    group.bench_function("membrane_general", |bencher| {
        bencher.iter(|| black_box(MessageParser::parse_general(black_box(body.as_bytes())).is_ok()));
    });
    group.bench_function("membrane_owned", |bencher| {
        bencher.iter(|| FragmentMessage::from_json(black_box(body.as_bytes())).expect("valid"));
    });
    group.bench_function("serde_json", |bencher| {
        bencher.iter(|| serde_json::from_slice::<Owned>(black_box(body.as_bytes())).expect("valid"));
    });
    let mut text = Vec::new();
    let mut buffers = simd_json::Buffers::new(body.len());
    group.bench_function("simd_json_serde", |bencher| {
        bencher.iter(|| {
            text.clear();
            text.extend_from_slice(black_box(body.as_bytes()));
            simd_json::serde::from_slice_with_buffers::<Owned>(&mut text, &mut buffers).expect("valid")
        });
    });
    group.bench_function("simd_json_tape", |bencher| {
        bencher.iter(|| {
            text.clear();
            text.extend_from_slice(black_box(body.as_bytes()));
            simd_json::to_tape_with_buffers(&mut text, &mut buffers).expect("valid").0.len()
        });
    });
    group.finish();

    let message = FragmentMessage::from_json(body.as_bytes()).expect("valid");
    let mut out = String::with_capacity(2048);
    let mut group = criterion.benchmark_group("message_write");
    group.bench_function("membrane", |bencher| {
        bencher.iter(|| {
            out.clear();
            message.as_view().write_json(&mut out).expect("to a String");
            out.len()
        });
    });
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
