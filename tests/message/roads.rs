//! The three roads give the same answer on every body, and what is written reads back as the same message.

use membrane_codec::{FragmentMessage, MessageParser};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::agreement::check_message;
use crate::bodies::{self, messages, spaced};

/// The keys of both objects in another order: the last first.
fn reversed(json: &str) -> String {
    fn text(value: &serde_json::Value) -> String {
        match value.as_object() {
            None => value.to_string(),
            Some(members) => {
                let members: Vec<_> =
                    members.iter().rev().map(|(key, value)| format!("\"{key}\": {}", text(value))).collect();
                format!("{{{}}}", members.join(" , "))
            }
        }
    }
    text(&serde_json::from_str(json).expect("JSON"))
}

proptest! {
    #[test]
    fn what_is_written_reads_back(message in messages()) {
        let json = message.to_json();
        prop_assert!(json.is_ascii());
        prop_assert_eq!(check_message(json.as_bytes()), Some(message.clone()));
        prop_assert_eq!(check_message(spaced(&json).as_bytes()), Some(message.clone()));
        // Numbers are what they were, down to their text.
        let again = FragmentMessage::from_json(json.as_bytes()).expect("it was written here");
        prop_assert_eq!(again.to_json(), json);
    }

    #[test]
    fn damage_is_judged_alike(
        message in messages(),
        changes in vec((any::<Index>(), prop_oneof![any::<u8>(), prop::sample::select(b"\"\\{}[],:0-.eE u\x7f\t\n".to_vec())]), 1..4),
        cut in any::<Option<Index>>(),
    ) {
        let mut body = message.to_json().into_bytes();
        for (at, byte) in changes {
            let at = at.index(body.len());
            body[at] = byte;
        }
        if let Some(cut) = cut {
            body.truncate(cut.index(body.len() + 1));
        }
        check_message(&body);
    }

    #[test]
    fn numbers_are_judged_alike(
        key in prop::sample::select(vec!["payload_size", "ttl", "reuse_score", "version_id", "hlc", "schema_version"]),
        number in "-?(0|[1-9][0-9]{0,25}|[0-9]{1,3})(\\.[0-9]{0,20})?([eE][+-]?[0-9]{0,4})?",
    ) {
        check_message(bodies::body_with(key, &number).as_bytes());
    }
}

#[test]
fn keys_in_any_order() {
    let body = bodies::body();
    let other = reversed(&body);
    assert!(other.find("tenant_id").expect("a key") < other.find("schema_version").expect("a key"));
    assert!(MessageParser::parse_plain(other.as_bytes()).is_some());
    assert_eq!(check_message(other.as_bytes()), Some(bodies::message()));
}

#[test]
fn unknown_keys_hold_anything() {
    for value in ["1e999", "12345678901234567890123456789", "[{\"a\":[null,true]}]", "\"\\ud83d\\ude00\"", "-0", "{}"] {
        let body = bodies::body().replacen('{', &format!("{{\"x_vendor\":{value},\"x_vendor\":{value},"), 1);
        assert_eq!(check_message(body.as_bytes()), Some(bodies::message()), "{value}");
    }
    let lone = bodies::body().replacen('{', "{\"x_vendor\":\"\\ud83d\",", 1);
    assert_eq!(check_message(lone.as_bytes()), None);
}

#[test]
fn nesting_up_to_the_limit() {
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        bodies::body().replacen('{', &format!("{{\"x_vendor\":{open}{close},"), 1)
    };
    // The message itself is the first level.
    assert_eq!(check_message(nested(127).as_bytes()), Some(bodies::message()));
    assert_eq!(check_message(nested(128).as_bytes()), None);
    assert_eq!(check_message(nested(100_000).as_bytes()), None);
}

#[test]
fn a_parser_forgets_the_body_before() {
    let mut parser = MessageParser::new();
    let long = bodies::body_with("consistency", &format!("\"\\u00e9{}\"", "x".repeat(100_000)));
    assert!(parser.parse(long.as_bytes()).is_ok());
    assert!(parser.parse(b"{\"x\":1").is_err());
    let short = bodies::body_with("consistency", "\"\\u00e9\"");
    assert!(parser.parse(short.as_bytes()).expect("valid").consistency() == "\u{e9}");
}
