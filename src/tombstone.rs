//! Tombstones (specification, section 5; contract, section 5): what was deleted stays deleted, on every node, until a
//! deadline.
//!
//! A delete records a tombstone before the fragment goes. While it is active, a store of that hash is refused, so that a
//! store which was late, or a replica which slept, does not bring the fragment back. Nodes tell each other their active
//! tombstones as they gossip; the later deadline wins, so all come to the same ones in whatever order, and however often,
//! the gossip arrives.
//!
//! ```
//! use membrane_codec::sha256;
//! use membrane_codec::tombstone::{Gossip, TombstoneTable};
//!
//! let (here, there) = (TombstoneTable::new(), TombstoneTable::new());
//! let content_hash = sha256(b"a fragment");
//! let until = here.record(content_hash, None, "node-1"); // for 60 seconds
//!
//! for body in here.active().bodies() {
//!     // {"fragment_tombstones":{"...":1735600060.5}}
//!     there.merge(&Gossip::from_json(&body)?);
//! }
//! assert!(there.is_active(&content_hash)); // a store of it is refused
//! assert_eq!(there.active_until(&content_hash), Some(until));
//! # Ok::<(), membrane_codec::tombstone::TombstoneError>(())
//! ```
//!
//! # Cost
//!
//! [`TombstoneTable::is_active`] writes nothing that another thread reads, so threads do not slow each other down: some 20
//! nanoseconds for a hash without a tombstone, in a large table the time of one access to memory more for one that has one.
//! Recording takes a lock on one of 64 parts. Memory: 41 bytes a slot, and 8 for its nodes; of the slots, 31 to 62 of a
//! hundred are filled. The smaller arrays that a table grew out of stay until it is dropped, 41 bytes for each slot of the
//! largest at most. PERF.md gives the measured figures.
//!
//! # Clocks
//!
//! Every verdict is that of the [`Clock`] at that moment, and the table remembers no earlier one. A clock that is behind
//! refuses stores for longer, one that is ahead accepts them sooner: by as much as it is wrong. When it is set back, what
//! had ended becomes active again unless it was swept; what was swept comes back with the next gossip of any peer that
//! still holds it to be active. Deadlines are finite by their type ([`Until`]), and a clock cannot return anything that is
//! not a time.

mod body;
mod clock;
mod error;
mod gossip;
mod limits;
mod merged;
mod merging;
mod nodes;
mod shard;
mod slots;
mod sweeper;
mod table;
mod until;

pub use self::body::{DeleteRequest, TombstoneRequest};
pub use self::clock::{Clock, SystemClock};
pub use self::error::{TombstoneError, TombstoneReason};
pub use self::gossip::Gossip;
pub use self::limits::LimitError;
pub use self::merged::Merged;
pub use self::nodes::Nodes;
pub use self::sweeper::{SweepObserver, Sweeper};
pub use self::table::TombstoneTable;
pub use self::until::Until;

use crate::digest::Digest;

/// A mark that a fragment was deleted (specification, section 5).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tombstone {
    /// The hash of what was deleted.
    pub content_hash: Digest,
    /// Active while the time is before this.
    pub until: Until,
    /// The nodes that announced the deletion.
    pub nodes: Nodes,
}
