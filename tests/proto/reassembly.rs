//! What a receiver takes, refuses, holds and asks for.

use std::io::{self, Write};

use bytes::Bytes;
use membrane_codec::proto::{
    Chunk, ChunkRequest, Chunker, Compression, Envelope, Limits, Reassembler, ReceiveError, WireReason,
};
use membrane_codec::{ErrorClass, sha256};

use super::support::{chunk, code, cut, envelope_of, noise, refusal};

const PAYLOAD: &[u8] = b"abcdefghij";

/// A transfer of ten bytes in chunks of four.
fn ten_bytes() -> Reassembler<Vec<u8>> {
    Reassembler::in_memory(&envelope_of(&cut(&PAYLOAD.into(), 4))).expect("sound")
}

fn request(chunk_index: i32, offset: i64, length: i64) -> ChunkRequest {
    ChunkRequest { chunk_index, offset, length }
}

fn missing(reassembler: &Reassembler<impl Write>) -> Vec<(i32, i64, i64)> {
    reassembler.missing().map(|request| (request.chunk_index, request.offset, request.length)).collect()
}

#[test]
fn chunks_in_every_order() {
    let payload = cut(&PAYLOAD.into(), 4);
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut reassembler = ten_bytes();
        for (count, index) in order.into_iter().enumerate() {
            assert!(!reassembler.is_complete());
            reassembler.receive(payload.chunk(index).expect("one of three")).expect("sound");
            // Whatever has come from the first chunk on went out; nothing else did.
            let came = &order[..=count];
            let front = (0..3).take_while(|index| came.contains(index)).count();
            assert_eq!(reassembler.written_len(), (front as u64 * 4).min(10), "{came:?}");
            let received: u64 = came.iter().map(|index| if *index == 2 { 2 } else { 4 }).sum();
            assert_eq!(reassembler.received_len(), received);
            assert_eq!(reassembler.waiting_len(), received - reassembler.written_len());
        }
        assert!(reassembler.is_complete());
        assert_eq!(missing(&reassembler), []);
        assert_eq!(reassembler.finish().expect("sound"), PAYLOAD);
    }
}

#[test]
fn what_is_missing() {
    let mut reassembler = ten_bytes();
    assert_eq!(missing(&reassembler), [(0, 0, 0)]);
    reassembler.receive(chunk(1, 0, b"efgh", false)).expect("sound");
    assert_eq!(missing(&reassembler), [(0, 0, 0), (2, 0, 0)]);
    reassembler.receive(chunk(2, 1, b"j", true)).expect("sound");
    assert_eq!(missing(&reassembler), [(0, 0, 0), (2, 0, 1)]);
    reassembler.receive_answer(&request(0, 1, 1), chunk(0, 1, b"b", false)).expect("sound");
    assert_eq!(missing(&reassembler), [(0, 0, 1), (0, 2, 0), (2, 0, 1)]);
    reassembler.receive_answer(&request(0, 3, 9), chunk(0, 3, b"d", false)).expect("sound");
    assert_eq!(missing(&reassembler), [(0, 0, 1), (0, 2, 1), (2, 0, 1)]);

    let payload = cut(&PAYLOAD.into(), 4);
    for request in reassembler.missing().collect::<Vec<_>>() {
        reassembler.receive_answer(&request, payload.answer(&request).expect("it is there")).expect("sound");
    }
    assert_eq!(reassembler.finish().expect("sound"), PAYLOAD);
}

#[test]
fn a_gap_of_billions_costs_nothing() {
    let limits = Limits::new().max_chunks(u32::MAX);
    let mut reassembler = Reassembler::new(&envelope_of(&cut(&PAYLOAD.into(), 4)), limits, Vec::new()).expect("sound");
    reassembler.receive(chunk(i32::MAX, 0, b"j", false)).expect("sound");
    assert_eq!(missing_start(&reassembler), [(0, 0, 0), (1, 0, 0), (2, 0, 0)]);
    reassembler.receive(chunk(0, 0, b"abc", false)).expect("sound");
    assert_eq!(missing_start(&reassembler), [(1, 0, 0), (2, 0, 0), (3, 0, 0)]);
}

fn missing_start(reassembler: &Reassembler<Vec<u8>>) -> Vec<(i32, i64, i64)> {
    let start = reassembler.missing().take(3);
    start.map(|request| (request.chunk_index, request.offset, request.length)).collect()
}

/// After `before`, `refused` is refused for `reason`, and the transfer goes on as if it had never come.
#[track_caller]
fn refused_in_passing(before: &[&Chunk], refused: Chunk, reason: WireReason) {
    let mut reassembler = ten_bytes();
    for &chunk in before {
        reassembler.receive(chunk.clone()).expect("sound");
    }
    let state =
        (missing(&reassembler), reassembler.received_len(), reassembler.waiting_len(), reassembler.written_len());
    let error = refusal(reassembler.receive(refused.clone()));
    assert_eq!(error.reason(), reason, "{error}");
    assert_eq!(error.chunk(), Some((refused.chunk_index, refused.offset)));
    assert!(reason.is_recoverable());
    let now = (missing(&reassembler), reassembler.received_len(), reassembler.waiting_len(), reassembler.written_len());
    assert_eq!(now, state);
    for chunk in cut(&PAYLOAD.into(), 4).chunks() {
        reassembler.receive(chunk).expect("sound");
    }
    assert_eq!(reassembler.finish().expect("sound"), PAYLOAD);
}

#[test]
fn wrong_hashes() {
    let sound = chunk(0, 0, b"abcd", false);
    let flipped = Chunk { data: b"abce".as_slice().into(), ..sound.clone() };
    refused_in_passing(&[], flipped.clone(), WireReason::ChunkHash);
    refused_in_passing(&[&sound], flipped.clone(), WireReason::ChunkHash);
    for sha256_hex in [String::new(), "0".repeat(64), "x".repeat(64), sound.sha256_hex[1..].into()] {
        refused_in_passing(&[], Chunk { sha256_hex, ..sound.clone() }, WireReason::ChunkHash);
    }
    let error = refusal(ten_bytes().receive(flipped));
    assert_eq!(error.class(), ErrorClass::CorruptPayload);
    let (computed, sent) = (sha256(b"abce"), sha256(b"abcd"));
    assert_eq!(
        error.to_string(),
        format!("chunk_hash in chunk 0 at byte 0: sha256_hex: found {computed}, expected {sent}")
    );
    let mut reassembler = ten_bytes();
    let sha256_hex = sound.sha256_hex.to_uppercase();
    assert_eq!(code(&reassembler.receive(Chunk { sha256_hex, ..sound })), "ok");
}

#[test]
fn negative_and_impossible_numbers() {
    refused_in_passing(&[], chunk(-1, 0, b"abcd", false), WireReason::ChunkIndex);
    refused_in_passing(&[], chunk(i32::MIN, 0, b"abcd", true), WireReason::ChunkIndex);
    refused_in_passing(&[], chunk(i32::MAX, 0, b"abcd", false), WireReason::ChunkIndex);
    refused_in_passing(&[], chunk(65_536, 0, b"abcd", false), WireReason::ChunkIndex);
    refused_in_passing(&[], chunk(0, -1, b"abcd", false), WireReason::ChunkRange);
    refused_in_passing(&[], chunk(0, i64::MIN, b"abcd", false), WireReason::ChunkRange);
    refused_in_passing(&[], chunk(0, i64::MAX, b"abcd", false), WireReason::TooLong);
    refused_in_passing(&[], chunk(0, 7, b"abcd", false), WireReason::TooLong);
    refused_in_passing(&[], chunk(0, 11, b"", false), WireReason::TooLong);
}

#[test]
fn more_than_was_announced() {
    let (first, second) = (chunk(0, 0, b"abcd", false), chunk(1, 0, b"efgh", false));
    refused_in_passing(&[], chunk(0, 0, b"abcdefghijk", true), WireReason::TooLong);
    refused_in_passing(&[&first, &second], chunk(2, 0, b"ijk", false), WireReason::TooLong);
    refused_in_passing(&[&second, &first], chunk(2, 0, b"ijk", false), WireReason::TooLong);
    let last = chunk(2, 0, b"ij", true);
    let (sixth, seventh) = (chunk(1, 2, b"gh", false), chunk(0, 1, b"bcd", false));
    refused_in_passing(&[&last, &sixth, &seventh], chunk(0, 0, b"abcdefgh", false), WireReason::ChunkConflict);
    assert_eq!(
        refusal(ten_bytes().receive(chunk(0, 0, b"abcdefghijk", true))).to_string(),
        "too_long in chunk 0 at byte 0: found 11 bytes, expected at most 10, since total_bytes is 10"
    );
}

#[test]
fn overlaps() {
    // While it waits: other bytes, other ends.
    let waits = chunk(1, 0, b"efgh", false);
    for (offset, data) in [(0, &b"Efgh"[..]), (3, b"H"), (1, b"fgX"), (0, b"efg"), (0, b"efghi"), (4, b"i"), (2, b"")] {
        refused_in_passing(&[&waits], chunk(1, offset, data, false), WireReason::ChunkConflict);
    }
    // In parts: the same.
    let waits = chunk(1, 2, b"gh", false);
    for (offset, data) in [(0, &b"efGh"[..]), (1, b"fgH"), (3, b"H"), (2, b"ghi"), (0, b"ef")] {
        refused_in_passing(&[&waits], chunk(1, offset, data, false), WireReason::ChunkConflict);
    }
    // After it went out.
    let gone = chunk(0, 0, b"abcd", false);
    for (offset, data) in [(0, &b"Abcd"[..]), (0, b"abc"), (0, b"abcde"), (2, b"c"), (4, b"e")] {
        refused_in_passing(&[&gone], chunk(0, offset, data, false), WireReason::ChunkConflict);
    }
    // What agrees is welcome, and counts once.
    let mut reassembler = ten_bytes();
    let again = [(1, 2, &b"gh"[..]), (1, 1, b"fgh"), (1, 3, b"h"), (1, 4, b""), (1, 0, b"efgh"), (1, 0, b"efgh")];
    for (index, offset, data) in again {
        reassembler.receive(chunk(index, offset, data, false)).expect("it agrees");
    }
    assert_eq!(reassembler.received_len(), 4);
    for (index, offset, data) in [(0, 1, &b"bcd"[..]), (0, 0, b"abcd"), (0, 0, b"abcd"), (1, 0, b"efgh"), (1, 2, b"gh")]
    {
        reassembler.receive(chunk(index, offset, data, false)).expect("it agrees");
    }
    assert_eq!((reassembler.received_len(), reassembler.waiting_len(), reassembler.written_len()), (8, 0, 8));
    // A chunk that went out in parts is known by its hash as well.
    assert_eq!(code(&reassembler.receive(chunk(0, 0, b"aBcd", false))), "chunk_conflict");
    assert_eq!(code(&reassembler.receive(chunk(1, 0, b"efgH", false))), "chunk_conflict");
}

#[test]
fn parts_around_and_between_parts() {
    let payload = noise(1, 100);
    let whole = cut(&payload, 100);
    let mut reassembler = Reassembler::in_memory(&envelope_of(&whole)).expect("sound");
    let part =
        |from: i64, to: i64| (request(0, from, to - from), chunk(0, from, &payload[from as usize..to as usize], true));
    for (from, to) in [(10, 20), (30, 40), (50, 60), (15, 35), (5, 55), (0, 1), (70, 71), (69, 72)] {
        let (request, chunk) = part(from, to);
        reassembler.receive_answer(&request, chunk).expect("it agrees");
    }
    assert_eq!(reassembler.received_len(), 1 + 55 + 3);
    assert_eq!(missing(&reassembler), [(0, 1, 4), (0, 60, 9), (0, 72, 0)]);
    let mut wrong = payload.to_vec();
    wrong[59] ^= 1;
    assert_eq!(code(&reassembler.receive(chunk(0, 0, &wrong, true))), "chunk_conflict");
    reassembler.receive(chunk(0, 0, &payload, true)).expect("it agrees");
    assert_eq!(reassembler.finish().expect("sound"), payload);
}

#[test]
fn last_chunks() {
    let (first, second, last) = (chunk(0, 0, b"abcd", false), chunk(1, 0, b"efgh", false), chunk(2, 0, b"ij", true));
    refused_in_passing(&[&last], chunk(1, 0, b"efgh", true), WireReason::ChunkConflict);
    refused_in_passing(&[&last], chunk(3, 0, b"", true), WireReason::ChunkConflict);
    refused_in_passing(&[&last], chunk(3, 0, b"", false), WireReason::ChunkConflict);
    refused_in_passing(&[&last], chunk(2, 0, b"ij", false), WireReason::ChunkConflict);
    refused_in_passing(&[&last], chunk(2, 1, b"j", false), WireReason::ChunkConflict);
    refused_in_passing(&[&second], chunk(0, 0, b"abcd", true), WireReason::ChunkConflict);
    refused_in_passing(&[&second], chunk(1, 0, b"efgh", true), WireReason::ChunkConflict);
    refused_in_passing(&[&second, &first], chunk(1, 0, b"efgh", true), WireReason::ChunkConflict);
    refused_in_passing(&[&first], chunk(0, 0, b"abcd", true), WireReason::ChunkConflict);
    let mut reassembler = ten_bytes();
    reassembler.receive(second).expect("sound");
    assert_eq!(
        refusal(reassembler.receive(chunk(0, 0, b"abcd", true))).to_string(),
        "chunk_conflict in chunk 0 at byte 0: is_last: found the last chunk, expected one after chunk 1"
    );
}

#[test]
fn answers_to_other_requests() {
    for (request, answer) in [
        (request(0, 0, 2), chunk(1, 0, b"ef", false)),
        (request(0, 0, 2), chunk(0, 1, b"bc", false)),
        (request(0, 0, 2), chunk(0, 0, b"abc", false)),
        (request(0, 2, 0), chunk(0, 0, b"abcd", false)),
    ] {
        let mut reassembler = ten_bytes();
        let error = refusal(reassembler.receive_answer(&request, answer));
        assert_eq!(error.reason(), WireReason::NotRequested, "{error}");
        assert_eq!(reassembler.received_len(), 0);
    }
    // As long as it was asked for: the chunk may go on. Shorter: it does not.
    let mut reassembler = ten_bytes();
    reassembler.receive_answer(&request(0, 0, 2), chunk(0, 0, b"ab", false)).expect("sound");
    assert_eq!(missing(&reassembler), [(0, 2, 0), (1, 0, 0)]);
    reassembler.receive_answer(&request(0, 2, 3), chunk(0, 2, b"cd", false)).expect("sound");
    assert_eq!((missing(&reassembler), reassembler.written_len()), (vec![(1, 0, 0)], 4));
    // Nothing more: that was the end.
    reassembler.receive_answer(&request(1, 0, 4), chunk(1, 0, b"efgh", false)).expect("sound");
    assert_eq!((missing(&reassembler), reassembler.written_len()), (vec![(1, 4, 0), (2, 0, 0)], 4));
    reassembler.receive_answer(&request(1, 4, 0), chunk(1, 4, b"", false)).expect("sound");
    assert_eq!((missing(&reassembler), reassembler.written_len()), (vec![(2, 0, 0)], 8));
}

#[test]
fn empty_payloads() {
    let nothing = cut(&Bytes::new(), 4);
    for compression in Compression::ALL {
        let nothing = Chunker::new().compression(*compression).cut(Bytes::new()).expect("short");
        let mut reassembler = Reassembler::in_memory(&envelope_of(&nothing)).expect("sound");
        for chunk in nothing.chunks() {
            reassembler.receive(chunk).expect("sound");
        }
        assert_eq!(reassembler.finish().expect("sound"), b"");
    }
    // The public implementation sends no chunk for it.
    let reassembler = Reassembler::in_memory(&envelope_of(&nothing)).expect("sound");
    assert_eq!(missing(&reassembler), []);
    assert_eq!(reassembler.finish().expect("sound"), b"");
    let wrong = Envelope { content_hash: "0".repeat(64), ..envelope_of(&nothing) };
    let reassembler = Reassembler::in_memory(&wrong).expect("sound");
    assert_eq!(code(&reassembler.finish()), "content_hash");
}

#[test]
fn empty_chunks_anywhere() {
    let mut reassembler = ten_bytes();
    for chunk in [
        chunk(5, 0, b"", true),
        chunk(3, 0, b"", false),
        chunk(0, 0, b"", false),
        chunk(2, 0, b"ij", false),
        chunk(1, 0, b"abcdefgh", false),
    ] {
        reassembler.receive(chunk).expect("sound");
    }
    assert_eq!(reassembler.finish().expect("sound"), PAYLOAD);
}

#[test]
fn complete_without_a_last_chunk() {
    let mut reassembler = ten_bytes();
    reassembler.receive(chunk(0, 0, PAYLOAD, false)).expect("sound");
    assert_eq!(missing(&reassembler), []);
    reassembler.receive(chunk(1, 0, b"", true)).expect("it adds nothing");
    assert_eq!(reassembler.finish().expect("sound"), PAYLOAD);
}

#[test]
fn ends() {
    let finish = |chunks: &[&Chunk]| {
        let mut reassembler = ten_bytes();
        chunks.iter().for_each(|&chunk| reassembler.receive(chunk.clone()).expect("sound"));
        refusal(reassembler.finish())
    };
    let (first, second, last) = (chunk(0, 0, b"abcd", false), chunk(1, 0, b"efgh", false), chunk(2, 0, b"ij", true));
    for chunks in [&[][..], &[&first], &[&second], &[&last, &first]] {
        assert_eq!(finish(chunks).reason(), WireReason::Incomplete);
    }
    assert_eq!(finish(&[&first]).to_string(), "incomplete: found 4 bytes of the payload, expected 10 bytes");
    let short = finish(&[&first, &second, &chunk(2, 0, b"i", true)]);
    assert_eq!(short.to_string(), "content_length: total_bytes: found 9 bytes, expected 10");
    let other = finish(&[&first, &second, &chunk(2, 0, b"iJ", true)]);
    assert_eq!((other.reason(), other.class()), (WireReason::ContentHash, ErrorClass::CorruptPayload));
    assert_eq!(other.found(), sha256(b"abcdefghiJ").to_string());
    assert_eq!(other.expected(), sha256(PAYLOAD).to_string());
}

#[test]
fn limits() {
    let payload = cut(&noise(1, 100), 10);
    let start = |limits: Limits| Reassembler::new(&envelope_of(&payload), limits, Vec::new());
    assert!(start(Limits::new().max_total_bytes(100)).is_ok());
    let error = start(Limits::new().max_total_bytes(99)).expect_err("too long");
    assert_eq!(
        error.to_string(),
        "total_bytes_limit: total_bytes: found 100, expected at most 99, this receiver's limit"
    );
    let huge = Envelope { total_bytes: (1 << 30) + 1, ..envelope_of(&payload) };
    assert_eq!(Reassembler::in_memory(&huge).expect_err("too long").reason(), WireReason::TotalBytesLimit);

    let mut reassembler = start(Limits::new().max_chunks(10)).expect("sound");
    for chunk in payload.chunks() {
        reassembler.receive(chunk).expect("ten are allowed");
    }
    let mut reassembler = start(Limits::new().max_chunks(9)).expect("sound");
    let error = refusal(reassembler.receive(payload.chunk(9).expect("the last")));
    assert_eq!(error.reason(), WireReason::ChunkIndex);

    // Three pieces may wait.
    let mut reassembler = start(Limits::new().max_chunks(3)).expect("sound");
    let part = |offset: i64| (request(0, offset, 1), chunk(0, offset, &noise(1, 100)[offset as usize..][..1], false));
    for offset in [2, 4, 6] {
        let (request, chunk) = part(offset);
        reassembler.receive_answer(&request, chunk).expect("three");
    }
    let (eighth, answer) = part(8);
    let error = refusal(reassembler.receive_answer(&eighth, answer.clone()));
    assert_eq!(error.reason(), WireReason::PiecesLimit);
    assert_eq!(reassembler.waiting_len(), 3);
    // What goes out makes room.
    let mut reassembler = start(Limits::new().max_chunks(3)).expect("sound");
    for index in 0..3 {
        let halves = [request(index, 0, 5), request(index, 5, 0)];
        for request in halves {
            reassembler
                .receive_answer(&request, payload.answer(&request).expect("it is there"))
                .expect("two wait at most");
        }
    }
    assert_eq!(reassembler.written_len(), 30);
    assert_eq!(Limits::new(), Limits::default());
}

#[test]
fn many_at_once() {
    let payload = noise(5, 100_000);
    let cut = cut(&payload, 999);
    let mut reassembler = Reassembler::in_memory(&envelope_of(&cut)).expect("sound");
    let mut chunks: Vec<Chunk> = cut.chunks().collect();
    chunks.reverse();
    chunks[7].data = b"not this".as_slice().into();
    chunks[9].chunk_index = -1;
    let verdicts = reassembler.receive_many(chunks);
    assert_eq!(verdicts.len(), 101);
    for (number, verdict) in verdicts.iter().enumerate() {
        let expected = match number {
            7 => "chunk_hash",
            9 => "chunk_index",
            _ => "ok",
        };
        assert_eq!(code(verdict), expected, "{number}");
    }
    for request in reassembler.missing().collect::<Vec<_>>() {
        reassembler.receive(cut.answer(&request).expect("it is there")).expect("sound");
    }
    assert_eq!(reassembler.finish().expect("sound"), payload);
}

/// Takes so many bytes and then fails.
#[derive(Debug)]
struct Full {
    room: usize,
    fails_to_flush: bool,
}

impl Write for Full {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = buf.len().min(self.room);
        self.room -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.fails_to_flush { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

#[test]
fn sinks_that_fail() {
    let payload = cut(&PAYLOAD.into(), 4);
    for compression in Compression::ALL {
        let payload = Chunker::new().compression(*compression).cut(PAYLOAD.into()).expect("short");
        let sink = Full { room: 9, fails_to_flush: false };
        let mut reassembler = Reassembler::new(&envelope_of(&payload), Limits::new(), sink).expect("sound");
        let first = reassembler.receive(payload.chunk(0).expect("one")).expect_err("no room");
        // From then on nothing else can come of it.
        let again = reassembler.receive(payload.chunk(0).expect("one")).expect_err("no room");
        let finished = reassembler.finish().expect_err("no room");
        for error in [first, again, finished] {
            assert!(
                matches!(&error, ReceiveError::Sink(error) if error.kind() == io::ErrorKind::StorageFull),
                "{error}"
            );
            assert!(error.to_string().starts_with("cannot write the payload: "));
        }
    }
    let sink = Full { room: 10, fails_to_flush: true };
    let mut reassembler = Reassembler::new(&envelope_of(&payload), Limits::new(), sink).expect("sound");
    assert!(reassembler.receive_many(payload.chunks().collect()).iter().all(Result::is_ok));
    assert!(matches!(reassembler.finish(), Err(ReceiveError::Sink(_))));
}

/// Whoever asks as long as something is missing comes to an end, also with a sender that announced more than it has.
#[test]
fn there_is_an_end_to_asking() {
    let payload = Chunker::new().chunk_len(3).cut(b"payload".as_slice().into()).expect("bounds are kept");
    let mut envelope = envelope_of(&payload);
    envelope.total_bytes += 1;
    let mut reassembler = Reassembler::in_memory(&envelope).expect("it is well formed");
    while !reassembler.is_complete() {
        for request in reassembler.missing().collect::<Vec<_>>() {
            reassembler.receive(payload.answer(&request).expect("it has that")).expect("sound");
        }
    }
    let ReceiveError::Refused(error) = reassembler.finish().expect_err("a byte is missing") else {
        panic!("in memory")
    };
    assert_eq!(error.reason(), WireReason::ContentLength);
}
