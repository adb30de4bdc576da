//! What must hold of every transfer, drawn at random, with the naive receiver as the judge.

use bytes::Bytes;
use membrane_codec::proto::{ChunkRequest, Chunker, Compression, Envelope, Limits, Reassembler, ReceiveError};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::naive::NaiveReceiver;
use super::support::{chunk, code, cut, envelope_of, tensor_like};

/// Requests for chunks and parts of a payload.
fn requests(chunk_len: i64, count: usize) -> impl Strategy<Value = Vec<ChunkRequest>> {
    let request = (any::<Index>(), 0..=chunk_len, 0..=chunk_len + 1);
    let request = request.prop_map(move |(index, offset, length)| {
        let chunk_index = index.index(count) as i32;
        ChunkRequest { chunk_index, offset, length }
    });
    vec(request, 0..30)
}

fn transfers() -> impl Strategy<Value = (usize, usize, Compression, Vec<ChunkRequest>)> {
    (0..2000_usize, 1..300_usize, select(Compression::ALL)).prop_flat_map(|(len, chunk_len, compression)| {
        let count = len.div_ceil(chunk_len).max(1);
        (Just(len), Just(chunk_len), Just(compression), requests(chunk_len as i64, count))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever parts came, in whatever order and however often: what is missing then completes the payload.
    #[test]
    fn any_parts_and_then_what_is_missing((len, chunk_len, compression, requests) in transfers()) {
        let payload = tensor_like(len as u64, len);
        let sender = Chunker::new().chunk_len(chunk_len).compression(compression).cut(payload.clone()).expect("sound");
        let mut receiver = Reassembler::in_memory(&envelope_of(&sender)).expect("sound");
        for request in &requests {
            // Behind the end of a chunk that is shorter, or beyond the last one of a stream that is, there is nothing.
            if let Ok(answer) = sender.answer(request) {
                receiver.receive_answer(request, answer).expect("all of this is so");
            }
        }
        let mut rounds = 0;
        while !receiver.is_complete() {
            rounds += 1;
            // Each round tells of a next chunk, at the least.
            prop_assert!(rounds <= sender.chunk_count() + 1);
            let missing: Vec<_> = receiver.missing().collect();
            prop_assert!(!missing.is_empty());
            for request in missing {
                receiver.receive_answer(&request, sender.answer(&request).expect("it is there")).expect("sound");
            }
        }
        prop_assert_eq!(receiver.waiting_len(), 0);
        prop_assert_eq!(receiver.finish().expect("sound"), payload);
    }

    /// Chunks that tell the truth, or not, about a short payload of few letters: each verdict is the naive receiver's, and
    /// so is what was written.
    #[test]
    fn each_verdict_is_the_naive_one(
        total in 0..12_usize,
        chunks in vec(("[ab]{0,4}", -1..5_i32, -1..5_i64, any::<bool>(), any::<Index>(), any::<Index>()), 0..20),
    ) {
        let payload = Bytes::from(vec![b'a'; total]);
        let envelope = envelope_of(&cut(&payload, 4));
        let limits = Limits::new().max_chunks(1000);
        let mut receiver = Reassembler::new(&envelope, limits, Vec::new()).expect("sound");
        let mut naive = NaiveReceiver::new(total, 1000);
        for (data, index, offset, reaches_end, is_last, is_damaged) in &chunks {
            let mut sent = chunk(*index, *offset, data.as_bytes(), is_last.index(4) == 0);
            if is_damaged.index(8) == 0 {
                sent.sha256_hex = "0".repeat(64);
            }
            // A part that does not say so: the request asks for no byte more than it has.
            let reaches_end = *reaches_end || data.is_empty();
            let expected = naive.receive(&sent, reaches_end);
            let verdict = if reaches_end {
                receiver.receive(sent)
            } else {
                let request = ChunkRequest { chunk_index: *index, offset: *offset, length: data.len() as i64 };
                receiver.receive_answer(&request, sent)
            };
            prop_assert_eq!(code(&verdict), expected);
            prop_assert_eq!(receiver.received_len(), naive.received_len());
            prop_assert_eq!(receiver.written_len(), naive.written().len() as u64);
        }
        let expected = if naive.written() == payload { "ok" } else { "refused" };
        let finished = receiver.finish();
        prop_assert_eq!(if finished.is_ok() { "ok" } else { "refused" }, expected);
        if let Ok(written) = finished {
            prop_assert_eq!(written, payload);
        }
    }

    /// Any bytes as a compressed stream: no panic, and never more than was announced.
    #[test]
    fn any_bytes_as_a_stream(
        bytes in vec(any::<u8>(), 0..300),
        magic in select(vec![&[][..], &[0x28, 0xB5, 0x2F, 0xFD], &[0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82]]),
        compression in select(vec![Compression::Zstd, Compression::Lz4]),
        total in 0..10_000_i64,
    ) {
        let stream = [magic, &bytes].concat();
        let envelope = Envelope {
            total_bytes: total,
            compression: compression.number(),
            ..envelope_of(&cut(&Bytes::new(), 1))
        };
        let mut written = Vec::new();
        let mut receiver = Reassembler::new(&envelope, Limits::new(), &mut written).expect("sound");
        let verdict = receiver.receive(chunk(0, 0, &stream, true));
        prop_assert!(!matches!(verdict, Err(ReceiveError::Sink(_))));
        drop(receiver);
        prop_assert!(written.len() as i64 <= total);
    }
}
