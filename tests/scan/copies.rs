//! Frames that are copied out of where they were found.

use std::io::{self, Read, Seek};

use membrane_codec::{FrameScanner, ReadError, Reason, ScanEvent, StoredFrame, sha256};

use crate::disk::Disk;
use crate::naive::Found::{Frame, Gap};
use crate::samples::{frame_of, identity_of};
use crate::support::{found, scanner};

/// Scans up to the first frame and gives it, with the scanner.
fn first_frame(disk: Disk) -> (FrameScanner<Disk>, u64, StoredFrame) {
    let mut scanner = scanner(disk);
    loop {
        if let ScanEvent::Frame { offset, frame } = scanner.next().expect("there is a frame") {
            return (scanner, offset, frame);
        }
    }
}

#[test]
fn copies_are_the_bytes_that_were_found() {
    for payload_len in [0, 1, 8, 100_000, 1 << 20] {
        let frame = frame_of(&vec![7; payload_len]);
        let bytes = [b"before", &frame[..], b"behind", &frame].concat();
        let (mut scanner, offset, found) = first_frame(Disk::new(&bytes));
        assert_eq!((offset, found.frame_len(), found.payload_len()), (6, frame.len() as u64, payload_len as u64));
        assert_eq!(found.payload_digest(), sha256(&vec![7; payload_len]));
        assert_eq!(*found.identity(), identity_of(&vec![7; payload_len]));
        assert!(scanner.copy_frame(offset, &found, Vec::new()).expect("sound") == frame);
        // Neither again, nor elsewhere, nor going on is disturbed by it.
        assert!(scanner.copy_frame(offset, &found, Vec::new()).expect("sound") == frame);
        let second = (12 + frame.len()) as u64;
        assert!(scanner.copy_frame(second, &found, Vec::new()).expect("sound") == frame);
        let rest: Vec<_> = scanner.collect();
        let end = bytes.len() as u64;
        assert_eq!(self::found(&rest), [Gap(second - 6, second), Frame(second, end)]);
    }
}

#[test]
fn a_copy_of_what_has_changed_is_an_error() {
    /// A disk whose later reads give other bytes.
    struct Changing {
        disk: Disk,
        then: Vec<u8>,
        scanned: bool,
    }
    impl Read for Changing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.disk.read.get() >= self.then.len() as u64 && !self.scanned {
                (self.disk.bytes, self.scanned) = (self.then.clone(), true);
            }
            self.disk.read(buffer)
        }
    }
    impl Seek for Changing {
        fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
            self.disk.seek(to)
        }
    }
    let payload = vec![7; 1 << 20];
    let frame = frame_of(&payload);
    let after = |then: Vec<u8>| {
        let mut scanner = scanner(Changing { disk: Disk::new(&frame), then, scanned: false });
        let Some(ScanEvent::Frame { offset: 0, frame }) = scanner.next() else { panic!("sound at first") };
        scanner.copy_frame(0, &frame, Vec::new())
    };
    let mut damaged = frame.clone();
    damaged[900_000] ^= 1;
    match after(damaged) {
        Err(ReadError::Frame(error)) => assert_eq!(error.reason(), Reason::TrailerMismatch),
        other => panic!("{other:?}"),
    }
    // Another frame of the same length, sound as well.
    let mut identity = identity_of(&payload);
    identity.model_id = "llama-3-9b".into();
    let changed = membrane_codec::canonicalize(&identity, &payload).expect("a frame");
    assert_eq!(changed.len(), frame.len());
    // The identity's JSON stays in the window: it is the old one that is copied, with the payload that was verified.
    assert_eq!(after(changed).expect("as it was found"), frame);
    let same = after(frame.clone()).expect("as it was");
    assert_eq!(same, frame);
}

#[test]
fn a_copy_that_is_not_the_frame_that_was_found() {
    let (one, two) = (frame_of(b"one"), frame_of(b"two"));
    let (mut scanner, _, found) = first_frame(Disk::new(&[&one[..], &two].concat()));
    let copy = |scanner: &mut FrameScanner<Disk>, offset| match scanner.copy_frame(offset, &found, Vec::new()) {
        Err(ReadError::Source(error)) => error.to_string(),
        Err(ReadError::Frame(error)) => error.reason().to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(copy(&mut scanner, one.len() as u64), "the frame has changed since it was found");
    assert_eq!(copy(&mut scanner, 1), "bad_magic");
    assert_eq!(copy(&mut scanner, u64::MAX), "truncated");
}

#[test]
fn copies_that_cannot_be_read_or_written() {
    let frame = frame_of(&vec![7; 1 << 20]);
    let disk = Disk::new(&frame);
    let (mut scanner, offset, found) = first_frame(disk);
    match scanner.copy_frame(offset, &found, &mut [0; 700_000][..]) {
        Err(ReadError::Sink(error)) => assert_eq!(error.kind(), io::ErrorKind::WriteZero),
        other => panic!("{other:?}"),
    }
    struct NeverFlushed;
    impl io::Write for NeverFlushed {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            Ok(buffer.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::Error::other("full"))
        }
    }
    assert!(matches!(scanner.copy_frame(offset, &found, NeverFlushed), Err(ReadError::Sink(_))));
    assert!(scanner.copy_frame(offset, &found, Vec::new()).expect("sound") == frame);
}
