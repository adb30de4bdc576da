//! What more than one fuzz target checks: that the library's verdict on a frame, an identity or a message is the oracle's, and that
//! all the ways to ask the library for it agree.
//!
//! Every `check_*` function panics when something disagrees and returns what was accepted.

#[path = "../../tests/message/agreement.rs"]
mod message;
#[path = "../../tests/naive/mod.rs"]
mod naive;

pub use message::check_message;

use bytes::Bytes;
use membrane_codec::{
    Digest, Dtype, Error, Frame, HeadRange, IdentityView, InclusiveRange, OwnedFrame, PayloadIdentity, Reason, Refusal,
    ScanEvent, VerifiedFrame, Verifier, parse_canonical, sha256,
};
use sha2::{Digest as _, Sha256};

/// Checks everything about `bytes` as exactly one frame; gives the frame if it is one.
pub fn check_frame(bytes: &[u8]) -> Option<VerifiedFrame<'_>> {
    let verdict = parse_canonical(bytes);
    match (&verdict, naive::frame(bytes)) {
        (Ok(frame), Ok(oracle)) => {
            assert_identity_is(frame.identity(), &oracle.identity);
            assert_eq!(frame.payload(), oracle.payload);
            assert_eq!(frame.payload_digest(), Digest::from_bytes(oracle.digest));
            check_findings(bytes, &oracle);
        }
        (Err(error), Err(reason)) => check_error(error, reason, bytes.len()),
        (Ok(_), Err(reason)) => panic!("accepted, should be {reason}"),
        (Err(error), Ok(_)) => panic!("refused, should be accepted: {error}"),
    }
    check_structure(bytes);
    check_prefix(bytes);
    check_stages(bytes, &verdict);
    check_owned(bytes, &verdict);
    verdict.ok()
}

/// The reason is the oracle's, the place is inside the source, and the error can be told.
fn check_error(error: &Error, reason: &str, source_len: usize) {
    assert_eq!(error.reason().as_str(), reason, "{error}");
    assert!(error.offset() <= source_len as u64, "{error}, in a source of {source_len} bytes");
    assert!(error.to_string().starts_with(reason));
}

/// `Frame::parse` checks structure alone.
fn check_structure(bytes: &[u8]) {
    match (Frame::parse(bytes), naive::structure(bytes)) {
        (Ok(frame), Ok([identity, payload, trailer])) => {
            assert_eq!(frame.identity_bytes(), identity);
            assert_eq!(frame.payload(), payload);
            assert_eq!(frame.trailer(), trailer);
            assert_eq!(frame.header().check(), Ok(()));
            assert_eq!(frame.header().identity_len() as usize, identity.len());
            assert_eq!(frame.frame_len(), bytes.len());
            assert_eq!(&bytes[frame.payload_offset()..][..payload.len()], payload);
        }
        (Err(error), Err(reason)) => check_error(&error, reason, bytes.len()),
        (structure, oracle) => panic!("structure is {structure:?}, should be {oracle:?}"),
    }
}

/// `Frame::parse_prefix` is `Frame::parse` of the bytes up to where the frame ends.
fn check_prefix(bytes: &[u8]) {
    let whole = Frame::parse(bytes);
    match Frame::parse_prefix(bytes) {
        Ok((frame, rest)) => {
            let (start, expected_rest) = bytes.split_at(frame.frame_len());
            assert_eq!(rest, expected_rest);
            assert_eq!(Frame::parse(start), Ok(frame));
            match whole {
                Ok(whole) => assert_eq!((frame, rest), (whole, &[][..])),
                Err(error) => {
                    assert_eq!(error.reason(), Reason::TrailingBytes);
                    assert_eq!(error.offset(), start.len() as u64);
                }
            }
        }
        Err(error) => assert_eq!(whole, Err(error)),
    }
}

/// `Frame::parse`, `Frame::identity` and `Frame::verify`, asked one by one, find what `parse_canonical` finds.
fn check_stages(bytes: &[u8], verdict: &Result<VerifiedFrame<'_>, Error>) {
    let frame = Frame::parse(bytes);
    match verdict {
        Ok(verified) => {
            assert_eq!(frame, Ok(verified.frame()));
            assert_eq!(verified.frame().identity(), Ok(*verified.identity()));
            assert_eq!(verified.frame().verify(), Ok(verified.payload_digest()));
        }
        Err(error) => match error.reason() {
            // Row 9 and 10 come after these, so structure may still be wrong.
            Reason::IdentityJson | Reason::IdentityField => {
                if let Ok(frame) = frame {
                    assert_eq!(frame.identity(), Err(*error));
                }
            }
            Reason::TrailerMismatch => assert_eq!(frame.and_then(|frame| frame.verify()), Err(*error)),
            _ => assert_eq!(frame, Err(*error)),
        },
    }
}

/// `OwnedFrame` does everything as the borrowed one does.
fn check_owned(bytes: &[u8], verdict: &Result<VerifiedFrame<'_>, Error>) {
    let shared = Bytes::copy_from_slice(bytes);
    let canonical = OwnedFrame::parse_canonical(shared.clone());
    assert_eq!(canonical.as_ref().map(OwnedFrame::as_frame), verdict.as_ref().map(VerifiedFrame::frame));
    let structure = OwnedFrame::parse(shared.clone());
    assert_eq!(structure.as_ref().map(OwnedFrame::as_frame), Frame::parse(bytes).as_ref().copied());

    let mut rest = shared.clone();
    match (OwnedFrame::parse_prefix(&mut rest), Frame::parse_prefix(bytes)) {
        (Ok(owned), Ok((frame, expected_rest))) => {
            assert_eq!(owned.as_frame(), frame);
            assert_eq!(owned.bytes(), bytes[..frame.frame_len()]);
            assert_eq!(owned.identity_bytes(), frame.identity_bytes());
            assert_eq!(owned.payload(), frame.payload());
            assert_eq!(owned.identity(), frame.identity());
            assert_eq!(rest, expected_rest);
        }
        (Err(owned), Err(borrowed)) => {
            assert_eq!(owned, borrowed);
            assert_eq!(rest, shared, "an error must leave the bytes as they were");
        }
        (owned, borrowed) => panic!("owned is {owned:?}, borrowed is {borrowed:?}"),
    }
}

/// A verifier finds a wrong payload_hash or key exactly where there is one.
fn check_findings(bytes: &[u8], oracle: &naive::FrameParts) {
    let named_is_payload = oracle.identity.payload_hash.to_lowercase() == lower_hex(&oracle.digest);
    let verifier = Verifier::new().check_payload_hash(true).expect_key(Digest::from_bytes(oracle.digest));
    let (_, findings) = verifier.verify(bytes).expect("a frame that was accepted before");
    let expected: &[&str] = if named_is_payload { &[] } else { &["payload_hash_mismatch", "key_mismatch"] };
    assert!(findings.iter().map(|finding| finding.as_str()).eq(expected.iter().copied()), "{findings:?}");
}

/// Checks everything about `json` as the text of an identity; gives the identity if it is one.
pub fn check_identity(json: &[u8]) -> Option<PayloadIdentity> {
    let view = IdentityView::parse(json);
    let general = IdentityView::parse_general(json);
    assert_eq!(view, general, "the two roads");
    match (&view, naive::identity(json)) {
        (Ok(view), Ok(oracle)) => {
            assert_identity_is(view, &oracle);
            check_canonical_json(json, view, &oracle);
        }
        (Err(error), Err(reason)) => check_error(error, reason, json.len()),
        (Ok(_), Err(reason)) => panic!("accepted, should be {reason}"),
        (Err(error), Ok(_)) => panic!("refused, should be accepted: {error}"),
    }
    let (Ok(view), Ok(general)) = (view, general) else { return None };
    let owned = view.to_identity();
    assert_eq!(owned.as_view(), view);
    for other in [general, owned.as_view()] {
        assert_eq!(other.canonical_json(), view.canonical_json());
        assert_eq!(other.fingerprint(), view.fingerprint());
        assert_eq!(other.fingerprint_compat(), view.fingerprint_compat());
    }
    Some(owned)
}

/// The canonical form is the oracle's, has the fingerprint for its hash, and is the same identity when it is read.
fn check_canonical_json(json: &[u8], view: &IdentityView<'_>, oracle: &naive::Identity) {
    let canonical = naive::canonical_json(oracle);
    assert_eq!(view.canonical_json(), canonical);
    assert_eq!(view.fingerprint(), Digest::from_bytes(Sha256::digest(&canonical).into()));
    assert_eq!(view.is_canonical(), json == canonical.as_bytes());

    let again = IdentityView::parse(canonical.as_bytes()).expect("the canonical form is an identity");
    assert!(again.is_canonical());
    assert_eq!(again, *view);
    assert_eq!(again.fingerprint(), view.fingerprint());
}

/// Each of the ten fields is the oracle's.
fn assert_identity_is(view: &IdentityView<'_>, oracle: &naive::Identity) {
    let identity = view.to_identity();
    let signed = |[start, end]: [u64; 2]| (start as i64, end as i64);
    let [first_head, last_head] = identity.head_range.into();
    let library = naive::Identity {
        payload_hash: identity.payload_hash.as_str().into(),
        model_id: identity.model_id,
        model_revision: identity.model_revision,
        tokenizer_name: identity.tokenizer_name,
        tokenizer_revision: identity.tokenizer_revision,
        layer_range: signed(identity.layer_range.into()),
        head_range: (first_head, last_head),
        token_span: signed(identity.token_span.into()),
        dtype: identity.dtype.as_str().into(),
        shape: identity.shape.dims().iter().map(|dim| *dim as i64).collect(),
    };
    assert_eq!(library, *oracle);
    assert_eq!(view.model_id(), oracle.model_id.as_str());
    assert_eq!(view.model_id().to_string(), oracle.model_id);
}

/// What a search found is what the naive one finds, its frames are intact, and gaps say rightly whether they are zero.
pub fn check_scan(bytes: &[u8], events: &[ScanEvent<VerifiedFrame<'_>>]) {
    let found = events.iter().map(|event| match event {
        ScanEvent::Frame { offset, frame } => {
            let end = offset + frame.frame().frame_len() as u64;
            assert_eq!(parse_canonical(&bytes[*offset as usize..end as usize]), Ok(*frame));
            naive::Found::Frame(*offset, end)
        }
        ScanEvent::Refused { offset, why: Refusal::Damaged(error) } => {
            check_error(error, error.reason().as_str(), bytes.len() - *offset as usize);
            naive::Found::Refused(*offset, error.reason().as_str())
        }
        ScanEvent::Gap { range, zeros } => {
            let gap = &bytes[range.start as usize..range.end as usize];
            assert_eq!(*zeros, gap.iter().all(|byte| *byte == 0));
            naive::Found::Gap(range.start, range.end)
        }
        other => panic!("not in memory, not so deep: {other:?}"),
    });
    assert!(found.eq(naive::scan(bytes)), "{events:?}");
}

/// An identity without surprises that names `payload`.
pub fn plain_identity(payload: &[u8]) -> PayloadIdentity {
    let range = InclusiveRange::new(0, 7).expect("a range");
    PayloadIdentity {
        payload_hash: sha256(payload).into(),
        model_id: "m".into(),
        model_revision: String::new(),
        tokenizer_name: "m".into(),
        tokenizer_revision: String::new(),
        layer_range: range,
        head_range: HeadRange::All,
        token_span: range,
        dtype: Dtype::Nf4,
        shape: [1].try_into().expect("a shape"),
    }
}

/// The eight bytes that belong behind this payload.
pub fn trailer_of(payload: &[u8]) -> [u8; 8] {
    Sha256::digest(payload).first_chunk().copied().expect("32 bytes hold 8")
}

/// Hexadecimal text, as a payload_hash is written.
pub fn lower_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes the trailer right wherever lengths are, so that a mutation of the payload is not the end of the story.
pub fn repair_trailer(frame: &mut [u8]) {
    let Ok((parts, _)) = Frame::parse_prefix(frame) else { return };
    let trailer = trailer_of(parts.payload());
    let end = parts.frame_len();
    frame[end - trailer.len()..end].copy_from_slice(&trailer);
}
