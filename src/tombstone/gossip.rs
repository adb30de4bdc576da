//! [`Gossip`]: the tombstones that one node tells another.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::body::{Body, json_of};
use super::{TombstoneError, Until};
use crate::digest::Digest;

const KEY: &str = "fragment_tombstones";

/// The tombstones that one node tells another: `{content_hash: until}`, which gossip carries under the key
/// `fragment_tombstones` (contract, section 5).
///
/// Serialized with serde it is the map alone, to be a field of whatever else the gossip says; [`to_json`](Self::to_json)
/// gives a body with nothing else.
///
/// ```
/// use membrane_codec::tombstone::Gossip;
///
/// let body = format!(r#"{{"node_id": "node-2", "fragment_tombstones": {{"{}": 1735600060}}}}"#, "ab".repeat(32));
/// let gossip = Gossip::from_json(body)?;
/// assert_eq!(gossip.len(), 1);
/// assert_eq!(gossip.to_json(), format!(r#"{{"fragment_tombstones":{{"{}":1735600060.0}}}}"#, "ab".repeat(32)));
/// # Ok::<(), membrane_codec::tombstone::TombstoneError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gossip {
    entries: Vec<(Digest, Until)>,
    refused: usize,
    first_refusal: Option<TombstoneError>,
}

impl Gossip {
    /// The most entries of one body: the reference takes no more. [`bodies`](Self::bodies) splits what is longer.
    pub const MAX_LEN: usize = 131_072;

    /// Reads a body: one JSON object by the rules of an identity (contract, section 2). Unknown keys are ignored; without
    /// `fragment_tombstones`, or where it is null, the peer has nothing to tell.
    ///
    /// An entry whose key is not 64 hexadecimal characters, or whose value is not a finite number, is left out and counted
    /// by [`refused`](Self::refused): one bad entry must not keep the good ones away, since a tombstone that is lost lets a
    /// deleted fragment return. A hash may be given twice; the later deadline wins, as in any merge.
    ///
    /// # Errors
    /// `tombstone_json`: not one strict JSON object, or `fragment_tombstones` twice. `tombstone_field`: it is not an object,
    /// or has more than [`MAX_LEN`](Self::MAX_LEN) entries.
    ///
    /// Cost: some passes over the body, 40 bytes for each entry.
    pub fn from_json(json: impl AsRef<[u8]>) -> Result<Self, TombstoneError> {
        const DOMAIN: &str = "an object of at most 131072 entries";
        let body = Body::read(json.as_ref(), [KEY])?;
        let gossip = body.optional(0, DOMAIN, |raw| {
            let mut reading = Reading { body: &body, gossip: Self::default() };
            serde_json::Deserializer::from_str(raw).deserialize_map(&mut reading).ok()?;
            Some(reading.gossip)
        })?;
        Ok(gossip.unwrap_or_default())
    }

    /// How many entries of the body were left out because they say nothing that can be true.
    pub const fn refused(&self) -> usize {
        self.refused
    }

    /// What was wrong with the first of them.
    pub const fn first_refusal(&self) -> Option<&TombstoneError> {
        self.first_refusal.as_ref()
    }

    /// Hashes and deadlines. From a body, a hash may come more than once.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Digest, Until)> {
        self.entries.iter().copied()
    }

    /// How many entries there are.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One body with all entries, as JSON without white space. No reader takes more than [`MAX_LEN`](Self::MAX_LEN) of them:
    /// for what a table has ([`TombstoneTable::active`](super::TombstoneTable::active)) take [`bodies`](Self::bodies), or
    /// [`chunks`](Self::chunks) where the map is a field of something else.
    pub fn to_json(&self) -> String {
        body_of(&self.entries)
    }

    /// Bodies of at most [`MAX_LEN`](Self::MAX_LEN) entries each, one by one; none if there are no entries.
    pub fn bodies(&self) -> impl Iterator<Item = String> {
        self.entries.chunks(Self::MAX_LEN).map(body_of)
    }

    /// The same entries, [`MAX_LEN`](Self::MAX_LEN) at most in each; none if there are no entries.
    pub fn chunks(&self) -> impl Iterator<Item = Self> {
        self.entries.chunks(Self::MAX_LEN).map(|entries| entries.iter().copied().collect())
    }

    fn refuse(&mut self, error: impl FnOnce() -> TombstoneError) {
        self.refused += 1;
        self.first_refusal.get_or_insert_with(error);
    }
}

fn body_of(entries: &[(Digest, Until)]) -> String {
    #[derive(serde::Serialize)]
    struct Body<'a> {
        fragment_tombstones: Map<'a>,
    }
    json_of(&Body { fragment_tombstones: Map(entries) })
}

struct Map<'a>(&'a [(Digest, Until)]);

impl Serialize for Map<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (content_hash, until) in self.0 {
            map.serialize_entry(&format_args!("{content_hash}"), until)?;
        }
        map.end()
    }
}

impl Serialize for Gossip {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Map(&self.entries).serialize(serializer)
    }
}

impl FromIterator<(Digest, Until)> for Gossip {
    fn from_iter<I: IntoIterator<Item = (Digest, Until)>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect(), ..Self::default() }
    }
}

struct Reading<'b, 'a> {
    body: &'b Body<'a, 1>,
    gossip: Gossip,
}

impl<'a> Visitor<'a> for &mut Reading<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let gossip = &mut self.gossip;
        while let Some(Key(key)) = map.next_key()? {
            let raw = map.next_value::<&'a RawValue>()?.get();
            if gossip.len() + gossip.refused == Gossip::MAX_LEN {
                return Err(serde::de::Error::custom("too many entries"));
            }
            let domain = |expected| {
                let field = format!("{KEY}[\"{}\"]", crate::error::Excerpt::of(&key));
                TombstoneError::domain(self.body.offset(raw), &field, raw, expected)
            };
            match (key.parse(), Until::from_json(raw)) {
                (Ok(content_hash), Some(until)) => gossip.entries.push((content_hash, until)),
                (Err(_), _) => gossip.refuse(|| domain("a key of 64 hexadecimal characters")),
                (_, None) => gossip.refuse(|| domain(Until::DOMAIN)),
            }
        }
        Ok(())
    }
}

/// A key, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
