//! From JSON text to a [`Snapshot`].
//!
//! A [`Cursor`] finds what is where, in one pass, and keeps nothing of a shard but where it starts. serde_json then says
//! whether all of it was JSON: what was found counts only if it was. The order has its reason. serde_json notes each level
//! of a nested value on the heap; the cursor has seen to it that there are few.

use std::num::NonZeroU16;

use super::cursor::{Cursor, Elements, Lost, Piece};
use super::{CapturedAt, Member, NodeId, ServerCounters, Shards, Snapshot, SnapshotError, UnknownKeys};
use crate::error::{Excerpt, JsonProblem};
use crate::format::SCHEMA_VERSION;
use crate::identity::Text;
use crate::json::{check_object, fault};

const PRIMARY_MAP: &str = "shards.primary_map";
const REPLICA_MAP: &str = "shards.replica_map";

const U64: &str = "an integer from 0 to 2^64-1";
const PORT: &str = "an integer from 1 to 65535";
const BOOLEAN: &str = "true or false";
const STRING: &str = "a string";
const STRINGS: &str = "a list of strings";
const OBJECT: &str = "an object";
const LIST: &str = "a list";

pub(super) fn snapshot(json: Vec<u8>) -> Result<Snapshot, SnapshotError> {
    let text = String::from_utf8(json).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        SnapshotError::json(fault(offset, JsonProblem::InvalidUtf8))
    })?;
    let mut search = Search { cursor: Cursor::new(&text, 0), duplicate: None, problem: None };
    let found = search.snapshot();
    let Search { duplicate, problem, .. } = search;
    check_object(&text, found.is_ok()).map_err(SnapshotError::json)?;
    // Of JSON, only what is nested too deep loses the cursor, and that was just refused.
    let found = found.map_err(|Lost| SnapshotError::json(fault(0, JsonProblem::Syntax)))?;
    // What another version means by a field is not for this one to judge.
    let problem = found.wrong_version.or(problem);

    let FoundShards { primary, replica, len, unknown } = found.shards.flatten().unwrap_or_default();
    let idle = text.len() - len;
    let shards = Shards::in_text(
        text,
        primary.flatten().unwrap_or_default(),
        replica.flatten().unwrap_or_default(),
        idle,
        unknown,
    );
    let shards = shards.map_err(|same| {
        let map = if same.is_primary { PRIMARY_MAP } else { REPLICA_MAP };
        SnapshotError::duplicate(same.at, entry(map, &same.key))
    });
    if let Some(problem) = duplicate.or(shards.as_ref().err().cloned()).or(problem) {
        return Err(problem);
    }
    let missing = |field: &str, expected| SnapshotError::missing(field.into(), found.start, expected);
    if !found.has_version {
        return Err(missing("schema_version", SnapshotError::VERSION));
    }
    Ok(Snapshot {
        cluster_epoch: found.cluster_epoch.flatten().ok_or_else(|| missing("cluster_epoch", U64))?,
        captured_at: found.captured_at.flatten().ok_or_else(|| missing("captured_at", CapturedAt::DOMAIN))?,
        membership: found.membership.flatten().unwrap_or_default(),
        shards: shards?,
        server: found.server.flatten().unwrap_or_default(),
        unknown: found.unknown,
    })
}

/// For the value of a key: empty until the key was met, then what the value means, if it means anything.
type Slot<T> = Option<Option<T>>;

/// What a text holds, provided that it is JSON.
#[derive(Default)]
struct Found {
    has_version: bool,
    wrong_version: Option<SnapshotError>,
    cluster_epoch: Slot<u64>,
    captured_at: Slot<CapturedAt>,
    membership: Slot<Vec<Member>>,
    shards: Slot<FoundShards>,
    server: Slot<ServerCounters>,
    unknown: UnknownKeys,
    /// Where the outermost object starts.
    start: usize,
}

#[derive(Default)]
struct FoundShards {
    /// Where the entries of the maps start.
    primary: Slot<Vec<usize>>,
    replica: Slot<Vec<usize>>,
    /// How many bytes the two maps take.
    len: usize,
    unknown: UnknownKeys,
}

/// Goes through a text from its beginning to its end, past whatever is wrong with it.
struct Search<'a> {
    cursor: Cursor<'a>,
    /// The first key that stands a second time.
    duplicate: Option<SnapshotError>,
    /// The first field that is missing or out of its domain.
    problem: Option<SnapshotError>,
}

impl<'a> Search<'a> {
    fn snapshot(&mut self) -> Result<Found, Lost> {
        let mut found = Found::default();
        let mut version = None;
        let mut entries = self.cursor.open(b'{')?;
        found.start = self.cursor.at() - 1;
        while entries.next(&mut self.cursor)? {
            let (key, at) = self.key()?;
            let name = Text::from_checked_json(key.raw).to_cow();
            let field = || name.to_string();
            match &*name {
                "schema_version" => {
                    let value = self.cursor.value(1)?;
                    self.put(&mut version, Some(value), at, field);
                }
                "cluster_epoch" => self.put_value(&mut found.cluster_epoch, unsigned, 1, field, U64)?,
                "captured_at" => self.put_value(&mut found.captured_at, seconds, 1, field, CapturedAt::DOMAIN)?,
                "membership" => {
                    let members = self.membership()?;
                    self.put(&mut found.membership, members, at, field);
                }
                "shards" => {
                    let shards = self.shards()?;
                    self.put(&mut found.shards, shards, at, field);
                }
                "server" => {
                    let server = self.server()?;
                    self.put(&mut found.server, server, at, field);
                }
                _ => found.unknown.push(key, self.cursor.value(1)?),
            }
        }
        found.has_version = version.is_some();
        let is_wrong = |value: &Piece<'_>| unsigned(*value) != Some(SCHEMA_VERSION.into());
        found.wrong_version = version.flatten().filter(is_wrong).map(SnapshotError::version);
        Ok(found)
    }

    fn membership(&mut self) -> Result<Option<Vec<Member>>, Lost> {
        let mut members = Vec::new();
        let Some(mut elements) = self.open(b'[', 1, || "membership".into(), LIST)? else { return Ok(None) };
        for index in 0.. {
            if !elements.next(&mut self.cursor)? {
                break;
            }
            members.extend(self.member(index)?);
        }
        Ok(Some(members))
    }

    fn member(&mut self, index: usize) -> Result<Option<Member>, Lost> {
        let (mut node_id, mut host, mut port) = (None, None, None);
        let (mut cluster_epoch, mut healthy, mut suspect, mut missed_heartbeats) = (None, None, None, None);
        let mut unknown = UnknownKeys::default();
        let opened = self.open(b'{', 2, || format!("membership[{index}]"), OBJECT)?;
        let Some(mut entries) = opened else { return Ok(None) };
        let start = self.cursor.at() - 1;
        while entries.next(&mut self.cursor)? {
            let (key, _) = self.key()?;
            let name = Text::from_checked_json(key.raw).to_cow();
            let field = || format!("membership[{index}].{name}");
            match &*name {
                "node_id" => self.put_value(&mut node_id, self::node_id, 3, field, NodeId::DOMAIN)?,
                "host" => self.put_value(&mut host, string, 3, field, STRING)?,
                "port" => self.put_value(&mut port, self::port, 3, field, PORT)?,
                "cluster_epoch" => self.put_value(&mut cluster_epoch, unsigned, 3, field, U64)?,
                "healthy" => self.put_value(&mut healthy, boolean, 3, field, BOOLEAN)?,
                "suspect" => self.put_value(&mut suspect, boolean, 3, field, BOOLEAN)?,
                "missed_heartbeats" => self.put_value(&mut missed_heartbeats, unsigned, 3, field, U64)?,
                _ => unknown.push(key, self.cursor.value(3)?),
            }
        }
        let missing = [
            (node_id.is_none(), "node_id", NodeId::DOMAIN),
            (host.is_none(), "host", STRING),
            (port.is_none(), "port", PORT),
        ];
        for (_, name, expected) in missing.iter().filter(|(is_missing, ..)| *is_missing) {
            let field = format!("membership[{index}].{name}");
            self.problem.get_or_insert_with(|| SnapshotError::missing(field, start, expected));
        }
        let (Some(node_id), Some(host), Some(port)) = (node_id.flatten(), host.flatten(), port.flatten()) else {
            return Ok(None);
        };
        let member = Member::new(node_id, host, port);
        Ok(Some(Member {
            cluster_epoch: cluster_epoch.flatten().unwrap_or(member.cluster_epoch),
            healthy: healthy.flatten().unwrap_or(member.healthy),
            suspect: suspect.flatten().unwrap_or(member.suspect),
            missed_heartbeats: missed_heartbeats.flatten().unwrap_or(member.missed_heartbeats),
            unknown,
            ..member
        }))
    }

    fn shards(&mut self) -> Result<Option<FoundShards>, Lost> {
        let mut found = FoundShards::default();
        let Some(mut entries) = self.open(b'{', 1, || "shards".into(), OBJECT)? else { return Ok(None) };
        while entries.next(&mut self.cursor)? {
            let (key, at) = self.key()?;
            match &*Text::from_checked_json(key.raw).to_cow() {
                "primary_map" => {
                    let places = self.primary_map()?;
                    self.put(&mut found.primary, places, at, || PRIMARY_MAP.into());
                    found.len += self.cursor.at() - at;
                }
                "replica_map" => {
                    let places = self.replica_map()?;
                    self.put(&mut found.replica, places, at, || REPLICA_MAP.into());
                    found.len += self.cursor.at() - at;
                }
                _ => found.unknown.push(key, self.cursor.value(2)?),
            }
        }
        Ok(Some(found))
    }

    fn primary_map(&mut self) -> Result<Option<Vec<usize>>, Lost> {
        let mut places = Vec::new();
        let Some(mut entries) = self.open(b'{', 2, || PRIMARY_MAP.into(), OBJECT)? else { return Ok(None) };
        while entries.next(&mut self.cursor)? {
            self.cursor.peek();
            places.push(self.cursor.at());
            let key = self.cursor.key()?;
            if self.cursor.string().is_err() {
                self.refuse(3, || entry(PRIMARY_MAP, key.raw), STRING)?;
            }
        }
        Ok(Some(places))
    }

    fn replica_map(&mut self) -> Result<Option<Vec<usize>>, Lost> {
        let mut places = Vec::new();
        let Some(mut entries) = self.open(b'{', 2, || REPLICA_MAP.into(), OBJECT)? else { return Ok(None) };
        while entries.next(&mut self.cursor)? {
            self.cursor.peek();
            places.push(self.cursor.at());
            let key = self.cursor.key()?;
            let field = || entry(REPLICA_MAP, key.raw);
            let Some(mut nodes) = self.open(b'[', 3, field, STRINGS)? else { continue };
            while nodes.next(&mut self.cursor)? {
                if self.cursor.string().is_err() {
                    self.refuse(4, field, STRINGS)?;
                }
            }
        }
        Ok(Some(places))
    }

    fn server(&mut self) -> Result<Option<ServerCounters>, Lost> {
        let (mut request_count, mut error_count) = (None, None);
        let mut unknown = UnknownKeys::default();
        let Some(mut entries) = self.open(b'{', 1, || "server".into(), OBJECT)? else { return Ok(None) };
        while entries.next(&mut self.cursor)? {
            let (key, _) = self.key()?;
            let name = Text::from_checked_json(key.raw).to_cow();
            let field = || format!("server.{name}");
            match &*name {
                "request_count" => self.put_value(&mut request_count, unsigned, 2, field, U64)?,
                "error_count" => self.put_value(&mut error_count, unsigned, 2, field, U64)?,
                _ => unknown.push(key, self.cursor.value(2)?),
            }
        }
        Ok(Some(ServerCounters {
            request_count: request_count.flatten().unwrap_or_default(),
            error_count: error_count.flatten().unwrap_or_default(),
            unknown,
        }))
    }

    /// Takes a key; gives it, and where its value starts.
    fn key(&mut self) -> Result<(Piece<'a>, usize), Lost> {
        let key = self.cursor.key()?;
        self.cursor.peek();
        Ok((key, self.cursor.at()))
    }

    /// Takes the bracket of an object or a list, inside `depth` brackets; or another value, which is refused.
    fn open(
        &mut self,
        bracket: u8,
        depth: usize,
        field: impl FnOnce() -> String,
        expected: &str,
    ) -> Result<Option<Elements>, Lost> {
        match self.cursor.open(bracket) {
            Ok(elements) => Ok(Some(elements)),
            Err(Lost) => self.refuse(depth, field, expected).map(|()| None),
        }
    }

    /// Takes a value, inside `depth` brackets, which is not what is expected.
    fn refuse(&mut self, depth: usize, field: impl FnOnce() -> String, expected: &str) -> Result<(), Lost> {
        let value = self.cursor.value(depth)?;
        self.problem.get_or_insert_with(|| SnapshotError::domain(field(), value, expected));
        Ok(())
    }

    /// Takes a value, inside `depth` brackets, and puts into its slot what it means.
    fn put_value<T>(
        &mut self,
        slot: &mut Slot<T>,
        meaning: impl FnOnce(Piece<'a>) -> Option<T>,
        depth: usize,
        field: impl Fn() -> String,
        expected: &str,
    ) -> Result<(), Lost> {
        let value = self.cursor.value(depth)?;
        let meaning = meaning(value);
        if meaning.is_none() {
            self.problem.get_or_insert_with(|| SnapshotError::domain(field(), value, expected));
        }
        self.put(slot, meaning, value.at, field);
        Ok(())
    }

    /// Puts what was found into its slot, which must be empty.
    fn put<T>(&mut self, slot: &mut Slot<T>, found: Option<T>, at: usize, field: impl FnOnce() -> String) {
        if slot.replace(found).is_some() {
            self.duplicate.get_or_insert_with(|| SnapshotError::duplicate(at, field()));
        }
    }
}

/// The path of an entry of a map of shards.
fn entry(map: &str, raw_key: &str) -> String {
    format!("{map}[\"{}\"]", Excerpt::of(raw_key))
}

// What a value means, provided that it is JSON: other text may mean anything here.

fn unsigned(value: Piece<'_>) -> Option<u64> {
    if value.raw == "-0" { Some(0) } else { value.raw.parse().ok() }
}

fn seconds(value: Piece<'_>) -> Option<CapturedAt> {
    CapturedAt::from_unix_seconds(value.raw.parse().ok()?).ok()
}

fn boolean(value: Piece<'_>) -> Option<bool> {
    value.raw.parse().ok()
}

fn string(value: Piece<'_>) -> Option<String> {
    Text::from_json(value.raw).map(String::from)
}

fn node_id(value: Piece<'_>) -> Option<NodeId> {
    NodeId::try_from(string(value)?).ok()
}

fn port(value: Piece<'_>) -> Option<NonZeroU16> {
    unsigned(value).and_then(|port| u16::try_from(port).ok()).and_then(NonZeroU16::new)
}
