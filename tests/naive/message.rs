//! The eleven fields of a message, read without haste.

use super::{Identity, KEYS, Value, is_payload_hash, json, string, ten_fields};

const MESSAGE_KEYS: [&str; 11] = [
    "schema_version",
    "tenant_id",
    "identity",
    "payload_ref",
    "payload_size",
    "ttl",
    "reuse_score",
    "version_id",
    "consistency",
    "hlc",
    "fingerprint_compat",
];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) tenant_id: String,
    pub(crate) identity: Identity,
    pub(crate) payload_ref: Option<String>,
    pub(crate) payload_size: u64,
    pub(crate) ttl: f64,
    pub(crate) reuse_score: f64,
    pub(crate) version_id: u64,
    pub(crate) consistency: String,
    pub(crate) hlc: u64,
    pub(crate) fingerprint_compat: String,
}

/// The message, or the reason code.
pub(crate) fn message(bytes: &[u8]) -> Result<Message, &'static str> {
    let Some(Value::Object(members)) = json(bytes) else {
        return Err("message_json");
    };
    if has_twice(&members, &MESSAGE_KEYS) {
        return Err("message_json");
    }
    let value = |key| members.iter().find(|(name, _)| name == key).map(|(_, value)| value).ok_or("message_field");
    let text = |key| value(key).and_then(|value| string(value).ok_or("message_field"));
    if !matches!(value("schema_version")?, Value::Number(number) if number == "5") {
        return Err("message_version");
    }
    let tenant_id = text("tenant_id")?;
    let length = tenant_id.chars().count();
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || ":/\\\"".contains(c);
    if length == 0 || length > 128 || tenant_id.chars().any(is_bad) {
        return Err("message_field");
    }
    let identity = match value("identity")? {
        Value::Object(members) if has_twice(members, &KEYS) => return Err("identity_json"),
        Value::Object(members) => ten_fields(members).ok_or("identity_field")?,
        _ => return Err("identity_json"),
    };
    let payload_ref = match value("payload_ref")? {
        Value::Null => None,
        other => Some(string(other).filter(|hash| is_payload_hash(hash)).ok_or("message_field")?),
    };
    let whole = |key| value(key).and_then(|value| whole(value).ok_or("message_field"));
    let number = |key| value(key).and_then(|value| number(value).ok_or("message_field"));
    let payload_size = whole("payload_size")?;
    let ttl = number("ttl")?;
    let reuse_score = Some(number("reuse_score")?).filter(|score| *score <= 1.0).ok_or("message_field")?;
    let version_id = Some(whole("version_id")?).filter(|version| *version >= 1).ok_or("message_field")?;
    let consistency = text("consistency")?;
    let hlc = whole("hlc")?;
    let fingerprint_compat = text("fingerprint_compat")?;
    if !fingerprint_compat.is_empty() && !is_payload_hash(&fingerprint_compat) {
        return Err("message_field");
    }
    Ok(Message {
        tenant_id,
        identity,
        payload_ref,
        payload_size,
        ttl,
        reuse_score,
        version_id,
        consistency,
        hlc,
        fingerprint_compat,
    })
}

fn has_twice(members: &[(String, Value)], keys: &[&str]) -> bool {
    keys.iter().any(|key| members.iter().filter(|(name, _)| name == key).count() > 1)
}

/// From 0 to 2^64-1; no fraction, no exponent.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(text) if !text.contains(['.', 'e', 'E']) => {
            text.parse::<i128>().ok().and_then(|number| number.try_into().ok())
        }
        _ => None,
    }
}

/// Finite and not negative.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(text) => text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0),
        _ => None,
    }
}
