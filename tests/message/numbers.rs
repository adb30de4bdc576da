//! Numbers survive: what was an integer stays one, and no digit is lost.

use membrane_codec::{FragmentMessage, Number};

use crate::bodies::body_with;

fn written_again(key: &str, number: &str) -> String {
    let json = FragmentMessage::from_json(body_with(key, number).as_bytes()).expect("valid").to_json();
    let name = format!("\"{key}\":");
    let start = json.find(&name).expect("the key") + name.len();
    json[start..].split([',', '}']).next().expect("a value").to_owned()
}

#[test]
fn integers_and_others() {
    for (key, number) in [
        ("ttl", "3600.0"),
        ("ttl", "3600"),
        ("ttl", "0"),
        ("ttl", "0.0"),
        ("ttl", "18446744073709551615"),
        ("ttl", "0.30000000000000004"),
        ("reuse_score", "1"),
        ("reuse_score", "1.0"),
        ("reuse_score", "0.1"),
        ("hlc", "18446744073709551615"),
        ("hlc", "9007199254740993"),
        ("payload_size", "18446744073709551615"),
        ("version_id", "18446744073709551615"),
    ] {
        assert_eq!(written_again(key, number), number, "{key}");
    }
    // Other spellings of the same value.
    assert_eq!(written_again("ttl", "36e2"), "3600.0");
    assert_eq!(written_again("ttl", "-0"), "0");
    assert_eq!(written_again("ttl", "18446744073709551616"), "1.8446744073709552e19");
    assert_eq!(written_again("hlc", "-0"), "0");
}

#[test]
fn the_typed_values() {
    let message = FragmentMessage::from_json(body_with("ttl", "3600").as_bytes()).expect("valid");
    assert_eq!(message.ttl.number(), Number::Integer(3600));
    assert_eq!(message.ttl.as_secs_f64(), 3600.0);
    assert_eq!(message.reuse_score.number(), Number::Float(0.87));
    assert_eq!(message.reuse_score.as_f64(), 0.87);
}
