//! [`FragmentTable`]: blobs that several copies share, stored and deleted in the right order.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

#[cfg(loom)]
use foldhash::quality::FixedState as RandomState;
#[cfg(not(loom))]
use foldhash::quality::RandomState;

use super::{Deleted, MergedFragments, NotDeleted, NotStored, RefCount, Release, Stored};
use crate::digest::Digest;
use crate::sync::{Apart, Mutex, MutexGuard, lock};
use crate::tombstone::{Clock, Gossip, SystemClock, TombstoneTable, Until};

/// A power of two. More than other tables have parts: a turn lasts as long as a blob takes to be written.
const TURNS: usize = if cfg!(loom) { 1 } else { 256 };

/// The blobs of a node and the copies that share them. `K` names a copy, such as (tenant, copy). The blobs themselves are
/// the caller's: it says how one is written and erased.
///
/// # No blob is erased that somebody holds, and none returns that was deleted
///
/// Four races could do it, and each is closed by the same means: all that is done to one hash is done in turns. A
/// turn is a lock that is chosen by the hash and held until the blob is written or erased.
///
/// * A delete sees the last copy go, a store adds a copy of the blob that it finds, the delete erases it: the new copy points
///   to nothing. Here the store waits until the blob is gone, and then writes it, or is refused.
/// * A store finds no tombstone, a delete records one and removes the copies that it finds, the store adds its own: a
///   fragment lives that was deleted. Here the store is either over, and its copy goes if it is one that is deleted; or
///   it has not looked yet, and finds the tombstone.
/// * The same with a tombstone that gossip brings: [`merge`](Self::merge) waits for the store, and removes its copy.
/// * Two deletes of the last two copies each see the other's. Here one of them is last.
///
/// The order of a delete: first the tombstone, then the reference, then the blob if it was the last. When erasing fails or
/// panics, the references are there again and the tombstone stays, so the delete can be repeated. The blob is in doubt then,
/// since half of it may be gone: the next store of the hash that is not refused writes it again, whoever holds it. A store
/// writes the blob first and then adds the reference, so a write that fails leaves none.
///
/// # What goes through this table, and what does not
///
/// * Deletes of this node's own: [`delete`](Self::delete) of one copy, [`delete_all`](Self::delete_all) of all that share a
///   blob. After `delete` of one copy of several the hash has a tombstone, and the others hold the blob.
/// * Requests of peers name a hash and no copy: [`delete_for_peer`](Self::delete_for_peer), within the limits of the
///   tombstones; and their gossip, [`merge`](Self::merge). What [`tombstones`](Self::tombstones) is told past this table
///   refuses stores, and removes no copies.
/// * A copy that is evicted and not deleted: [`release`](Self::release), without a tombstone.
/// * A blob that lies on disk when the node starts: [`store`](Self::store) with a `write` that does nothing.
/// * Readers are unknown to it. Let an open file outlive its name, as Unix does, or give each reader a copy of its own.
/// * `write` and `erase` run under a lock. In asynchronous code, call from a thread that may block.
///
/// ```
/// use membrane_codec::refcount::{Deleted, FragmentTable, NotStored, Stored};
/// use membrane_codec::sha256;
///
/// let fragments = FragmentTable::<(&str, u32)>::new();
/// let hash = sha256(b"kv");
/// let write = || std::io::Result::Ok(()); // puts the bytes into the store of blobs
/// let erase = || std::io::Result::Ok(()); // takes them out
///
/// assert_eq!(fragments.store(hash, ("tenant-1", 0), write)?, Stored::Written);
/// assert_eq!(fragments.store(hash, ("tenant-2", 0), write)?, Stored::Shared);
///
/// assert_eq!(fragments.delete(hash, &("tenant-1", 0), None, "node-1", erase)?, Deleted::StillHeld);
/// let refused = fragments.store(hash, ("tenant-1", 1), write); // for 60 seconds
/// assert!(matches!(refused, Err(NotStored::Tombstone(_))));
/// assert_eq!(fragments.delete(hash, &("tenant-2", 0), None, "node-1", erase)?, Deleted::Erased);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FragmentTable<K, C = SystemClock> {
    tombstones: Arc<TombstoneTable<C>>,
    copies: RefCount<Digest, K>,
    turns: Box<[Apart<Mutex<Doubts>>]>,
    hasher: RandomState,
}

/// The hashes of a turn whose blobs are in doubt: erasing them failed.
type Doubts = HashSet<Digest, RandomState>;

impl<K: Hash + Eq + Clone> FragmentTable<K> {
    /// A table without fragments, on the system's clock.
    pub fn new() -> Self {
        Self::with_tombstones(TombstoneTable::new())
    }
}

impl<K: Hash + Eq + Clone> Default for FragmentTable<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Hash + Eq + Clone, C: Clock> FragmentTable<K, C> {
    /// A table without fragments, that asks these tombstones. They may be shared:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use membrane_codec::refcount::FragmentTable;
    /// use membrane_codec::tombstone::{Sweeper, Tombstone, TombstoneTable};
    ///
    /// let fragments = FragmentTable::<u64>::with_tombstones(TombstoneTable::new().with_max_len(100_000));
    /// let told = |dropped: Vec<Tombstone>| println!("{} tombstones are over", dropped.len());
    /// let sweeper = Sweeper::start(Arc::clone(fragments.tombstones()), Duration::from_secs(5), told)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn with_tombstones(tombstones: impl Into<Arc<TombstoneTable<C>>>) -> Self {
        let hasher = RandomState::default();
        Self {
            tombstones: tombstones.into(),
            copies: RefCount::new(),
            turns: (0..TURNS).map(|_| Apart(Mutex::new(HashSet::with_hasher(hasher.clone())))).collect(),
            hasher,
        }
    }

    /// Adds a copy, and writes the blob if nobody holds it or it is in doubt.
    ///
    /// `write` is called while this hash, and one of 256 others, waits; it must not call this table.
    ///
    /// # Errors
    /// [`NotStored::Tombstone`] while a tombstone is active, [`NotStored::Write`] when `write` fails. Then nothing changed.
    pub fn store<E>(
        &self,
        hash: Digest,
        copy: K,
        write: impl FnOnce() -> Result<(), E>,
    ) -> Result<Stored, NotStored<E>> {
        let mut doubts = self.turn(&hash);
        if let Some(until) = self.tombstones.active_until(&hash) {
            return Err(NotStored::Tombstone(until));
        }
        let must_write = !self.copies.is_active(&hash) || doubts.contains(&hash);
        if must_write {
            write().map_err(NotStored::Write)?;
            doubts.remove(&hash);
        }
        Ok(match self.copies.acquire(hash, copy) {
            _ if must_write => Stored::Written,
            true => Stored::Shared,
            false => Stored::Known,
        })
    }

    /// Deletes a copy: records the tombstone, removes the reference, and erases the blob if it was the last. `until` and
    /// `node_id` are those of [`TombstoneTable::record`].
    ///
    /// `erase` is called while this hash, and one of 256 others, waits; it must not call this table.
    ///
    /// # Errors
    /// When `erase` fails. The tombstone is recorded, the reference is as it was, the blob is in doubt.
    pub fn delete<E>(
        &self,
        hash: Digest,
        copy: &K,
        until: Option<Until>,
        node_id: &str,
        erase: impl FnOnce() -> Result<(), E>,
    ) -> Result<Deleted, E> {
        let mut doubts = self.turn(&hash);
        self.tombstones.record(hash, until, node_id);
        Ok(match self.release_in_turn(&mut doubts, hash, copy, erase)? {
            Release::Last => Deleted::Erased,
            Release::StillHeld => Deleted::StillHeld,
            Release::NotHolder => Deleted::NotHolder,
            Release::AlreadyGone => Deleted::AlreadyGone,
        })
    }

    /// Deletes all copies that share a blob, and gives them, in no order: records the tombstone, removes the references, and
    /// erases the blob if there were any. `until` and `node_id` are those of [`TombstoneTable::record`].
    ///
    /// `erase` is called while this hash, and one of 256 others, waits; it must not call this table.
    ///
    /// # Errors
    /// When `erase` fails. The tombstone is recorded, the references are as they were, the blob is in doubt.
    pub fn delete_all<E>(
        &self,
        hash: Digest,
        until: Option<Until>,
        node_id: &str,
        erase: impl FnOnce() -> Result<(), E>,
    ) -> Result<Vec<K>, E> {
        let mut doubts = self.turn(&hash);
        self.tombstones.record(hash, until, node_id);
        self.release_all_in_turn(&mut doubts, hash, erase)
    }

    /// As [`delete_all`](Self::delete_all), for a peer that asks for it: within the limits of
    /// [`TombstoneTable::record_from_peer`].
    ///
    /// # Errors
    /// [`NotDeleted::Limit`] when the limits forbid the tombstone: nothing changed. [`NotDeleted::Erase`] when `erase` fails.
    pub fn delete_for_peer<E>(
        &self,
        hash: Digest,
        until: Option<Until>,
        node_id: &str,
        erase: impl FnOnce() -> Result<(), E>,
    ) -> Result<Vec<K>, NotDeleted<E>> {
        let mut doubts = self.turn(&hash);
        self.tombstones.record_from_peer(hash, until, node_id).map_err(NotDeleted::Limit)?;
        self.release_all_in_turn(&mut doubts, hash, erase).map_err(NotDeleted::Erase)
    }

    /// Takes over what a peer says is deleted ([`TombstoneTable::merge`]), and where that is news, removes all copies and
    /// erases the blob. What is known changes nothing: the echo of a delete of one copy does not take the others.
    ///
    /// `erase` is called while the hash that it is given, and one of 256 others, waits; it must not call this table. When it
    /// panics, what follows in the gossip is not merged, and the next gossip brings it again.
    ///
    /// Cost: as `TombstoneTable::merge`. For each entry that is news it waits until the stores and deletes of that hash that
    /// go on are over.
    pub fn merge<E>(&self, gossip: &Gossip, mut erase: impl FnMut(&Digest) -> Result<(), E>) -> MergedFragments<K, E> {
        let (mut erased, mut failed) = (Vec::new(), Vec::new());
        let mut merging = self.tombstones.merging();
        for (hash, until) in gossip.iter() {
            if merging.dismisses(&hash, until) {
                continue;
            }
            let mut doubts = self.turn(&hash);
            merging.look_at_the_clock();
            if merging.dismisses(&hash, until) || !merging.take(&hash, until) {
                continue;
            }
            match self.release_all_in_turn(&mut doubts, hash, || erase(&hash)) {
                Ok(copies) if copies.is_empty() => {}
                Ok(copies) => erased.push((hash, copies)),
                Err(error) => failed.push((hash, error)),
            }
        }
        MergedFragments { tombstones: merging.merged(), erased, failed }
    }

    /// Removes a copy without a tombstone, and erases the blob if it was the last: for what a node evicts to make room, and
    /// may store again.
    ///
    /// `erase` is called while this hash, and one of 256 others, waits; it must not call this table.
    ///
    /// # Errors
    /// When `erase` fails. The reference is as it was, the blob is in doubt.
    pub fn release<E>(&self, hash: Digest, copy: &K, erase: impl FnOnce() -> Result<(), E>) -> Result<Release, E> {
        let mut doubts = self.turn(&hash);
        self.release_in_turn(&mut doubts, hash, copy, erase)
    }

    /// The tombstones: to gossip them, to sweep them, to ask for them.
    pub const fn tombstones(&self) -> &Arc<TombstoneTable<C>> {
        &self.tombstones
    }

    /// The copies that share a blob, in no order.
    pub fn copies(&self, hash: &Digest) -> Vec<K> {
        self.copies.holders(hash)
    }

    /// Whether any copy holds the blob.
    pub fn holds(&self, hash: &Digest) -> bool {
        self.copies.is_active(hash)
    }

    /// How many blobs are held.
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// Whether no blob is held.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    fn release_in_turn<E>(
        &self,
        doubts: &mut Doubts,
        hash: Digest,
        copy: &K,
        erase: impl FnOnce() -> Result<(), E>,
    ) -> Result<Release, E> {
        let released = self.copies.release_outcome(&hash, copy);
        if released == Release::Last {
            self.erase_in_turn(doubts, hash, std::slice::from_ref(copy), erase)?;
        }
        Ok(released)
    }

    fn release_all_in_turn<E>(
        &self,
        doubts: &mut Doubts,
        hash: Digest,
        erase: impl FnOnce() -> Result<(), E>,
    ) -> Result<Vec<K>, E> {
        let copies = self.copies.forget(&hash);
        if !copies.is_empty() {
            self.erase_in_turn(doubts, hash, &copies, erase)?;
        }
        Ok(copies)
    }

    /// Erases the blob whose last copies just went.
    fn erase_in_turn<E>(
        &self,
        doubts: &mut Doubts,
        hash: Digest,
        gone: &[K],
        erase: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        // Until it is known how it ends.
        doubts.insert(hash);
        let restore = Restore { copies: &self.copies, hash, gone };
        erase()?;
        std::mem::forget(restore);
        doubts.remove(&hash);
        Ok(())
    }

    fn turn(&self, hash: &Digest) -> MutexGuard<'_, Doubts> {
        let top = self.hasher.hash_one(hash) >> 56;
        lock(&self.turns[top as usize % TURNS].0)
    }
}

/// Puts references back when the blob was not erased.
struct Restore<'a, K: Hash + Eq + Clone> {
    copies: &'a RefCount<Digest, K>,
    hash: Digest,
    gone: &'a [K],
}

impl<K: Hash + Eq + Clone> Drop for Restore<'_, K> {
    fn drop(&mut self) {
        self.gone.iter().for_each(|copy| _ = self.copies.acquire(self.hash, copy.clone()));
    }
}

impl<K, C> fmt::Debug for FragmentTable<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FragmentTable").finish_non_exhaustive()
    }
}
