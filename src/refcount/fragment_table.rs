//! [`FragmentTable`]: blobs that several copies share, stored and deleted in the right order.

use std::fmt;
use std::hash::{BuildHasher, Hash};

#[cfg(loom)]
use foldhash::quality::FixedState as RandomState;
#[cfg(not(loom))]
use foldhash::quality::RandomState;

use super::{RefCount, Release};
use crate::digest::Digest;
use crate::sync::{Apart, Mutex, MutexGuard, lock};
use crate::tombstone::{Clock, SystemClock, TombstoneTable, Until};

/// A power of two. More than other tables have parts: a turn lasts as long as a blob takes to be written.
const TURNS: usize = if cfg!(loom) { 1 } else { 256 };

/// The blobs of a node and the copies that share them. `K` names a copy, such as (tenant, copy). The blobs themselves are
/// the caller's: it says how one is written and erased.
///
/// # No blob is erased that somebody holds, and none returns that was deleted
///
/// Three races could do it, and each is closed by the same means: all that is done to one hash is done in turns. A
/// turn is a lock that is chosen by the hash and held until the blob is written or erased.
///
/// * A delete sees the last copy go, a store adds a copy of the blob that it finds, the delete erases it: the new copy points
///   to nothing. Here the store waits until the blob is gone, and then writes it, or is refused.
/// * A store finds no tombstone, a delete records one and removes the copies that it finds, the store adds its own: a
///   fragment lives that was deleted. Here the store is either over, and its copy goes if it is the one that is deleted; or
///   it has not looked yet, and finds the tombstone.
/// * Two deletes of the last two copies each see the other's. Here one of them is last.
///
/// A tombstone that comes by gossip does not wait for turns. A store that it overtakes counts as the one before it: gossip
/// refuses stores, it removes no copies.
///
/// The order of a delete: first the tombstone, then the reference, then the blob if it was the last. When erasing fails or
/// panics, the reference is there again and the tombstone stays: nothing was lost, and the delete can be repeated. A store
/// writes the blob first and then adds the reference, so a write that fails leaves none.
///
/// ```
/// use membrane_codec::refcount::{Deleted, FragmentTable, StoreError, Stored};
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
/// assert!(matches!(refused, Err(StoreError::Tombstone(_))));
/// assert_eq!(fragments.delete(hash, &("tenant-2", 0), None, "node-1", erase)?, Deleted::Erased);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FragmentTable<K, C = SystemClock> {
    tombstones: TombstoneTable<C>,
    copies: RefCount<Digest, K>,
    turns: Box<[Apart<Mutex<()>>]>,
    hasher: RandomState,
}

/// What a store did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stored {
    /// The blob was written: nobody held it.
    Written,
    /// Others hold the blob; the copy shares it.
    Shared,
    /// This copy was there already.
    Known,
}

/// What a delete did, beside the tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deleted {
    /// It was the last copy, and the blob was erased.
    Erased,
    /// The copy is gone; others hold the blob.
    StillHeld,
    /// Others hold the blob, and this copy was not there.
    NotHolder,
    /// There was no copy of it at all.
    AlreadyGone,
}

/// Why a store did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError<E> {
    /// The fragment was deleted: refused until then.
    Tombstone(Until),
    /// Writing the blob failed.
    Write(E),
}

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
    /// A table without fragments, that asks these tombstones.
    pub fn with_tombstones(tombstones: TombstoneTable<C>) -> Self {
        Self {
            tombstones,
            copies: RefCount::new(),
            turns: (0..TURNS).map(|_| Apart(Mutex::new(()))).collect(),
            hasher: RandomState::default(),
        }
    }

    /// Adds a copy, and writes the blob if nobody holds it.
    ///
    /// `write` is called while this hash, and one of 256 others, waits; it must not call this table.
    ///
    /// # Errors
    /// [`StoreError::Tombstone`] while a tombstone is active, [`StoreError::Write`] when `write` fails. Then nothing changed.
    pub fn store<E>(
        &self,
        hash: Digest,
        copy: K,
        write: impl FnOnce() -> Result<(), E>,
    ) -> Result<Stored, StoreError<E>> {
        let _turn = self.turn(&hash);
        if let Some(until) = self.tombstones.active_until(&hash) {
            return Err(StoreError::Tombstone(until));
        }
        let is_new = !self.copies.is_active(&hash);
        if is_new {
            write().map_err(StoreError::Write)?;
        }
        Ok(match self.copies.acquire(hash, copy) {
            true if is_new => Stored::Written,
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
    /// When `erase` fails. The tombstone is recorded, the reference is as it was.
    pub fn delete<E>(
        &self,
        hash: Digest,
        copy: &K,
        until: Option<Until>,
        node_id: &str,
        erase: impl FnOnce() -> Result<(), E>,
    ) -> Result<Deleted, E> {
        let _turn = self.turn(&hash);
        self.tombstones.record(hash, until, node_id);
        match self.copies.release_outcome(&hash, copy) {
            Release::Last => {
                let restore = Restore { copies: &self.copies, hash, copy };
                erase()?;
                std::mem::forget(restore);
                Ok(Deleted::Erased)
            }
            Release::StillHeld => Ok(Deleted::StillHeld),
            Release::NotHolder => Ok(Deleted::NotHolder),
            Release::AlreadyGone => Ok(Deleted::AlreadyGone),
        }
    }

    /// The tombstones: to gossip, merge and sweep them.
    pub const fn tombstones(&self) -> &TombstoneTable<C> {
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

    fn turn(&self, hash: &Digest) -> MutexGuard<'_, ()> {
        let top = self.hasher.hash_one(hash) >> 56;
        lock(&self.turns[top as usize % TURNS].0)
    }
}

/// Puts a reference back when the blob was not erased.
struct Restore<'a, K: Hash + Eq + Clone> {
    copies: &'a RefCount<Digest, K>,
    hash: Digest,
    copy: &'a K,
}

impl<K: Hash + Eq + Clone> Drop for Restore<'_, K> {
    fn drop(&mut self) {
        self.copies.acquire(self.hash, self.copy.clone());
    }
}

impl<K, C> fmt::Debug for FragmentTable<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FragmentTable").finish_non_exhaustive()
    }
}

impl<E: fmt::Display> fmt::Display for StoreError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tombstone(until) => write!(f, "the fragment was deleted: stores are refused until {until}"),
            Self::Write(error) => write!(f, "the blob could not be written: {error}"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for StoreError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Tombstone(_) => None,
            Self::Write(error) => Some(error),
        }
    }
}
