//! Proves: a payload put together from chunks, in any order, in parts, repeated, damaged and mixed with lies, is the one that
//! was cut, or is refused; what is not a lie never hinders it; and no stream writes more than its envelope announces.
//!
//! The first byte says whether the rest is the sketch of a transfer, or a compressed stream after four bytes that say how.

#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use membrane_codec::proto::{
    Chunk, ChunkRequest, ChunkedPayload, Chunker, Compression, Envelope, Limits, Message, Reassembler, ReceiveError,
    WireError,
};
use membrane_codec::sha256;

fuzz_target!(|input: &[u8]| {
    let Some((mode, rest)) = input.split_first() else { return };
    check_any_message(rest);
    if mode % 2 == 0 {
        if let Ok(sketch) = TransferSketch::arbitrary(&mut Unstructured::new(rest)) {
            check_transfer(&sketch);
        }
    } else if let Some((&[total_low, total_high, cut_len, compression], stream)) = rest.split_first_chunk() {
        let compression = if compression % 2 == 0 { Compression::Zstd } else { Compression::Lz4 };
        let total = u16::from_le_bytes([total_low, total_high]);
        check_stream(compression, total.into(), cut_len.max(1).into(), stream);
    }
});

#[derive(Arbitrary, Debug)]
struct TransferSketch<'a> {
    payload: &'a [u8],
    repeated: u8,
    chunk_len: u8,
    compression: u8,
    steps: Vec<Step<'a>>,
}

#[derive(Arbitrary, Debug)]
enum Step<'a> {
    /// A whole chunk.
    Whole { index: u8 },
    /// The answer to a request.
    Answer { index: u8, offset: u8, length: u8 },
    /// A bit of a chunk is not what it was.
    Damaged { index: u8, bit: u16 },
    /// Anything with a hash that is right.
    Lie { index: i8, offset: i8, data: &'a [u8], is_last: bool, reaches_end: bool },
    /// Numbers beyond all bounds.
    Absurd { index: i32, offset: i64 },
}

/// Receives what a sketch sends.
struct Receiver<'a> {
    sender: &'a ChunkedPayload,
    reassembler: Reassembler<Vec<u8>>,
    /// Whether something was taken that the sender may never have said.
    was_lied_to: bool,
}

impl Receiver<'_> {
    fn take(&mut self, step: &Step<'_>) {
        let count = self.sender.chunk_count();
        match *step {
            Step::Whole { index } => {
                let chunk = self.sender.chunk(usize::from(index) % count).expect("one of them");
                let verdict = self.reassembler.receive(chunk);
                self.expect_ok_without_lies(&verdict);
            }
            Step::Answer { index, offset, length } => {
                let chunk_index = (usize::from(index) % count) as i32;
                let request = ChunkRequest { chunk_index, offset: offset.into(), length: length.into() };
                if let Ok(answer) = self.sender.answer(&request) {
                    let verdict = self.reassembler.receive_answer(&request, answer);
                    self.expect_ok_without_lies(&verdict);
                }
            }
            Step::Damaged { index, bit } => {
                let mut chunk = self.sender.chunk(usize::from(index) % count).expect("one of them");
                let mut data = chunk.data.to_vec();
                let Some(bits) = data.len().checked_mul(8).filter(|bits| *bits > 0) else { return };
                let bit = usize::from(bit) % bits;
                data[bit / 8] ^= 1 << (bit % 8);
                chunk.data = data.into();
                let before = self.reassembler.received_len();
                assert!(self.reassembler.receive(chunk).is_err());
                assert_eq!(self.reassembler.received_len(), before);
            }
            Step::Lie { index, offset, data, is_last, reaches_end } => {
                let request = ChunkRequest {
                    chunk_index: index.into(),
                    offset: offset.into(),
                    length: if reaches_end { 0 } else { data.len() as i64 },
                };
                let chunk = chunk(request.chunk_index, request.offset, data, is_last);
                let verdict = self.reassembler.receive_answer(&request, chunk);
                self.notice_lie(&verdict);
            }
            Step::Absurd { index, offset } => {
                let chunk = chunk(index, offset, b"absurd", false);
                let verdict = self.reassembler.receive(chunk);
                self.notice_lie(&verdict);
            }
        }
        // Asking costs nothing, whatever was claimed.
        assert!(self.reassembler.missing().take(10).count() <= 10);
    }

    /// A refusal from which a transfer recovers has left no trace.
    fn notice_lie(&mut self, verdict: &Result<(), ReceiveError>) {
        self.was_lied_to |= match verdict {
            Ok(()) => true,
            Err(ReceiveError::Refused(error)) => !error.reason().is_recoverable(),
            Err(other) => panic!("a vector takes everything: {other}"),
        };
    }

    fn expect_ok_without_lies(&mut self, verdict: &Result<(), ReceiveError>) {
        assert!(verdict.is_ok() || self.was_lied_to, "{verdict:?}");
    }
}

fn check_transfer(sketch: &TransferSketch<'_>) {
    let payload = Bytes::from(sketch.payload.repeat(usize::from(sketch.repeated % 16)));
    let compression = Compression::ALL[usize::from(sketch.compression) % Compression::ALL.len()];
    let chunker = Chunker::new().chunk_len(usize::from(sketch.chunk_len).max(1)).compression(compression);
    let sender = chunker.cut(payload.clone()).expect("within bounds");
    let reassembler = Reassembler::in_memory(&envelope_of(&sender)).expect("sound");

    let mut receiver = Receiver { sender: &sender, reassembler, was_lied_to: false };
    for step in &sketch.steps {
        receiver.take(step);
        let (waiting, received) = (receiver.reassembler.waiting_len(), receiver.reassembler.received_len());
        assert!(waiting <= received && received <= most_bytes(compression, payload.len()));
        assert!(receiver.reassembler.written_len() <= payload.len() as u64);
    }
    // Each round tells of a next chunk. After lies there may be no end of it.
    let rounds = if receiver.was_lied_to { 3 } else { sender.chunk_count() + 1 };
    for _ in 0..rounds {
        let missing: Vec<ChunkRequest> = receiver.reassembler.missing().take(1000).collect();
        if missing.is_empty() {
            break;
        }
        for request in &missing {
            match sender.answer(request) {
                Ok(answer) => {
                    let verdict = receiver.reassembler.receive_answer(request, answer);
                    receiver.expect_ok_without_lies(&verdict);
                }
                Err(error) => assert!(receiver.was_lied_to, "{error}"),
            }
        }
    }
    match receiver.reassembler.finish() {
        Ok(received) => assert_eq!(received, payload),
        Err(error) => assert!(receiver.was_lied_to, "{error}"),
    }
}

/// Any bytes as a stream, in cuts, to a receiver that waits for what begins it until the end, or not.
fn check_stream(compression: Compression, total: u64, cut_len: usize, stream: &[u8]) {
    let envelope = Envelope {
        tenant_id: "public".into(),
        content_hash: "0".repeat(64),
        total_bytes: total as i64,
        compression: compression.number(),
        ..Envelope::default()
    };
    let verdicts = [false, true].map(|backwards| {
        let mut written = Vec::new();
        let mut reassembler = Reassembler::new(&envelope, Limits::new(), &mut written).expect("sound");
        let mut chunks: Vec<Chunk> =
            stream.chunks(cut_len).enumerate().map(|(at, cut)| chunk(at as i32, 0, cut, false)).collect();
        if backwards {
            chunks.reverse();
        }
        let received = chunks.into_iter().try_for_each(|chunk| reassembler.receive(chunk));
        let verdict = received.and_then(|()| reassembler.finish().map(|_| ()));
        assert!(written.len() as u64 <= total);
        verdict.map_err(reason)
    });
    // The order changes nothing but where a stream that is too long is cut off.
    if stream.len() as u64 <= most_bytes(compression, total as usize) {
        assert_eq!(verdicts[0], verdicts[1]);
    }
}

/// Any bytes as each of the messages: read, or not, and written again as what they were read as.
fn check_any_message(bytes: &[u8]) {
    fn check<M: Message + Default + PartialEq>(bytes: &[u8]) -> Option<M> {
        let message = M::decode(Bytes::copy_from_slice(bytes)).ok()?;
        let again = M::decode(Bytes::from(message.encode_to_vec())).expect("it was written so");
        assert!(again == message);
        Some(message)
    }
    if let Some(envelope) = check::<Envelope>(bytes) {
        told(envelope.validate());
    }
    if let Some(tensor) = check::<membrane_codec::proto::TensorPayload>(bytes) {
        told(tensor.validate());
    }
    check::<ChunkRequest>(bytes);
    check::<Chunk>(bytes);
}

fn told(verdict: Result<(), WireError>) {
    if let Err(error) = verdict {
        assert!(error.to_string().len() < 1000, "{error}");
    }
}

fn reason(error: ReceiveError) -> &'static str {
    match error {
        ReceiveError::Refused(error) => error.reason().as_str(),
        other => panic!("a vector takes everything: {other}"),
    }
}

/// How many bytes of a stream a receiver takes.
fn most_bytes(compression: Compression, payload_len: usize) -> u64 {
    let payload_len = payload_len as u64;
    if compression == Compression::None { payload_len } else { payload_len + payload_len / 128 + 64 * 1024 }
}

fn envelope_of(sender: &ChunkedPayload) -> Envelope {
    Envelope { tenant_id: "public".into(), ..sender.envelope() }
}

fn chunk(chunk_index: i32, offset: i64, data: &[u8], is_last: bool) -> Chunk {
    let sha256_hex = sha256(data).to_string();
    Chunk { chunk_index, offset, data: Bytes::copy_from_slice(data), sha256_hex, is_last }
}
