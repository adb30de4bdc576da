//! Writing frames: exact bytes, and refusals that leave nothing which could pass for a frame.

mod samples;

use std::io::{self, Write};

use bytes::{BufMut, BytesMut};
use membrane_codec::{
    EncodeError, Frame, FrameHeader, FrameWriter, Reason, canonicalize, encode, encoded_len, parse_canonical, sha256,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// The [`EncodeError`] inside an I/O error.
fn encode_error(error: &io::Error) -> Option<EncodeError> {
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    error.get_ref()?.downcast_ref().copied()
}

#[test]
fn the_layout_of_the_specification_to_the_byte() {
    let identity = samples::identity_of(b"KV");
    let json = identity.canonical_json();
    let mut expected = vec![0xC0, 0xDE, 0x01, 0x05, 5, 0, 0, 0, 0, 0];
    expected.extend((json.len() as u32).to_le_bytes());
    expected.extend(json.as_bytes());
    expected.extend(2_u64.to_le_bytes());
    expected.extend(b"KV");
    expected.extend(&sha256(b"KV").as_bytes()[..8]);
    assert_eq!(canonicalize(&identity, b"KV"), Ok(expected));
}

#[test]
fn a_header_shows_what_its_bytes_say_right_or_wrong() {
    let bytes = [0xC0, 0xDE, 0x01, 0x04, 0x34, 0x12, 1, 2, 3, 4, 5, 6, 7, 8];
    let header = FrameHeader::from_bytes(bytes);
    assert_eq!((header.magic(), header.schema()), ([0xC0, 0xDE, 0x01, 0x04], 0x1234));
    assert_eq!((header.reserved(), header.identity_len()), (0x0403_0201, 0x0807_0605));
    assert_eq!(header.to_bytes(), bytes);
    assert_eq!(header.check().expect_err("v4").reason(), Reason::OldVersion);
    assert_eq!(*Frame::parse(&samples::frame_of(b"")).expect("sound").header(), FrameHeader::new(290));
    assert_eq!(FrameHeader::new(290).check(), Ok(()));
}

#[test]
fn an_empty_payload_has_the_trailer_of_the_contract() {
    let bytes = samples::frame_of(b"");
    assert_eq!(Frame::parse(&bytes).expect("sound").trailer(), [0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14]);
}

#[test]
fn a_buffer_without_room_is_left_alone() {
    let identity = samples::identity_of(b"payload");
    let needed = encoded_len(identity.as_view(), 7).expect("a small frame");
    let mut buffer = vec![0xAA; needed - 1];
    let mut room = &mut buffer[..];
    let refused = encode(identity.as_view(), b"payload", &mut room);
    assert_eq!(refused, Err(EncodeError::BufferTooSmall { needed, available: needed - 1 }));
    assert_eq!(buffer, vec![0xAA; needed - 1]);

    let mut buffer = BytesMut::new().limit(needed);
    assert_eq!(encode(identity.as_view(), b"payload", &mut buffer), Ok(sha256(b"payload")));
    assert_eq!(buffer.into_inner(), samples::frame_of(b"payload"));
}

#[test]
fn a_parsed_view_encodes_as_its_owned_copy_does() {
    let pretty = serde_json::to_string_pretty(&samples::identity_of(b"x")).expect("JSON");
    let view = membrane_codec::IdentityView::parse(pretty.as_bytes()).expect("valid");
    let mut frame = Vec::new();
    encode(view, b"x", &mut frame).expect("a small frame");
    assert_eq!(frame, samples::frame_of(b"x"));
}

#[test]
fn a_payload_that_ends_early_makes_no_frame() {
    let mut sink = Vec::new();
    let mut writer = FrameWriter::new(&mut sink, &samples::identity_of(b"payload"), 27).expect("a Vec takes all");
    writer.write_all(b"a payload without its last").expect("within the length");
    let error = writer.finish().expect_err("one byte is missing");
    assert_eq!(encode_error(&error), Some(EncodeError::PayloadTooShort { declared: 27, written: 26 }));
    assert_eq!(error.to_string(), "the payload ended after 26 bytes, 27 were declared");
    assert_eq!(parse_canonical(&sink).expect_err("no trailer").reason(), Reason::Truncated);
}

#[test]
fn a_payload_that_goes_on_makes_no_frame() {
    let mut sink = Vec::new();
    let mut writer = FrameWriter::new(&mut sink, &samples::identity_of(b"payload"), 27).expect("a Vec takes all");
    writer.write_all(b"a payload that is too lo").expect("within the length");
    let error = writer.write_all(b"ng!!").expect_err("one byte too many");
    assert_eq!(encode_error(&error), Some(EncodeError::PayloadTooLong { declared: 27 }));
    assert_eq!(error.to_string(), "the payload goes on after the 27 bytes that were declared");
    // Once refused, it stays refused, even if what follows would fit.
    assert!(writer.write_all(b"ng!").is_err());
    let error = writer.finish().expect_err("it was refused");
    assert_eq!(encode_error(&error), Some(EncodeError::PayloadTooLong { declared: 27 }));
    assert_eq!(parse_canonical(&sink).expect_err("no trailer").reason(), Reason::Truncated);
}

#[test]
fn a_frame_longer_than_64_bits_can_say_is_refused_before_a_byte_is_written() {
    let mut sink = Vec::new();
    let error = FrameWriter::new(&mut sink, &samples::identity_of(b""), u64::MAX - 100).expect_err("too long");
    assert_eq!(encode_error(&error), Some(EncodeError::FrameTooLong));
    assert!(sink.is_empty());
    let longest = u64::MAX - 30 - 290;
    assert!(FrameWriter::new(&mut sink, &samples::identity_of(b""), longest).is_ok());
}

#[test]
fn a_sink_that_lies_about_what_it_took_is_found_out() {
    #[derive(Debug)]
    struct Liar;
    impl Write for Liar {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(if bytes == b"pay" { 4 } else { bytes.len() })
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut writer = FrameWriter::new(Liar, &samples::identity_of(b"payload"), 7).expect("it takes all");
    let error = writer.write(b"pay").expect_err("it took more than there was");
    assert_eq!(error.to_string(), "the sink took more than it was given");
    // What is in the sink is unknown: nothing more is written, and no frame comes of it.
    assert_eq!(writer.write(b"load").expect_err("spoilt").to_string(), error.to_string());
    assert_eq!(writer.finish().expect_err("spoilt").to_string(), error.to_string());
}

proptest! {
    #[test]
    fn every_way_to_write_gives_the_same_bytes(
        identity in samples::identities(),
        pieces in vec(vec(any::<u8>(), 0..100), 0..6),
    ) {
        let payload = pieces.concat();
        let frame = canonicalize(&identity, &payload).expect("a small frame");
        prop_assert_eq!(encoded_len(identity.as_view(), payload.len()), Ok(frame.len()));
        let mut writer = FrameWriter::new(Vec::new(), &identity, payload.len() as u64).expect("a Vec takes all");
        for piece in &pieces {
            writer.write_all(piece).expect("within the length");
        }
        let (streamed, digest) = writer.finish().expect("the whole payload");
        prop_assert_eq!(&streamed, &frame);
        prop_assert_eq!(digest, sha256(&payload));
    }
}
