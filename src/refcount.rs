//! Reference counts (specification, section 6; contract, section 6): who holds what, so that nothing is freed while
//! somebody holds it.
//!
//! [`RefCount`] counts and decides nothing: it says when the last holder is gone, and the caller acts. [`FragmentTable`] is
//! the use that a node makes of it: blobs that copies of several tenants share, deleted in the order that the specification
//! wants.
//!
//! Both are for one process. Between nodes, tombstones carry the news of a delete ([`tombstone`](crate::tombstone)).
//!
//! Cost: a lock on one of 64 parts, and one or two look-ups in a hash map, for each call.

mod count;
mod fragment_table;
mod outcome;

pub use self::count::{RefCount, Release};
pub use self::fragment_table::FragmentTable;
pub use self::outcome::{Deleted, MergedFragments, NotDeleted, NotStored, Stored};
