//! The bodies of tombstones, deletes and gossip, read without haste.

use super::{Value, has_twice, is_payload_hash, json, string};

/// content_hash in lower case, until, node_id.
pub(crate) fn tombstone(bytes: &[u8]) -> Result<(String, f64, String), &'static str> {
    let members = object(bytes, &["content_hash", "until", "node_id"])?;
    let body = (content_hash(&members), value(&members, "until").and_then(until), node_id(&members));
    match body {
        (Some(content_hash), Some(until), Some(node_id)) => Ok((content_hash, until, node_id)),
        _ => Err("tombstone_field"),
    }
}

/// content_hash in lower case, node_id, tombstone_until.
pub(crate) fn delete(bytes: &[u8]) -> Result<(String, String, Option<f64>), &'static str> {
    let members = object(bytes, &["content_hash", "node_id", "tombstone_until"])?;
    let tombstone_until = match value(&members, "tombstone_until") {
        None | Some(Value::Null) => None,
        Some(value) => Some(until(value).ok_or("tombstone_field")?),
    };
    match (content_hash(&members), node_id(&members)) {
        (Some(content_hash), Some(node_id)) => Ok((content_hash, node_id, tombstone_until)),
        _ => Err("tombstone_field"),
    }
}

/// Hashes in lower case and deadlines, in order; and how many entries do not say both.
pub(crate) type Gossip = (Vec<(String, f64)>, usize);

pub(crate) fn gossip(bytes: &[u8]) -> Result<Gossip, &'static str> {
    let members = object(bytes, &["fragment_tombstones"])?;
    let entries = match value(&members, "fragment_tombstones") {
        None | Some(Value::Null) => return Ok((Vec::new(), 0)),
        Some(Value::Object(entries)) if entries.len() <= 131_072 => entries,
        Some(_) => return Err("tombstone_field"),
    };
    let entry = |(key, value): &(String, Value)| is_payload_hash(key).then(|| key.to_lowercase()).zip(until(value));
    let good: Vec<_> = entries.iter().filter_map(entry).collect();
    let refused = entries.len() - good.len();
    Ok((good, refused))
}

fn object(bytes: &[u8], keys: &[&str]) -> Result<Vec<(String, Value)>, &'static str> {
    match json(bytes) {
        Some(Value::Object(members)) if !has_twice(&members, keys) => Ok(members),
        _ => Err("tombstone_json"),
    }
}

fn value<'a>(members: &'a [(String, Value)], key: &str) -> Option<&'a Value> {
    members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

fn content_hash(members: &[(String, Value)]) -> Option<String> {
    let text = string(value(members, "content_hash")?)?;
    is_payload_hash(&text).then(|| text.to_lowercase())
}

fn node_id(members: &[(String, Value)]) -> Option<String> {
    string(value(members, "node_id")?).filter(|name| (1..=250).contains(&name.len()))
}

/// Finite.
fn until(value: &Value) -> Option<f64> {
    match value {
        Value::Number(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}
