//! What is a snapshot, what is none, and what is said of it.

use membrane_codec::snapshot::{NodeId, Snapshot, SnapshotReason};

use crate::agreement::check_snapshot;
use crate::naive::snapshot::is_node_id;

const PLAIN: &str = r#"{"schema_version": 5, "cluster_epoch": 42, "captured_at": 1735600000.123, "membership": [{"node_id": "n", "host": "h", "port": 1}], "shards": {"primary_map": {"hash1": "node-1"}, "replica_map": {"hash1": ["node-2", "node-3"]}}, "server": {"request_count": 1, "error_count": 0}}"#;

/// The plain snapshot, with another text in place of one.
fn with(before: &str, after: &str) -> String {
    assert_eq!(PLAIN.matches(before).count(), 1, "{before}");
    PLAIN.replace(before, after)
}

fn refusal(json: &str) -> String {
    assert_eq!(check_snapshot(json.as_bytes()), None);
    Snapshot::from_json(json).expect_err("the oracle says so").to_string()
}

#[test]
fn what_is_said_of_what_is_none() {
    for (before, after, message) in [
        ("42", "-1", "snapshot_field at byte {at}: cluster_epoch: found -1, expected an integer from 0 to 2^64-1"),
        ("42", "1e2", "snapshot_field at byte {at}: cluster_epoch: found 1e2, expected an integer from 0 to 2^64-1"),
        ("42", "42.0", "snapshot_field at byte {at}: cluster_epoch: found 42.0, expected an integer from 0 to 2^64-1"),
        (
            "42",
            "18446744073709551616",
            "snapshot_field at byte {at}: cluster_epoch: found 18446744073709551616, expected an integer from 0 to 2^64-1",
        ),
        (
            "1735600000.123",
            "1e999",
            "snapshot_field at byte {at}: captured_at: found 1e999, expected a finite number of seconds, at least 0",
        ),
        (
            "1735600000.123",
            "true",
            "snapshot_field at byte {at}: captured_at: found true, expected a finite number of seconds, at least 0",
        ),
        (
            "\"port\": 1",
            "\"port\": 65536",
            "snapshot_field at byte {at}: membership[0].port: found 65536, expected an integer from 1 to 65535",
        ),
        (
            "\"port\": 1",
            "\"p\": 1",
            "snapshot_field at byte {at}: membership[0].port: found nothing, expected an integer from 1 to 65535",
        ),
        (
            "\"port\": 1",
            "\"port\": 1, \"healthy\": 1",
            "snapshot_field at byte {at}: membership[0].healthy: found 1, expected true or false",
        ),
        (
            "\"port\": 1",
            "\"port\": 1, \"suspect\": null",
            "snapshot_field at byte {at}: membership[0].suspect: found null, expected true or false",
        ),
        (
            "\"host\": \"h\"",
            "\"host\": null",
            "snapshot_field at byte {at}: membership[0].host: found null, expected a string",
        ),
        (
            "\"node_id\": \"n\"",
            "\"node_id\": \"../n\"",
            "snapshot_field at byte {at}: membership[0].node_id: found \"../n\", expected 1 to 250 bytes without control \
             characters, / or \\, that do not start with a period",
        ),
        (
            "\"node_id\": \"n\"",
            "\"node_id\": \"\\u002e\"",
            "snapshot_field at byte {at}: membership[0].node_id: found \"\\u002e\", expected 1 to 250 bytes without control \
             characters, / or \\, that do not start with a period",
        ),
        (
            "\"node-1\"",
            "777",
            "snapshot_field at byte {at}: shards.primary_map[\"hash1\"]: found 777, expected a string",
        ),
        (
            "[\"node-2\", \"node-3\"]",
            "[\"node-2\", [1, 2]]",
            "snapshot_field at byte {at}: shards.replica_map[\"hash1\"]: found [1, 2], expected a list of strings",
        ),
        (
            "[\"node-2\", \"node-3\"]",
            "{}",
            "snapshot_field at byte {at}: shards.replica_map[\"hash1\"]: found {}, expected a list of strings",
        ),
        (
            "\"request_count\": 1",
            "\"request_count\": null",
            "snapshot_field at byte {at}: server.request_count: found null, expected an integer from 0 to 2^64-1",
        ),
        (
            "\"schema_version\": 5",
            "\"schema_version\": 6",
            "snapshot_version at byte {at}: schema_version: found 6, expected the integer 5",
        ),
        (
            "\"schema_version\": 5",
            "\"schema_version\": 5.0",
            "snapshot_version at byte {at}: schema_version: found 5.0, expected the integer 5",
        ),
        (
            "\"schema_version\": 5, ",
            "",
            "snapshot_field at byte {at}: schema_version: found nothing, expected the integer 5",
        ),
        (
            "\"cluster_epoch\": 42, ",
            "",
            "snapshot_field at byte {at}: cluster_epoch: found nothing, expected an integer from 0 to 2^64-1",
        ),
    ] {
        let json = with(before, after);
        // Where the value is that was found; for what is missing, where its object starts.
        let (member, found) = ("{\"node_id\"", message.split_once("found ").expect("it says what").1);
        let found = found.split_once(", expected").expect("it says what is expected").0;
        let at = match found {
            "nothing" if message.contains("membership") => json.find(member).expect("it is there"),
            "nothing" => 0,
            found => json.find(after).expect("it is there") + after.rfind(found).expect("it is in there"),
        };
        assert_eq!(refusal(&json), message.replace("{at}", &at.to_string()));
    }
}

#[test]
fn keys_and_hashes_that_stand_twice() {
    // The second stands, or its value starts, where the mark is.
    for (before, after, field) in [
        ("42", "42, \"cluster_\\u0065poch\": |42", "cluster_epoch"),
        // The first of the two is out of its domain.
        ("42", "\"x\", \"cluster_epoch\": |42", "cluster_epoch"),
        ("\"port\": 1", "\"port\": 1, \"port\": |1", "membership[0].port"),
        ("\"error_count\": 0", "\"error_count\": 0, \"request_count\": |0", "server.request_count"),
        ("\"server\"", "\"shards\": |{}, \"server\"", "shards"),
        ("\"replica_map\"", "\"primary_map\": |{}, \"replica_map\"", "shards.primary_map"),
        (
            "\"hash1\": \"node-1\"",
            "\"hash1\": \"node-1\", |\"h\\u0061sh1\": \"node-1\"",
            "shards.primary_map[\"h\\u0061sh1\"]",
        ),
        ("\"hash1\": [\"node-2\", \"node-3\"]", "\"hash1\": [], |\"hash1\": []", "shards.replica_map[\"hash1\"]"),
    ] {
        let at = with(before, after).find('|').expect("it is there");
        let message = format!("snapshot_json at byte {at}: {field}: found a second value, expected one");
        assert_eq!(refusal(&with(before, &after.replace('|', ""))), message);
    }
}

#[test]
fn json_that_is_none() {
    for (json, message) in [
        ("", "snapshot_json at byte 0: found the end of the text, expected the rest of the object"),
        ("[]", "snapshot_json at byte 0: found another JSON value, expected one object"),
        ("{} {}", "snapshot_json at byte 3: found characters after the object, expected the end"),
        ("\u{feff}{}", "snapshot_json at byte 0: found a byte order mark, expected JSON without one"),
        ("{\"a\": nul}", "snapshot_json at byte 9: found a JSON syntax error, expected strict JSON (RFC 8259)"),
        ("{\"a\": \"\\ud800\"}", "snapshot_json at byte 7: found half of a surrogate pair, expected whole pairs"),
        ("{\"a\" 1}", "snapshot_json at byte 5: found a JSON syntax error, expected strict JSON (RFC 8259)"),
        ("{\"a\": 042}", "snapshot_json at byte 7: found a JSON syntax error, expected strict JSON (RFC 8259)"),
        ("{\"a\": 1,}", "snapshot_json at byte 8: found a JSON syntax error, expected strict JSON (RFC 8259)"),
    ] {
        assert_eq!(refusal(json), message, "{json}");
    }
    let error = Snapshot::from_json(b"{\"a\": \"\xff\"}").expect_err("it is not UTF-8");
    assert_eq!(error.to_string(), "snapshot_json at byte 7: found bytes that are not UTF-8, expected UTF-8");
    assert_eq!(check_snapshot(b"{\"a\": \"\xff\"}"), None);
    // Whatever else is wrong: no JSON is told first, then another version.
    assert!(refusal(&with("42", "-1, ]")).starts_with("snapshot_json "));
    assert!(refusal(&with("42", "-1").replace("version\": 5", "version\": 6")).starts_with("snapshot_version "));
    let all = with("42", "-1, \"cluster_epoch\": 17").replace("version\": 5", "version\": 6");
    assert!(refusal(&all).starts_with("snapshot_json "));
}

#[test]
fn nesting_up_to_the_limit() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    // Inside of how many brackets each of these stands.
    for (place, depth) in
        [("\"server\": {", 2), ("\"captured_at\": 1735600000.123, ", 1), ("\"shards\": {", 2), ("[{", 3)]
    {
        let with_nested = |levels: usize| with(place, &format!("{place}\"x\": {}, ", nested(levels)));
        assert!(check_snapshot(with_nested(128 - depth).as_bytes()).is_some(), "{place}");
        let json = with_nested(129 - depth);
        let offset = PLAIN.find(place).expect("it is there") + place.len() + 5 + 128 - depth;
        let message = format!("snapshot_json at byte {offset}: found a deeper level, expected at most 128 levels");
        assert_eq!(refusal(&json), message);
    }
    // In place of what has a meaning, too.
    let json = with("\"node-1\"", &nested(126));
    let at = json.find("[[[").expect("it is there") + 125;
    let message = format!("snapshot_json at byte {at}: found a deeper level, expected at most 128 levels");
    assert_eq!(refusal(&json), message);
}

#[test]
fn odd_snapshots_that_are_sound() {
    let escaped =
        PLAIN.replace("hash1", "h\\u0061sh1").replace("shards", "\\u0073hards").replace("\"n\"", "\"\\u006e\"");
    let snapshot = check_snapshot(escaped.as_bytes()).expect("escapes change nothing");
    assert_eq!(snapshot, check_snapshot(PLAIN.as_bytes()).expect("a snapshot"));
    assert_eq!(snapshot.shards.primary("hash1").expect("it is there"), "node-1");
    for (before, after) in [
        ("42", "-0"),
        ("42", "18446744073709551615"),
        ("1735600000.123", "0"),
        ("1735600000.123", "-0.0"),
        ("1735600000.123", "1e-400"),
        ("1735600000.123", "123456789012345678901234567890"),
        ("\"host\": \"h\"", "\"host\": \"\""),
        (
            "\"server\": {",
            "\"server\": {\"x\": 1e999, \"x\": 123456789012345678901234567890.10, \"\": {\"port\": [null]}, ",
        ),
        ("{\"schema_version\"", " \n\t\r{ \"Schema_version\" : 6 , \"schema_version\""),
        ("\"hash1\": \"node-1\"", ""),
        ("\"hash1\": \"node-1\"", "\"\": \"\", \"\\u0000\": \"../..\""),
        ("[\"node-2\", \"node-3\"]", "[ ]"),
        ("[\"node-2\", \"node-3\"]", "[\n\"\\\"]\" ,\t\"[\\\\\"\r]"),
    ] {
        assert!(check_snapshot(with(before, after).as_bytes()).is_some(), "{after}");
    }
}

#[test]
fn unknown_keys_survive_digit_for_digit() {
    let json = with(
        "\"server\": {",
        "\"x\": {\"y\": [1.50, 1e999, 123456789012345678901234567890, -0]}, \"server\": {\"up\\u0074ime\": 9.0, ",
    );
    let mut snapshot = check_snapshot(json.as_bytes()).expect("a snapshot");
    snapshot.cluster_epoch = 18;
    snapshot.shards.set_primary("hash2", "node-1");
    let again = Snapshot::from_json(snapshot.to_json()).expect("a snapshot");
    assert_eq!(again.unknown().get("x"), Some("{\"y\": [1.50, 1e999, 123456789012345678901234567890, -0]}"));
    assert_eq!(again.server.unknown().get("uptime"), Some("9.0"));
    assert_eq!(again.server.unknown().get("x"), None);
    assert_eq!(format!("{:?}", again.server.unknown()), "{\"uptime\": \"9.0\"}");
    assert!(again.shards.unknown().is_empty());
    assert_eq!((again.cluster_epoch, again.shards.primary_len()), (18, 2));
}

#[test]
fn the_text_of_a_snapshot() {
    let json = String::from_utf8(check_snapshot(PLAIN.as_bytes()).expect("a snapshot").to_json()).expect("text");
    assert_eq!(
        json,
        "{\"schema_version\":5,\"cluster_epoch\":42,\"captured_at\":1735600000.123,\"membership\":[{\"node_id\":\"n\",\
         \"host\":\"h\",\"port\":1,\"cluster_epoch\":0,\"healthy\":true,\"suspect\":false,\"missed_heartbeats\":0}],\
         \"shards\":{\"primary_map\":{\"hash1\": \"node-1\"},\"replica_map\":{\"hash1\": [\"node-2\", \"node-3\"]}},\
         \"server\":{\"request_count\":1,\"error_count\":0}}"
    );
}

#[test]
fn names_of_nodes() {
    let longest = "n".repeat(250);
    for name in ["node-1", "a", " ", "CON", "a.b", "a.", "\u{30ce}\u{30fc}\u{30c9}", "-rf", "~", "%2e", &longest] {
        assert_eq!(name.parse::<NodeId>().expect("a name").as_str(), name);
        assert!(is_node_id(name));
    }
    let too_long = "n".repeat(251);
    // 84 characters of three bytes.
    let too_long_in_bytes = "\u{30ce}".repeat(84);
    for name in [
        "",
        ".",
        "..",
        "...",
        ".hidden",
        "/",
        "a/b",
        "../a",
        "a/..",
        "\\",
        "a\\b",
        "\0",
        "a\0",
        "a\n",
        "\u{7f}",
        "\u{85}",
        &too_long,
        &too_long_in_bytes,
    ] {
        let refused = name.parse::<NodeId>().expect_err("no name");
        assert_eq!(
            refused.to_string(),
            "expected 1 to 250 bytes without control characters, / or \\, that do not start with a period",
            "{name:?}"
        );
        assert!(NodeId::try_from(name.to_owned()).is_err());
        assert!(!is_node_id(name));
    }
}

#[test]
fn reasons_have_stable_codes_and_advice() {
    let codes: Vec<_> = SnapshotReason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(codes, ["snapshot_json", "snapshot_version", "snapshot_field"]);
    assert!(SnapshotReason::ALL.iter().all(|reason| reason.advice().ends_with('.')));
}
