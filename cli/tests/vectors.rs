//! Every published case through the built program.

mod support;

use std::fs;

use serde_json::{Value, json};
use support::{directory, json_lines, run, vectors};

#[test]
fn frames_through_verify_json() {
    let directory = directory();
    let cases = vectors("frames.json");
    for case in &cases {
        let bytes = base16ct::mixed::decode_vec(case["frame_hex"].as_str().expect("a frame")).expect("hexadecimal");
        fs::write(directory.path().join(format!("{}.frame", case["name"].as_str().expect("a name"))), bytes)
            .expect("it can be written");
    }
    let result = run(&["verify", "--json", "--check-hash", "."], directory.path());
    let (lines, summary) = json_lines(&result.stdout);
    assert_eq!(lines.len(), 483);

    let mut counts = [("ok", 0), ("schema_error", 0), ("corrupt_payload", 0)];
    for case in &cases {
        let name = case["name"].as_str().expect("a name");
        let path = format!("./{name}.frame");
        let line = lines.iter().find(|line| line["path"] == *path).expect("one line per frame");
        assert_eq!(line["status"], case["status"], "{name}");
        assert_eq!(line.get("reason"), case.get("reason"), "{name}");
        counts.iter_mut().filter(|(status, _)| case["status"] == *status).for_each(|(_, count)| *count += 1);
        if case["status"] == "ok" {
            assert_eq!(line["payload_len"], case["payload_len"], "{name}");
            assert_eq!(line["payload_hash"], case["identity"]["payload_hash"], "{name}");
            assert_eq!(line["fingerprint"], case["fingerprint"], "{name}");
            let findings =
                if case["payload_hash_matches"] == true { None } else { Some(json!(["payload_hash_mismatch"])) };
            assert_eq!(line.get("findings"), findings.as_ref(), "{name}");
        } else {
            let reason = case["reason"].as_str().expect("a reason");
            assert!(line["detail"].as_str().expect("words").starts_with(&format!("{reason} at byte ")), "{name}");
        }
    }
    assert_eq!(summary["frames"], 483);
    assert_eq!(summary["io_error"], 0);
    for (status, count) in counts {
        assert_eq!(summary[status], count, "{status}");
    }
    assert_eq!(result.status, Some(1));
}

#[test]
fn identities_through_fingerprint() {
    let directory = directory();
    for case in vectors("identities.json") {
        for text in [case["canonical_json"].as_str().expect("JSON").to_owned(), pretty(&case["identity"])] {
            fs::write(directory.path().join("ID.json"), text).expect("it can be written");
            let result = run(&["fingerprint", "ID.json", "--compat"], directory.path());
            let expected = format!(
                "{}\n{}\n",
                case["fingerprint"].as_str().expect("text"),
                case["fingerprint_compat"].as_str().expect("text")
            );
            assert_eq!((result.status, result.stdout), (Some(0), expected));
        }
    }
}

fn pretty(identity: &Value) -> String {
    serde_json::to_string_pretty(identity).expect("JSON")
}
