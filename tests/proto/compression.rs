//! Compressed transfers: every compression, every cut, and streams made to hurt.

use std::io::Write;

use bytes::Bytes;
use membrane_codec::proto::{
    Chunk, ChunkedPayload, Chunker, Compression, Envelope, Limits, Reassembler, ReceiveError, WireReason,
};
use membrane_codec::sha256;

use super::support::{chunk, code, envelope_of, noise, refusal, tensor_like};

fn compressed(payload: &Bytes, compression: Compression, chunk_len: usize) -> ChunkedPayload {
    Chunker::new().compression(compression).chunk_len(chunk_len).cut(payload.clone()).expect("bounds are kept")
}

fn receive(envelope: &Envelope, chunks: impl Iterator<Item = Chunk>) -> Result<Vec<u8>, ReceiveError> {
    let mut reassembler = Reassembler::in_memory(envelope)?;
    for chunk in chunks {
        reassembler.receive(chunk)?;
    }
    reassembler.finish()
}

/// The chunks that cut `stream` after each `chunk_len` bytes.
fn cuts(stream: &[u8], chunk_len: usize) -> impl Iterator<Item = Chunk> + '_ {
    let count = stream.len().div_ceil(chunk_len);
    stream.chunks(chunk_len).enumerate().map(move |(at, data)| chunk(at as i32, 0, data, at + 1 == count))
}

fn envelope(compression: Compression, payload_len: i64, payload: &[u8]) -> Envelope {
    Envelope {
        tenant_id: "public".into(),
        content_hash: sha256(payload).to_string(),
        total_bytes: payload_len,
        compression: compression.number(),
        ..Envelope::default()
    }
}

fn stream_of(payload: &Bytes, compression: Compression) -> Vec<u8> {
    compressed(payload, compression, Chunker::MAX_CHUNK_LEN).chunks().flat_map(|chunk| chunk.data).collect()
}

#[test]
fn every_cut_of_a_stream() {
    let payload = tensor_like(1, 3000);
    for compression in [Compression::Zstd, Compression::Lz4] {
        let stream_len = compressed(&payload, compression, 1 << 20).stream_len();
        for chunk_len in (1..40).chain([stream_len - 1, stream_len]) {
            let cut = compressed(&payload, compression, chunk_len);
            let received = receive(&envelope_of(&cut), cut.chunks());
            assert_eq!(received.expect("sound"), payload, "{compression}, chunks of {chunk_len}");
        }
    }
}

#[test]
fn real_sizes() {
    let payloads = [Bytes::from(vec![0; 9 << 20]), noise(1, 4 << 20), tensor_like(2, (3 << 20) + 1)];
    for (payload, chunk_len) in payloads.iter().zip([Chunker::DEFAULT_CHUNK_LEN, Chunker::MAX_CHUNK_LEN, 65_521]) {
        for compression in Compression::ALL {
            let cut = compressed(payload, *compression, chunk_len);
            let received = receive(&envelope_of(&cut), cut.chunks());
            assert!(received.expect("sound") == *payload, "{compression}, chunks of {chunk_len}");
        }
    }
}

#[test]
fn what_cannot_be_compressed_stays_within_the_bound() {
    for len in [0, 1, 100, 65_535, 65_536, 65_537, (1 << 20) + 1] {
        for compression in [Compression::Zstd, Compression::Lz4] {
            let stream_len = compressed(&noise(9, len), compression, 1 << 20).stream_len();
            assert!(stream_len <= len + len / 128 + 64 * 1024, "{compression} makes {stream_len} of {len}");
        }
    }
}

#[test]
fn a_bomb_writes_no_more_than_was_announced() {
    let zeros = Bytes::from(vec![0; 64 << 20]);
    for compression in [Compression::Zstd, Compression::Lz4] {
        let stream = stream_of(&zeros, compression);
        assert!(stream.len() < 1 << 20);
        for announced in [0, 1, 1000, 1 << 20, (64 << 20) - 1] {
            let envelope = envelope(compression, announced, &zeros[..announced as usize]);
            let mut sink = Counted::default();
            let mut reassembler = Reassembler::new(&envelope, Limits::new(), &mut sink).expect("sound");
            // As long as the bound for the stream allows.
            let mut verdicts = cuts(&stream, 10_000).map(|chunk| reassembler.receive(chunk));
            let error = refusal(verdicts.find(Result::is_err).expect("refused"));
            drop(verdicts);
            let again = refusal(reassembler.receive(chunk(0, 0, b"", false)));
            if error.reason() == WireReason::ContentLength {
                assert_eq!(
                    error.to_string(),
                    format!("content_length: total_bytes: found more bytes, expected {announced}")
                );
                assert!(!error.reason().is_recoverable());
                assert_eq!(again, error, "it cannot go on");
                assert_eq!(refusal(reassembler.finish()), error);
            } else {
                assert_eq!((error.reason(), announced <= 1000), (WireReason::TooLong, true), "{error}");
            }
            assert!(sink.0 <= announced as u64);
        }
    }
}

#[derive(Default)]
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        self.0 += buf.len() as u64;
        Ok(buf.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stream_longer_than_any_compressor_makes() {
    let payload = Bytes::from_static(b"payload");
    for compression in [Compression::Zstd, Compression::Lz4] {
        let bound = 7 + (64 << 10);
        let mut reassembler = Reassembler::in_memory(&envelope(compression, 7, &payload)).expect("sound");
        let waits = vec![0; bound];
        assert_eq!(code(&reassembler.receive(chunk(1, 0, &waits[1..], false))), "ok");
        assert_eq!(reassembler.waiting_len(), bound as u64 - 1);
        assert_eq!(code(&reassembler.receive(chunk(2, 0, b"ab", false))), "too_long");
        assert_eq!(code(&reassembler.receive(chunk(3, 0, b"a", false))), "ok");
        assert_eq!(code(&reassembler.receive(chunk(4, 0, b"a", false))), "too_long");
    }
}

#[test]
fn damaged_streams() {
    let payload = tensor_like(3, 2000);
    for compression in [Compression::Zstd, Compression::Lz4] {
        let stream = stream_of(&payload, compression);
        let envelope = envelope(compression, 2000, &payload);
        assert_eq!(receive(&envelope, cuts(&stream, 100)).expect("sound"), payload);
        for at in 0..stream.len() {
            let mut damaged = stream.clone();
            damaged[at] ^= 1 << (at % 8);
            let received = receive(&envelope, cuts(&damaged, 100));
            match code(&received) {
                // A bit that means nothing.
                "ok" => assert_eq!(received.expect("ok"), payload),
                "compressed_stream" | "content_length" | "content_hash" => {}
                other => panic!("{compression}, byte {at}: {other}"),
            }
        }
        for len in (0..stream.len()).step_by(3) {
            let cut_short = receive(&envelope, cuts(&stream[..len], 100));
            // No chunk at all comes of no byte.
            let expected = if len == 0 { "incomplete" } else { "compressed_stream" };
            assert_eq!(code(&cut_short), expected, "{compression}, {len} bytes");
        }
    }
}

/// Ten bytes in an LZ4 frame with its size: a header of 15 bytes, a block, and the end.
fn lz4_frame() -> (Envelope, Vec<u8>) {
    let payload = Bytes::from_static(b"0123456789");
    let stream = stream_of(&payload, Compression::Lz4);
    assert_eq!(stream.len(), 15 + 4 + 10 + 4);
    (envelope(Compression::Lz4, 10, &payload), stream)
}

#[test]
fn headers_of_lz4() {
    let (envelope, stream) = lz4_frame();
    let refused = |at: usize, byte: u8| {
        let mut stream = stream.clone();
        stream[at] = byte;
        // The header alone: nobody waits for more.
        let mut reassembler = Reassembler::in_memory(&envelope).expect("sound");
        refusal(reassembler.receive(chunk(0, 0, &stream[..7], false))).found().to_owned()
    };
    assert_eq!(refused(0, 0x02), "another magic");
    assert_eq!(refused(4, stream[4] | 1), "a dictionary");
    assert_eq!(refused(5, 0x30), "an unknown block size");

    // A block of 2 GiB is not waited for either.
    let mut long = stream[..15].to_vec();
    long.extend([0xff; 4]);
    let mut reassembler = Reassembler::in_memory(&envelope).expect("sound");
    let error = refusal(reassembler.receive(chunk(0, 0, &long, false)));
    assert_eq!(error.found(), "a block longer than the frame's header allows");
}

#[test]
fn an_empty_block_is_not_the_end_of_lz4() {
    let (envelope, mut stream) = lz4_frame();
    stream.splice(15..15, [0, 0, 0, 0x80]);
    assert_eq!(receive(&envelope, cuts(&stream, 100)).expect("sound"), b"0123456789");
}

/// What can be decoded goes out, however much more there is of it than one call of the decompressor gives.
#[test]
fn nothing_stays_inside_zstd() {
    // A frame with a window of 128 KiB and three blocks of one repeated byte each: last, type and length, and the byte.
    let block = |last: u32, byte: u8| [&(last | 1 << 1 | 100_001 << 3_u32).to_le_bytes()[..3], &[byte]].concat();
    let start = [&[0x28, 0xB5, 0x2F, 0xFD, 0x00, (17 - 10) << 3][..], &block(0, b'a'), &block(0, b'b')].concat();
    let payload = [b'a', b'b', b'c'].map(|byte| vec![byte; 100_001]).concat();

    let mut reassembler = Reassembler::in_memory(&envelope(Compression::Zstd, 300_003, &payload)).expect("sound");
    reassembler.receive(chunk(0, 0, &start, false)).expect("sound");
    assert_eq!(reassembler.written_len(), 200_002);
    reassembler.receive(chunk(1, 0, &block(1, b'c'), true)).expect("sound");
    assert!(reassembler.finish().expect("sound") == payload);
}

#[test]
fn a_short_payload_asks_for_a_short_window() {
    let stream = stream_of(&Bytes::from_static(b"0123456789"), Compression::Zstd);
    // The descriptor: one segment, whose length of one byte follows; that is the window.
    assert_eq!(&stream[4..6], &[0x20, 10]);
}

#[test]
fn what_follows_the_end_is_refused() {
    let payload = Bytes::from_static(b"payload");
    for compression in [Compression::Zstd, Compression::Lz4] {
        let envelope = envelope(compression, 7, &payload);
        let stream = stream_of(&payload, compression);
        let mut reassembler = Reassembler::in_memory(&envelope).expect("sound");
        reassembler.receive(chunk(0, 0, &stream, false)).expect("sound");
        assert!(reassembler.is_complete());
        reassembler.receive(chunk(1, 0, b"", false)).expect("it adds nothing");
        // It waits: the payload is there, and yet this transfer is not sound.
        reassembler.receive(chunk(3, 0, b"x", true)).expect("its turn has not come");
        let error = refusal(reassembler.finish());
        assert_eq!(
            error.to_string(),
            format!("compressed_stream: found bytes after its end, expected one intact {compression} frame")
        );

        let mut reassembler = Reassembler::in_memory(&envelope).expect("sound");
        reassembler.receive(chunk(0, 0, &stream, false)).expect("sound");
        assert_eq!(code(&reassembler.receive(chunk(1, 0, b"x", true))), "compressed_stream");
        assert_eq!(code(&reassembler.finish()), "compressed_stream");
    }
}

#[test]
fn windows_of_zstd() {
    // A frame without its content's size, whose window is 2^24 bytes: the magic, a descriptor of zeros, the window, and one
    // last raw block of three bytes.
    let wide = [&[0x28, 0xB5, 0x2F, 0xFD, 0x00, (24 - 10) << 3], &[3 << 3 | 1, 0, 0][..], b"abc"].concat();
    let envelope = envelope(Compression::Zstd, 3, b"abc");
    assert_eq!(code(&receive(&envelope, cuts(&wide, 100))), "compressed_stream");
    for (log, expected) in [(0, "compressed_stream"), (23, "compressed_stream"), (24, "ok"), (u32::MAX, "ok")] {
        let limits = Limits::new().max_zstd_window_log(log);
        let mut reassembler = Reassembler::new(&envelope, limits, Vec::new()).expect("sound");
        let received = reassembler.receive(chunk(0, 0, &wide, true)).and_then(|()| reassembler.finish());
        assert_eq!(code(&received), expected, "{log}");
    }
    // What a sender of this crate writes, every receiver with the default limits takes. Zeros, since this level is slow.
    let zeros = Bytes::from(vec![0; 9 << 20]);
    let cut = Chunker::new().compression(Compression::Zstd).zstd_level(i32::MAX).cut(zeros.clone()).expect("one chunk");
    assert!(receive(&envelope_of(&cut), cut.chunks()).expect("sound") == zeros);
}

#[test]
fn a_skippable_frame_is_no_empty_payload() {
    let skippable = [&0x184D_2A50_u32.to_le_bytes()[..], &4_u32.to_le_bytes(), b"meta"].concat();
    for chunk_len in [1, 3, 4, 12] {
        let result = receive(&envelope(Compression::Zstd, 0, b""), cuts(&skippable, chunk_len));
        let ReceiveError::Refused(error) = result.expect_err("no frame of zstd") else { panic!("it can be written") };
        assert_eq!(error.reason(), WireReason::CompressedStream, "{error}");
    }
}
