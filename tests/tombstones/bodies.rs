//! The bodies of requests and of gossip: what is read, what is written, and why a body is refused.

use membrane_codec::tombstone::{DeleteRequest, Gossip, TombstoneReason, TombstoneRequest};

use crate::clock::{hash, until};

const HASH: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// The error of a body, as reason, offset, field, and line.
fn refusal<T: std::fmt::Debug>(
    read: fn(&'static [u8]) -> Result<T, membrane_codec::tombstone::TombstoneError>,
    body: impl Into<Vec<u8>>,
) -> String {
    let body: &'static [u8] = Vec::leak(body.into());
    let error = read(body).expect_err("refused");
    assert!(error.offset() <= body.len() as u64);
    assert!(error.to_string().starts_with(error.reason().as_str()));
    error.to_string()
}

#[test]
fn a_tombstone_is_read_and_written() {
    let body = format!(
        " {{\"x\": [1, {{}}], \"node_id\": \"n\\u00f8de\", \"until\": 1.7356e9, \"x\": 0, \"content_hash\": \"{}\"}}\n",
        HASH.to_uppercase()
    );
    let request = TombstoneRequest::from_json(&body).expect("a body");
    assert_eq!(request.content_hash, HASH.parse().expect("64 digits"));
    assert_eq!((request.until, &*request.node_id), (until(1_735_600_000.0), "nøde"));
    let written = request.to_json();
    assert_eq!(written, format!(r#"{{"content_hash":"{HASH}","until":1735600000.0,"node_id":"nøde"}}"#));
    assert_eq!(TombstoneRequest::from_json(written), Ok(request));
}

#[test]
fn a_delete_is_read_and_written() {
    for (json, tombstone_until, written) in [
        ("", None, ""),
        (r#","tombstone_until":null"#, None, ""),
        (r#","tombstone_until":-0"#, Some(until(0.0)), r#","tombstone_until":0.0"#),
        (r#","tombstone_until":1735600000.123"#, Some(until(1735600000.123)), r#","tombstone_until":1735600000.123"#),
    ] {
        let start = format!(r#"{{"content_hash":"{HASH}","node_id":"node-1""#);
        let request = DeleteRequest::from_json(format!("{start}{json}}}")).expect("a body");
        assert_eq!(request.tombstone_until, tombstone_until);
        assert_eq!(request.to_json(), format!("{start}{written}}}"));
    }
}

#[test]
fn deadlines_keep_every_bit() {
    for seconds in [1735600060.123_456_7, f64::MAX, f64::MIN_POSITIVE, 5e-324, -1e300, 0.1 + 0.2] {
        let request = TombstoneRequest { content_hash: hash(1), until: until(seconds), node_id: "node-1".into() };
        let read = TombstoneRequest::from_json(request.to_json()).expect("its own body");
        assert_eq!(read.until.as_unix_seconds().to_bits(), seconds.to_bits());
    }
}

#[test]
fn a_tombstone_that_is_none_is_refused_with_its_reason() {
    let tombstone = |until: &str| format!(r#"{{"content_hash":"{HASH}","node_id":"n","until":{until}}}"#);
    let finite = "expected a finite number of seconds";
    for (body, expected) in [
        (String::new(), "tombstone_json at byte 0: found the end of the text, expected the rest of the object".into()),
        ("[]".into(), "tombstone_json at byte 0: found another JSON value, expected one object".into()),
        ("{} {}".into(), "tombstone_json at byte 3: found characters after the object, expected the end".into()),
        (
            tombstone("NaN"),
            "tombstone_json at byte 105: found a JSON syntax error, expected strict JSON (RFC 8259)".into(),
        ),
        (
            tombstone("Infinity"),
            "tombstone_json at byte 105: found a JSON syntax error, expected strict JSON (RFC 8259)".into(),
        ),
        (
            tombstone("\"\\ud800\""),
            "tombstone_json at byte 106: found half of a surrogate pair, expected whole pairs".into(),
        ),
        (
            tombstone(&format!("{}{}", "[".repeat(128), "]".repeat(128))),
            "tombstone_json at byte 232: found a deeper level, expected at most 128 levels".into(),
        ),
        (tombstone("1,\"until\":1"), "tombstone_json at byte 115: until: found a second value, expected one".into()),
        (tombstone("1e999"), format!("tombstone_field at byte 105: until: found 1e999, {finite}")),
        (tombstone("-1e999"), format!("tombstone_field at byte 105: until: found -1e999, {finite}")),
        (tombstone("\"60\""), format!("tombstone_field at byte 105: until: found \"60\", {finite}")),
        (tombstone("\"inf\""), format!("tombstone_field at byte 105: until: found \"inf\", {finite}")),
        (tombstone("true"), format!("tombstone_field at byte 105: until: found true, {finite}")),
        (tombstone("null"), format!("tombstone_field at byte 105: until: found null, {finite}")),
        (
            format!(r#"{{"content_hash":"{HASH}","node_id":"n"}}"#),
            format!("tombstone_field at byte 0: until: found nothing, {finite}"),
        ),
        (
            format!(r#"{{"content_hash":"{}","node_id":"n","until":1}}"#, &HASH[1..]),
            format!(
                "tombstone_field at byte 16: content_hash: found \"{}..., expected 64 hexadecimal characters",
                &HASH[1..40]
            ),
        ),
        (
            r#"{"content_hash":5,"node_id":"n","until":1}"#.into(),
            "tombstone_field at byte 16: content_hash: found 5, expected 64 hexadecimal characters".into(),
        ),
        (
            format!(r#"{{"content_hash":"{HASH}","node_id":"","until":1}}"#),
            "tombstone_field at byte 93: node_id: found \"\", expected a string of 1 to 250 bytes".into(),
        ),
        (
            format!(r#"{{"content_hash":"{HASH}","node_id":"{}","until":1}}"#, "n".repeat(251)),
            format!(
                "tombstone_field at byte 93: node_id: found \"{}..., expected a string of 1 to 250 bytes",
                "n".repeat(39)
            ),
        ),
    ] {
        assert_eq!(refusal(TombstoneRequest::from_json, body.clone()), expected, "{body}");
    }
    assert_eq!(
        refusal(TombstoneRequest::from_json, b"{\"\xff\":1}"),
        "tombstone_json at byte 2: found bytes that are not UTF-8, expected UTF-8"
    );
    let longest = format!(r#"{{"content_hash":"{HASH}","node_id":"{}","until":1}}"#, "n".repeat(250));
    assert_eq!(TombstoneRequest::from_json(longest).expect("a body").node_id.len(), 250);
}

#[test]
fn a_delete_that_is_none_is_refused_with_its_reason() {
    for (body, expected) in [
        (
            format!(r#"{{"content_hash":"{HASH}"}}"#),
            "tombstone_field at byte 0: node_id: found nothing, expected a string of 1 to 250 bytes",
        ),
        (
            format!(r#"{{"content_hash":"{HASH}","node_id":"n","tombstone_until":"soon"}}"#),
            "tombstone_field at byte 115: tombstone_until: found \"soon\", expected a finite number of seconds",
        ),
        (
            format!(r#"{{"content_hash":"{HASH}","node_id":"n","tombstone_until":null,"tombstone_until":null}}"#),
            "tombstone_json at byte 138: tombstone_until: found a second value, expected one",
        ),
    ] {
        assert_eq!(refusal(DeleteRequest::from_json, body.clone()), expected, "{body}");
    }
}

#[test]
fn gossip_is_read_and_written() {
    for nothing in ["{}", r#"{"fragment_tombstones": null}"#, r#"{"fragment_tombstones": {}, "peers": []}"#] {
        assert_eq!(Gossip::from_json(nothing), Ok(Gossip::default()));
    }
    let body = format!(r#"{{"fragment_tombstones":{{"{HASH}":1735600060.5,"{}":-1.0}}}}"#, hash(1));
    let gossip = Gossip::from_json(&body).expect("a body");
    let entries: Vec<_> = gossip.iter().collect();
    assert_eq!(entries, [(HASH.parse().expect("64 digits"), until(1735600060.5)), (hash(1), until(-1.0))]);
    assert_eq!(gossip.refused(), 0);
    assert_eq!(gossip.to_json(), body);
    // Serialized, it is a field of whatever else there is.
    let map = serde_json::to_string(&gossip).expect("JSON");
    assert_eq!(format!("{{\"fragment_tombstones\":{map}}}"), body);
}

#[test]
fn one_bad_entry_does_not_keep_the_good_ones_away() {
    let escaped = HASH.replacen('0', "\\u0030", 1);
    let body = format!(
        r#"{{"fragment_tombstones": {{"h1": 1, "{HASH}": "soon", "{escaped}": 60, "{HASH}": 50, "{}": 1e999}}}}"#,
        hash(1)
    );
    let gossip = Gossip::from_json(&body).expect("a body");
    let entries: Vec<_> = gossip.iter().map(|(hash, until)| (hash.to_string(), until)).collect();
    assert_eq!(entries, [(HASH.to_owned(), until(60.0)), (HASH.to_owned(), until(50.0))]);
    assert_eq!(gossip.refused(), 3);
    let first = gossip.first_refusal().expect("there was one");
    assert_eq!(
        first.to_string(),
        "tombstone_field at byte 31: fragment_tombstones[\"h1\"]: found 1, expected a key of 64 hexadecimal characters"
    );
    let body = format!(r#"{{"fragment_tombstones": {{"{HASH}": []}}}}"#);
    let gossip = Gossip::from_json(&body).expect("a body");
    assert_eq!(
        gossip.first_refusal().expect("there was one").to_string(),
        format!(
            "tombstone_field at byte 93: fragment_tombstones[\"{}...\"]: found [], expected a finite number of seconds",
            &HASH[..40]
        )
    );
}

#[test]
fn gossip_that_is_none_is_refused_with_its_reason() {
    let domain = "expected an object of at most 131072 entries";
    for (body, expected) in [
        (
            r#"{"fragment_tombstones": [1]}"#,
            format!("tombstone_field at byte 24: fragment_tombstones: found [1], {domain}"),
        ),
        (
            r#"{"fragment_tombstones": {}, "fragment_tombstones": {}}"#,
            "tombstone_json at byte 51: fragment_tombstones: found a second value, expected one".into(),
        ),
        (
            r#"{"fragment_tombstones": {"#,
            "tombstone_json at byte 25: found the end of the text, expected the rest of the object".into(),
        ),
        (
            r#"{"fragment_tombstones": {"a": NaN}}"#,
            "tombstone_json at byte 30: found a JSON syntax error, expected strict JSON (RFC 8259)".into(),
        ),
    ] {
        assert_eq!(refusal(Gossip::from_json, body), expected, "{body}");
    }
}

#[test]
fn gossip_has_a_largest_size_and_longer_ones_are_split() {
    let entries = |len: usize| (0..len as u64).map(|number| (hash(number), until(60.0))).collect::<Gossip>();
    let largest = entries(Gossip::MAX_LEN);
    assert_eq!(Gossip::from_json(largest.to_json()).expect("a body").len(), 131_072);
    assert_eq!(largest.bodies().count(), 1);
    let larger = entries(Gossip::MAX_LEN + 1);
    let error = Gossip::from_json(larger.to_json()).expect_err("too long");
    assert_eq!(error.reason(), TombstoneReason::TombstoneField);
    assert_eq!(error.expected(), "an object of at most 131072 entries");
    let read: Vec<_> = larger.bodies().map(|body| Gossip::from_json(body).expect("a body")).collect();
    assert_eq!(read.iter().map(Gossip::len).collect::<Vec<_>>(), [131_072, 1]);
    assert!(read.iter().flat_map(Gossip::iter).eq(larger.iter()));
    let chunks: Vec<_> = larger.chunks().collect();
    assert_eq!(chunks, read);
    assert_eq!((Gossip::default().bodies().count(), Gossip::default().chunks().count()), (0, 0));
}

#[test]
fn a_deadline_is_written_shortly() {
    let written = [1e300, 1735600060.5, 60.0, -0.0].map(|seconds| until(seconds).to_string());
    assert_eq!(written, ["1e300", "1735600060.5", "60.0", "0.0"]);
}

#[test]
fn reasons_are_stable() {
    let codes: Vec<_> = TombstoneReason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(codes, ["tombstone_json", "tombstone_field"]);
}
