//! What claims cost: nothing. What is held: no more than has come.

use allocation_counter::{AllocationInfo, measure};
use bytes::Bytes;
use membrane_codec::proto::{Chunk, Chunker, Compression, Envelope, Limits, Message, Reassembler};

use super::support::{chunk, cut, envelope_of, noise};

fn measured(work: impl FnOnce()) -> AllocationInfo {
    let mut work = Some(work);
    measure(|| work.take().expect("once")())
}

#[test]
fn claims_allocate_nothing() {
    let huge = Envelope { total_bytes: i64::MAX, ..envelope_of(&cut(&Bytes::new(), 1)) };
    let limits = Limits::new().max_total_bytes(u64::MAX).max_chunks(u32::MAX);
    let messages = [
        chunk(i32::MAX, 0, b"a", true),
        chunk(i32::MAX - 1, 1 << 40, b"a", false),
        chunk(0, i64::MAX - 2, b"a", false),
        chunk(7, 5, b"", false),
    ];
    let allocated = measured(|| {
        let mut reassembler = Reassembler::new(&huge, limits, Vec::new()).expect("sound");
        for message in messages {
            reassembler.receive(message).expect("sound");
        }
        assert_eq!(reassembler.waiting_len(), 3);
        assert_eq!(reassembler.missing().take(100).count(), 100);
    });
    assert!(allocated.bytes_max < 16 * 1024, "{allocated:?}");
}

#[test]
fn a_message_that_lies_about_its_length() {
    // A chunk whose data claims 2^62 bytes and has three.
    let message = Bytes::from_static(b"\x1a\x80\x80\x80\x80\x80\x80\x80\x80\x40abc");
    let allocated = measured(|| assert!(Chunk::decode(message).is_err()));
    assert!(allocated.bytes_max < 1024, "{allocated:?}");
}

#[test]
fn chunks_in_order_are_not_kept() {
    let payload = noise(1, 2 << 20);
    let cut = cut(&payload, 16 * 1024);
    let envelope = envelope_of(&cut);
    let allocated = measured(|| {
        let mut reassembler = Reassembler::new(&envelope, Limits::new(), std::io::sink()).expect("sound");
        for chunk in cut.chunks() {
            reassembler.receive(chunk).expect("sound");
            assert_eq!(reassembler.waiting_len(), 0);
        }
        reassembler.finish().expect("sound");
    });
    assert!(allocated.bytes_max < 64 * 1024, "{allocated:?}");
}

#[test]
fn chunks_that_wait_are_not_copied() {
    let payload = noise(1, 2 << 20);
    let cut = cut(&payload, 16 * 1024);
    let envelope = envelope_of(&cut);
    let allocated = measured(|| {
        let mut reassembler = Reassembler::new(&envelope, Limits::new(), std::io::sink()).expect("sound");
        for index in (0..cut.chunk_count()).rev() {
            reassembler.receive(cut.chunk(index).expect("one of them")).expect("sound");
        }
        reassembler.finish().expect("sound");
    });
    assert!(allocated.bytes_max < 256 * 1024, "{allocated:?}");
}

/// Chunks that repeat what is there and add a byte must not each keep a buffer alive.
#[test]
fn overlaps_keep_no_buffers_alive() {
    let payload = noise(1, 1 << 20);
    let envelope = envelope_of(&cut(&payload, 1 << 20));
    let mut reassembler = Reassembler::new(&envelope, Limits::new(), std::io::sink()).expect("sound");
    let mut buffers = Vec::new();
    for at in 0..100 {
        let (from, to) = (1000, 600_000 + at * 100);
        let request = membrane_codec::proto::ChunkRequest { chunk_index: 0, offset: 1000, length: (to - from) as i64 };
        let answer = chunk(0, from as i64, &payload[from..to], true);
        buffers.push(answer.data.clone());
        reassembler.receive_answer(&request, answer).expect("it agrees");
    }
    // One that shares a buffer with the reassembler is not the only one.
    assert_eq!(buffers.iter().filter(|buffer| !buffer.is_unique()).count(), 1);
}

#[test]
fn decompression_holds_a_window_alone() {
    let payload = Bytes::from(vec![7; 64 << 20]);
    for compression in [Compression::Zstd, Compression::Lz4] {
        let cut =
            Chunker::new().compression(compression).chunk_len(1000).cut(payload.clone()).expect("bounds are kept");
        let envelope = envelope_of(&cut);
        // zstd allocates in C, where nobody counts.
        let allocated = measured(|| {
            let mut reassembler = Reassembler::new(&envelope, Limits::new(), std::io::sink()).expect("sound");
            cut.chunks().for_each(|chunk| reassembler.receive(chunk).expect("sound"));
            reassembler.finish().expect("sound");
        });
        assert!(allocated.bytes_max < 2 << 20, "{compression}: {allocated:?}");
    }
}
