//! Promises of the public API that only a compiler or a debugger sees.

mod samples;

use membrane_codec::{
    Digest, Error, Finding, Findings, Frame, FrameReader, FrameScanner, FrameStream, FrameWriter, IdentityView,
    OwnedFrame, PayloadIdentity, ReadError, Scan, ScanEvent, Sha256, StoredFrame, VerifiedFrame, Verifier,
    parse_canonical,
};

#[test]
fn everything_may_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<(Digest, Sha256, Error, Finding, Findings, Verifier)>();
    crosses::<(Frame<'_>, VerifiedFrame<'_>, OwnedFrame, IdentityView<'_>, PayloadIdentity)>();
    crosses::<(FrameReader, FrameStream<std::fs::File>, FrameWriter<std::fs::File>, ReadError)>();
    crosses::<(Scan<'_>, ScanEvent<VerifiedFrame<'_>>, FrameScanner<std::fs::File>, ScanEvent<StoredFrame>)>();
}

#[test]
fn debugging_a_frame_does_not_print_its_payload() {
    let bytes = samples::frame_of(&[0xAB; 1 << 20]);
    let frame = parse_canonical(&bytes).expect("sound");
    let owned = OwnedFrame::parse(bytes.clone().into()).expect("sound");
    let stream = FrameReader::new().open(&bytes[..]).expect("sound");
    for text in [format!("{frame:?}"), format!("{:?}", frame.frame()), format!("{owned:?}"), format!("{stream:?}")] {
        assert!(text.len() < 1000, "{text}");
        assert!(text.contains("payload_len: 1048576"), "{text}");
    }
}

#[test]
fn serde_reads_an_identity_from_an_object_alone() {
    let identity = samples::identity_of(b"payload");
    let object = serde_json::to_value(&identity).expect("JSON");
    assert_eq!(serde_json::from_value::<PayloadIdentity>(object.clone()).expect("the same"), identity);
    let fields = object.as_object().expect("an object").values().cloned().collect::<Vec<_>>();
    assert!(serde_json::from_value::<PayloadIdentity>(fields.into()).is_err());
    let mut tagged = object;
    tagged["dtype"] = serde_json::json!({"float16": null});
    assert!(serde_json::from_value::<PayloadIdentity>(tagged).is_err());
}
