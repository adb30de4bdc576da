//! Section 4 of the contract, as plainly as it can be said.

use super::{Value, json};

/// What a snapshot says. Maps keep the order of the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) cluster_epoch: u64,
    pub(crate) captured_at: f64,
    pub(crate) membership: Vec<Member>,
    pub(crate) primary_map: Vec<(String, String)>,
    pub(crate) replica_map: Vec<(String, Vec<String>)>,
    pub(crate) request_count: u64,
    pub(crate) error_count: u64,
    /// Keys without a meaning, in the outermost object, in `shards` and in `server`.
    pub(crate) unknown: [Vec<(String, Value)>; 3],
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) node_id: String,
    pub(crate) host: String,
    pub(crate) port: u64,
    pub(crate) cluster_epoch: u64,
    pub(crate) healthy: bool,
    pub(crate) suspect: bool,
    pub(crate) missed_heartbeats: u64,
    pub(crate) unknown: Vec<(String, Value)>,
}

type Members = Vec<(String, Value)>;

const SNAPSHOT: &[&str] = &["schema_version", "cluster_epoch", "captured_at", "membership", "shards", "server"];
const MEMBER: &[&str] = &["node_id", "host", "port", "cluster_epoch", "healthy", "suspect", "missed_heartbeats"];
const SHARDS: &[&str] = &["primary_map", "replica_map"];
const SERVER: &[&str] = &["request_count", "error_count"];

/// The snapshot, or the reason code.
pub(crate) fn snapshot(bytes: &[u8]) -> Result<Snapshot, &'static str> {
    let Some(Value::Object(members)) = json(bytes) else { return Err("snapshot_json") };
    if has_duplicates(&members) {
        return Err("snapshot_json");
    }
    match get(&members, "schema_version") {
        None => return Err("snapshot_field"),
        Some(version) if unsigned(version) != Some(5) => return Err("snapshot_version"),
        Some(_) => {}
    }
    fields(&members).ok_or("snapshot_field")
}

fn fields(members: &Members) -> Option<Snapshot> {
    let empty = Vec::new();
    let shards = optional(members, "shards", |value| object(value).cloned(), empty.clone())?;
    let server = optional(members, "server", |value| object(value).cloned(), empty)?;
    Some(Snapshot {
        cluster_epoch: unsigned(get(members, "cluster_epoch")?)?,
        captured_at: seconds(get(members, "captured_at")?)?,
        membership: optional(members, "membership", |value| list(value)?.iter().map(member).collect(), Vec::new())?,
        primary_map: optional(&shards, "primary_map", |value| map(value, string), Vec::new())?,
        replica_map: optional(&shards, "replica_map", |value| map(value, strings), Vec::new())?,
        request_count: optional(&server, "request_count", unsigned, 0)?,
        error_count: optional(&server, "error_count", unsigned, 0)?,
        unknown: [unknown(members, SNAPSHOT), unknown(&shards, SHARDS), unknown(&server, SERVER)],
    })
}

fn member(value: &Value) -> Option<Member> {
    let members = object(value)?;
    Some(Member {
        node_id: string(get(members, "node_id")?).filter(|name| is_node_id(name))?,
        host: string(get(members, "host")?)?,
        port: unsigned(get(members, "port")?).filter(|port| (1..=65535).contains(port))?,
        cluster_epoch: optional(members, "cluster_epoch", unsigned, 0)?,
        healthy: optional(members, "healthy", boolean, true)?,
        suspect: optional(members, "suspect", boolean, false)?,
        missed_heartbeats: optional(members, "missed_heartbeats", unsigned, 0)?,
        unknown: unknown(members, MEMBER),
    })
}

/// Whether a key with a meaning stands twice in its object, or any key in a map of shards.
fn has_duplicates(members: &Members) -> bool {
    let all = |key| members.iter().filter(move |(name, _)| name == key).map(|(_, value)| value);
    let in_members =
        all("membership").filter_map(list).flatten().filter_map(object).any(|member| twice(member, MEMBER));
    let in_shards = all("shards").filter_map(object).any(|shards| {
        let maps = shards.iter().filter(|(name, _)| SHARDS.contains(&name.as_str())).filter_map(|(_, map)| object(map));
        twice(shards, SHARDS) || maps.into_iter().any(|map| map.iter().any(|(key, _)| twice(map, &[key])))
    });
    let in_server = all("server").filter_map(object).any(|server| twice(server, SERVER));
    twice(members, SNAPSHOT) || in_members || in_shards || in_server
}

fn twice(members: &Members, keys: &[&str]) -> bool {
    keys.iter().any(|key| members.iter().filter(|(name, _)| name == key).count() > 1)
}

fn unknown(members: &Members, known: &[&str]) -> Members {
    members.iter().filter(|(name, _)| !known.contains(&name.as_str())).cloned().collect()
}

fn get<'a>(members: &'a Members, key: &str) -> Option<&'a Value> {
    members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// The default where there is no such key; nothing where there is one that means nothing.
fn optional<T>(members: &Members, key: &str, read: impl Fn(&Value) -> Option<T>, default: T) -> Option<T> {
    get(members, key).map_or(Some(default), read)
}

fn object(value: &Value) -> Option<&Members> {
    match value {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

fn list(value: &Value) -> Option<&Vec<Value>> {
    match value {
        Value::Array(elements) => Some(elements),
        _ => None,
    }
}

fn map<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Vec<(String, T)>> {
    object(value)?.iter().map(|(key, value)| Some((key.clone(), read(value)?))).collect()
}

fn string(value: &Value) -> Option<String> {
    super::string(value)
}

fn strings(value: &Value) -> Option<Vec<String>> {
    list(value)?.iter().map(string).collect()
}

fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        _ => None,
    }
}

/// Within u64; no fraction, no exponent; minus zero is zero.
fn unsigned(value: &Value) -> Option<u64> {
    match value {
        Value::Number(text) if text == "-0" => Some(0),
        Value::Number(text) if !text.contains(['.', 'e', 'E']) => text.parse().ok(),
        _ => None,
    }
}

fn seconds(value: &Value) -> Option<f64> {
    match value {
        Value::Number(text) => text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0),
        _ => None,
    }
}

pub(crate) fn is_node_id(name: &str) -> bool {
    let bad = |c: char| c == '/' || c == '\\' || c.is_control();
    !name.is_empty() && !name.starts_with('.') && !name.chars().any(bad) && name.len() + ".json".len() <= 255
}
