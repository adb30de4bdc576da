//! [`RefCount`]: the holders of each hash.

use std::borrow::Borrow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, Hash};

#[cfg(loom)]
use foldhash::quality::FixedState as RandomState;
#[cfg(not(loom))]
use foldhash::quality::RandomState;

use crate::sync::{Apart, Mutex, MutexGuard, lock};

/// A power of two.
const SHARDS: usize = if cfg!(loom) { 1 } else { 64 };

/// The holders of each hash, for any number of threads: `H` names what is held, `N` who holds it.
///
/// What was recorded is exact after each call; two calls on one hash never overlap. A hash that nobody holds leaves its
/// place to others; as a [`HashMap`], the table keeps the memory that it once needed.
///
/// `H` and `N` are hashed, compared, cloned and dropped under the lock of the hash's part: none of that may call this
/// table. When one of them panics in it, nothing was changed.
///
/// ```
/// use membrane_codec::refcount::RefCount;
///
/// let held = RefCount::<String, String>::new();
/// held.acquire("hash1".into(), "node-1".into());
/// held.acquire("hash1".into(), "node-2".into());
/// assert!(!held.release("hash1", "node-1"));
/// assert!(held.release("hash1", "node-2")); // the last one: the caller may delete
/// assert!(held.release("hash1", "node-2")); // already gone
/// ```
pub struct RefCount<H, N> {
    shards: Box<[Shard<H, N>]>,
    hasher: RandomState,
}

type Holders<H, N> = HashMap<H, HashSet<N, RandomState>, RandomState>;
type Shard<H, N> = Apart<Mutex<Holders<H, N>>>;

/// What a release found and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Release {
    /// The last holder let go. Said once for each time that a hash comes to be held.
    Last,
    /// Nobody held it before either.
    AlreadyGone,
    /// The holder let go, and others hold it.
    StillHeld,
    /// Others hold it, and this holder did not. Nothing changed.
    NotHolder,
}

impl Release {
    /// Whether nobody holds the hash afterwards.
    pub const fn is_gone(self) -> bool {
        matches!(self, Self::Last | Self::AlreadyGone)
    }
}

impl<H: Hash + Eq, N: Hash + Eq> RefCount<H, N> {
    /// Nobody holds anything.
    pub fn new() -> Self {
        let hasher = RandomState::default();
        let shard = |_| Apart(Mutex::new(HashMap::with_hasher(hasher.clone())));
        Self { shards: (0..SHARDS).map(shard).collect(), hasher }
    }

    /// The holder holds the hash from now on; gives whether it did not before. That says nothing of others: to act for the
    /// first holder alone takes a lock of the caller's, as [`FragmentTable`](super::FragmentTable) has.
    pub fn acquire(&self, hash: H, holder: N) -> bool {
        match self.shard(&hash).entry(hash) {
            Entry::Occupied(mut held) => held.get_mut().insert(holder),
            Entry::Vacant(free) => {
                // First the holder: if hashing it panics, no hash is left that is held by nobody.
                let mut holders = HashSet::with_hasher(self.hasher.clone());
                holders.insert(holder);
                free.insert(holders);
                true
            }
        }
    }

    /// The holder lets go of the hash; gives whether nobody holds it now, which is also so when nobody held it before
    /// ("already gone"). Where others hold it and this holder does not, nothing changes.
    ///
    /// Whoever frees something on `true` may be told so twice; [`release_outcome`](Self::release_outcome) tells the two
    /// apart. Either way somebody may acquire the hash before the caller acts: [`FragmentTable`](super::FragmentTable) shows
    /// how to rule that out.
    pub fn release<Q, M>(&self, hash: &Q, holder: &M) -> bool
    where
        H: Borrow<Q>,
        N: Borrow<M>,
        Q: Hash + Eq + ?Sized,
        M: Hash + Eq + ?Sized,
    {
        self.release_outcome(hash, holder).is_gone()
    }

    /// As [`release`](Self::release), in full.
    pub fn release_outcome<Q, M>(&self, hash: &Q, holder: &M) -> Release
    where
        H: Borrow<Q>,
        N: Borrow<M>,
        Q: Hash + Eq + ?Sized,
        M: Hash + Eq + ?Sized,
    {
        let mut shard = self.shard(hash);
        let Some(holders) = shard.get_mut(hash) else { return Release::AlreadyGone };
        if holders.len() > 1 {
            return if holders.remove(holder) { Release::StillHeld } else { Release::NotHolder };
        }
        if !holders.contains(holder) {
            return Release::NotHolder;
        }
        shard.remove(hash);
        Release::Last
    }

    /// Nobody holds the hash any more; gives who did.
    ///
    /// There is no such call for a holder: nothing is kept by holders, and finding all that one of them holds would be a pass
    /// over the whole table. Whoever needs that knows what it acquired.
    pub fn forget<Q: Hash + Eq + ?Sized>(&self, hash: &Q) -> Vec<N>
    where
        H: Borrow<Q>,
    {
        let holders = self.shard(hash).remove(hash);
        holders.map_or_else(Vec::new, |holders| holders.into_iter().collect())
    }

    /// Who holds the hash, in no order.
    pub fn holders<Q: Hash + Eq + ?Sized>(&self, hash: &Q) -> Vec<N>
    where
        H: Borrow<Q>,
        N: Clone,
    {
        self.shard(hash).get(hash).map_or_else(Vec::new, |holders| holders.iter().cloned().collect())
    }

    /// Whether anybody holds the hash.
    pub fn is_active<Q: Hash + Eq + ?Sized>(&self, hash: &Q) -> bool
    where
        H: Borrow<Q>,
    {
        self.shard(hash).contains_key(hash)
    }

    /// How many hashes are held.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(&shard.0).len()).sum()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard<Q: Hash + ?Sized>(&self, hash: &Q) -> MutexGuard<'_, Holders<H, N>> {
        // Bits from the middle: the map inside takes those at both ends.
        let middle = self.hasher.hash_one(hash) >> 40;
        lock(&self.shards[middle as usize % SHARDS].0)
    }
}

impl<H: Hash + Eq, N: Hash + Eq> Default for RefCount<H, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H, N> fmt::Debug for RefCount<H, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefCount").finish_non_exhaustive()
    }
}
