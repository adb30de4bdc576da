//! Payloads, envelopes and chunks for the tests of the protobuf form.

use bytes::Bytes;
use membrane_codec::proto::{Chunk, ChunkedPayload, Chunker, Envelope, ReceiveError, WireError};
use membrane_codec::sha256;
use rand::{RngExt, SeedableRng};

/// Bytes that no compression makes shorter, the same for the same seed.
pub(crate) fn noise(seed: u64, len: usize) -> Bytes {
    let mut bytes = vec![0; len];
    rand_chacha::ChaCha8Rng::seed_from_u64(seed).fill(&mut bytes[..]);
    bytes.into()
}

/// Bytes of which a part can be compressed, as tensors are.
pub(crate) fn tensor_like(seed: u64, len: usize) -> Bytes {
    let noise = noise(seed, len);
    noise.iter().enumerate().map(|(at, byte)| if at % 4 < 2 { *byte } else { (at / 1024) as u8 }).collect()
}

pub(crate) fn cut(payload: &Bytes, chunk_len: usize) -> ChunkedPayload {
    Chunker::new().chunk_len(chunk_len).cut(payload.clone()).expect("bounds are kept")
}

pub(crate) fn envelope_of(payload: &ChunkedPayload) -> Envelope {
    Envelope { tenant_id: "public".into(), ..payload.envelope() }
}

/// A chunk whose hash is right, whatever it says.
pub(crate) fn chunk(chunk_index: i32, offset: i64, data: &[u8], is_last: bool) -> Chunk {
    let sha256_hex = sha256(data).to_string();
    Chunk { chunk_index, offset, data: Bytes::copy_from_slice(data), sha256_hex, is_last }
}

/// The code of a verdict: "ok" or the reason.
pub(crate) fn code<T>(result: &Result<T, ReceiveError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(ReceiveError::Refused(error)) => error.reason().as_str(),
        Err(other) => panic!("no sink fails here: {other}"),
    }
}

pub(crate) fn refusal<T>(result: Result<T, ReceiveError>) -> WireError {
    match result {
        Err(ReceiveError::Refused(error)) => error,
        Err(other) => panic!("no sink fails here: {other}"),
        Ok(_) => panic!("accepted"),
    }
}
