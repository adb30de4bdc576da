//! What the tests of snapshots share: the oracle's check, samples, state directories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use membrane_codec::snapshot::{CapturedAt, NodeId, Snapshot, SnapshotStore, UnknownKeys};
use tempfile::TempDir;

use crate::naive::snapshot as naive;
use crate::naive::{self as plain, Value};

/// The library's verdict, contents and text are the oracle's; gives the snapshot if it is one.
pub(crate) fn check(json: &[u8]) -> Option<Snapshot> {
    match (Snapshot::from_json(json), naive::snapshot(json)) {
        (Ok(snapshot), Ok(oracle)) => {
            assert_says(&snapshot, &oracle);
            let again = snapshot.to_json();
            assert_eq!(naive::snapshot(&again), Ok(oracle), "{}", String::from_utf8_lossy(&again));
            let again = Snapshot::from_json(again).expect("the oracle says so");
            assert_eq!(again, snapshot);
            Some(snapshot)
        }
        (Err(error), Err(reason)) => {
            assert_eq!(error.reason().as_str(), reason, "{error}");
            assert!(error.offset() <= json.len() as u64, "{error}, in {} bytes", json.len());
            assert!(error.to_string().starts_with(reason));
            None
        }
        (Ok(_), Err(reason)) => panic!("accepted, should be {reason}: {}", String::from_utf8_lossy(json)),
        (Err(error), Ok(_)) => panic!("refused, should be accepted: {error}: {}", String::from_utf8_lossy(json)),
    }
}

fn assert_says(snapshot: &Snapshot, oracle: &naive::Snapshot) {
    assert_eq!(snapshot.cluster_epoch, oracle.cluster_epoch);
    assert_eq!(snapshot.captured_at.as_unix_seconds(), oracle.captured_at);
    assert_eq!(snapshot.membership.len(), oracle.membership.len());
    for (member, oracle) in snapshot.membership.iter().zip(&oracle.membership) {
        let said = naive::Member {
            node_id: member.node_id.to_string(),
            host: member.host.clone(),
            port: member.port.get().into(),
            cluster_epoch: member.cluster_epoch,
            healthy: member.healthy,
            suspect: member.suspect,
            missed_heartbeats: member.missed_heartbeats,
            unknown: values(member.unknown()),
        };
        assert_eq!(said, *oracle);
    }
    let primaries: Vec<_> = snapshot.shards.primaries().map(|(hash, node)| (hash.into(), node.into())).collect();
    assert_eq!(primaries, oracle.primary_map);
    for (hash, node) in &oracle.primary_map {
        assert_eq!(snapshot.shards.primary(hash).expect("it is there"), node.as_str());
    }
    let strings = |nodes: membrane_codec::snapshot::Replicas<'_>| nodes.map(String::from).collect::<Vec<_>>();
    let replicas: Vec<_> = snapshot.shards.all_replicas().map(|(hash, nodes)| (hash.into(), strings(nodes))).collect();
    assert_eq!(replicas, oracle.replica_map);
    for (hash, nodes) in &oracle.replica_map {
        assert_eq!(strings(snapshot.shards.replicas(hash).expect("it is there")), *nodes);
    }
    assert_eq!(snapshot.shards.primary_len(), oracle.primary_map.len());
    assert_eq!(snapshot.shards.replica_len(), oracle.replica_map.len());
    assert_eq!(snapshot.server.request_count, oracle.request_count);
    assert_eq!(snapshot.server.error_count, oracle.error_count);
    let unknown = [snapshot.unknown(), snapshot.shards.unknown(), snapshot.server.unknown()].map(values);
    assert_eq!(unknown, oracle.unknown);
}

fn values(unknown: &UnknownKeys) -> Vec<(String, Value)> {
    let value = |json: &str| plain::json(json.as_bytes()).expect("what is kept is JSON");
    unknown.iter().map(|(key, json)| (key.into(), value(json))).collect()
}

/// A snapshot of this epoch, with shards.
pub(crate) fn snapshot(epoch: u64, shards: usize) -> Snapshot {
    let mut snapshot = Snapshot::new(epoch, CapturedAt::from_unix_seconds(epoch as f64).expect("a time"));
    for shard in 0..shards {
        snapshot.shards.set_primary(&format!("{shard:064x}"), "node-1");
        snapshot.shards.set_replicas(&format!("{shard:064x}"), ["node-2", "node-3"]);
    }
    snapshot
}

pub(crate) fn node(name: &str) -> NodeId {
    name.parse().expect("a name of a node")
}

/// An empty state directory, which nobody else may write to.
pub(crate) fn state_dir() -> (TempDir, SnapshotStore) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let store = SnapshotStore::open(directory.path()).expect("it is there");
    (directory, store)
}

/// The names in a directory, sorted.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a readable directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
