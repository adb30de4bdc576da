//! Parsing many bodies in a row allocates nothing once the parser is warm.

use allocation_counter::measure;
use membrane_codec::MessageParser;

use crate::bodies::{body, body_with, spaced};

#[test]
fn a_warm_parser_allocates_nothing() {
    let plain = spaced(&body());
    let unknown = body().replacen('{', "{\"x_vendor\":{\"keep\":[1,2.5]},", 1);
    let script = body_with("consistency", "\"\u{6a21}\u{578b} \\u00e9\"");
    let pretty = plain.replace(", ", ",\n  ");
    let old = body_with("schema_version", "4");
    let mut parser = MessageParser::new();
    for body in [&plain, &unknown, &script, &pretty] {
        assert!(parser.parse(body.as_bytes()).is_ok());
    }
    for body in [&plain, &unknown, &script, &pretty] {
        let counted = measure(|| assert!(parser.parse(body.as_bytes()).is_ok()));
        assert_eq!(counted.count_total, 0, "{body}");
    }
    // serde_json, which says what is wrong, keeps note of the brackets that it is in.
    assert!(measure(|| assert!(parser.parse(old.as_bytes()).is_err())).bytes_max <= 16);
}

#[test]
fn what_is_kept_does_not_grow_with_what_was_sent() {
    // Of each two bytes, simd-json's tape would make a node.
    let numbers = "1,".repeat(4 << 20);
    let long = body().replacen('{', &format!("{{\"x\":[{numbers}1],"), 1);
    let mut parser = MessageParser::new();
    let counted = measure(|| assert!(parser.parse(long.as_bytes()).is_ok()));
    assert!(counted.bytes_max <= 1024, "{} bytes", counted.bytes_max);
    let longest = "[".repeat(64 << 10);
    let counted = measure(|| assert!(parser.parse(longest.as_bytes()).is_err()));
    assert!(counted.bytes_max <= 2 << 20, "{} bytes", counted.bytes_max);
    // The brackets of hostile text are counted before a note is taken of each.
    let hostile = "[".repeat(1 << 20);
    assert_eq!(measure(|| assert!(MessageParser::parse_general(hostile.as_bytes()).is_err())).bytes_max, 0);
}
