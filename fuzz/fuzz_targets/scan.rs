//! Proves on sources made of frames, sound and damaged, cut, one inside the other, and of anything else: what a search
//! finds, and what it says lies between, is what the naive one says; and it is the same in memory and in a source that is
//! read in windows and pieces of any length.

#![no_main]

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use membrane_codec::{
    FrameScanner, Refusal, ScanEvent, StoredFrame, VerifiedFrame, canonicalize, parse_canonical, scan,
};
use membrane_codec_fuzz::{check_scan, plain_identity, repair_trailer};

fuzz_target!(|sketch: Sketch| {
    let mut bytes = Vec::new();
    sketch.parts.iter().for_each(|part| part.append_to(&mut bytes, 0));
    let Sketch { window_len, pieces, depth, .. } = sketch;
    let events: Vec<_> = scan(&bytes).collect();
    check_scan(&bytes, &events);

    let source = || Pieces { bytes: &bytes, at: 0, pieces: &pieces, reads: 0 };
    let scanner = || FrameScanner::new(source()).expect("it knows its length").max_identity_len(u32::MAX);
    let expected: Vec<_> = events.into_iter().map(stored).collect();
    let window_len = usize::from(window_len);
    assert_eq!(scanner().window_len(window_len).collect::<Vec<_>>(), expected);
    check_copies(scanner().window_len(window_len), &bytes);
    // With every zero told to be a hole.
    assert_eq!(scanner().window_len(window_len).next_data(Pieces::next_data).collect::<Vec<_>>(), expected);

    let shallow: Vec<_> = scan(&bytes).max_depth(depth.into()).map(stored).collect();
    assert_eq!(scanner().window_len(window_len).max_depth(depth.into()).collect::<Vec<_>>(), shallow);
    if !shallow.iter().any(|event| matches!(event, ScanEvent::Refused { why: Refusal::TooDeep, .. })) {
        assert_eq!(shallow, expected);
    }
});

fn stored(event: ScanEvent<VerifiedFrame<'_>>) -> ScanEvent<StoredFrame> {
    match event {
        ScanEvent::Frame { offset, frame } => ScanEvent::Frame { offset, frame: frame.into() },
        ScanEvent::Refused { offset, why } => ScanEvent::Refused { offset, why },
        ScanEvent::Gap { range, zeros } => ScanEvent::Gap { range, zeros },
        other => panic!("memory can be read: {other:?}"),
    }
}

/// Copies are the bytes that were found, and leave the search as it is.
fn check_copies(mut scanner: FrameScanner<Pieces<'_>>, bytes: &[u8]) {
    while let Some(event) = scanner.next() {
        if let ScanEvent::Frame { offset, frame } = event {
            let copy = scanner.copy_frame(offset, &frame, Vec::new()).expect("neither source nor sink fails");
            assert_eq!(copy, bytes[offset as usize..][..frame.frame_len() as usize]);
            assert_eq!(StoredFrame::from(parse_canonical(&copy).expect("it was found intact")), frame);
        }
    }
}

#[derive(Arbitrary, Debug)]
struct Sketch<'a> {
    parts: Vec<Part<'a>>,
    window_len: u16,
    pieces: Vec<u8>,
    depth: u8,
}

#[derive(Arbitrary, Debug)]
enum Part<'a> {
    Bytes(&'a [u8]),
    Zeros(u16),
    Magic(u8),
    Frame(&'a [u8]),
    /// A frame whose payload is made of parts.
    Nested(Vec<Part<'a>>),
    Damaged {
        part: Box<Part<'a>>,
        at: u16,
        change: u8,
        repaired: bool,
    },
    Cut {
        part: Box<Part<'a>>,
        len: u16,
    },
    /// A frame up to its payload, of a length that what follows may have or not.
    Claim {
        identity_len: Option<u16>,
        payload_len: u64,
    },
    SmallClaim(u16),
}

/// How deep parts may lie in parts. The length doubles at most, and a fuzzer's input is short.
const MAX_NESTING: usize = 8;

impl Part<'_> {
    fn append_to(&self, bytes: &mut Vec<u8>, nesting: usize) {
        if nesting > MAX_NESTING {
            return;
        }
        match self {
            Self::Bytes(other) => bytes.extend_from_slice(other),
            Self::Zeros(len) => bytes.resize(bytes.len() + usize::from(len % 5000), 0),
            Self::Magic(version) => bytes.extend([0xC0, 0xDE, 0x01, *version]),
            Self::Frame(payload) => bytes.extend(frame(payload)),
            Self::Nested(parts) => {
                let mut payload = Vec::new();
                parts.iter().for_each(|part| part.append_to(&mut payload, nesting + 1));
                bytes.extend(frame(&payload));
            }
            Self::Damaged { part, at, change, repaired } => {
                let mut damaged = Vec::new();
                part.append_to(&mut damaged, nesting + 1);
                let len = damaged.len().max(1);
                damaged.get_mut(usize::from(*at) % len).into_iter().for_each(|byte| *byte ^= change);
                if *repaired {
                    repair_trailer(&mut damaged);
                }
                bytes.extend(damaged);
            }
            Self::Cut { part, len } => {
                let start = bytes.len();
                part.append_to(bytes, nesting + 1);
                bytes.truncate(start + usize::from(*len) % (bytes.len() - start + 1));
            }
            Self::Claim { identity_len, payload_len } => bytes.extend(claim(*identity_len, *payload_len)),
            Self::SmallClaim(payload_len) => bytes.extend(claim(None, (*payload_len).into())),
        }
    }
}

fn frame(payload: &[u8]) -> Vec<u8> {
    canonicalize(&plain_identity(payload), payload).expect("a small frame")
}

fn claim(identity_len: Option<u16>, payload_len: u64) -> Vec<u8> {
    let mut claim = frame(b"");
    claim.truncate(claim.len() - 16);
    if let Some(len) = identity_len {
        claim[10..12].copy_from_slice(&len.to_le_bytes());
    }
    claim.extend(payload_len.to_le_bytes());
    claim
}

/// A source that gives its bytes in pieces of the lengths that are said, over and over, and is interrupted at a 0.
struct Pieces<'a> {
    bytes: &'a [u8],
    at: usize,
    pieces: &'a [u8],
    reads: usize,
}

impl Pieces<'_> {
    /// Where the zeros end at and after a place; moves the source, as such a question does.
    fn next_data(&mut self, at: u64) -> io::Result<u64> {
        self.at = usize::try_from(at).expect("a place in memory");
        let zeros = self.bytes.get(self.at..).unwrap_or_default().iter().take_while(|byte| **byte == 0).count();
        self.at += zeros;
        Ok(self.at as u64)
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        let most = match self.pieces {
            [] => usize::MAX,
            pieces => usize::from(pieces[self.reads % pieces.len()]) * 16,
        };
        // Not twice in a row, or it would never end.
        if most == 0 && self.reads % 2 == 0 {
            return Err(ErrorKind::Interrupted.into());
        }
        let left = self.bytes.get(self.at..).unwrap_or_default();
        let got = buffer.len().min(left.len()).min(most.max(1));
        buffer[..got].copy_from_slice(&left[..got]);
        self.at += got;
        Ok(got)
    }
}

impl Seek for Pieces<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => usize::try_from(at).expect("a place in memory"),
            SeekFrom::End(0) => self.bytes.len(),
            other => panic!("nobody asks for {other:?}"),
        };
        Ok(self.at as u64)
    }
}
