//! The four messages: what decoding costs, what debugging shows, and which values are refused.

use bytes::Bytes;
use membrane_codec::proto::{
    Chunk, ChunkRequest, ChunkedPayload, Chunker, Compression, Envelope, Limits, Message, Reassembler, ReceiveError,
    TensorPayload, WireError, WireReason,
};
use membrane_codec::{Dtype, ErrorClass};

use super::support::{chunk, cut, envelope_of, noise};

#[test]
fn everything_may_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<(Envelope, TensorPayload, ChunkRequest, Chunk)>();
    crosses::<(Chunker, ChunkedPayload, Limits, Reassembler<std::fs::File>, WireError)>();
}

#[test]
fn decoded_data_lies_in_the_message() {
    let data = noise(1, 1 << 20);
    let encoded = Bytes::from(chunk(3, 0, &data, false).encode_to_vec());
    let decoded = Chunk::decode(encoded.clone()).expect("a chunk");
    assert_eq!(decoded.data, data);
    assert!(encoded.as_ptr_range().contains(&decoded.data.as_ptr()));

    let tensor = TensorPayload { data: data.clone(), shape: vec![1 << 20], dtype: "int8".into(), ..Default::default() };
    let encoded = Bytes::from(tensor.encode_to_vec());
    let decoded = TensorPayload::decode(encoded.clone()).expect("a tensor");
    assert_eq!(decoded, tensor);
    assert!(encoded.as_ptr_range().contains(&decoded.data.as_ptr()));
}

#[test]
fn debugging_prints_no_payload() {
    let payload = cut(&Bytes::from(vec![0xAB; 1 << 20]), 1 << 20);
    let tensor = TensorPayload { data: vec![0xAB; 1 << 20].into(), ..Default::default() };
    let mut reassembler = Reassembler::in_memory(&envelope_of(&payload)).expect("sound");
    reassembler.receive(payload.chunk(0).expect("one")).expect("sound");
    let texts =
        [format!("{:?}", payload.chunk(0)), format!("{payload:?}"), format!("{tensor:?}"), format!("{reassembler:?}")];
    for text in texts {
        assert!(text.len() < 400, "{text}");
        assert!(text.contains("1048576"), "{text}");
    }
}

fn sound() -> Envelope {
    Envelope {
        request_id: "any \n text".into(),
        tenant_id: "public".into(),
        model_id: String::new(),
        fingerprint_compat: String::new(),
        content_hash: "Ab".repeat(32),
        total_bytes: 0,
        compression: 0,
        content_type: "any".into(),
    }
}

#[test]
fn envelopes_that_are_refused() {
    assert_eq!(sound().validate(), Ok(()));
    assert_eq!(Envelope { fingerprint_compat: "0".repeat(64), ..sound() }.validate(), Ok(()));

    let cases = [
        (Envelope { content_hash: "ab".repeat(31), ..sound() }, "content_hash"),
        (Envelope { content_hash: String::new(), ..sound() }, "content_hash"),
        (Envelope { content_hash: "g".repeat(64), ..sound() }, "content_hash"),
        (Envelope { fingerprint_compat: "0".repeat(63), ..sound() }, "fingerprint_compat"),
        (Envelope { total_bytes: -1, ..sound() }, "total_bytes"),
        (Envelope { total_bytes: i64::MIN, ..sound() }, "total_bytes"),
        (Envelope { tenant_id: String::new(), ..sound() }, "tenant_id"),
    ];
    for (envelope, field) in cases {
        let error = envelope.validate().expect_err(field);
        assert_eq!((error.reason(), error.field()), (WireReason::EnvelopeField, Some(field)));
        assert_eq!(error.class(), ErrorClass::Schema);
        // Nobody starts to receive it.
        assert_eq!(Reassembler::in_memory(&envelope).expect_err(field), error);
    }
    for compression in [-1, 3, i32::MIN, i32::MAX] {
        let error = Envelope { compression, ..sound() }.validate().expect_err("no compression");
        assert_eq!((error.reason(), error.field()), (WireReason::Compression, Some("compression")));
        assert_eq!(
            error.to_string(),
            format!("compression: found {compression}, expected 0 (none), 1 (zstd) or 2 (lz4)")
        );
    }
}

#[test]
fn tenants() {
    let validate = |tenant: &str| Envelope { tenant_id: tenant.into(), ..sound() }.validate();
    for tenant in ["a", "public", "模型", "a.b-c_d", "'", &"x".repeat(128), &"模".repeat(128)] {
        assert_eq!(validate(tenant), Ok(()), "{tenant}");
    }
    let refused = ["a b", " ", "\t", "a\n", "a\0", "a\u{7f}", "a\u{85}", "a\u{3000}b", "a:b", "a/b", "a\\b", "a\"b"];
    for tenant in refused.iter().map(ToString::to_string).chain(["x".repeat(129), "模".repeat(129)]) {
        let error = validate(&tenant).expect_err("no tenant");
        assert_eq!((error.reason(), error.field()), (WireReason::EnvelopeField, Some("tenant_id")), "{tenant:?}");
    }
    let error = validate("\u{1b}[2J").expect_err("a control character");
    assert_eq!(
        error.to_string(),
        "envelope_field: tenant_id: found \"\\u{1b}[2J\", expected 1 to 128 characters, none of them white space, \
         a control character, a colon, a slash, a backslash or a quote"
    );
    let error = validate(&"x".repeat(1000)).expect_err("too long");
    assert_eq!(error.found(), format!("\"{}\"...", "x".repeat(40)));
}

fn tensor(len: usize, shape: &[i64], dtype: &str) -> Result<(), WireError> {
    let (data, shape, dtype) = (vec![0; len].into(), shape.to_vec(), dtype.into());
    TensorPayload { data, schema_fingerprint: "any".into(), shape, dtype }.validate()
}

#[test]
fn tensors() {
    for dtype in Dtype::ALL {
        let bits = match dtype {
            Dtype::Nf4 => 4,
            Dtype::Int8 | Dtype::Uint8 | Dtype::Fp8E4m3 | Dtype::Fp8E5m2 => 8,
            Dtype::Float16 | Dtype::Bfloat16 | Dtype::Int16 => 16,
            Dtype::Float32 | Dtype::Int32 => 32,
            Dtype::Float64 | Dtype::Int64 => 64,
            other => panic!("{other} has a width"),
        };
        let needed = (15 * bits as usize).div_ceil(8);
        assert_eq!(tensor(needed, &[3, 5], dtype.as_str()), Ok(()), "{dtype}");
        let error = tensor(needed - 1, &[3, 5], dtype.as_str()).expect_err("too short");
        assert_eq!((error.reason(), error.class()), (WireReason::TensorLength, ErrorClass::CorruptPayload), "{dtype}");
        let longer = tensor(needed + 1, &[3, 5], dtype.as_str()).map_err(|error| error.reason());
        assert_eq!(longer, if *dtype == Dtype::Nf4 { Ok(()) } else { Err(WireReason::TensorLength) }, "{dtype}");
    }
    assert_eq!(
        tensor(5, &[3], "float16").expect_err("too short").to_string(),
        "tensor_length: found 5 bytes, expected 6 for its shape of float16"
    );
    assert_eq!(tensor(0, &[i64::MAX, i64::MAX, 0], "int64"), Ok(()));
    assert_eq!(
        tensor(0, &[i64::MAX, 2, 2], "nf4").expect_err("no machine holds it").to_string(),
        "tensor_length: found 0 bytes, expected at least 2^64 or more for its shape of nf4"
    );
    assert_eq!(tensor(0, &[1 << 61], "float64").expect_err("nor this").reason(), WireReason::TensorLength);

    for (shape, dtype, field) in [
        (&[][..], "float16", "shape"),
        (&[2, -1], "float16", "shape"),
        (&[1], "Float16", "dtype"),
        (&[1], "", "dtype"),
        (&[1], "float8", "dtype"),
    ] {
        let error = tensor(2, shape, dtype).expect_err(field);
        assert_eq!((error.reason(), error.field()), (WireReason::TensorField, Some(field)));
    }
}

#[test]
fn reasons_have_codes_of_their_own() {
    let mut codes: Vec<&str> = WireReason::ALL.iter().map(|reason| reason.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), 17);
    for reason in WireReason::ALL {
        // As the enum's variant, in snake case.
        let spelled: String = format!("{reason:?}").to_lowercase();
        assert_eq!(reason.as_str().replace('_', ""), spelled);
        assert!(reason.advice().ends_with('.'));
    }
}

#[test]
fn errors_keep_their_source() {
    let error: ReceiveError = sound_error().into();
    let source = std::error::Error::source(&error).expect("the refusal");
    assert_eq!(source.to_string(), error.to_string());
}

fn sound_error() -> WireError {
    Compression::try_from(7).expect_err("no compression")
}
