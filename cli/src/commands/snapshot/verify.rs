//! `membrane-codec snapshot verify`

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use membrane_codec::snapshot::{
    CapturedAt, DirectoryWarning, NodeId, Snapshot, SnapshotStore, StateFileKind, StoreError, StoreErrorClass,
};
use serde::Serialize;

use super::date_or_seconds;
use crate::args::snapshot::VerifyArgs;
use crate::display::{BAD, GOOD, count, painted, path_bytes, printable, word};
use crate::outcome::{Failure, Outcome};

/// Said of a snapshot in words and in JSON.
const WRITABLE: &str = "others than its owner may write to it, and so change what it says: chmod go-w";

pub(super) fn run(args: &VerifyArgs) -> Result<Outcome, Failure> {
    let color = if args.json { ColorChoice::Never } else { ColorChoice::Auto };
    let mut out = BufWriter::new(AutoStream::new(io::stdout(), color));
    let mut totals = Totals::default();
    let warnings = match check(args, &mut totals, &mut out) {
        Ok(warnings) => warnings,
        Err(Stopped::Output(error)) => return Err(Failure::stdout(error)),
        Err(Stopped::Directory(error)) if args.json => {
            let verdict = Verdict::Failed(error);
            totals.unlisted = true;
            print_json(&Line::of(&args.directory, &verdict, false), &mut out).map_err(Failure::stdout)?;
            Vec::new()
        }
        Err(Stopped::Directory(error)) => {
            out.flush().map_err(Failure::stdout)?;
            return Err(Failure::trouble(&args.directory, error.problem()));
        }
    };
    let printed = if args.json {
        let warnings = warnings.iter().map(DirectoryWarning::to_string).collect();
        print_json(&SummaryLine { summary: Summary { totals: &totals, newest: totals.newest(), warnings } }, &mut out)
    } else {
        print_summary(&totals, &warnings, &args.directory, &mut out)
    };
    printed.and_then(|()| out.flush()).map_err(Failure::stdout)?;
    Ok(totals.outcome())
}

/// Why not all of the directory was gone through.
enum Stopped {
    Directory(StoreError),
    Output(io::Error),
}

/// Judges and tells of everything in the directory; gives what is to be said of the directory itself.
fn check(args: &VerifyArgs, totals: &mut Totals, out: &mut impl Write) -> Result<Vec<DirectoryWarning>, Stopped> {
    let store = SnapshotStore::open(&args.directory).map_err(Stopped::Directory)?;
    for file in store.survey().map_err(Stopped::Directory)? {
        let mut is_writable = file.is_writable_by_others;
        let verdict = match file.kind {
            StateFileKind::Snapshot(node) | StateFileKind::SymbolicLink(node) | StateFileKind::NotAFile(node) => {
                match store.load(&node) {
                    // Gone since the directory was listed.
                    Ok(None) => continue,
                    Ok(Some(snapshot)) => Verdict::Sound(node, Box::new(snapshot)),
                    Err(error) => Verdict::Failed(error),
                }
            }
            kind => {
                // Never read as a snapshot.
                is_writable = false;
                match kind {
                    StateFileKind::Temporary(node) => Verdict::Temporary(node),
                    _ => Verdict::Foreign,
                }
            }
        };
        totals.add(&verdict);
        let path = args.directory.join(file.name);
        let printed = if args.json {
            print_json(&Line::of(&path, &verdict, is_writable), out)
        } else {
            print(&path, &verdict, is_writable, out)
        };
        printed.map_err(Stopped::Output)?;
    }
    store.warnings().map_err(Stopped::Directory)
}

enum Verdict {
    Sound(NodeId, Box<Snapshot>),
    Failed(StoreError),
    /// The temporary file of this node.
    Temporary(NodeId),
    Foreign,
}

impl Verdict {
    fn status(&self) -> &'static str {
        match self {
            Self::Sound(..) => "ok",
            Self::Failed(error) => error.class().as_str(),
            Self::Temporary(_) => "temporary",
            Self::Foreign => "foreign",
        }
    }

    fn detail(&self) -> Option<String> {
        match self {
            Self::Sound(..) | Self::Foreign => None,
            Self::Failed(error) => Some(error.problem().to_string()),
            Self::Temporary(node) => Some(format!(
                "of a checkpoint that goes on, or of one that a crash ended: the next one of {} clears it away",
                word(node.as_str())
            )),
        }
    }
}

#[derive(Default, Serialize)]
struct Totals {
    snapshots: u64,
    ok: u64,
    schema_error: u64,
    io_error: u64,
    temporary: u64,
    foreign: u64,
    /// The directory could not be opened or listed.
    #[serde(skip)]
    unlisted: bool,
    #[serde(skip)]
    newest: Option<(CapturedAt, u64, NodeId)>,
}

impl Totals {
    fn add(&mut self, verdict: &Verdict) {
        let of_its_kind = match verdict {
            Verdict::Sound(node, snapshot) => {
                let age = (snapshot.captured_at, snapshot.cluster_epoch);
                if self.newest.as_ref().is_none_or(|(captured_at, epoch, _)| (*captured_at, *epoch) < age) {
                    self.newest = Some((age.0, age.1, node.clone()));
                }
                &mut self.ok
            }
            Verdict::Failed(error) if error.class() == StoreErrorClass::Schema => &mut self.schema_error,
            Verdict::Failed(_) => &mut self.io_error,
            Verdict::Temporary(_) => &mut self.temporary,
            Verdict::Foreign => &mut self.foreign,
        };
        *of_its_kind += 1;
        self.snapshots = self.ok + self.schema_error + self.io_error;
    }

    fn newest(&self) -> Option<&str> {
        self.newest.as_ref().map(|(_, _, node)| node.as_str())
    }

    fn outcome(&self) -> Outcome {
        match (self.io_error + u64::from(self.unlisted), self.schema_error) {
            (0, 0) => Outcome::AllWell,
            (0, _) => Outcome::Damage,
            _ => Outcome::Unreadable,
        }
    }
}

fn print(path: &Path, verdict: &Verdict, is_writable: bool, out: &mut impl Write) -> io::Result<()> {
    let style = match verdict {
        Verdict::Sound(..) => GOOD,
        Verdict::Failed(_) => BAD,
        Verdict::Temporary(_) | Verdict::Foreign => Style::new(),
    };
    writeln!(out, "{}  {}", painted(verdict.status(), style), printable(path))?;
    if let Verdict::Sound(_, snapshot) = verdict {
        let Snapshot { cluster_epoch, captured_at, membership, shards, .. } = &**snapshot;
        let (members, shards) = (count(membership.len() as u64, "member"), count(shards.primary_len() as u64, "shard"));
        writeln!(out, "    epoch {cluster_epoch}, captured {}: {members}, {shards}", date_or_seconds(*captured_at))?;
    }
    if let Some(detail) = verdict.detail() {
        writeln!(out, "    {detail}")?;
    }
    if is_writable {
        writeln!(out, "    {}{WRITABLE}", painted("warning", BAD))?;
    }
    Ok(())
}

fn print_summary(
    totals: &Totals,
    warnings: &[DirectoryWarning],
    directory: &Path,
    out: &mut impl Write,
) -> io::Result<()> {
    if totals.snapshots + totals.temporary + totals.foreign > 0 {
        writeln!(out)?;
    }
    writeln!(out, "{}", count(totals.snapshots, "snapshot"))?;
    for (number, status, style) in [
        (totals.ok, "ok", GOOD),
        (totals.schema_error, "schema_error", BAD),
        (totals.io_error, "io_error", BAD),
        (totals.temporary, "temporary", Style::new()),
        (totals.foreign, "foreign, which no node reads", Style::new()),
    ] {
        if number > 0 {
            writeln!(out, "{number:>9}  {style}{status}{style:#}")?;
        }
    }
    if let Some((captured_at, _, node)) = &totals.newest {
        writeln!(out, "\nnewest: {}, captured {}", word(node.as_str()), date_or_seconds(*captured_at))?;
    }
    for warning in warnings {
        writeln!(out, "\n{}  {}\n    {warning}", painted("warning", BAD), printable(directory))?;
    }
    Ok(())
}

#[derive(Default, Serialize)]
struct Line<'a> {
    path: Cow<'a, str>,
    /// The path in hexadecimal, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
    #[serde(flatten)]
    held: Option<Held>,
}

/// What a snapshot holds.
#[derive(Serialize)]
struct Held {
    cluster_epoch: u64,
    captured_at: f64,
    members: usize,
    primaries: usize,
    replicas: usize,
}

impl<'a> Line<'a> {
    fn of(path: &'a Path, verdict: &'a Verdict, is_writable: bool) -> Self {
        let empty = Self {
            path: path.to_string_lossy(),
            path_bytes: path_bytes(path),
            status: verdict.status(),
            detail: verdict.detail(),
            warning: is_writable.then_some(WRITABLE),
            ..Self::default()
        };
        match verdict {
            Verdict::Sound(_, snapshot) => Self {
                held: Some(Held {
                    cluster_epoch: snapshot.cluster_epoch,
                    captured_at: snapshot.captured_at.as_unix_seconds(),
                    members: snapshot.membership.len(),
                    primaries: snapshot.shards.primary_len(),
                    replicas: snapshot.shards.replica_len(),
                }),
                ..empty
            },
            Verdict::Failed(error) => {
                Self { reason: Some(error.reason()), offset: error.offset(), field: error.field(), ..empty }
            }
            Verdict::Temporary(_) | Verdict::Foreign => empty,
        }
    }
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    summary: Summary<'a>,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    totals: &'a Totals,
    newest: Option<&'a str>,
    warnings: Vec<String>,
}

fn print_json(line: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}
