//! [`Slots`]: the array of a shard. Written under the shard's lock, read without one.
//!
//! Open addressing with linear probing. Each slot has a tag of one byte, apart from the slots, so that a hash that is absent
//! is found out in an array small enough for the caches; what is present costs one access more, to its slot. That address
//! follows from the hash and not from a tag that was read, so a processor fetches both at once and works on the next
//! look-up meanwhile.
//!
//! A slot's key is written before its tag and never again: who sees the tag sees the key. Only [`Slots::clear`] and what is
//! inserted after it break that, and readers must be kept from using what they read while it goes on.

use crate::sync::{AtomicU8, AtomicU64, Ordering};

/// A hash as four words.
pub(super) type Key = [u64; 4];

/// Where the search for a key starts, and its tag.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) start: usize,
    /// Not 0, which is the tag of an empty slot.
    pub(super) tag: u8,
}

/// The bits of a deadline that no tombstone has, since it is not finite: its slot is free for the same key again. The clock
/// is always past it.
pub(super) const DROPPED: f64 = f64::NEG_INFINITY;

pub(super) struct Slots {
    tags: Box<[AtomicU8]>,
    entries: Box<[Entry]>,
}

#[derive(Default)]
struct Entry {
    key: [AtomicU64; 4],
    until: AtomicU64,
}

impl Slots {
    /// Room for `capacity` keys, a power of two. Some must stay empty: a search ends at one.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            tags: (0..capacity).map(|_| AtomicU8::new(0)).collect(),
            entries: (0..capacity).map(|_| Entry::default()).collect(),
        }
    }

    pub(super) const fn capacity(&self) -> usize {
        self.tags.len()
    }

    /// The slot of a key and its deadline.
    #[inline]
    pub(super) fn find(&self, key: &Key, place: Place) -> Option<(usize, f64)> {
        let mask = self.tags.len() - 1;
        let mut at = place.start & mask;
        loop {
            let tag = self.tags[at].load(Ordering::Acquire);
            if tag == place.tag {
                let entry = &self.entries[at];
                // One branch for four words.
                let difference = (entry.key[0].load(Ordering::Relaxed) ^ key[0])
                    | (entry.key[1].load(Ordering::Relaxed) ^ key[1])
                    | (entry.key[2].load(Ordering::Relaxed) ^ key[2])
                    | (entry.key[3].load(Ordering::Relaxed) ^ key[3]);
                if difference == 0 {
                    return Some((at, f64::from_bits(entry.until.load(Ordering::Acquire))));
                }
            } else if tag == 0 {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    /// Puts a key that is not there into an empty slot and says which. Under the lock.
    pub(super) fn insert(&self, key: &Key, place: Place, until: f64) -> usize {
        let mask = self.tags.len() - 1;
        let mut at = place.start & mask;
        while self.tags[at].load(Ordering::Relaxed) != 0 {
            at = (at + 1) & mask;
        }
        let entry = &self.entries[at];
        for (word, value) in entry.key.iter().zip(key) {
            word.store(*value, Ordering::Relaxed);
        }
        entry.until.store(until.to_bits(), Ordering::Relaxed);
        self.tags[at].store(place.tag, Ordering::Release);
        at
    }

    /// Under the lock.
    pub(super) fn set_until(&self, slot: usize, until: f64) {
        self.entries[slot].until.store(until.to_bits(), Ordering::Release);
    }

    /// All keys that were not dropped: slot, key, deadline. Under the lock.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, Key, f64)> {
        self.tags.iter().zip(&self.entries).enumerate().filter_map(|(slot, (tag, entry))| {
            if tag.load(Ordering::Relaxed) == 0 {
                return None;
            }
            let until = f64::from_bits(entry.until.load(Ordering::Relaxed));
            let key = || entry.key.each_ref().map(|word| word.load(Ordering::Relaxed));
            (until != DROPPED).then(|| (slot, key(), until))
        })
    }

    /// Empties every slot. Under the lock, and only where readers are told.
    pub(super) fn clear(&self) {
        self.tags.iter().for_each(|tag| tag.store(0, Ordering::Relaxed));
    }
}
