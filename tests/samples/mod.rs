//! Identities and frames for the tests: one plain sample, and strategies that draw any legal one.

#![allow(dead_code)]

use membrane_codec::{Dtype, HeadRange, InclusiveRange, PayloadIdentity, Shape, canonicalize, sha256};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A plain identity that names `payload`.
pub(crate) fn identity_of(payload: &[u8]) -> PayloadIdentity {
    PayloadIdentity {
        payload_hash: sha256(payload).into(),
        model_id: "llama-3-8b".into(),
        model_revision: String::new(),
        tokenizer_name: "llama-3-8b".into(),
        tokenizer_revision: "main".into(),
        layer_range: InclusiveRange::new(0, 31).expect("a range"),
        head_range: HeadRange::All,
        token_span: InclusiveRange::new(0, 127).expect("a range"),
        dtype: Dtype::Float16,
        shape: [1, 32, 8, 128, 64].try_into().expect("a shape"),
    }
}

/// The frame of `payload` under [`identity_of`] it.
pub(crate) fn frame_of(payload: &[u8]) -> Vec<u8> {
    canonicalize(&identity_of(payload), payload).expect("a small frame")
}

/// Names as they occur, and names that need every kind of escape.
pub(crate) fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "",
            "m",
            "llama-3-8b",
            "a/b",
            "na\u{ef}ve-\u{6a21}\u{578b}",
            "\u{1f600}",
            "\"\\\n\r\t\u{8}\u{c}\u{7f}\0"
        ])
        .prop_map(String::from),
        vec(any::<char>(), 0..12).prop_map(String::from_iter),
        "[ -~]{0,40}",
    ]
}

pub(crate) fn ranges() -> impl Strategy<Value = InclusiveRange> {
    let bound = || prop_oneof![0..200_u64, Just(i64::MAX as u64), 0..=i64::MAX as u64];
    (bound(), bound()).prop_map(|(a, b)| InclusiveRange::new(a.min(b), a.max(b)).expect("in order"))
}

pub(crate) fn identities() -> impl Strategy<Value = PayloadIdentity> {
    let hash = prop_oneof!["[0-9a-f]{64}", "[0-9a-fA-F]{64}"];
    let heads = prop_oneof![Just(HeadRange::All), ranges().prop_map(HeadRange::Inclusive)];
    let dims = vec(prop_oneof![0..300_u64, Just(i64::MAX as u64)], 1..7);
    ((hash, names(), names(), names(), names()), (ranges(), heads, ranges(), select(Dtype::ALL.to_vec()), dims))
        .prop_map(|((hash, model_id, model_revision, tokenizer_name, tokenizer_revision), rest)| {
            let (layer_range, head_range, token_span, dtype, dims) = rest;
            PayloadIdentity {
                payload_hash: hash.parse().expect("64 hexadecimal characters"),
                model_id,
                model_revision,
                tokenizer_name,
                tokenizer_revision,
                layer_range,
                head_range,
                token_span,
                dtype,
                shape: Shape::try_from(dims).expect("at least one, in range"),
            }
        })
}

pub(crate) fn payloads() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..20), vec(any::<u8>(), 0..400)]
}
