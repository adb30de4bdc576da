//! Cutting payloads, and answering requests.

use bytes::Bytes;
use membrane_codec::proto::{ChunkRequest, Chunker, Compression, Envelope, Message, WireReason};
use membrane_codec::{canonicalize, sha256};

use super::support::{cut, noise};

#[test]
fn the_cuts_are_the_payload() {
    for (len, chunk_len, count) in [(0, 1, 1), (1, 1, 1), (10, 3, 4), (9, 3, 3), (8, 3, 3), (2, 3, 1), (1000, 64, 16)] {
        let payload = noise(7, len);
        let cut = cut(&payload, chunk_len);
        assert_eq!(cut.chunk_count(), count);
        assert_eq!(cut.stream_len(), len);
        assert_eq!(cut.content_digest(), sha256(&payload));
        let chunks: Vec<_> = cut.chunks().collect();
        assert_eq!(chunks.len(), count);
        assert_eq!(chunks.iter().flat_map(|chunk| chunk.data.to_vec()).collect::<Vec<_>>(), payload);
        for (index, chunk) in chunks.iter().enumerate() {
            assert_eq!((chunk.chunk_index, chunk.offset), (index as i32, 0));
            assert_eq!(chunk.sha256_hex, sha256(&chunk.data).to_string());
            assert_eq!(chunk.is_last, index + 1 == count);
            assert!(index + 1 == count || chunk.data.len() == chunk_len);
            assert_eq!(cut.chunk(index).as_ref(), Some(chunk));
        }
        assert_eq!(cut.chunk(count), None);
    }
}

#[test]
fn chunks_lie_in_the_payload() {
    let payload = noise(1, 100_000);
    let cut = cut(&payload, 30_000);
    for chunk in cut.chunks() {
        assert_eq!(chunk.data.as_ptr(), payload[chunk.chunk_index as usize * 30_000..].as_ptr());
    }
    let part = cut.answer(&ChunkRequest { chunk_index: 1, offset: 5, length: 9 }).expect("it is there");
    assert_eq!(part.data.as_ptr(), payload[30_005..].as_ptr());
}

#[test]
fn a_frame_is_a_payload() {
    let identity = membrane_codec::PayloadIdentity::from_json(
        br#"{"payload_hash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","model_id":"m",
        "model_revision":"","tokenizer_name":"m","tokenizer_revision":"","layer_range":[0,0],"head_range":[-1,-1],
        "token_span":[0,0],"dtype":"nf4","shape":[1]}"#,
    )
    .expect("an identity");
    let frame = Bytes::from(canonicalize(&identity, b"payload").expect("short"));
    let cut = cut(&frame, 100);
    assert_eq!(cut.chunk_count(), frame.len().div_ceil(100));
    assert_eq!(cut.content_digest(), sha256(&frame));
}

#[test]
fn the_envelope_says_what_was_cut() {
    for compression in Compression::ALL {
        let cut = Chunker::new().compression(*compression).cut(vec![5; 5000].into()).expect("bounds are kept");
        let expected = Envelope {
            content_hash: sha256(&[5; 5000]).to_string(),
            total_bytes: 5000,
            compression: compression.number(),
            ..Envelope::default()
        };
        assert_eq!(cut.envelope(), expected);
        assert_eq!(cut.stream_len() == 5000, *compression == Compression::None);
    }
}

#[test]
fn a_known_digest_is_taken_as_it_is() {
    let wrong = sha256(b"another");
    let cut = Chunker::new().content_digest(wrong).chunk_len(2).cut(b"payload".as_slice().into()).expect("short");
    assert_eq!(cut.content_digest(), wrong);
    assert_eq!(cut.chunk(3).expect("the last of four").sha256_hex, sha256(b"d").to_string());
}

#[test]
fn lengths_of_chunks() {
    assert_eq!(Chunker::MAX_CHUNK_LEN, 4_193_280);
    for chunk_len in [0, Chunker::MAX_CHUNK_LEN + 1, usize::MAX] {
        let error = Chunker::new().chunk_len(chunk_len).cut(Bytes::new()).expect_err("out of bounds");
        assert_eq!(error.reason(), WireReason::ChunkLength);
        assert_eq!(error.to_string(), format!("chunk_length: found {chunk_len}, expected 1 to 4193280 bytes"));
    }
    // A message with the longest chunk, and the longest of everything else, still fits gRPC's limit.
    let cut = cut(&vec![0; Chunker::MAX_CHUNK_LEN].into(), Chunker::MAX_CHUNK_LEN);
    let mut chunk = cut.chunk(0).expect("one");
    (chunk.chunk_index, chunk.offset) = (i32::MAX, i64::MAX);
    assert!(chunk.encoded_len() <= (4 << 20) - 900);
    assert_eq!(Chunker::new(), Chunker::default());
}

#[test]
fn levels_of_zstd() {
    let payload: Bytes = (0..60_000_u32).flat_map(|n| (n * n % 9973).to_le_bytes()).collect();
    let stream_len = |level: i32| {
        let chunker = Chunker::new().compression(Compression::Zstd).zstd_level(level);
        chunker.cut(payload.clone()).expect("bounds are kept").stream_len()
    };
    assert!(stream_len(19) < stream_len(3) && stream_len(3) < stream_len(-5));
    assert_eq!(stream_len(i32::MAX), stream_len(19));
}

#[test]
fn answers() {
    let payload = noise(3, 25);
    let cut = cut(&payload, 10);
    let answer = |chunk_index, offset, length| cut.answer(&ChunkRequest { chunk_index, offset, length });
    for (index, offset, length, expected) in [
        (0, 0, 0, 0..10),
        (0, 0, 10, 0..10),
        (0, 0, i64::MAX, 0..10),
        (1, 0, 4, 10..14),
        (1, 4, 0, 14..20),
        (1, 4, 2, 14..16),
        (2, 3, 10, 23..25),
        (2, 5, 0, 25..25),
        (2, 5, 1, 25..25),
    ] {
        let chunk = answer(index, offset, length).expect("it is there");
        assert_eq!(chunk.data, payload[expected]);
        assert_eq!(chunk.sha256_hex, sha256(&chunk.data).to_string());
        assert_eq!((chunk.chunk_index, chunk.offset, chunk.is_last), (index, offset, index == 2));
    }
    for (index, offset, length, reason, field) in [
        (-1, 0, 0, WireReason::ChunkIndex, "chunk_index"),
        (3, 0, 0, WireReason::ChunkIndex, "chunk_index"),
        (i32::MIN, 0, 0, WireReason::ChunkIndex, "chunk_index"),
        (0, -1, 0, WireReason::ChunkRange, "offset"),
        (0, 11, 0, WireReason::ChunkRange, "offset"),
        (2, 6, 0, WireReason::ChunkRange, "offset"),
        (0, i64::MAX, i64::MAX, WireReason::ChunkRange, "offset"),
        (0, 0, -1, WireReason::ChunkRange, "length"),
    ] {
        let error = answer(index, offset, length).expect_err(field);
        assert_eq!((error.reason(), error.field(), error.chunk()), (reason, Some(field), Some((index, offset))));
    }
    assert_eq!(
        answer(0, 11, 0).expect_err("behind the end").to_string(),
        "chunk_range in chunk 0 at byte 11: offset: found 11, expected 0 to 10"
    );
}
