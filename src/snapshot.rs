//! Cluster metadata that survives a crash (specification, section 4; contract, section 4): what a node knows of members
//! and shards, in one JSON file for each node.
//!
//! [`Snapshot`] is the model: read from JSON, made or changed by a node, written again; keys without a meaning survive
//! that. [`SnapshotStore`] keeps snapshots in a state directory: the file is the old one or the new one, whole, whatever
//! ends the program or the machine. [`EpochGuard`] says which are too old to be restored.
//!
//! # Cost
//!
//! A million shards are ordinary, so a shard costs no allocation: the JSON text stays as it is, and two tables say where in
//! it each entry starts, in some 20 bytes. Loading such a snapshot, 163 MiB, takes less than a third of the time in which
//! serde_json fills the standard library's maps with strings, and in all 1.3 times the file in memory. Looking up a hash
//! costs what it costs in such a map. PERF.md has the figures.
//!
//! # Why not simd-json
//!
//! Loading is three passes over the text: a cursor finds what is where, serde_json checks the grammar, and the keys are
//! hashed. simd-json could take the place of the first two, and was measured for it. Through serde it fills the same maps no
//! faster than serde_json: the maps cost, not the JSON. Its tape alone, of 24 bytes for each key, value and list, takes three
//! fifths of the time of the whole load and nearly the length of the file again in memory, and the keys are still to be hashed.
//! It also undoes escapes inside the text that it reads and reads numbers into 64 bits, while keys without a meaning have to
//! be saved as they were, digit for digit. So it is a peer in the bench `snapshot`, which would tell if that changed.

mod captured_at;
mod cursor;
mod epoch;
mod error;
mod intake;
mod member;
mod model;
mod node_id;
mod read;
mod shards;
#[cfg(unix)]
mod store;
mod unknown;
mod write;

pub use self::captured_at::CapturedAt;
pub use self::epoch::EpochGuard;
pub use self::error::{SnapshotError, SnapshotReason};
pub use self::member::Member;
pub use self::model::{ServerCounters, Snapshot};
pub use self::node_id::NodeId;
pub use self::shards::{Replicas, Shards};
#[cfg(unix)]
pub use self::store::{
    DirectoryWarning, Latest, Operation, Restored, SnapshotStore, StateFile, StateFileKind, StoreError,
    StoreErrorClass, StoreProblem,
};
pub use self::unknown::UnknownKeys;
