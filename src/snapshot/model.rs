//! [`Snapshot`]: the durable state of a node.

use super::{CapturedAt, Member, Shards, SnapshotError, UnknownKeys, read};

/// The durable state of a node (specification, section 4): read, made, changed, saved.
///
/// ```
/// use membrane_codec::snapshot::{CapturedAt, Member, Snapshot};
///
/// let mut snapshot = Snapshot::new(17, CapturedAt::now());
/// snapshot.membership.push(Member::new("peer-1".parse()?, "10.0.0.1", 8080.try_into()?));
/// snapshot.shards.set_primary("hash1", "node-1");
/// snapshot.shards.set_replicas("hash1", ["node-2", "node-3"]);
///
/// let json = snapshot.to_json();
/// let restored = Snapshot::from_json(json)?;
/// assert_eq!(restored, snapshot);
/// assert!(restored.shards.primary("hash1").is_some_and(|node| node == "node-1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// `cluster_epoch`: the epoch of the cluster when the snapshot was captured.
    pub cluster_epoch: u64,
    /// `captured_at`
    pub captured_at: CapturedAt,
    /// `membership`, in its order. Empty unless given.
    pub membership: Vec<Member>,
    /// `shards`
    pub shards: Shards,
    /// `server`
    pub server: ServerCounters,
    pub(super) unknown: UnknownKeys,
}

impl Snapshot {
    /// A snapshot without members and shards.
    pub fn new(cluster_epoch: u64, captured_at: CapturedAt) -> Self {
        Self {
            cluster_epoch,
            captured_at,
            membership: Vec::new(),
            shards: Shards::default(),
            server: ServerCounters::default(),
            unknown: UnknownKeys::default(),
        }
    }

    /// Reads a snapshot (contract, section 4).
    ///
    /// It is one object in strict RFC 8259 and UTF-8 without a byte order mark: the rules of an identity's JSON
    /// ([`IdentityView::parse`](crate::IdentityView::parse)), its limit on nesting included. Numbers are JSON integers in
    /// u64, without fraction or exponent; `captured_at` is any number. A `node_id` is one that [`NodeId`](super::NodeId)
    /// takes, in `membership` too; the nodes of shards are any strings. `null` stands for nothing.
    ///
    /// A key that has a meaning must not stand twice in its object, and no hash twice in a map of shards. (The reference
    /// takes the last. Nothing in this format is covered by a checksum, so two answers to one question are taken for the
    /// damage or the forgery that they are.) Keys without a meaning are kept, whatever they hold.
    ///
    /// Cost: a pass to see that it is UTF-8, one to find what is where, one in which serde_json checks the grammar, and a
    /// hash of each shard's key. The text is kept, with some 20 bytes for each entry of a shard map; nothing is allocated
    /// for a shard. So give a `Vec` or `String` away where there is one: a slice is copied. PERF.md has the figures.
    ///
    /// # Errors
    /// [`SnapshotError`]. Of several problems the first of these is told: no JSON; a key twice, a hash twice; another
    /// `schema_version`; the first field that is out of its domain, or is missing where its object ends.
    pub fn from_json(json: impl Into<Vec<u8>>) -> Result<Self, SnapshotError> {
        read::snapshot(json.into())
    }

    /// Entries of the outermost object whose keys have no meaning here.
    pub fn unknown(&self) -> &UnknownKeys {
        &self.unknown
    }
}

/// What a server has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerCounters {
    /// `request_count`: 0 unless given.
    pub request_count: u64,
    /// `error_count`: 0 unless given.
    pub error_count: u64,
    pub(super) unknown: UnknownKeys,
}

impl ServerCounters {
    /// Entries whose keys have no meaning here.
    pub fn unknown(&self) -> &UnknownKeys {
        &self.unknown
    }
}
