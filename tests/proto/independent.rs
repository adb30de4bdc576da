//! What Python's protobuf, zstandard and lz4 have written: fixtures/proto.

use bytes::Bytes;
use membrane_codec::proto::{Chunk, ChunkRequest, Envelope, Message, Reassembler, TensorPayload};
use membrane_codec::sha256;
use serde_json::{Value, json};

use super::support::code;

fn cases(file: &str) -> Vec<Value> {
    let path = format!("{}/fixtures/proto/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("the fixtures are JSON")
}

fn bytes_of(hex: &Value) -> Bytes {
    base16ct::lower::decode_vec(hex.as_str().expect("hexadecimal")).expect("hexadecimal").into()
}

/// The fields of a message that are not the default, as the fixtures name them, and the message's bytes.
fn read(message: &str, encoded: Bytes) -> Option<(Value, Vec<u8>)> {
    let (all, again) = match message {
        "Envelope" => {
            let read = Envelope::decode(encoded).ok()?;
            let again = read.encode_to_vec();
            let Envelope { request_id, tenant_id, model_id, fingerprint_compat, content_hash, .. } = &read;
            let names = json!({"request_id": request_id, "tenant_id": tenant_id, "model_id": model_id,
                "fingerprint_compat": fingerprint_compat, "content_hash": content_hash,
                "total_bytes": read.total_bytes, "compression": read.compression, "content_type": read.content_type});
            (names, again)
        }
        "TensorPayload" => {
            let read = TensorPayload::decode(encoded).ok()?;
            let data = base16ct::lower::encode_string(&read.data);
            (
                json!({"data": data, "schema_fingerprint": read.schema_fingerprint, "shape": read.shape,
                    "dtype": read.dtype}),
                read.encode_to_vec(),
            )
        }
        "ChunkRequest" => {
            let read = ChunkRequest::decode(encoded).ok()?;
            (
                json!({"chunk_index": read.chunk_index, "offset": read.offset, "length": read.length}),
                read.encode_to_vec(),
            )
        }
        "Chunk" => {
            let read = Chunk::decode(encoded).ok()?;
            let data = base16ct::lower::encode_string(&read.data);
            (
                json!({"chunk_index": read.chunk_index, "offset": read.offset, "data": data,
                    "sha256_hex": read.sha256_hex, "is_last": read.is_last}),
                read.encode_to_vec(),
            )
        }
        other => panic!("{other} is no message of the contract"),
    };
    Some((without_defaults(all), again))
}

fn without_defaults(fields: Value) -> Value {
    let Value::Object(fields) = fields else { panic!("an object") };
    let defaults = [json!(0), json!(""), json!(false), json!([])];
    fields.into_iter().filter(|(_, value)| !defaults.contains(value)).collect()
}

#[test]
fn messages() {
    let cases = cases("messages.json");
    assert_eq!(cases.len(), 30);
    for case in cases {
        let encoded = bytes_of(&case["hex"]);
        let read = read(case["message"].as_str().expect("a name"), encoded.clone());
        let Some((fields, again)) = read else {
            assert_eq!(case["fields"], Value::Null, "{}: refused", case["name"]);
            continue;
        };
        assert_ne!(case["fields"], Value::Null, "{}: accepted", case["name"]);
        assert_eq!(fields, without_defaults(case["fields"].clone()), "{}", case["name"]);
        if case["written_so"] == true {
            assert_eq!(again, encoded, "{}", case["name"]);
        }
    }
}

#[test]
fn transfers() {
    let cases = cases("transfers.json");
    assert_eq!(cases.len(), 34);
    for case in cases {
        let envelope = Envelope::decode(bytes_of(&case["envelope"])).expect("an envelope");
        let chunks = || case["chunks"].as_array().expect("chunks").iter().map(|chunk| Chunk::decode(bytes_of(chunk)));
        let expected = case["refused"].as_str().unwrap_or("ok");

        for backwards in [false, true] {
            let mut chunks: Vec<Chunk> = chunks().map(|chunk| chunk.expect("a chunk")).collect();
            if backwards {
                chunks.reverse();
            }
            let received = Reassembler::in_memory(&envelope).map_err(Into::into).and_then(|mut reassembler| {
                chunks.into_iter().try_for_each(|chunk| reassembler.receive(chunk))?;
                reassembler.finish()
            });
            assert_eq!(code(&received), expected, "{}: {received:?}", case["name"]);
            if let Ok(payload) = received {
                assert_eq!(sha256(&payload).to_string(), case["payload"]["sha256"], "{}", case["name"]);
                assert_eq!(payload.len(), case["payload"]["len"], "{}", case["name"]);
            }
        }
    }
}
