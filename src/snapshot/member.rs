//! A member of the cluster, as a node sees it.

use std::num::NonZeroU16;

use super::{NodeId, UnknownKeys};

/// An entry of `membership` (specification, section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// `node_id`
    pub node_id: NodeId,
    /// `host`: a name or an address, any string.
    pub host: String,
    /// `port`
    pub port: NonZeroU16,
    /// `cluster_epoch`: the epoch that the member was last heard in. 0 unless given.
    pub cluster_epoch: u64,
    /// `healthy`: true unless given.
    pub healthy: bool,
    /// `suspect`: false unless given.
    pub suspect: bool,
    /// `missed_heartbeats`: 0 unless given.
    pub missed_heartbeats: u64,
    pub(super) unknown: UnknownKeys,
}

impl Member {
    /// A healthy member of epoch 0, of which no heartbeat was missed.
    pub fn new(node_id: NodeId, host: impl Into<String>, port: NonZeroU16) -> Self {
        Self {
            node_id,
            host: host.into(),
            port,
            cluster_epoch: 0,
            healthy: true,
            suspect: false,
            missed_heartbeats: 0,
            unknown: UnknownKeys::default(),
        }
    }

    /// Entries whose keys have no meaning here.
    pub fn unknown(&self) -> &UnknownKeys {
        &self.unknown
    }
}
