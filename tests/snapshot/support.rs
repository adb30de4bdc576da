//! What the tests of snapshots share: samples, state directories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use membrane_codec::snapshot::{CapturedAt, NodeId, Snapshot, SnapshotStore};
use tempfile::TempDir;

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
