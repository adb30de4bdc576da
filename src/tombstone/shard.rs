//! [`Shard`]: a part of the table, with a lock for those who write and none for those who read.
//!
//! Its slots live in levels, each twice as large as the one before. Growing fills the next level and then points readers
//! to it; a reader that is still in the old one finds what was true when it came. Where most slots belong to tombstones that
//! were dropped, the level is rebuilt in place instead. Readers notice by the generation, which is odd meanwhile, and ask
//! again under the lock. So no level is ever freed or used for something else behind a reader's back, and a look-up writes
//! nothing that another thread reads.

use std::array;
use std::sync::OnceLock;

use super::slots::{DROPPED, Key, Place, Slots};
use super::{Nodes, Tombstone, Until};
use crate::digest::Digest;
use crate::sync::{Apart, AtomicU64, AtomicUsize, Mutex, Ordering, fence, lock};

/// More than memory can hold: the last level would have 2^43 slots.
const LEVELS: usize = 40;
const FIRST_CAPACITY: usize = if cfg!(loom) { 2 } else { 16 };

pub(super) struct Shard {
    /// Odd while the level is being rebuilt in place.
    generation: AtomicU64,
    level: AtomicUsize,
    levels: [OnceLock<Slots>; LEVELS],
    writer: Apart<Mutex<Writer>>,
}

/// What only those who hold the lock see.
#[derive(Default)]
struct Writer {
    /// Tombstones that were not dropped.
    len: usize,
    /// Slots that are not empty.
    used: usize,
    /// The nodes of each slot.
    nodes: Vec<Nodes>,
    /// The last one that was alone: most tombstones of a node are its own, and can share it.
    lone: Nodes,
}

/// What is to be recorded.
#[derive(Clone, Copy)]
pub(super) struct Announced<'n> {
    pub(super) until: f64,
    /// None where gossip says it.
    pub(super) node_id: Option<&'n str>,
    /// By the table's clock.
    pub(super) now: f64,
}

/// What a record did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    New,
    Extended,
    Known,
    /// It would have been new, and nothing new was wanted.
    NoRoom,
}

impl Shard {
    pub(super) fn new() -> Self {
        Self {
            generation: AtomicU64::new(0),
            level: AtomicUsize::new(0),
            levels: array::from_fn(|_| OnceLock::new()),
            writer: Apart(Mutex::new(Writer::default())),
        }
    }

    #[inline]
    fn slots(&self) -> Option<&Slots> {
        self.levels[self.level.load(Ordering::Acquire)].get()
    }

    /// The deadline of a key.
    #[inline]
    pub(super) fn until(&self, key: &Key, place: Place) -> Option<f64> {
        let before = self.generation.load(Ordering::Acquire);
        if before.is_multiple_of(2) {
            let found = self.slots()?.find(key, place);
            // What was read above was read before what is read below.
            fence(Ordering::Acquire);
            if self.generation.load(Ordering::Relaxed) == before {
                return found.map(|(_, until)| until);
            }
        }
        self.until_under_lock(*key, place)
    }

    /// Takes the key itself: a reference would make each look-up write it to memory.
    #[cold]
    #[inline(never)]
    fn until_under_lock(&self, key: Key, place: Place) -> Option<f64> {
        let _writer = lock(&self.writer.0);
        Some(self.slots()?.find(&key, place)?.1)
    }

    /// The tombstone of a key, dropped or not.
    pub(super) fn get(&self, key: &Key, place: Place) -> Option<(f64, Nodes)> {
        let writer = lock(&self.writer.0);
        let (slot, until) = self.slots()?.find(key, place)?;
        Some((until, writer.nodes[slot].clone()))
    }

    /// Records a tombstone: the larger deadline wins, the node is added. Where the one that is there is over and this one is
    /// not, another deletion begins, and the nodes of the former have no part in it: as if a sweep had come between. Gives
    /// the deadline that counts.
    pub(super) fn record(
        &self,
        (key, place): (&Key, Place),
        Announced { until, node_id, now }: Announced<'_>,
        may_add: bool,
        place_of: impl Fn(&Key) -> Place,
    ) -> (Recorded, f64) {
        let mut writer = lock(&self.writer.0);
        let found = self.slots().and_then(|slots| slots.find(key, place).map(|found| (slots, found)));
        match found {
            Some((slots, (slot, held))) if held != DROPPED => {
                if now >= held && now < until {
                    writer.nodes[slot] = writer.first_node(node_id);
                } else if let Some(node_id) = node_id {
                    writer.nodes[slot].insert(node_id);
                }
                if until > held {
                    slots.set_until(slot, until);
                    (Recorded::Extended, until)
                } else {
                    (Recorded::Known, held)
                }
            }
            _ if !may_add => (Recorded::NoRoom, until),
            Some((slots, (slot, _))) => {
                writer.start(slot, node_id);
                slots.set_until(slot, until);
                (Recorded::New, until)
            }
            None => {
                let slots = self.with_room(&mut writer, place_of);
                let slot = slots.insert(key, place, until);
                writer.used += 1;
                writer.start(slot, node_id);
                (Recorded::New, until)
            }
        }
    }

    /// The slots, one of which can be filled and still leave enough empty ones to end searches soon.
    fn with_room(&self, writer: &mut Writer, place_of: impl Fn(&Key) -> Place) -> &Slots {
        let level = self.level.load(Ordering::Relaxed);
        let Some(slots) = self.levels[level].get() else {
            return self.levels[level].get_or_init(|| {
                writer.nodes = vec![Nodes::default(); FIRST_CAPACITY];
                Slots::new(FIRST_CAPACITY)
            });
        };
        let limit = slots.capacity() * 5 / 8;
        if writer.used < limit {
            return slots;
        }
        if writer.len <= limit / 2 {
            self.rebuild(slots, writer, place_of);
            return slots;
        }
        let larger = self.levels[level + 1].get_or_init(|| Slots::new(slots.capacity() * 2));
        let mut nodes = vec![Nodes::default(); larger.capacity()];
        for (slot, key, until) in slots.iter() {
            nodes[larger.insert(&key, place_of(&key), until)] = std::mem::take(&mut writer.nodes[slot]);
        }
        (writer.nodes, writer.used) = (nodes, writer.len);
        self.level.store(level + 1, Ordering::Release);
        larger
    }

    /// Empties the slots of what was dropped.
    fn rebuild(&self, slots: &Slots, writer: &mut Writer, place_of: impl Fn(&Key) -> Place) {
        let kept: Vec<(Key, f64, Nodes)> =
            slots.iter().map(|(slot, key, until)| (key, until, std::mem::take(&mut writer.nodes[slot]))).collect();
        let generation = self.generation.load(Ordering::Relaxed);
        self.generation.store(generation + 1, Ordering::Relaxed);
        // Who sees anything of what follows sees that the generation is odd.
        fence(Ordering::Release);
        slots.clear();
        writer.used = kept.len();
        for (key, until, nodes) in kept {
            writer.nodes[slots.insert(&key, place_of(&key), until)] = nodes;
        }
        self.generation.store(generation + 2, Ordering::Release);
    }

    /// Drops the tombstone of a key, whether it is over or not.
    pub(super) fn remove(&self, key: &Key, place: Place) -> Option<(f64, Nodes)> {
        let mut writer = lock(&self.writer.0);
        let slots = self.slots()?;
        let (slot, until) = slots.find(key, place).filter(|(_, until)| *until != DROPPED)?;
        slots.set_until(slot, DROPPED);
        writer.len -= 1;
        Some((until, std::mem::take(&mut writer.nodes[slot])))
    }

    /// Drops what the clock says is over.
    pub(super) fn sweep(&self, now: f64, dropped: &mut Vec<Tombstone>) {
        let mut writer = lock(&self.writer.0);
        let Some(slots) = self.slots() else { return };
        for (slot, key, until) in slots.iter().filter(|(_, _, until)| now >= *until) {
            slots.set_until(slot, DROPPED);
            writer.len -= 1;
            let nodes = std::mem::take(&mut writer.nodes[slot]);
            dropped.push(Tombstone { content_hash: digest(&key), until: Until::from_finite(until), nodes });
        }
    }

    /// What is active at this time.
    pub(super) fn active(&self, now: f64, active: &mut Vec<(Digest, Until)>) {
        let _writer = lock(&self.writer.0);
        let Some(slots) = self.slots() else { return };
        let live = slots.iter().filter(|(_, _, until)| now < *until);
        active.extend(live.map(|(_, key, until)| (digest(&key), Until::from_finite(until))));
    }

    /// Tombstones that were not dropped.
    pub(super) fn len(&self) -> usize {
        lock(&self.writer.0).len
    }
}

impl Writer {
    /// A tombstone begins in this slot.
    fn start(&mut self, slot: usize, node_id: Option<&str>) {
        self.len += 1;
        self.nodes[slot] = self.first_node(node_id);
    }

    /// The nodes of a tombstone that begins.
    fn first_node(&mut self, node_id: Option<&str>) -> Nodes {
        let Some(node_id) = node_id else { return Nodes::default() };
        if !self.lone.contains(node_id) {
            self.lone = Nodes::only(node_id);
        }
        self.lone.clone()
    }
}

pub(super) fn key(content_hash: &Digest) -> Key {
    let (words, _) = content_hash.as_bytes().as_chunks::<8>();
    array::from_fn(|word| u64::from_le_bytes(words[word]))
}

fn digest(key: &Key) -> Digest {
    let mut bytes = [0; Digest::LEN];
    let (words, _) = bytes.as_chunks_mut::<8>();
    words.iter_mut().zip(key).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
    Digest::from_bytes(bytes)
}
