//! [`TombstoneTable`]: the tombstones of a node.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

// Loom replays what it saw: the places in a table must be the same each time.
#[cfg(loom)]
use foldhash::quality::FixedState as RandomState;
#[cfg(not(loom))]
use foldhash::quality::RandomState;

use super::limits::LimitError;
use super::merging::Merging;
use super::shard::{self, Announced, Recorded, Shard};
use super::slots::{Key, Place};
use super::{Clock, Gossip, Merged, SystemClock, Tombstone, Until};
use crate::digest::Digest;

/// A power of two. Enough that threads seldom meet at one, and few enough that what readers need of all stays in the
/// nearest cache.
const SHARDS: usize = if cfg!(loom) { 1 } else { 64 };

/// The tombstones of a node, for any number of threads.
///
/// A hash is 32 bytes here: 64 hexadecimal characters name the same one in either case, so a tombstone that was written in
/// upper case refuses a store that is written in lower case. As a [`HashMap`](std::collections::HashMap), the table keeps
/// the memory that it once needed.
///
/// Hashes come from peers, who may choose them. Where a hash lies in the table depends on a secret of each table.
pub struct TombstoneTable<C = SystemClock> {
    shards: Box<[Shard]>,
    hasher: RandomState,
    clock: C,
    max_len: usize,
    max_ahead: Option<Duration>,
}

impl TombstoneTable {
    /// A table without tombstones, on the system's clock.
    pub fn new() -> Self {
        Self::with_clock(SystemClock)
    }
}

impl Default for TombstoneTable {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Clock> TombstoneTable<C> {
    /// How long a tombstone lasts when nobody says otherwise (specification, section 5).
    pub const DEFAULT_LIFETIME: Duration = Duration::from_secs(60);
    /// How many tombstones a table takes from gossip when nobody says otherwise: 16,777,216, some 3 GiB.
    pub const DEFAULT_MAX_LEN: usize = 1 << 24;

    /// A table without tombstones, on this clock.
    pub fn with_clock(clock: C) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Shard::new()).collect(),
            hasher: RandomState::default(),
            clock,
            max_len: Self::DEFAULT_MAX_LEN,
            max_ahead: None,
        }
    }

    /// Peers ([`record_from_peer`](Self::record_from_peer), [`merge`](Self::merge)) add no tombstones beyond this many, so
    /// that they cannot fill the memory; deadlines of those that are there are still extended. [`record`](Self::record)
    /// always records: a delete of one's own must not fail because of what peers say. The names that peers give come on top,
    /// up to [`Nodes::MAX_LEN`](super::Nodes::MAX_LEN) of them for a tombstone.
    ///
    /// Calls that run at the same time may each fill the room that was left.
    pub fn with_max_len(mut self, tombstones: usize) -> Self {
        self.max_len = tombstones;
        self
    }

    /// Peers are not believed when their deadline is further ahead than this: a peer could have a hash refused for good. By
    /// default any finite deadline is (contract, section 5). Give it to all nodes or to none, and more than the longest
    /// lifetime in use and the largest difference between clocks.
    pub fn with_max_ahead(mut self, ahead: Option<Duration>) -> Self {
        self.max_ahead = ahead;
        self
    }

    /// The clock.
    pub const fn clock(&self) -> &C {
        &self.clock
    }

    /// Records a delete of this node's own, beyond all limits: call it before the fragment goes. What a peer asks for goes to
    /// [`record_from_peer`](Self::record_from_peer). Without `until` the tombstone lasts
    /// [`DEFAULT_LIFETIME`](Self::DEFAULT_LIFETIME) from now. If there is one for this hash, the later deadline wins and the
    /// node joins its nodes; if that one is over, and this one is not, it is another deletion with nodes of its own. Gives the
    /// deadline that counts.
    pub fn record(&self, content_hash: Digest, until: Option<Until>, node_id: &str) -> Until {
        let now = self.clock.now();
        let until = until.unwrap_or_else(|| Self::default_until(now)).as_unix_seconds();
        let announced = Announced { until, node_id: Some(node_id), now: now.as_secs_f64() };
        Until::from_finite(self.announce(&content_hash, announced, true).1)
    }

    /// Records what a peer asks for ([`TombstoneRequest`](super::TombstoneRequest), [`DeleteRequest`](super::DeleteRequest)),
    /// within the limits of the table. As [`record`](Self::record) otherwise; what is over by this table's clock is not
    /// recorded, and its deadline is given.
    ///
    /// Cost: as `record`, and for a hash without a tombstone a lock on each of the 64 parts, to count them.
    ///
    /// # Errors
    /// When the deadline is further ahead than [`with_max_ahead`](Self::with_max_ahead) allows, or the tombstone would be
    /// new and there are as many as [`with_max_len`](Self::with_max_len) allows. Nothing is recorded.
    pub fn record_from_peer(
        &self,
        content_hash: Digest,
        until: Option<Until>,
        node_id: &str,
    ) -> Result<Until, LimitError> {
        let now = self.clock.now();
        let until = until.unwrap_or_else(|| Self::default_until(now));
        let (now, seconds) = (now.as_secs_f64(), until.as_unix_seconds());
        if now >= seconds {
            return Ok(self.active_until(&content_hash).unwrap_or(until));
        }
        if seconds > self.latest(now) {
            return Err(LimitError::TooFarAhead { until });
        }
        let announced = Announced { until: seconds, node_id: Some(node_id), now };
        let may_add = self.len() < self.max_len;
        match self.announce(&content_hash, announced, may_add) {
            (Recorded::NoRoom, _) => Err(LimitError::NoRoom { max_len: self.max_len }),
            (_, counts) => Ok(Until::from_finite(counts)),
        }
    }

    /// Takes a tombstone away, over or not, and gives it: one that was recorded by mistake, or by a peer that lied.
    ///
    /// It returns with the gossip of any node that still has it: remove it from all, with nothing under way between them, or
    /// it converges back.
    pub fn remove(&self, content_hash: &Digest) -> Option<Tombstone> {
        let (shard, key, place) = self.locate(content_hash);
        let (until, nodes) = shard.remove(&key, place)?;
        Some(Tombstone { content_hash: *content_hash, until: Until::from_finite(until), nodes })
    }

    /// Whether a store of this hash must be refused now.
    ///
    /// Cost: no lock and no write, also while others record and sweep; only while a part of the table is rebuilt, which
    /// happens at most once in as many records as it has tombstones, does it wait for the part's lock. The clock is read if
    /// there is a tombstone.
    #[inline]
    pub fn is_active(&self, content_hash: &Digest) -> bool {
        let (shard, key, place) = self.locate(content_hash);
        shard.until(&key, place).is_some_and(|until| self.now() < until)
    }

    /// Until when a store of this hash must be refused, if it must be now.
    pub fn active_until(&self, content_hash: &Digest) -> Option<Until> {
        let (shard, key, place) = self.locate(content_hash);
        shard.until(&key, place).filter(|until| self.now() < *until).map(Until::from_finite)
    }

    /// The active tombstone of this hash.
    pub fn get(&self, content_hash: &Digest) -> Option<Tombstone> {
        let (shard, key, place) = self.locate(content_hash);
        let (until, nodes) = shard.get(&key, place)?;
        let is_active = self.now() < until;
        is_active.then(|| Tombstone { content_hash: *content_hash, until: Until::from_finite(until), nodes })
    }

    /// Takes over what a peer says is deleted: for each hash the later deadline wins. Merging the same gossip twice, or two
    /// in the other order, or one that already went through a third node, comes to the same tombstones.
    ///
    /// What is over by this table's clock is left out, and what the limits forbid.
    ///
    /// Cost: a look-up for each entry, and a lock for each that changes something.
    pub fn merge(&self, gossip: &Gossip) -> Merged {
        let mut merging = self.merging();
        for (content_hash, until) in gossip.iter() {
            if !merging.dismisses(&content_hash, until) {
                merging.take(&content_hash, until);
            }
        }
        merging.merged()
    }

    /// A merge that its caller goes through entry by entry.
    pub(crate) fn merging(&self) -> Merging<'_, C> {
        Merging::new(self, self.max_len.saturating_sub(self.len()))
    }

    /// The active tombstones, for the next gossip.
    ///
    /// Cost: one pass, 40 bytes for each. Each part of the table is locked while it is copied.
    pub fn active(&self) -> Gossip {
        let now = self.now();
        let mut active = Vec::new();
        self.shards.iter().for_each(|shard| shard.active(now, &mut active));
        active.into_iter().collect()
    }

    /// Drops the tombstones that are over and gives them.
    ///
    /// Cost: one pass. Each part of the table is locked while it is swept; look-ups go on.
    pub fn sweep(&self) -> Vec<Tombstone> {
        let now = self.now();
        let mut dropped = Vec::new();
        self.shards.iter().for_each(|shard| shard.sweep(now, &mut dropped));
        dropped
    }

    /// How many tombstones there are, active or not yet swept.
    pub fn len(&self) -> usize {
        self.shards.iter().map(Shard::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn now(&self) -> f64 {
        self.clock.now().as_secs_f64()
    }

    /// The latest deadline that peers are believed.
    pub(super) fn latest(&self, now: f64) -> f64 {
        self.max_ahead.map_or(f64::INFINITY, |ahead| now + ahead.as_secs_f64())
    }

    /// Whether there is a tombstone for this hash that lasts as long: found out without a lock.
    pub(super) fn has_until(&self, content_hash: &Digest, until: f64) -> bool {
        let (shard, key, place) = self.locate(content_hash);
        shard.until(&key, place).is_some_and(|held| held >= until)
    }

    pub(super) fn announce(&self, content_hash: &Digest, announced: Announced<'_>, may_add: bool) -> (Recorded, f64) {
        let (shard, key, place) = self.locate(content_hash);
        shard.record((&key, place), announced, may_add, |key| self.place(key).1)
    }

    fn default_until(now: Duration) -> Until {
        Until::from_unix_time(now.saturating_add(Self::DEFAULT_LIFETIME))
    }

    #[inline]
    fn locate(&self, content_hash: &Digest) -> (&Shard, Key, Place) {
        let key = shard::key(content_hash);
        let (shard, place) = self.place(&key);
        (&self.shards[shard % SHARDS], key, place)
    }

    #[inline]
    fn place(&self, key: &Key) -> (usize, Place) {
        let mut hasher = self.hasher.build_hasher();
        key.iter().for_each(|word| hasher.write_u64(*word));
        let hash = hasher.finish();
        // Three parts of the hash that have nothing in common in tables of up to 2^48 slots a shard.
        let tag = ((hash >> 50) as u8).max(1);
        ((hash >> 58) as usize, Place { start: hash as usize, tag })
    }
}

impl<C> fmt::Debug for TombstoneTable<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TombstoneTable").finish_non_exhaustive()
    }
}
