//! `inspect`: everything that a frame says, sound or damaged.

mod support;

use serde_json::{Value, json};
use support::{fixtures, program, run};

fn inspected(path: &str) -> (Option<i32>, Value) {
    let result = run(&["inspect", "--json", path], &fixtures());
    (result.status, serde_json::from_str(&result.stdout).expect("one JSON object"))
}

/// Name and result of each check.
fn checks(anatomy: &Value) -> Vec<(&str, &str)> {
    let checks = anatomy["checks"].as_array().expect("a list").iter();
    checks.map(|check| (check["name"].as_str().expect("text"), check["result"].as_str().expect("text"))).collect()
}

#[test]
fn a_sound_frame_in_words() {
    let hash = "072bdc68ee76a7b583255ef289c314760cd380f42b29718c5bb004bc39de195e";
    let path = format!("frames/07/2b/{hash}.blob");
    let result = run(&["inspect", &path], &fixtures());
    assert_eq!(result.status, Some(0));
    assert_eq!(
        result.stdout,
        format!(
            "{path}

header
  magic               c0de0105
  schema              5
  reserved            0
  identity_len        388

identity
  payload_hash        {hash}
  model_id            \"org/na\u{ef}ve\"
  model_revision      \"\"
  tokenizer_name      \"org/na\u{ef}ve\"
  tokenizer_revision  \"\"
  layer_range         [0,31]
  head_range          [-1,-1]
  token_span          [0,127]
  dtype               bfloat16
  shape               [1, 2, 3, 4]
  canonical form      no
  fingerprint         593ea689ca68dee03648ec911458b12008b7a33512af7e72bc0ad25a946e96e8

payload
  offset              410
  length              48
  SHA-256             {hash}
  trailer             072bdc68ee76a7b5

checks
  header              ok
  identity            ok
  length              ok
  trailer             ok
  payload_hash        ok
  key                 ok
"
        )
    );
}

#[test]
fn a_damaged_frame_shows_what_can_be_read() {
    let (status, anatomy) = inspected("damaged/trailer_mismatch.frame");
    assert_eq!(status, Some(1));
    assert_eq!((&anatomy["status"], &anatomy["reason"]), (&json!("corrupt_payload"), &json!("trailer_mismatch")));
    assert_eq!(anatomy["identity"]["model_id"], "llama-3-8b");
    assert_eq!(anatomy["trailer"], "d0b3731d50984db4", "the one that is stored");
    assert_eq!(
        checks(&anatomy),
        [
            ("header", "ok"),
            ("identity", "ok"),
            ("length", "ok"),
            ("trailer", "failed"),
            ("payload_hash", "not_checked"),
            ("key", "not_checked")
        ]
    );

    // The payload of a frame with a damaged identity may be sound, and that is worth knowing.
    let (status, anatomy) = inspected("damaged/identity_field.frame");
    assert_eq!((status, &anatomy["reason"]), (Some(1), &json!("identity_field")));
    assert_eq!(checks(&anatomy)[1..4], [("identity", "failed"), ("length", "ok"), ("trailer", "ok")]);
    assert_eq!(anatomy["payload_sha256"], "d0b3731d50984db42d3d37816710aa027d9828dccae73f91229c14c6f30c5ad2");

    let (status, anatomy) = inspected("damaged/bad_magic.frame");
    assert_eq!((status, &anatomy["reason"]), (Some(1), &json!("bad_magic")));
    assert_eq!(anatomy["header"], json!({"magic": "00de0105", "schema": 5, "reserved": 0, "identity_len": 282}));
    assert_eq!(checks(&anatomy)[0..2], [("header", "failed"), ("identity", "not_checked")]);
}

#[test]
fn every_damaged_fixture_has_the_verdict_of_verify() {
    for reason in membrane_codec::Reason::OF_FRAMES {
        let path = format!("damaged/{reason}.frame");
        let (status, anatomy) = inspected(&path);
        let verified = run(&["verify", "--json", &path], &fixtures());
        let line = support::json_lines(&verified.stdout).0.remove(0);
        assert_eq!(status, Some(1));
        for key in ["status", "reason", "detail"] {
            assert_eq!(anatomy[key], line[key], "{path}");
        }
    }
}

#[test]
fn findings_are_shown_and_are_no_failure() {
    let (status, anatomy) = inspected("odd/payload_hash_of_other_bytes.frame");
    assert_eq!((status, &anatomy["status"]), (Some(0), &json!("ok")));
    assert_eq!(checks(&anatomy)[4..], [("payload_hash", "differs"), ("key", "not_checked")]);
}

#[test]
fn two_checks_at_fault_give_the_first_as_verdict() {
    let mut frame = support::frame_of(b"payload");
    frame[14] = b'[';
    let end = frame.len() - 1;
    frame[end] ^= 1;
    let output = program().args(["inspect", "--json", "-"]).write_stdin(frame).output().expect("it starts");
    let anatomy: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(anatomy["reason"], "identity_json");
    assert_eq!(checks(&anatomy)[1..4], [("identity", "failed"), ("length", "ok"), ("trailer", "failed")]);
}

#[test]
fn a_file_that_is_too_short_for_a_header() {
    let output = program().args(["inspect", "-"]).write_stdin(&b"\xc0\xde\x01"[..]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stdout).expect("text"),
        "standard input

header
  (cut short)

checks
  header              failed       truncated at byte 3: found 3 bytes, expected a header of 14 bytes
  identity            not checked  the header does not hold
  length              not checked  the header does not hold
  trailer             not checked  the header does not hold
  payload_hash        not checked  the header does not hold
  key                 not checked  the header does not hold
"
    );
    assert_eq!(run(&["inspect", "damaged"], &fixtures()).status, Some(2));
}
