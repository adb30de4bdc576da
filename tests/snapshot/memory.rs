//! Memory follows the file, and by little.

use std::fmt::Write;

use allocation_counter::measure;
use membrane_codec::sha256;
use membrane_codec::snapshot::{Snapshot, SnapshotReason};

/// Less than the million that is ordinary, and a number at which the tables have just grown.
const SHARDS: u32 = 30_000;

fn json(key: impl Fn(u32) -> String, with_replicas: bool) -> Vec<u8> {
    let (mut primary, mut replica) = (String::new(), String::new());
    for number in 0..SHARDS {
        let separator = if number == 0 { "" } else { "," };
        let _ = write!(primary, "{separator}\"{}\":\"n{}\"", key(number), number % 9);
        if with_replicas {
            let _ = write!(replica, "{separator}\"{}\":[\"n{}\",\"n{}\"]", key(number), number % 7, number % 5);
        }
    }
    format!(
        "{{\"schema_version\":5,\"cluster_epoch\":1,\"captured_at\":1,\
         \"shards\":{{\"primary_map\":{{{primary}}},\"replica_map\":{{{replica}}}}}}}"
    )
    .into_bytes()
}

#[test]
fn a_snapshot_takes_less_than_four_times_its_file() {
    let hashes = json(|number| sha256(&number.to_le_bytes()).to_string(), true);
    let short_keys = json(|number| format!("{number:x}"), false);
    for (what, json, tenths) in [("hashes as keys", hashes, 15), ("the shortest keys", short_keys, 40)] {
        let len = json.len() as u64;
        let mut loaded = None;
        let measured = measure(|| loaded = Some(Snapshot::from_json(json).expect("a snapshot")));
        // The text itself was there before.
        let peak = len + measured.bytes_max;
        println!("{what}: a file of {len} bytes, a peak of {peak}: {:.2} times", peak as f64 / len as f64);
        assert!(peak * 10 <= len * tenths, "{what}: {peak} bytes for {len}");
        let snapshot = loaded.expect("it was loaded");
        assert_eq!(snapshot.shards.primary_len(), SHARDS as usize);
        assert!(measured.count_total < 100, "{what}: {} allocations", measured.count_total);
    }
}

/// Whatever it is full of, it costs no more than it is long.
#[test]
fn hostile_texts_cost_no_more_than_they_are_long() {
    const LEN: usize = 1 << 20;
    let full_of = |start: &str, filling: &str| {
        let mut json = start.to_owned();
        while json.len() < LEN {
            json.push_str(filling);
        }
        json.into_bytes()
    };
    let start = r#"{"schema_version":5,"cluster_epoch":1,"captured_at":1,"#;
    for (opening, filling) in [
        ("", "["),
        ("", "{\"a\":"),
        (r#""x":"#, "["),
        (r#""cluster_epoch":"#, "["),
        (r#""membership":"#, "["),
        (r#""membership":[{"x":"#, "["),
        (r#""shards":{"primary_map":{"a":"#, "["),
        (r#""shards":{"replica_map":{"a":"#, "["),
        (r#""shards":{"replica_map":{"a":["#, "["),
        (r#""x":""#, "\\"),
        (r#""x":""#, "\\ud83d\\ude00"),
        (r#""x":"#, "1"),
        ("", " "),
    ] {
        let json = full_of(&if opening.is_empty() { String::new() } else { format!("{start}{opening}") }, filling);
        let measured = measure(|| {
            let error = Snapshot::from_json(json).expect_err("it has no end");
            assert_eq!(error.reason(), SnapshotReason::SnapshotJson);
        });
        // What an unknown key holds is kept, and so copied.
        let most = if filling == "1" { LEN as u64 } else { 64 * 1024 };
        assert!(measured.bytes_max <= most, "{opening}{filling}: {} bytes", measured.bytes_max);
    }
}

#[test]
fn a_million_duplicate_keys() {
    const MILLION: usize = 1_000_000;
    let entries = |count: usize, entry: &str| vec![entry; count].join(",");
    let json =
        |inside: &str| format!(r#"{{"schema_version":5,"cluster_epoch":1,"captured_at":1,{inside}}}"#).into_bytes();
    for (text, sound) in [
        (json(&format!("\"shards\":{{\"primary_map\":{{{}}}}}", entries(MILLION, "\"a\":\"n\""))), false),
        (json(&format!("\"shards\":{{\"replica_map\":{{{}}}}}", entries(MILLION / 10, "\"a\":[]"))), false),
        (json(&entries(MILLION / 10, "\"server\":{}")), false),
        (json(&entries(MILLION / 2, "\"x\":1")), true),
    ] {
        let len = text.len() as u64;
        let mut verdict = None;
        let measured = measure(|| verdict = Some(Snapshot::from_json(text)));
        match verdict.expect("it was read") {
            Ok(snapshot) => assert!(sound && snapshot.unknown().iter().count() == MILLION / 2),
            Err(error) => assert!(!sound && error.found() == "a second value", "{error}"),
        }
        // Entries of a few bytes, all of them the same: what is noted of each takes more room than they do.
        assert!(len + measured.bytes_max < 5 * len, "{} bytes for {len}", measured.bytes_max);
    }
}
