//! Proves: a stream reaches the verdict, reason and offset that a slice of the same bytes gets, however the bytes arrive;
//! gives exactly the payload; and, told to leave what follows the frame, leaves exactly that.
//!
//! The first eight bytes of the input are a seed: it decides how the bytes arrive, and what is done to them before.

#![no_main]

use std::io::{self, ErrorKind, Read};

use libfuzzer_sys::fuzz_target;
use membrane_codec::{
    Digest, Error, Frame, FrameReader, FrameStream, PayloadIdentity, ReadError, Reason, parse_canonical,
};
use membrane_codec_fuzz::repair_trailer;

/// The length of a stream's payload buffer is beyond the inputs of a fuzzer; stretched payloads are longer.
const STRETCHED_LEN: usize = 300 * 1024;

fuzz_target!(|input: &[u8]| {
    let Some((seed, bytes)) = input.split_first_chunk() else { return };
    let mut random = Random(u64::from_le_bytes(*seed));
    let mut bytes = bytes.to_vec();
    if random.one_in(32) {
        stretch_payload(&mut bytes);
    }
    if !random.one_in(4) {
        repair_trailer(&mut bytes);
    }

    let unknown_len = FrameReader::new().max_identity_len(u32::MAX);
    for reader in [unknown_len, unknown_len.source_len(bytes.len() as u64)] {
        check_exactly_one_frame(reader, Pieces { rest: &bytes, random });
        check_first_frame(reader.leave_rest(true), Pieces { rest: &bytes, random });
        check_structure_of_first_frame(reader.leave_rest(true), Pieces { rest: &bytes, random });
    }
});

/// What a verified frame holds.
type Parts = (PayloadIdentity, Vec<u8>, Digest);

fn slice_verdict(bytes: &[u8]) -> Result<Parts, Error> {
    let frame = parse_canonical(bytes)?;
    Ok((frame.identity().to_identity(), frame.payload().to_vec(), frame.payload_digest()))
}

fn stream_verdict(reader: FrameReader, source: impl Read) -> Result<Parts, Error> {
    let stream = reader.open(source).map_err(verdict)?;
    let identity = stream.identity().expect("open has read it").to_identity();
    let (payload, digest) = stream.copy_payload(Vec::new()).map_err(verdict)?;
    Ok((identity, payload, digest))
}

fn verdict(error: ReadError) -> Error {
    match error {
        ReadError::Frame(error) => error,
        other => panic!("neither source nor sink fails: {other}"),
    }
}

fn check_exactly_one_frame(reader: FrameReader, mut source: Pieces<'_>) {
    let expected = slice_verdict(source.rest);
    let stream = stream_verdict(reader, &mut source);
    assert_agree(&stream, &expected);
    assert!(stream.is_err() || source.rest.is_empty());
}

fn check_first_frame(reader: FrameReader, mut source: Pieces<'_>) {
    let bytes = source.rest;
    let expected = match slice_verdict(bytes) {
        Err(error) if error.reason() == Reason::TrailingBytes => slice_verdict(&bytes[..error.offset() as usize]),
        verdict => verdict,
    };
    let stream = stream_verdict(reader, &mut source);
    assert_agree(&stream, &expected);
    if stream.is_ok() {
        let (_, rest) = Frame::parse_prefix(bytes).expect("the stream has read a frame");
        assert_eq!(source.rest, rest);
    }
}

/// Without the identity's JSON, so that frames with any identity have their payload read.
fn check_structure_of_first_frame(reader: FrameReader, mut source: Pieces<'_>) {
    let bytes = source.rest;
    let stream = reader.open_structure(&mut source).and_then(|stream| {
        check_start(&stream, bytes);
        stream.verify()
    });
    let stream = stream.map_err(verdict);
    let slice = Frame::parse_prefix(bytes);
    assert_agree(&stream, &slice.and_then(|(frame, _)| frame.verify()));
    if let (Ok(_), Ok((_, rest))) = (stream, slice) {
        assert_eq!(source.rest, rest);
    }
}

/// What an open stream says about its frame, also when the payload will turn out to be cut.
fn check_start(stream: &FrameStream<&mut Pieces<'_>>, bytes: &[u8]) {
    let identity_end = 14 + stream.header().identity_len() as usize;
    assert_eq!(stream.header().to_bytes(), bytes[..14]);
    assert_eq!(stream.identity_bytes(), &bytes[14..identity_end]);
    assert_eq!(stream.payload_len().to_le_bytes(), bytes[identity_end..identity_end + 8]);
}

/// Reason and offset are the verdict. The rest of an error may differ: a stream need not know how much follows a frame.
fn assert_agree<T: PartialEq + std::fmt::Debug>(stream: &Result<T, Error>, slice: &Result<T, Error>) {
    match (stream, slice) {
        (Ok(stream), Ok(slice)) => assert_eq!(stream, slice),
        (Err(stream), Err(slice)) => {
            assert_eq!((stream.reason(), stream.offset()), (slice.reason(), slice.offset()), "{stream}; {slice}");
        }
        (stream, slice) => panic!("the stream gives {stream:?}, the slice gives {slice:?}"),
    }
}

/// Repeats the payload of the frame at the start of `bytes` and has its length say so.
fn stretch_payload(bytes: &mut Vec<u8>) {
    let Ok((frame, rest)) = Frame::parse_prefix(bytes) else { return };
    let payload_at = frame.payload_offset();
    let payload: Vec<u8> = frame.payload().iter().copied().cycle().take(STRETCHED_LEN).collect();
    let tail = [&frame.trailer()[..], rest].concat();
    bytes.truncate(payload_at - 8);
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(payload);
    bytes.extend(tail);
}

/// A source that gives its bytes in pieces of any size and is interrupted now and then.
struct Pieces<'a> {
    rest: &'a [u8],
    random: Random,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.random.one_in(4) {
            return Err(ErrorKind::Interrupted.into());
        }
        // Single bytes as likely as all that is asked for.
        let magnitude = self.random.below(20);
        let most = 1 + self.random.below(1 << magnitude) as usize;
        let len = most.min(buffer.len()).min(self.rest.len());
        let (piece, rest) = self.rest.split_at(len);
        buffer[..len].copy_from_slice(piece);
        self.rest = rest;
        Ok(len)
    }
}

/// SplitMix64: the same pieces for the same seed.
#[derive(Clone, Copy)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}
