//! `membrane-codec snapshot show`

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::path::Path;

use membrane_codec::Text;
use membrane_codec::snapshot::{Member, Snapshot, SnapshotError, UnknownKeys};
use serde::Serialize;

use super::date;
use crate::args::snapshot::ShowArgs;
use crate::display::{path_bytes, printable, word};
use crate::input::Input;
use crate::outcome::{Failure, Outcome};

pub(super) fn run(args: &ShowArgs) -> Result<Outcome, Failure> {
    let json = match read(&args.path) {
        Ok(json) => json,
        Err(error) if args.json => {
            let line = UnreadLine {
                path: args.path.to_string_lossy(),
                path_bytes: path_bytes(&args.path),
                status: "io_error",
                reason: "io",
                detail: error.to_string(),
            };
            return print_line(&line, io::stdout().lock()).map(|()| Outcome::Unreadable).map_err(Failure::stdout);
        }
        Err(error) => return Err(Failure::trouble(&args.path, error)),
    };
    let snapshot = Snapshot::from_json(json);
    let mut out = io::BufWriter::new(io::stdout().lock());
    let printed = match (&snapshot, args.json) {
        (Err(error), false) => {
            return Err(Failure::damage(&args.path, format!("{error}\n  {}", error.reason().advice())));
        }
        (Ok(snapshot), false) => print(snapshot, &printable(&args.path), &mut out),
        (snapshot, true) => {
            let line = Line {
                path: args.path.to_string_lossy(),
                path_bytes: path_bytes(&args.path),
                damage: snapshot.as_ref().err().map(Damage::from),
                shown: snapshot.as_ref().ok().map(Shown::from),
                status: if snapshot.is_ok() { "ok" } else { "schema_error" },
            };
            print_line(&line, &mut out)
        }
    };
    printed.and_then(|()| out.flush()).map_err(Failure::stdout)?;
    Ok(if snapshot.is_ok() { Outcome::AllWell } else { Outcome::Damage })
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let input = Input::open(path)?;
    let len = input.len();
    Snapshot::read_json(input, len, Snapshot::DEFAULT_MAX_LEN)
}

fn print_line(line: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut out, line)?;
    out.write_all(b"\n")
}

/// What could not be read.
#[derive(Serialize)]
struct UnreadLine<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    status: &'static str,
    reason: &'static str,
    detail: String,
}

#[derive(Serialize)]
struct Line<'a> {
    path: Cow<'a, str>,
    /// The path in hexadecimal, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    status: &'static str,
    #[serde(flatten)]
    damage: Option<Damage<'a>>,
    #[serde(flatten)]
    shown: Option<Shown<'a>>,
}

#[derive(Serialize)]
struct Damage<'a> {
    reason: &'static str,
    detail: String,
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
}

impl<'a> From<&'a SnapshotError> for Damage<'a> {
    fn from(error: &'a SnapshotError) -> Self {
        Self {
            reason: error.reason().as_str(),
            detail: error.to_string(),
            offset: error.offset(),
            field: error.field(),
        }
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    cluster_epoch: u64,
    captured_at: f64,
    membership: Vec<ShownMember<'a>>,
    shards: ShownShards,
    server: ShownCounters,
    nodes: Vec<Node>,
    unknown: Vec<String>,
}

#[derive(Serialize)]
struct ShownMember<'a> {
    node_id: &'a str,
    host: &'a str,
    port: u16,
    cluster_epoch: u64,
    healthy: bool,
    suspect: bool,
    missed_heartbeats: u64,
}

#[derive(Serialize)]
struct ShownShards {
    primary_map: usize,
    replica_map: usize,
}

#[derive(Serialize)]
struct ShownCounters {
    request_count: u64,
    error_count: u64,
}

/// A node that is a member, or that shards name.
#[derive(Serialize)]
struct Node {
    node_id: String,
    is_member: bool,
    primaries: u64,
    replicas: u64,
}

impl<'a> From<&'a Snapshot> for Shown<'a> {
    fn from(snapshot: &'a Snapshot) -> Self {
        let member = |member: &'a Member| ShownMember {
            node_id: member.node_id.as_str(),
            host: &member.host,
            port: member.port.get(),
            cluster_epoch: member.cluster_epoch,
            healthy: member.healthy,
            suspect: member.suspect,
            missed_heartbeats: member.missed_heartbeats,
        };
        let shards = &snapshot.shards;
        Self {
            cluster_epoch: snapshot.cluster_epoch,
            captured_at: snapshot.captured_at.as_unix_seconds(),
            membership: snapshot.membership.iter().map(member).collect(),
            shards: ShownShards { primary_map: shards.primary_len(), replica_map: shards.replica_len() },
            server: ShownCounters {
                request_count: snapshot.server.request_count,
                error_count: snapshot.server.error_count,
            },
            nodes: nodes(snapshot).into_values().collect(),
            unknown: unknown_keys(snapshot),
        }
    }
}

/// The nodes by name, and how much each has.
fn nodes(snapshot: &Snapshot) -> BTreeMap<String, Node> {
    let mut nodes = BTreeMap::new();
    for member in &snapshot.membership {
        let node_id = member.node_id.as_str();
        nodes.insert(node_id.to_owned(), Node { node_id: node_id.into(), is_member: true, primaries: 0, replicas: 0 });
    }
    let mut count = |name: Text<'_>, of: fn(&mut Node) -> &mut u64| {
        let name = name.to_cow();
        match nodes.get_mut(&*name) {
            Some(node) => *of(node) += 1,
            None => {
                let mut node = Node { node_id: name.clone().into(), is_member: false, primaries: 0, replicas: 0 };
                *of(&mut node) += 1;
                nodes.insert(name.into(), node);
            }
        }
    };
    snapshot.shards.primaries().for_each(|(_, node)| count(node, |node| &mut node.primaries));
    snapshot.shards.all_replicas().for_each(|(_, held)| held.for_each(|node| count(node, |node| &mut node.replicas)));
    nodes
}

/// The paths of keys without a meaning.
fn unknown_keys(snapshot: &Snapshot) -> Vec<String> {
    let below = |path: &str, keys: &UnknownKeys| -> Vec<String> {
        keys.iter().map(|(key, _)| format!("{path}{key}")).collect()
    };
    let mut all = below("", snapshot.unknown());
    for (index, member) in snapshot.membership.iter().enumerate() {
        all.extend(below(&format!("membership[{index}]."), member.unknown()));
    }
    all.extend(below("shards.", snapshot.shards.unknown()));
    all.extend(below("server.", snapshot.server.unknown()));
    all
}

fn print(snapshot: &Snapshot, path: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{path}\n\nsnapshot")?;
    let mut line = |name: &str, value: &dyn Display| writeln!(out, "  {name:<20}{value}");
    line("cluster_epoch", &snapshot.cluster_epoch)?;
    let date = date(snapshot.captured_at).map(|date| format!(" ({date})")).unwrap_or_default();
    line("captured_at", &format_args!("{}{date}", snapshot.captured_at))?;
    line("request_count", &snapshot.server.request_count)?;
    line("error_count", &snapshot.server.error_count)?;
    line("primary_map", &Hashes(snapshot.shards.primary_len()))?;
    line("replica_map", &Hashes(snapshot.shards.replica_len()))?;

    let mut nodes = nodes(snapshot);
    let mut table = Table::new(["node", "address", "epoch", "state", "missed", "primaries", "replicas"]);
    for member in &snapshot.membership {
        let Member { node_id, host, port, cluster_epoch, missed_heartbeats, .. } = member;
        // Named twice, it has its shards once.
        let held = nodes.remove(node_id.as_str());
        let (primaries, replicas) = held.map_or((0, 0), |node| (node.primaries, node.replicas));
        table.add([
            word(node_id.as_str()),
            format!("{}:{port}", word(host)),
            cluster_epoch.to_string(),
            state(member).into(),
            missed_heartbeats.to_string(),
            primaries.to_string(),
            replicas.to_string(),
        ]);
    }
    for node in nodes.values() {
        let dash = || "-".to_owned();
        let (primaries, replicas) = (node.primaries.to_string(), node.replicas.to_string());
        table.add([word(&node.node_id), dash(), dash(), "no member".into(), dash(), primaries, replicas]);
    }
    if !table.is_empty() {
        writeln!(out, "\nnodes")?;
        table.print(out)?;
    }
    let unknown = unknown_keys(snapshot);
    if !unknown.is_empty() {
        writeln!(out, "\nunknown keys")?;
        unknown.iter().try_for_each(|key| writeln!(out, "  {}", word(key)))?;
    }
    Ok(())
}

fn state(member: &Member) -> &'static str {
    match (member.healthy, member.suspect) {
        (true, false) => "healthy",
        (true, true) => "suspect",
        (false, false) => "unhealthy",
        (false, true) => "unhealthy, suspect",
    }
}

/// A number of hashes.
struct Hashes(usize);

impl Display for Hashes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "hash" } else { "hashes" })
    }
}

/// Columns as wide as what is in them, up to a limit: every row is padded to the widest, and a file may hold what it likes.
struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// In characters. The longest host name and the longest name of a node that DNS knows are 253.
    const MAX_WIDTH: usize = 253;

    fn new(heads: [&str; COLUMNS]) -> Self {
        Self { rows: vec![heads.map(String::from)] }
    }

    fn add(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row.map(|cell| match cell.char_indices().nth(Self::MAX_WIDTH) {
            None => cell,
            // One character is for the mark that it was cut.
            Some(_) => cell.chars().take(Self::MAX_WIDTH - 1).chain(['\u{2026}']).collect(),
        }));
    }

    fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let mut widths = [0; COLUMNS];
        for row in &self.rows {
            widths.iter_mut().zip(row).for_each(|(width, cell)| *width = cell.chars().count().max(*width));
        }
        for row in &self.rows {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("  {cell:<width$}"));
            writeln!(out, "{}", cells.collect::<String>().trim_end())?;
        }
        Ok(())
    }
}
