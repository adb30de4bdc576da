//! The bodies of the requests that record a tombstone and that delete a fragment (specification, section 5; contract,
//! section 5).

use serde::Serialize;

use super::{Nodes, TombstoneError, Until};
use crate::digest::Digest;
use crate::identity::Text;
use crate::json::{self, Members};

const CONTENT_HASH: &str = "64 hexadecimal characters";
const NODE_ID: &str = "a string of 1 to 250 bytes";

/// `{"content_hash", "until", "node_id"}`: a node tells another that a fragment was deleted.
///
/// All three keys are required, unknown ones are ignored, with the JSON rules of an identity (contract, section 2).
/// `content_hash` is 64 hexadecimal characters of either case; the reference takes any string, but no fragment has another
/// hash. `until` is a finite number. `node_id` is a string of 1 to 250 bytes.
///
/// ```
/// use membrane_codec::tombstone::{TombstoneRequest, TombstoneTable};
///
/// # let table = TombstoneTable::new();
/// # let body = format!(r#"{{"content_hash": "{}", "until": 1735600060.5, "node_id": "node-1"}}"#, "ab".repeat(32));
/// let request = TombstoneRequest::from_json(&body)?;
/// table.record_from_peer(request.content_hash, Some(request.until), &request.node_id)?; // within the table's limits
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TombstoneRequest {
    /// The hash of what was deleted.
    pub content_hash: Digest,
    /// Active while the time is before this.
    pub until: Until,
    /// The node that announces the deletion.
    pub node_id: String,
}

/// `{"content_hash", "node_id", "tombstone_until"?}`: a request to delete a fragment.
///
/// As [`TombstoneRequest`]; `tombstone_until` may be absent or null, and the tombstone then lasts for the default.
///
/// ```
/// use membrane_codec::tombstone::{DeleteRequest, TombstoneTable};
///
/// # let table = TombstoneTable::new();
/// # let body = format!(r#"{{"content_hash": "{}", "node_id": "node-1"}}"#, "ab".repeat(32));
/// let request = DeleteRequest::from_json(&body)?;
/// table.record_from_peer(request.content_hash, request.tombstone_until, &request.node_id)?; // before the fragment goes
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteRequest {
    /// The hash of what to delete.
    pub content_hash: Digest,
    /// The node that asks for it.
    pub node_id: String,
    /// How long the tombstone shall be active.
    pub tombstone_until: Option<Until>,
}

impl TombstoneRequest {
    /// Reads a body.
    ///
    /// # Errors
    /// `tombstone_json`: not one strict JSON object, or one of its keys twice. `tombstone_field`: one is missing or out of
    /// its domain.
    pub fn from_json(json: impl AsRef<[u8]>) -> Result<Self, TombstoneError> {
        let body = Body::read(json.as_ref(), ["content_hash", "until", "node_id"])?;
        Ok(Self {
            content_hash: body.required(0, CONTENT_HASH, content_hash)?,
            until: body.required(1, Until::DOMAIN, Until::from_json)?,
            node_id: body.required(2, NODE_ID, node_id)?,
        })
    }

    /// The body, as JSON without white space.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Body<'a> {
            content_hash: String,
            until: Until,
            node_id: &'a str,
        }
        let Self { content_hash, until, node_id } = self;
        json_of(&Body { content_hash: content_hash.to_string(), until: *until, node_id })
    }
}

impl DeleteRequest {
    /// Reads a body.
    ///
    /// # Errors
    /// As [`TombstoneRequest::from_json`].
    pub fn from_json(json: impl AsRef<[u8]>) -> Result<Self, TombstoneError> {
        let body = Body::read(json.as_ref(), ["content_hash", "node_id", "tombstone_until"])?;
        Ok(Self {
            content_hash: body.required(0, CONTENT_HASH, content_hash)?,
            node_id: body.required(1, NODE_ID, node_id)?,
            tombstone_until: body.optional(2, Until::DOMAIN, Until::from_json)?,
        })
    }

    /// The body, as JSON without white space.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Body<'a> {
            content_hash: String,
            node_id: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            tombstone_until: Option<Until>,
        }
        let Self { content_hash, node_id, tombstone_until } = self;
        json_of(&Body { content_hash: content_hash.to_string(), node_id, tombstone_until: *tombstone_until })
    }
}

/// The raw values of a body's keys.
pub(super) struct Body<'a, const N: usize> {
    json: &'a [u8],
    keys: [&'static str; N],
    raw: [Option<&'a str>; N],
}

impl<'a, const N: usize> Body<'a, N> {
    pub(super) fn read(json: &'a [u8], keys: [&'static str; N]) -> Result<Self, TombstoneError> {
        let members = json::members(json, |name| keys.iter().position(|key| *key == name), |index| index);
        let Members { raw, duplicate } = members.map_err(|fault| TombstoneError::json(&fault))?;
        match duplicate {
            None => Ok(Self { json, keys, raw }),
            Some((index, raw)) => Err(TombstoneError::duplicate(json::offset_in(json, raw), keys[index])),
        }
    }

    fn required<T>(
        &self,
        index: usize,
        expected: &'static str,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, TombstoneError> {
        self.value(index, expected, self.raw[index], read)?
            .ok_or_else(|| TombstoneError::missing(self.keys[index], expected))
    }

    /// None where it is absent or null.
    pub(super) fn optional<T>(
        &self,
        index: usize,
        expected: &'static str,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<Option<T>, TombstoneError> {
        self.value(index, expected, self.raw[index].filter(|raw| *raw != "null"), read)
    }

    fn value<T>(
        &self,
        index: usize,
        expected: &'static str,
        raw: Option<&'a str>,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<Option<T>, TombstoneError> {
        let Some(raw) = raw else { return Ok(None) };
        match read(raw) {
            Some(value) => Ok(Some(value)),
            None => Err(TombstoneError::domain(self.offset(raw), self.keys[index], raw, expected)),
        }
    }

    /// Where a piece of the body starts.
    pub(super) fn offset(&self, piece: &str) -> usize {
        json::offset_in(self.json, piece)
    }
}

// Each of these takes the raw text of a value that is valid JSON without lone surrogates.

fn content_hash(raw: &str) -> Option<Digest> {
    Text::from_json(raw)?.to_cow().parse().ok()
}

fn node_id(raw: &str) -> Option<String> {
    let node_id = String::from(Text::from_json(raw)?);
    (1..=Nodes::MAX_NAME_LEN).contains(&node_id.len()).then_some(node_id)
}

/// Numbers that are finite, strings, and maps of them: nothing that JSON cannot say.
pub(super) fn json_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("finite numbers and strings are JSON")
}
