//! Reading a sound frame whose identity is in canonical form allocates nothing; failing does not either.

mod samples;

use allocation_counter::measure;
use membrane_codec::{Frame, IdentityView, OwnedFrame, Reason, Verifier, parse_canonical, sha256};

/// How many allocations `work` makes.
fn allocations(work: impl FnMut()) -> u64 {
    let mut work = work;
    measure(&mut work).count_total
}

/// Frames in canonical form: plain, and with names that need escapes.
fn canonical_frames() -> [Vec<u8>; 2] {
    let payload = [7; 4096];
    let mut escaped = samples::identity_of(&payload);
    escaped.model_id = "na\u{ef}ve-\u{6a21}\u{578b}-\u{1f600}\"\\\n".into();
    [samples::frame_of(&payload), membrane_codec::canonicalize(&escaped, &payload).expect("a small frame")]
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1_u8]))), 1);
}

#[test]
fn sound_frames() {
    for bytes in canonical_frames() {
        assert_eq!(allocations(|| assert!(Frame::parse(&bytes).is_ok_and(|frame| frame.payload().len() == 4096))), 0);
        let frame = Frame::parse(&bytes).expect("sound");
        assert_eq!(allocations(|| assert!(frame.identity().is_ok_and(|identity| identity.is_canonical()))), 0);
        assert_eq!(allocations(|| assert_eq!(frame.verify(), Ok(sha256(&[7; 4096])))), 0);
        assert_eq!(allocations(|| assert!(parse_canonical(&bytes).is_ok_and(|frame| frame.payload() == [7; 4096]))), 0);

        let identity = frame.identity().expect("sound");
        let fingerprint = identity.fingerprint();
        let names_read = || assert!(identity.model_id().chars().count() > 3 && identity.shape().dims().count() == 5);
        assert_eq!(allocations(names_read), 0);
        assert_eq!(allocations(|| assert_eq!(identity.fingerprint(), fingerprint)), 0);
        assert_eq!(allocations(|| assert_ne!(identity.fingerprint_compat(), fingerprint)), 0);
        let verifier = Verifier::new().check_payload_hash(true).expect_fingerprint(fingerprint);
        assert_eq!(allocations(|| assert!(verifier.verify(&bytes).is_ok_and(|(_, findings)| findings.is_empty()))), 0);
    }
}

#[test]
fn owned_parts() {
    let frame = OwnedFrame::parse(samples::frame_of(&[7; 4096]).into()).expect("sound");
    // Cloned once: `Bytes` made from a `Vec` allocates its shared count at the first clone.
    drop(frame.bytes());
    assert_eq!(allocations(|| assert_eq!(frame.payload(), [7; 4096][..])), 0);
    assert_eq!(allocations(|| assert!(frame.verify().is_ok() && frame.identity().is_ok())), 0);
}

#[test]
fn damaged_frames() {
    let sound = samples::frame_of(&[7; 4096]);
    let damaged = |offset: usize, byte: u8| {
        let mut bytes = sound.clone();
        bytes[offset] = byte;
        bytes
    };
    let end = sound.len() - 1;
    for (bytes, reason) in [
        (damaged(0, 0), Reason::BadMagic),
        (damaged(3, 2), Reason::OldVersion),
        (damaged(13, 255), Reason::IdentityLength),
        (damaged(end, !sound[end]), Reason::TrailerMismatch),
        (sound[..end].to_vec(), Reason::Truncated),
    ] {
        assert_eq!(allocations(|| assert!(parse_canonical(&bytes).is_err_and(|error| error.reason() == reason))), 0);
    }
}

#[test]
fn the_general_road_needs_no_more_than_the_text() {
    let pretty = samples::identity_of(b"").canonical_json().replace(",\"", ", \"");
    let info = measure(|| assert!(IdentityView::parse(pretty.as_bytes()).is_ok_and(|view| !view.is_canonical())));
    assert!(info.bytes_max <= pretty.len() as u64, "{} bytes for {}", info.bytes_max, pretty.len());
}
