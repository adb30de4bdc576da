//! [`Shards`]: which nodes hold what, in a form that costs little more than its JSON text.
//!
//! The entries stay JSON text, as they came or as they are written; two tables hold where each of them starts. So loading
//! copies and allocates nothing for a shard, saving copies pieces of text, and what is read of an entry is read in its place.

use std::fmt;
use std::hash::BuildHasher;
use std::io::{self, Write};

use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};

use super::UnknownKeys;
use super::cursor::{Cursor, Elements};
use crate::identity::Text;

/// Up to this many bytes of text that no entry uses are not worth being cleared away.
const IDLE_ALLOWANCE: usize = 4096;

/// The maps of shards (specification, section 4): for each hash the node that is its primary, and the nodes that hold
/// replicas. Either map may know a hash that the other does not.
///
/// Looking up costs one hash of the key and one look at the text. Setting and removing costs the same and, now and then, a
/// copy of all entries, so that what was overwritten never takes more room than what is there.
#[derive(Clone, Default)]
pub struct Shards {
    /// Checked JSON text, in which the entries of both maps lie, among other things.
    text: String,
    primary: Places,
    replica: Places,
    /// How many bytes of the text are no part of an entry, at most.
    idle: usize,
    hasher: DefaultHashBuilder,
    pub(super) unknown: UnknownKeys,
}

/// Where the entries of a map start: the quotes before their keys.
type Places = HashTable<usize>;

/// Two entries of one map have the same key: where the later one starts, and its key as it stands there.
pub(super) struct SameKey {
    pub(super) is_primary: bool,
    pub(super) at: usize,
    pub(super) key: String,
}

impl Shards {
    /// `text` is checked JSON, in which entries of the two maps start at these places; `idle` bytes of it belong to none.
    pub(super) fn in_text(
        text: String,
        primary: Vec<usize>,
        replica: Vec<usize>,
        idle: usize,
        unknown: UnknownKeys,
    ) -> Result<Self, SameKey> {
        let mut shards = Self { unknown, ..Self::default() };
        if primary.is_empty() && replica.is_empty() {
            return Ok(shards);
        }
        let same_key = |is_primary, at| {
            let key = Cursor::new(&text, at).string().map_or("", |key| key.raw);
            SameKey { is_primary, at, key: key.into() }
        };
        shards.primary = shards.table_of(&text, primary).map_err(|at| same_key(true, at))?;
        shards.replica = shards.table_of(&text, replica).map_err(|at| same_key(false, at))?;
        (shards.text, shards.idle) = (text, idle);
        Ok(shards)
    }

    fn table_of(&self, text: &str, places: Vec<usize>) -> Result<Places, usize> {
        let mut table = Places::with_capacity(places.len());
        for at in places {
            let key = key_at(text, at);
            let is_same = |&other: &usize| key_at(text, other) == key;
            match table.entry(hash(&self.hasher, key), is_same, |&at| hash(&self.hasher, key_at(text, at))) {
                Entry::Occupied(_) => return Err(at),
                Entry::Vacant(place) => _ = place.insert(at),
            }
        }
        Ok(table)
    }

    /// The node that is the primary of a hash.
    pub fn primary(&self, hash: &str) -> Option<Text<'_>> {
        self.find(&self.primary, hash).and_then(|mut cursor| string(&mut cursor))
    }

    /// The nodes that hold replicas of a hash, in their order; none when the hash is not in the map, which is not the same
    /// as being there without a node.
    pub fn replicas(&self, hash: &str) -> Option<Replicas<'_>> {
        self.find(&self.replica, hash).map(Replicas::behind_key)
    }

    /// How many hashes have a primary.
    pub fn primary_len(&self) -> usize {
        self.primary.len()
    }

    /// How many hashes are in the map of replicas.
    pub fn replica_len(&self) -> usize {
        self.replica.len()
    }

    /// Every hash that has a primary and its primary, in the order of the text: as read, then as set.
    ///
    /// Cost: a sort of as many numbers as there are hashes.
    pub fn primaries(&self) -> impl Iterator<Item = (Text<'_>, Text<'_>)> {
        let entry = |at| {
            let mut cursor = Cursor::new(&self.text, at);
            Some((key(&mut cursor)?, string(&mut cursor)?))
        };
        in_order(&self.primary).into_iter().filter_map(entry)
    }

    /// Every hash in the map of replicas and its nodes, in the order of the text: as read, then as set.
    ///
    /// Cost: a sort of as many numbers as there are hashes.
    pub fn all_replicas(&self) -> impl Iterator<Item = (Text<'_>, Replicas<'_>)> {
        let entry = |at| {
            let mut cursor = Cursor::new(&self.text, at);
            Some((key(&mut cursor)?, Replicas::behind_key(cursor)))
        };
        in_order(&self.replica).into_iter().filter_map(entry)
    }

    /// Makes a node the primary of a hash.
    pub fn set_primary(&mut self, hash: &str, node: &str) {
        let at = self.append(hash, |text| push_string(text, node));
        self.place(Map::Primary, at);
    }

    /// Says which nodes hold replicas of a hash.
    pub fn set_replicas(&mut self, hash: &str, nodes: impl IntoIterator<Item = impl AsRef<str>>) {
        let at = self.append(hash, |text| {
            let mut separator = '[';
            for node in nodes {
                text.push(separator);
                push_string(text, node.as_ref());
                separator = ',';
            }
            text.push_str(if separator == '[' { "[]" } else { "]" });
        });
        self.place(Map::Replica, at);
    }

    /// Takes the primary of a hash away; whether it had one.
    pub fn remove_primary(&mut self, hash: &str) -> bool {
        self.remove(Map::Primary, hash)
    }

    /// Takes a hash out of the map of replicas; whether it was there.
    pub fn remove_replicas(&mut self, hash: &str) -> bool {
        self.remove(Map::Replica, hash)
    }

    /// Entries of `shards` beside the two maps, whose keys have no meaning here.
    pub fn unknown(&self) -> &UnknownKeys {
        &self.unknown
    }

    /// The cursor before the value of a key.
    fn find(&self, places: &Places, wanted: &str) -> Option<Cursor<'_>> {
        let wanted = Text::from(wanted);
        let at = *places.find(hash(&self.hasher, wanted), |&at| key_at(&self.text, at) == wanted)?;
        let mut cursor = Cursor::new(&self.text, at);
        cursor.key().ok()?;
        Some(cursor)
    }

    /// Writes an entry behind all text; where it starts.
    fn append(&mut self, hash: &str, push_value: impl FnOnce(&mut String)) -> usize {
        if self.idle > IDLE_ALLOWANCE && self.idle > self.text.len() / 2 {
            self.clear_away();
        }
        let at = self.text.len();
        push_string(&mut self.text, hash);
        self.text.push(':');
        push_value(&mut self.text);
        at
    }

    /// Puts an entry that was appended into its map, in the place of the one that has the same key.
    fn place(&mut self, map: Map, at: usize) {
        let Self { text, hasher, idle, primary, replica, .. } = self;
        let key = key_at(text, at);
        let hash_of = |&at: &usize| hash(hasher, key_at(text, at));
        let places = match map {
            Map::Primary => primary,
            Map::Replica => replica,
        };
        match places.entry(hash(hasher, key), |&other| key_at(text, other) == key, hash_of) {
            Entry::Occupied(mut place) => {
                let before = std::mem::replace(place.get_mut(), at);
                *idle += entry_at(text, before).len();
            }
            Entry::Vacant(place) => _ = place.insert(at),
        }
    }

    fn remove(&mut self, map: Map, wanted: &str) -> bool {
        let Self { text, hasher, idle, primary, replica, .. } = self;
        let wanted = Text::from(wanted);
        let places = match map {
            Map::Primary => primary,
            Map::Replica => replica,
        };
        let found = places.find_entry(hash(hasher, wanted), |&at| key_at(text, at) == wanted);
        let Ok(place) = found else { return false };
        *idle += entry_at(text, place.remove().0).len();
        true
    }

    /// Copies all entries into a text that holds nothing else.
    fn clear_away(&mut self) {
        let mut text = String::with_capacity(self.text.len() - self.idle);
        for places in [&mut self.primary, &mut self.replica] {
            let mut moved = Places::with_capacity(places.len());
            for at in in_order(places) {
                let to = text.len();
                text.push_str(entry_at(&self.text, at));
                let hash_of = |at: usize| hash(&self.hasher, key_at(&text, at));
                moved.insert_unique(hash_of(to), to, |&at| hash_of(at));
            }
            *places = moved;
        }
        (self.text, self.idle) = (text, 0);
    }

    /// Writes the object.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for (name, places) in [("{\"primary_map\":{", &self.primary), ("},\"replica_map\":{", &self.replica)] {
            out.write_all(name.as_bytes())?;
            let mut separator = "";
            for at in in_order(places) {
                out.write_all(separator.as_bytes())?;
                out.write_all(entry_at(&self.text, at).as_bytes())?;
                separator = ",";
            }
        }
        out.write_all(b"}")?;
        self.unknown.write(out)?;
        out.write_all(b"}")
    }
}

#[derive(Clone, Copy)]
enum Map {
    Primary,
    Replica,
}

impl PartialEq for Shards {
    /// Whether both say the same, in whatever order and form.
    fn eq(&self, other: &Self) -> bool {
        let same_primaries = || {
            let of_other = |key: &Text<'_>| other.primary(&key.to_cow());
            self.primaries().all(|(key, node)| of_other(&key) == Some(node))
        };
        let same_replicas = || {
            let of_other = |key: &Text<'_>| other.replicas(&key.to_cow());
            self.all_replicas().all(|(key, nodes)| of_other(&key).is_some_and(|others| nodes.eq(others)))
        };
        self.primary_len() == other.primary_len()
            && self.replica_len() == other.replica_len()
            && self.unknown == other.unknown
            && same_primaries()
            && same_replicas()
    }
}

impl Eq for Shards {}

impl fmt::Debug for Shards {
    /// How many there are: a million of them would help nobody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shards")
            .field("primary_len", &self.primary_len())
            .field("replica_len", &self.replica_len())
            .field("unknown", &self.unknown)
            .finish_non_exhaustive()
    }
}

/// The nodes that hold replicas of a hash.
#[derive(Clone)]
pub struct Replicas<'a> {
    cursor: Cursor<'a>,
    elements: Option<Elements>,
}

impl<'a> Replicas<'a> {
    /// The cursor stands before a list of strings.
    fn behind_key(mut cursor: Cursor<'a>) -> Self {
        let elements = cursor.open(b'[').ok();
        Self { cursor, elements }
    }
}

impl<'a> Iterator for Replicas<'a> {
    type Item = Text<'a>;

    fn next(&mut self) -> Option<Text<'a>> {
        let next = self.elements.as_mut()?.next(&mut self.cursor);
        match next {
            Ok(true) => string(&mut self.cursor),
            Ok(false) | Err(_) => {
                self.elements = None;
                None
            }
        }
    }
}

impl fmt::Debug for Replicas<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

// The text of these was checked: each place is one where an entry starts, and each entry is whole.

fn key<'a>(cursor: &mut Cursor<'a>) -> Option<Text<'a>> {
    cursor.key().ok().map(|key| Text::from_checked_json(key.raw))
}

fn string<'a>(cursor: &mut Cursor<'a>) -> Option<Text<'a>> {
    cursor.string().ok().map(|string| Text::from_checked_json(string.raw))
}

fn key_at(text: &str, at: usize) -> Text<'_> {
    Text::from_checked_json(Cursor::new(text, at).string().map_or("", |key| key.raw))
}

fn entry_at(text: &str, at: usize) -> &str {
    let mut cursor = Cursor::new(text, at);
    let end = cursor.key().and_then(|_| cursor.value(0)).map_or(at, |_| cursor.at());
    &text[at..end]
}

fn in_order(places: &Places) -> Vec<usize> {
    let mut places: Vec<usize> = places.iter().copied().collect();
    places.sort_unstable();
    places
}

fn hash(hasher: &DefaultHashBuilder, key: Text<'_>) -> u64 {
    match key.as_unescaped() {
        Some(key) => hasher.hash_one(key),
        None => hasher.hash_one(&*key.to_cow()),
    }
}

/// Appends a string in quotes.
fn push_string(text: &mut String, string: &str) {
    // A string can always be JSON.
    text.push_str(&serde_json::to_string(string).unwrap_or_default());
}
