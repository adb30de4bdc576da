//! What must hold of every frame and identity, drawn at random, with the naive reader as the judge.

mod naive;
mod samples;

use membrane_codec::{
    Error, Frame, FrameReader, HeadRange, IdentityView, OwnedFrame, PayloadIdentity, ReadError, Reason, canonicalize,
    parse_canonical,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use samples::{frame_of, identities, payloads};

/// The ten fields in the naive reader's plain types.
fn plain(view: &IdentityView<'_>) -> naive::Identity {
    let pair = |range: membrane_codec::InclusiveRange| (range.start() as i64, range.end() as i64);
    naive::Identity {
        payload_hash: view.payload_hash().to_string(),
        model_id: view.model_id().into(),
        model_revision: view.model_revision().into(),
        tokenizer_name: view.tokenizer_name().into(),
        tokenizer_revision: view.tokenizer_revision().into(),
        layer_range: pair(view.layer_range()),
        head_range: match view.head_range() {
            HeadRange::All => (-1, -1),
            HeadRange::Inclusive(range) => pair(range),
        },
        token_span: pair(view.token_span()),
        dtype: view.dtype().to_string(),
        shape: view.shape().dims().map(|dim| dim as i64).collect(),
    }
}

fn code<T>(result: &Result<T, Error>) -> Option<&'static str> {
    result.as_ref().err().map(|error| error.reason().as_str())
}

/// The verdict of the streaming reader on these bytes, handed out in pieces of the given sizes, over and over.
fn stream(bytes: &[u8], pieces: &[usize], source_len: Option<u64>) -> Result<Vec<u8>, Error> {
    struct Pieces<'a>(&'a [u8], std::iter::Cycle<std::slice::Iter<'a, usize>>);
    impl std::io::Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let piece = *self.1.next().expect("it goes on for ever");
            if piece == 0 {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            let len = piece.min(buffer.len());
            self.0.read(&mut buffer[..len])
        }
    }
    let mut reader = FrameReader::new().max_identity_len(u32::MAX);
    if let Some(len) = source_len {
        reader = reader.source_len(len);
    }
    let opened = reader.open(Pieces(bytes, pieces.iter().cycle()));
    match opened.and_then(|stream| stream.copy_payload(Vec::new())) {
        Ok((payload, _)) => Ok(payload),
        Err(ReadError::Frame(error)) => Err(error),
        Err(other) => panic!("it can be read: {other}"),
    }
}

/// Any bytes that begin like a frame, or a frame with some bytes changed, cut or added.
fn damaged_frames() -> impl Strategy<Value = Vec<u8>> {
    let changes = vec((any::<Index>(), any::<u8>()), 0..4);
    let tail = prop_oneof![Just(Vec::new()), vec(any::<u8>(), 0..40)];
    let damaged = (identities(), payloads(), changes, any::<Index>(), 0..4_u8, tail).prop_map(
        |(identity, payload, changes, end, cut, tail)| {
            let mut frame = canonicalize(&identity, &payload).expect("a small frame");
            for (at, byte) in changes {
                let at = at.index(frame.len());
                frame[at] = byte;
            }
            if cut == 0 {
                frame.truncate(end.index(frame.len() + 1));
            }
            frame.extend(tail);
            frame
        },
    );
    prop_oneof![4 => damaged, 1 => vec(any::<u8>(), 0..60)]
}

/// JSON texts of an identity, written in ways that are legal, and damaged ones.
fn identity_texts() -> impl Strategy<Value = String> {
    let changes = vec(
        (any::<Index>(), select("{}[]\",:\\u0-19.eEndD8c \n\t\u{0}\u{e9}tfalsenul".chars().collect::<Vec<_>>())),
        0..3,
    );
    (identities(), 0..5_u8, changes).prop_map(|(identity, style, changes)| {
        let mut text = match style {
            0 | 1 => identity.canonical_json(),
            2 => serde_json::to_string(&identity).expect("JSON"),
            3 => serde_json::to_string_pretty(&identity).expect("JSON"),
            _ => identity.canonical_json().replacen('{', "{\"future\":{\"a\":[1e999,\"\\ud83d\\ude00\"]},", 1),
        };
        for (at, character) in changes {
            let at = at.index(text.len());
            let at = (0..=at).rev().find(|&at| text.is_char_boundary(at)).expect("0 is one");
            let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
            text.replace_range(at..end, &character.to_string());
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_again(identity in identities(), payload in payloads()) {
        let bytes = canonicalize(&identity, &payload).expect("a small frame");
        let frame = parse_canonical(&bytes).expect("sound");
        prop_assert_eq!(frame.identity().to_identity(), identity.clone());
        prop_assert!(frame.identity().is_canonical());
        prop_assert_eq!(frame.payload(), &payload[..]);
        prop_assert_eq!(frame.identity().fingerprint(), identity.fingerprint());
        prop_assert_eq!(frame.frame().identity_bytes().to_vec(), identity.canonical_json().into_bytes());
        prop_assert_eq!(naive::canonical_json(&plain(frame.identity())), identity.canonical_json());
        prop_assert_eq!(bytes.capacity(), bytes.len());
    }

    #[test]
    fn serde_reads_what_serde_wrote(identity in identities()) {
        let json = serde_json::to_vec(&identity).expect("JSON");
        prop_assert_eq!(&serde_json::from_slice::<PayloadIdentity>(&json).expect("the same"), &identity);
        prop_assert_eq!(PayloadIdentity::from_json(&json), Ok(identity));
    }

    #[test]
    fn any_flipped_bit_of_payload_or_trailer_is_caught(payload in payloads(), at in any::<Index>(), bit in 0..8_u32) {
        let sound = frame_of(&payload);
        let start = sound.len() - 8 - payload.len();
        let at = start + at.index(sound.len() - start);
        let mut flipped = sound;
        flipped[at] ^= 1 << bit;
        prop_assert_eq!(code(&parse_canonical(&flipped)), Some("trailer_mismatch"));
        prop_assert_eq!(code(&stream(&flipped, &[7], None)), Some("trailer_mismatch"));
    }

    #[test]
    fn any_truncation_is_refused(payload in payloads(), end in any::<Index>()) {
        let sound = frame_of(&payload);
        let cut = &sound[..end.index(sound.len())];
        let error = parse_canonical(cut).expect_err("it is cut");
        prop_assert!(matches!(error.reason(), Reason::Truncated | Reason::IdentityLength));
        prop_assert_eq!(Frame::parse(cut), Err(error));
        prop_assert_eq!(stream(cut, &[5], None), Err(error));
    }

    #[test]
    fn all_readers_agree(bytes in damaged_frames(), pieces in vec(0..40_usize, 1..6), extra in 1..40_usize) {
        let pieces: Vec<_> = pieces.into_iter().chain([extra]).collect();
        let slice = parse_canonical(&bytes);
        let naive = naive::frame(&bytes);
        prop_assert_eq!(code(&slice), naive.as_ref().err().copied());
        prop_assert_eq!(OwnedFrame::parse_canonical(bytes.clone().into()).err(), slice.err());

        for source_len in [None, Some(bytes.len() as u64)] {
            let streamed = stream(&bytes, &pieces, source_len);
            prop_assert_eq!(code(&streamed), code(&slice));
            prop_assert_eq!(streamed.as_ref().err().map(Error::offset), slice.as_ref().err().map(Error::offset));
            if let Ok(frame) = &slice {
                prop_assert_eq!(&streamed.expect("as the slice"), frame.payload());
            }
        }
        if let (Ok(frame), Ok(naive)) = (&slice, naive) {
            prop_assert_eq!(plain(frame.identity()), naive.identity);
            prop_assert_eq!(frame.payload(), &naive.payload[..]);
            prop_assert_eq!(*frame.payload_digest().as_bytes(), naive.digest);
        }
    }

    #[test]
    fn both_identity_roads_agree(text in identity_texts()) {
        let view = IdentityView::parse(text.as_bytes());
        let general = IdentityView::parse_general(text.as_bytes());
        prop_assert_eq!(&view, &general);
        let naive = naive::identity(text.as_bytes());
        prop_assert_eq!(code(&view), naive.as_ref().err().copied());
        if let (Ok(view), Ok(general), Ok(naive)) = (view, general, naive) {
            prop_assert_eq!(view.is_canonical(), text == view.canonical_json());
            prop_assert!(!general.is_canonical());
            prop_assert_eq!(view.fingerprint(), general.fingerprint());
            prop_assert_eq!(naive::canonical_json(&naive), view.canonical_json());
            prop_assert_eq!(plain(&view), naive);
            let owned = view.to_identity();
            prop_assert_eq!(owned.as_view(), view);
        }
    }

    #[test]
    fn frames_one_after_another(payloads in vec(payloads(), 0..4)) {
        let bytes: Vec<u8> = payloads.iter().flat_map(|payload| frame_of(payload)).collect();
        let (mut rest, mut shared, mut source) = (&bytes[..], bytes::Bytes::from(bytes.clone()), &bytes[..]);
        for payload in &payloads {
            let (frame, after) = Frame::parse_prefix(rest).expect("sound");
            rest = after;
            prop_assert_eq!(frame.payload(), &payload[..]);
            prop_assert_eq!(OwnedFrame::parse_prefix(&mut shared).expect("sound").payload(), &payload[..]);
            prop_assert_eq!(&shared[..], rest);
            let stream = FrameReader::new().leave_rest(true).open(&mut source).expect("sound");
            prop_assert_eq!(&stream.copy_payload(Vec::new()).expect("sound").0, payload);
            prop_assert_eq!(source, rest);
        }
        prop_assert_eq!(rest, b"");
    }
}
