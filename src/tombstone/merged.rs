//! What came of a merge.

/// What came of the entries of a gossip, one by one. They add up to its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merged {
    /// The table had no tombstone for this hash.
    pub learned: usize,
    /// The table had one with an earlier deadline.
    pub extended: usize,
    /// The table had one that lasts as long or longer.
    pub known: usize,
    /// Over, by the table's clock. Left out.
    pub expired: usize,
    /// Further ahead than [`TombstoneTable::with_max_ahead`](super::TombstoneTable::with_max_ahead). Left out.
    pub too_far_ahead: usize,
    /// New, and the table was full ([`TombstoneTable::with_max_len`](super::TombstoneTable::with_max_len)). Left out: while its
    /// deadline lasts, the next gossip brings it again.
    pub no_room: usize,
}
