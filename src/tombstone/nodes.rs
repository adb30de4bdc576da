//! The names of the nodes that announced a deletion.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The nodes that announced a deletion, in order of their names.
///
/// Peers name them, so what they take is bounded: a tombstone keeps the first [`MAX_LEN`](Self::MAX_LEN) names that it is
/// told, and none that is longer than [`MAX_NAME_LEN`](Self::MAX_NAME_LEN). The deadline counts whoever named it.
///
/// Tombstones with the same nodes may share them: a copy costs a pointer.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Nodes(Option<Arc<BTreeSet<Box<str>>>>);

impl Nodes {
    /// How many names a tombstone keeps.
    pub const MAX_LEN: usize = 64;
    /// The longest name that is kept, in bytes: the longest that a snapshot can be named by.
    pub const MAX_NAME_LEN: usize = 250;

    /// One node.
    pub(super) fn only(node_id: &str) -> Self {
        let mut only = Self::default();
        only.insert(node_id);
        only
    }

    /// Adds a node, within the bounds.
    pub(super) fn insert(&mut self, node_id: &str) {
        if self.len() < Self::MAX_LEN && node_id.len() <= Self::MAX_NAME_LEN && !self.contains(node_id) {
            Arc::make_mut(self.0.get_or_insert_default()).insert(node_id.into());
        }
    }

    /// Whether this node announced it.
    pub fn contains(&self, node_id: &str) -> bool {
        self.0.as_ref().is_some_and(|names| names.contains(node_id))
    }

    /// How many there are. None where the tombstone came by gossip, which does not name them.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |names| names.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their names, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|names| names.iter()).map(|name| &**name)
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
