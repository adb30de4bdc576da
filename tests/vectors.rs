//! Every case of the published vectors, through the library: the slice reader, the streaming reader and the owned frame.

use bytes::Bytes;
use membrane_codec::{
    Error, FrameReader, IdentityView, OwnedFrame, PayloadIdentity, ReadError, Verifier, canonicalize, parse_canonical,
};
use serde_json::Value;

fn cases(file: &str) -> Vec<Value> {
    let path = format!("{}/fixtures/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("the vectors are JSON")
}

fn bytes_of(hex: &str) -> Vec<u8> {
    base16ct::mixed::decode_vec(hex).expect("the vectors hold hexadecimal")
}

/// Status and reason as the vectors write them.
fn verdict<T>(result: &Result<T, Error>) -> (String, Option<String>) {
    match result {
        Ok(_) => ("ok".into(), None),
        Err(error) => (error.class().to_string(), Some(error.reason().to_string())),
    }
}

fn read_stream(bytes: &[u8], reader: FrameReader) -> Result<Vec<u8>, Error> {
    match reader.open(bytes).and_then(|stream| stream.copy_payload(Vec::new())) {
        Ok((payload, _)) => Ok(payload),
        Err(ReadError::Frame(error)) => Err(error),
        Err(other) => panic!("a slice cannot fail to be read: {other}"),
    }
}

#[test]
fn frames() {
    let cases = cases("frames.json");
    assert_eq!(cases.len(), 483);
    for case in cases {
        let name = case["name"].as_str().expect("a name");
        let bytes = bytes_of(case["frame_hex"].as_str().expect("a frame"));
        let stated = (
            case["status"].as_str().expect("a status").to_owned(),
            case.get("reason").and_then(Value::as_str).map(str::to_owned),
        );

        let parsed = parse_canonical(&bytes);
        assert_eq!(verdict(&parsed), stated, "{name}: slice");
        let streamed = read_stream(&bytes, FrameReader::new().max_identity_len(u32::MAX));
        assert_eq!(verdict(&streamed), stated, "{name}: stream");
        let known_len = FrameReader::new().max_identity_len(u32::MAX).source_len(bytes.len() as u64);
        assert_eq!(verdict(&read_stream(&bytes, known_len)), stated, "{name}: stream of known length");
        assert_eq!(verdict(&OwnedFrame::parse_canonical(bytes.clone().into())), stated, "{name}: owned");

        let frame = match parsed {
            Ok(frame) => frame,
            Err(error) => {
                assert!(error.offset() <= bytes.len() as u64, "{name}: the offset is inside");
                continue;
            }
        };
        let identity: PayloadIdentity = serde_json::from_value(case["identity"].clone()).expect("an identity");
        assert_eq!(frame.identity().to_identity(), identity, "{name}: identity");
        assert_eq!(frame.identity().fingerprint().to_string(), case["fingerprint"], "{name}: fingerprint");
        assert_eq!(frame.payload().len(), case["payload_len"], "{name}: payload_len");
        assert_eq!(frame.payload_digest().to_string(), case["payload_sha256"], "{name}: payload_sha256");
        assert_eq!(streamed.expect("it was ok"), frame.payload(), "{name}: streamed payload");

        let (_, findings) = Verifier::new().check_payload_hash(true).verify(&bytes).expect("it was ok");
        assert_eq!(findings.is_empty(), case["payload_hash_matches"], "{name}: payload_hash_matches");
    }
}

#[test]
fn identities() {
    let cases = cases("identities.json");
    assert_eq!(cases.len(), 20);
    for case in cases {
        let identity: PayloadIdentity = serde_json::from_value(case["identity"].clone()).expect("an identity");
        let canonical = case["canonical_json"].as_str().expect("canonical JSON");
        assert_eq!(identity.canonical_json(), canonical);
        assert_eq!(identity.fingerprint().to_string(), case["fingerprint"]);
        assert_eq!(identity.fingerprint_compat().to_string(), case["fingerprint_compat"]);

        let view = IdentityView::parse(canonical.as_bytes()).expect("valid");
        assert!(view.is_canonical());
        assert_eq!(view.to_identity(), identity);
        assert_eq!(view.fingerprint().to_string(), case["fingerprint"]);
        assert_eq!(view.fingerprint_compat().to_string(), case["fingerprint_compat"]);
    }
}

#[test]
fn a_frame_that_is_read_and_written_again_is_the_canonical_one() {
    for case in cases("frames.json").iter().filter(|case| case["status"] == "ok") {
        let bytes = bytes_of(case["frame_hex"].as_str().expect("a frame"));
        let frame = parse_canonical(&bytes).expect("stated");
        let again = canonicalize(&frame.identity().to_identity(), frame.payload()).expect("it was a frame");
        assert_eq!(again == bytes, frame.identity().is_canonical(), "{}", case["name"]);
        assert_eq!(
            parse_canonical(&again).expect("canonical").identity().fingerprint(),
            frame.identity().fingerprint(),
            "{}",
            case["name"]
        );
    }
}

#[test]
fn owned_parts_share_the_buffer() {
    let case = cases("frames.json").into_iter().find(|case| case["name"] == "payload_1000").expect("the case");
    let bytes = Bytes::from(bytes_of(case["frame_hex"].as_str().expect("a frame")));
    let range = bytes.as_ptr_range();
    let frame = OwnedFrame::parse_canonical(bytes).expect("stated");
    for part in [frame.identity_bytes(), frame.payload(), frame.bytes()] {
        assert!(range.contains(&part.as_ptr()));
    }
    assert_eq!(frame.payload().len(), 1000);
}
