//! [`TombstoneTable`]: the tombstones of a node.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

// Loom replays what it saw: the places in a table must be the same each time.
#[cfg(loom)]
use foldhash::quality::FixedState as RandomState;
#[cfg(not(loom))]
use foldhash::quality::RandomState;

use super::shard::{self, Recorded, Shard};
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

    /// Gossip adds no tombstones beyond this many, so that a peer cannot fill the memory; deadlines of those that are there
    /// are still extended. [`record`](Self::record) always records: a delete of one's own must not fail because of what
    /// peers say.
    ///
    /// Merges that run at the same time may each fill the room that was left.
    pub fn max_len(mut self, tombstones: usize) -> Self {
        self.max_len = tombstones;
        self
    }

    /// Gossip is not believed when its deadline is further ahead than this: a peer could have a hash refused for good. By
    /// default any finite deadline is (contract, section 5). Give it to all nodes or to none, and more than the longest
    /// lifetime in use and the largest difference between clocks.
    pub fn max_ahead(mut self, ahead: Option<Duration>) -> Self {
        self.max_ahead = ahead;
        self
    }

    /// The clock.
    pub const fn clock(&self) -> &C {
        &self.clock
    }

    /// Records that a node deleted a fragment: call it before the fragment goes. Without `until` the tombstone lasts
    /// [`DEFAULT_LIFETIME`](Self::DEFAULT_LIFETIME) from now. If there is one for this hash, the later deadline wins and the
    /// node joins its nodes. Gives the deadline that counts.
    pub fn record(&self, content_hash: Digest, until: Option<Until>, node_id: &str) -> Until {
        let default = || Until::from_unix_time(self.clock.now().saturating_add(Self::DEFAULT_LIFETIME));
        let until = until.unwrap_or_else(default).as_unix_seconds();
        let (shard, key, place) = self.locate(&content_hash);
        let (_, counts) = shard.record(&key, place, until, Some(node_id), true, |key| self.place(key).1);
        Until::from_finite(counts)
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
        let now = self.now();
        let latest = self.max_ahead.map_or(f64::INFINITY, |ahead| now + ahead.as_secs_f64());
        let mut room = self.max_len.saturating_sub(self.len());
        let mut merged = Merged::default();
        for (content_hash, until) in gossip.iter() {
            let until = until.as_unix_seconds();
            if now >= until {
                merged.expired += 1;
                continue;
            }
            if until > latest {
                merged.too_far_ahead += 1;
                continue;
            }
            let (shard, key, place) = self.locate(&content_hash);
            // Most gossip repeats what is known, which takes no lock.
            if shard.until(&key, place).is_some_and(|held| held >= until) {
                merged.known += 1;
                continue;
            }
            match shard.record(&key, place, until, None, room > 0, |key| self.place(key).1).0 {
                Recorded::New => {
                    room -= 1;
                    merged.learned += 1;
                }
                Recorded::Extended => merged.extended += 1,
                Recorded::Known => merged.known += 1,
                Recorded::NoRoom => merged.no_room += 1,
            }
        }
        merged
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

    fn now(&self) -> f64 {
        self.clock.now().as_secs_f64()
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
