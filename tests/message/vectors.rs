//! Every case of the published vectors, on each road.

use membrane_codec::{Error, FragmentMessage, MessageParser, MessageView};
use serde_json::Value;

fn verdict(result: &Result<MessageView<'_>, Error>) -> (&'static str, Option<&'static str>) {
    match result {
        Ok(_) => ("ok", None),
        Err(error) => (error.class().as_str(), Some(error.reason().as_str())),
    }
}

#[test]
fn messages() {
    let path = format!("{}/fixtures/vectors/messages.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the vectors are there");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("the vectors are JSON");
    assert_eq!(cases.len(), 106);
    let mut parser = MessageParser::new();
    for case in cases {
        let name = case["name"].as_str().expect("a name");
        let body = case["message"].as_str().expect("a message").as_bytes();
        let stated = (case["status"].as_str().expect("a status"), case.get("reason").and_then(Value::as_str));

        let general = MessageParser::parse_general(body);
        assert_eq!(verdict(&general), stated, "{name}: general road");
        let parsed = parser.parse(body);
        assert_eq!(verdict(&parsed), stated, "{name}");
        assert_eq!(parsed, general, "{name}");
        let owned = FragmentMessage::from_json(body);
        assert_eq!(owned.as_ref().map(FragmentMessage::as_view), general.as_ref().map(|view| *view), "{name}: owned");
        if let Some(view) = MessageParser::parse_plain(body) {
            assert_eq!(Ok(view), general, "{name}: plain road");
        }
        if let Some(view) = parser.parse_through_tape(body) {
            assert_eq!(Ok(view), general, "{name}: tape");
        }
        // All but the one with an escape and the one with an unknown key are plain; the tape takes all.
        if stated.0 == "ok" {
            assert!(parser.parse_through_tape(body).is_some(), "{name}: tape");
            let is_plain = !matches!(
                name,
                "tenant_id_ok_3" | "unknown_key_ignored" | "pretty" | "hlc_ok_1" | "hlc_ok_2" | "payload_size_ok_1"
            );
            assert_eq!(MessageParser::parse_plain(body).is_some(), is_plain, "{name}: plain road");
        }
    }
}
