//! Every case of the published vectors.

use membrane_codec::snapshot::{EpochGuard, Restored, SnapshotReason};
use serde_json::Value;

use crate::agreement::check_snapshot;
use crate::support::{node, state_dir};

fn cases() -> Vec<Value> {
    let path = format!("{}/fixtures/vectors/snapshots.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("the vectors are JSON")
}

#[test]
fn snapshots_and_their_restores() {
    let cases = cases();
    assert_eq!(cases.len(), 34);
    let (directory, store) = state_dir();
    let node = node("node-1");
    let mut restores = 0;
    for case in cases {
        let name = case["name"].as_str().expect("a name");
        let text = case["text"].as_str().expect("text");
        let path = store.path_of(&node);
        std::fs::write(&path, text).expect("room");
        let verdict = store.load(&node);
        let status = verdict.as_ref().map_or_else(|error| error.class().as_str(), |_| "ok");
        assert_eq!(status, case["status"], "{name}");
        assert_eq!(check_snapshot(text.as_bytes()).is_some(), status == "ok", "{name}");
        if let Err(error) = verdict {
            assert_eq!(error.path(), path, "{name}");
            let refused = store.restore(&node, EpochGuard::new(u64::MAX)).expect_err("it is no snapshot");
            assert_eq!(refused.to_string(), error.to_string(), "{name}");
            assert_eq!(std::fs::read(&path).expect("the file stays"), text.as_bytes(), "{name}");
        }
        for restore in case["live_epochs"].as_array().expect("a list") {
            restores += 1;
            let guard = EpochGuard::new(restore[0].as_u64().expect("an epoch"));
            std::fs::write(&path, text).expect("room");
            let restored = store.restore(&node, guard).expect("it is a snapshot");
            let verdict = match restored {
                Restored::Accepted(snapshot) => {
                    assert_eq!(*snapshot, check_snapshot(text.as_bytes()).expect("a snapshot"));
                    "accepted"
                }
                Restored::Stale { cluster_epoch } => {
                    assert_eq!(cluster_epoch, 142);
                    "stale"
                }
                other => panic!("{name}: {other:?}"),
            };
            assert_eq!(verdict, restore[1], "{name}, live epoch {}", restore[0]);
            assert_eq!(path.exists(), verdict == "accepted", "{name}");
        }
    }
    assert_eq!(restores, 6);
    drop(directory);
}

#[test]
fn reasons_of_the_published_cases() {
    let expected = |name: &str| match name {
        name if name.starts_with("schema_version_bad") => SnapshotReason::SnapshotVersion,
        "cut" | "empty" | "nan" | "array" | "zeros" => SnapshotReason::SnapshotJson,
        _ => SnapshotReason::SnapshotField,
    };
    for case in cases().iter().filter(|case| case["status"] != "ok") {
        let name = case["name"].as_str().expect("a name");
        let text = case["text"].as_str().expect("text");
        let error = membrane_codec::snapshot::Snapshot::from_json(text).expect_err("stated");
        assert_eq!(error.reason(), expected(name), "{name}: {error}");
        let field = match name.split_once("_bad_").or_else(|| name.rsplit_once("_missing")) {
            _ if error.reason() == SnapshotReason::SnapshotJson => None,
            Some((field, _)) => Some(field),
            None => panic!("{name}"),
        };
        let path = error.field().map(|path| path.split(['[', '.']).next().unwrap_or_default());
        assert_eq!(path, field, "{name}: {error}");
    }
}
