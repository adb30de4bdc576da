//! The wording and the places of errors, one of each kind, to the letter.

mod samples;

use membrane_codec::{
    ErrorClass, Frame, IdentityField, IdentityView, JsonProblem, PayloadIdentity, Reason, parse_canonical,
};

/// The message for `bytes`.
fn message(bytes: &[u8]) -> String {
    parse_canonical(bytes).expect_err("it is damaged").to_string()
}

/// The sample frame with `bytes` put at `offset`.
fn with(offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut frame = samples::frame_of(b"payload");
    frame[offset..offset + bytes.len()].copy_from_slice(bytes);
    frame
}

#[test]
fn structure() {
    let len = samples::frame_of(b"payload").len();
    assert_eq!(len, 327);
    assert_eq!(message(b""), "truncated at byte 0: found 0 bytes, expected a header of 14 bytes");
    assert_eq!(message(&[0xC0]), "truncated at byte 1: found 1 byte, expected a header of 14 bytes");
    assert_eq!(message(&[0xC0, 0xDF]), "bad_magic at byte 0: found magic c0df, expected c0de0105");
    assert_eq!(message(&with(0, b"GGUF")), "bad_magic at byte 0: found magic 47475546, expected c0de0105");
    assert_eq!(message(&with(3, &[2])), "old_version at byte 0: found magic c0de0102, expected c0de0105");
    assert_eq!(message(&with(3, &[4])), "old_version at byte 0: found magic c0de0104, expected c0de0105");
    assert_eq!(message(&with(3, &[3])), "bad_magic at byte 0: found magic c0de0103, expected c0de0105");
    assert_eq!(message(&with(4, &[6])), "schema_version at byte 4: found schema 6, expected 5");
    assert_eq!(message(&with(9, &[1])), "reserved_not_zero at byte 6: found reserved 0x01000000, expected 0");
    assert_eq!(
        message(&with(10, &[255; 4])),
        "identity_length at byte 10: found identity_len 4294967295 in 327 bytes, expected at least 4294967325 bytes for it"
    );
    let frame = samples::frame_of(b"payload");
    assert_eq!(message(&frame[..len - 1]), "truncated at byte 326: found 326 bytes, expected a frame of 327 bytes");
    let payload_len = len - 8 - 7 - 8;
    assert_eq!(
        message(&with(payload_len, &[255; 8])),
        "truncated at byte 327: found 327 bytes, expected a frame of 18446744073709551935 bytes"
    );
    assert_eq!(
        message(&with(payload_len, &[6])),
        "trailing_bytes at byte 326: found 327 bytes, expected a frame of 326 bytes"
    );
    assert_eq!(
        message(&with(len - 8, &[0; 8])),
        "trailer_mismatch at byte 319: found trailer 0000000000000000, \
         expected 239f59ed55e737c7, the first 8 bytes of the payload's SHA-256"
    );
}

/// The message, problem and offset for an identity's JSON.
fn json_error(json: &str) -> (String, Option<JsonProblem>) {
    let error = IdentityView::parse(json.as_bytes()).expect_err("it is damaged");
    (error.to_string(), error.json_problem())
}

#[test]
fn identity_json() {
    let canonical = samples::identity_of(b"").canonical_json();
    let cases = [
        (
            canonical.replace("main\"}", "main\""),
            "identity_json at byte 289: found the end of the text, expected the rest of the object",
            JsonProblem::UnexpectedEnd,
        ),
        (
            canonical.replace("[0,31]", "[00,31]"),
            "identity_json at byte 56: found a JSON syntax error, expected strict JSON (RFC 8259)",
            JsonProblem::Syntax,
        ),
        (
            canonical.replace(",\"model_id\"", "\n,\n'model_id'"),
            "identity_json at byte 63: found a JSON syntax error, expected strict JSON (RFC 8259)",
            JsonProblem::Syntax,
        ),
        (format!("{canonical} x"), "identity_json at byte 291: found characters after the object, expected the end", {
            JsonProblem::TrailingCharacters
        }),
        ("[1]".into(), "identity_json at byte 0: found another JSON value, expected one object", {
            JsonProblem::NotAnObject
        }),
        (" \n\"text\"".into(), "identity_json at byte 2: found another JSON value, expected one object", {
            JsonProblem::NotAnObject
        }),
        (
            canonical.replace("{\"dtype\"", "{\"x\":\"a\\n\\ud800\",\"dtype\""),
            "identity_json at byte 9: found half of a surrogate pair, expected whole pairs",
            JsonProblem::LoneSurrogate,
        ),
        (
            canonical.replace("{\"dtype\"", "{\"\\udc00\":0,\"dtype\""),
            "identity_json at byte 2: found half of a surrogate pair, expected whole pairs",
            JsonProblem::LoneSurrogate,
        ),
        (
            canonical.replace("}", ",\"x\":") + &"[".repeat(128) + &"]".repeat(128) + "}",
            "identity_json at byte 421: found a deeper level, expected at most 128 levels",
            JsonProblem::TooDeep,
        ),
        (
            canonical.replace("}", ",\"dtyp\\u0065\":\"float16\"}"),
            "identity_json at byte 303: dtype: found a second value, expected one",
            JsonProblem::DuplicateField(IdentityField::Dtype.into()),
        ),
    ];
    for (json, message, problem) in cases {
        assert_eq!(json_error(&json), (message.into(), Some(problem)), "{json}");
    }
    let error = IdentityView::parse(b"{\"\xff\":0}").expect_err("it is damaged");
    assert_eq!(error.to_string(), "identity_json at byte 2: found bytes that are not UTF-8, expected UTF-8");
}

#[test]
fn the_deepest_nesting_allowed_is_128_levels() {
    let json = samples::identity_of(b"").canonical_json().replace("}", ",\"x\":") + &"[".repeat(127) + &"]".repeat(127);
    assert_eq!(IdentityView::parse(format!("{json}}}").as_bytes()).map(|view| view.dtype().as_str()), Ok("float16"));
}

#[test]
fn identity_fields() {
    let canonical = samples::identity_of(b"").canonical_json();
    let error = |from: &str, to: &str| {
        let json = canonical.replace(from, to);
        assert_ne!(json, canonical);
        IdentityView::parse(json.as_bytes()).expect_err("it is damaged")
    };
    let missing = error("\"dtype\":\"float16\",", "");
    assert_eq!(missing.field(), Some(IdentityField::Dtype.into()));
    assert_eq!(
        missing.to_string(),
        "identity_field at byte 0: dtype: found nothing, \
         expected one of float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 fp8_e4m3 fp8_e5m2 nf4"
    );
    assert_eq!(
        error("[0,31]", "[31,0]").to_string(),
        "identity_field at byte 54: layer_range: found [31,0], expected [start, end] with 0 <= start <= end < 2^63"
    );
    assert_eq!(
        error("[-1,-1]", "[-1,0]").to_string(),
        "identity_field at byte 32: head_range: found [-1,0], \
         expected [start, end] with 0 <= start <= end < 2^63, or [-1, -1] for all heads"
    );
    assert_eq!(
        error("[1,32,8,128,64]", "[]").to_string(),
        "identity_field at byte 195: shape: found [], expected one or more integers from 0 to 2^63-1"
    );
    assert_eq!(
        error("\"e3b0c4", "\"\u{e9}\u{1b}0c4").to_string().split(", expected").next(),
        Some("identity_json at byte 122: found a JSON syntax error"),
        "a raw control character"
    );
    assert_eq!(
        error("\"e3b0c4", "\"\u{9b}30c4").to_string(),
        "identity_field at byte 120: payload_hash: found \"\\u{9b}30c44298fc1c149afbf4c8996fb92427ae41e..., \
         expected 64 hexadecimal characters"
    );
    // Several at fault: the first of the specification's order, wherever they stand.
    let two = canonical.replace("float16", "float17").replace("[0,127]", "7");
    assert_eq!(
        IdentityView::parse(two.as_bytes()).expect_err("damaged").field(),
        Some(IdentityField::TokenSpan.into())
    );
    // A JSON problem goes first, even behind a field's.
    let both = canonical.replace("float16", "float17").replace("main\"}", "main\",}");
    assert_eq!(IdentityView::parse(both.as_bytes()).expect_err("damaged").reason(), Reason::IdentityJson);
}

#[test]
fn identity_errors_in_a_frame_count_from_its_start() {
    let frame = with(14, b"[");
    let error = parse_canonical(&frame).expect_err("it is damaged");
    assert_eq!((error.class(), error.reason(), error.offset()), (ErrorClass::Schema, Reason::IdentityJson, 14));
    assert_eq!(Frame::parse(&frame).expect("the structure holds").identity(), Err(error));
    // Alone, the same text is at fault at its own start.
    assert_eq!(PayloadIdentity::from_json(&frame[14..304]).expect_err("it is damaged").offset(), 0);
}

#[test]
fn structure_alone_does_not_look_at_identity_or_trailer() {
    for frame in [with(14, b"["), with(319, &[0; 8])] {
        let parsed = Frame::parse(&frame).expect("the structure holds");
        assert_eq!(parsed.payload(), b"payload");
        assert_eq!(parsed.payload_offset(), 312);
        assert_eq!(parsed.frame_len(), 327);
    }
}

#[test]
fn every_reason_has_its_code_and_class() {
    let codes: Vec<_> = Reason::ALL.iter().map(|reason| (reason.as_str(), reason.class().as_str())).collect();
    assert_eq!(
        codes,
        [
            ("old_version", "schema_error"),
            ("bad_magic", "schema_error"),
            ("schema_version", "schema_error"),
            ("reserved_not_zero", "schema_error"),
            ("identity_length", "schema_error"),
            ("identity_json", "schema_error"),
            ("identity_field", "schema_error"),
            ("truncated", "corrupt_payload"),
            ("trailing_bytes", "corrupt_payload"),
            ("trailer_mismatch", "corrupt_payload"),
            ("message_json", "schema_error"),
            ("message_version", "schema_error"),
            ("message_field", "schema_error"),
        ]
    );
}
