//! Streams: bounded memory, real I/O errors, and payloads that nobody gets before they are verified.

mod samples;

use std::io::{self, Read, Write};
use std::rc::Rc;

use allocation_counter::measure;
use membrane_codec::{Finding, FrameReader, ReadError, Reason, Verifier, sha256};

/// The reason of a verdict that is an error.
fn reason<T>(result: Result<T, ReadError>) -> Reason {
    match result {
        Err(ReadError::Frame(error)) => error.reason(),
        Err(other) => panic!("no verdict: {other}"),
        Ok(_) => panic!("accepted"),
    }
}

/// A sink that shows, after it is gone, that it is gone.
struct Watched {
    _alive: Rc<()>,
    bytes: Vec<u8>,
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_sink_comes_back_only_when_the_trailer_held() {
    let payload: Vec<u8> = (0..300_000_u32).map(|at| at as u8).collect();
    let mut frame = samples::frame_of(&payload);
    let alive = Rc::new(());
    let open = |frame: &[u8]| {
        let stream = FrameReader::new().open(frame).expect("the start is sound");
        stream.copy_payload(Watched { _alive: alive.clone(), bytes: Vec::new() })
    };
    let (sink, digest) = open(&frame).expect("sound");
    assert_eq!(sink.bytes, payload);
    assert_eq!(digest, sha256(&payload));
    assert_eq!(Rc::strong_count(&alive), 2);
    drop(sink);

    let last_of_payload = frame.len() - 9;
    frame[last_of_payload] ^= 1;
    assert_eq!(reason(open(&frame)), Reason::TrailerMismatch);
    assert_eq!(Rc::strong_count(&alive), 1, "the sink was dropped");
}

#[test]
fn memory_follows_what_arrives_and_not_what_is_claimed() {
    let sound = samples::frame_of(b"");
    let claims = |offset: usize, bytes: &[u8]| {
        let mut frame = sound.clone();
        frame[offset..offset + bytes.len()].copy_from_slice(bytes);
        frame
    };
    let peak = |frame: &[u8], expected: Reason| {
        let reader = FrameReader::new().max_identity_len(u32::MAX);
        let verdict = || assert_eq!(reason(reader.open(frame).and_then(|stream| stream.verify())), expected);
        measure(verdict).bytes_max
    };
    let honest = peak(&claims(sound.len() - 1, &[0]), Reason::TrailerMismatch);
    assert!(honest < 4096, "{honest}");
    // A 22-byte file, and lengths of 4 GiB and 2^64-1.
    assert_eq!(
        peak(&sound[..22], Reason::IdentityLength),
        peak(&claims(10, &[22, 0, 0, 0])[..22], Reason::IdentityLength)
    );
    assert!(peak(&sound[..22], Reason::IdentityLength) <= honest);
    assert!(peak(&claims(10, &[255; 4]), Reason::IdentityLength) < 4096);
    // The payload's buffer is 128 KiB, whether the payload is 129 KiB or claims to be 2^64-1.
    let large = peak(&samples::frame_of(&[0; 129 * 1024])[..100_000], Reason::Truncated);
    let hostile = peak(&claims(sound.len() - 16, &[255; 8]), Reason::Truncated);
    assert!(hostile <= large, "{hostile} > {large}");
    assert!(large < 140 * 1024, "{large}");
}

#[test]
fn the_cap_on_the_identity_comes_before_reading_it() {
    let frame = samples::frame_of(b"payload");
    let identity_len = frame.len() as u32 - 30 - 7;
    let capped = |cap: u32| FrameReader::new().max_identity_len(cap).open(&frame[..]);
    assert_eq!(capped(identity_len).expect("at the cap").payload_len(), 7);
    let error = capped(identity_len - 1).expect_err("above the cap");
    assert_eq!(
        error.to_string(),
        "identity_length at byte 10: found identity_len 290, expected at most 289, the cap for streams"
    );
    let membrane_codec::ReadError::Frame(error) = error else { panic!("the source gave all that it was asked for") };
    assert!(error.is_above_cap());
    let too_short = FrameReader::new().open(&frame[..200]).expect_err("the identity does not fit");
    assert!(matches!(too_short, membrane_codec::ReadError::Frame(error) if !error.is_above_cap()));
    assert_eq!(FrameReader::DEFAULT_MAX_IDENTITY_LEN, 1 << 20);
}

#[test]
fn a_known_length_refuses_before_reading() {
    /// Counts what is read of a source that never ends.
    struct Endless(u64, Vec<u8>);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let left = &self.1[(self.0 as usize).min(self.1.len())..];
            let got = left.chain(io::repeat(0)).read(buffer)?;
            self.0 += got as u64;
            Ok(got)
        }
    }
    let mut frame = samples::frame_of(b"");
    let payload_len = frame.len() - 16;
    frame[payload_len..payload_len + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    let frame_len = frame.len() as u64;
    let mut source = Endless(0, frame);
    let reader = FrameReader::new().source_len(4 << 30);
    assert_eq!(reason(reader.open(&mut source).and_then(|stream| stream.verify())), Reason::Truncated);
    assert_eq!(source.0, frame_len, "no more than the smallest frame was read");
}

#[test]
fn a_known_length_is_a_limit_and_nothing_else() {
    let frame = samples::frame_of(&[1; 1000]);
    let len = frame.len() as u64;
    let verify = |bytes: &[u8], said: u64| FrameReader::new().source_len(said).open(bytes)?.verify();
    assert_eq!(verify(&frame, len).expect("sound"), sha256(&[1; 1000]));
    assert_eq!(reason(verify(&frame[..frame.len() - 1], len)), Reason::Truncated);
    assert_eq!(reason(verify(&[&frame[..], &[0]].concat(), len)), Reason::TrailingBytes);
    assert_eq!(verify(&frame, len + 1).expect("the source ended with the frame"), sha256(&[1; 1000]));
    assert_eq!(reason(verify(&frame, len - 1)), Reason::Truncated);
    let longer = verify(&[&frame[..], &[0; 9]].concat(), len + 9).expect_err("nine bytes follow");
    assert_eq!(
        longer.to_string(),
        format!("trailing_bytes at byte {len}: found {} bytes, expected a frame of {len} bytes", len + 9)
    );
}

#[test]
fn a_source_that_fails_gives_no_verdict() {
    /// Gives its bytes, then an error.
    struct Failing<'a>(&'a [u8]);
    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("the disk is gone")),
                got => Ok(got),
            }
        }
    }
    let frame = samples::frame_of(b"payload");
    for end in 0..=frame.len() {
        let result = FrameReader::new().open(Failing(&frame[..end])).and_then(|stream| stream.verify());
        match result {
            Err(ReadError::Source(error)) => assert_eq!(error.to_string(), "the disk is gone"),
            other => panic!("after {end} bytes: {other:?}"),
        }
    }
}

#[test]
fn a_sink_that_fails_gives_no_verdict() {
    let frame = samples::frame_of(b"payload");
    let stream = FrameReader::new().open(&frame[..]).expect("sound");
    match stream.copy_payload(&mut [0; 3][..]) {
        Err(ReadError::Sink(error)) => assert_eq!(error.kind(), io::ErrorKind::WriteZero),
        other => panic!("{other:?}"),
    }
}

#[test]
fn structure_alone_reads_frames_whose_identity_is_damaged() {
    let mut frame = samples::frame_of(b"payload");
    frame[14] = b'[';
    assert_eq!(reason(FrameReader::new().open(&frame[..])), Reason::IdentityJson);
    let stream = FrameReader::new().open_structure(&frame[..]).expect("the structure holds");
    assert_eq!(stream.identity().expect_err("damaged").offset(), 14);
    assert_eq!(stream.identity_bytes(), &frame[14..304]);
    assert_eq!(stream.verify().expect("the payload is sound"), sha256(b"payload"));
}

#[test]
fn a_source_that_gives_more_than_was_asked_for_is_found_out() {
    #[derive(Debug)]
    struct Liar;
    impl Read for Liar {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            Ok(buffer.len() + 1)
        }
    }
    match FrameReader::new().open(Liar) {
        Err(ReadError::Source(error)) => assert_eq!(error.to_string(), "the source gave more than was asked for"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_next_of_several_frames_until_there_is_none() {
    let both = [samples::frame_of(b"one"), samples::frame_of(b"two")].concat();
    let reader = FrameReader::new().leave_rest(true);
    let mut source = &both[..];
    for payload in [b"one", b"two"] {
        let stream = reader.open_next(&mut source).expect("sound").expect("there is one");
        assert_eq!(stream.copy_payload(Vec::new()).expect("sound").0, payload);
    }
    assert!(reader.open_next(&mut source).expect("the end is no error").is_none());
    assert_eq!(reason(reader.open_next(&both[..5])), Reason::Truncated);
}

#[test]
fn a_verifier_looks_at_streams_as_well() {
    let frame = samples::frame_of(b"payload");
    let open = |frame: &[u8]| {
        FrameReader::new()
            .open_structure(frame)
            .expect("the structure holds")
            .verify_with(&Verifier::new().check_payload_hash(true).expect_key(sha256(b"another")))
    };
    let (digest, findings) = open(&frame).expect("sound");
    let expected = Finding::Key { expected: sha256(b"another"), named: sha256(b"payload").into() };
    assert_eq!((digest, findings.into_iter().collect()), (sha256(b"payload"), vec![expected]));
    let mut damaged = frame;
    damaged[14] = b'[';
    assert_eq!(reason(open(&damaged)), Reason::IdentityJson);
}
