//! What `verify` tells: a line per failure and a summary for people, or JSON Lines for programs.

mod json;
mod text;
mod totals;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstream::AutoStream;
use membrane_codec::scrub::{FrameClaims, ScrubSummary};
use membrane_codec::{Digest, Error, PayloadHash};

use super::manifest::Entry;
use crate::args::Reports;
use crate::outcome::Outcome;

pub(crate) use self::text::{notes, nothing_to_verify};
pub(crate) use self::totals::Totals;

/// One frame and what was found.
pub(crate) struct Report {
    pub(crate) path: PathBuf,
    /// Where the frame begins, in a file that may hold several.
    pub(crate) offset: Option<u64>,
    pub(crate) verdict: Verdict,
    /// Known once the identity was read.
    pub(crate) claims: Option<Claims>,
    /// Bytes that were read for the verdict.
    pub(crate) bytes: u64,
    pub(crate) changed_while_read: bool,
    pub(crate) quarantine: Quarantined,
}

pub(crate) enum Verdict {
    /// Sound by the contract; findings are what was asked for beyond it.
    Sound {
        findings: Vec<Finding>,
    },
    Damaged(Error),
    Unreadable(String),
}

impl Verdict {
    pub(crate) fn status(&self) -> &'static str {
        match self {
            Self::Sound { .. } => "ok",
            Self::Damaged(error) => error.class().as_str(),
            Self::Unreadable(_) => "io_error",
        }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Sound { findings } if findings.is_empty() => Outcome::AllWell,
            Self::Sound { .. } | Self::Damaged(_) => Outcome::Damage,
            Self::Unreadable(_) => Outcome::Unreadable,
        }
    }

    /// The codes of what failed.
    pub(crate) fn reasons(&self) -> Vec<&'static str> {
        match self {
            Self::Sound { findings } => findings.iter().map(|finding| finding.code).collect(),
            Self::Damaged(error) => vec![error.reason().as_str()],
            Self::Unreadable(_) => Vec::new(),
        }
    }

    /// What failed, in words; nothing when all is well.
    pub(crate) fn detail(&self) -> Option<String> {
        match self {
            Self::Sound { findings } if findings.is_empty() => None,
            Self::Sound { findings } => {
                Some(findings.iter().map(|finding| finding.detail.as_str()).collect::<Vec<_>>().join("; "))
            }
            Self::Damaged(error) => Some(error.to_string()),
            Self::Unreadable(error) => Some(error.clone()),
        }
    }
}

/// What became of the file.
pub(crate) enum Quarantined {
    NotAsked,
    Moved(PathBuf),
    /// It stays where it is.
    Failed(String),
}

/// Something beyond the contract that does not hold.
pub(crate) struct Finding {
    pub(crate) code: &'static str,
    pub(crate) detail: String,
}

impl Finding {
    pub(crate) fn not_named_by_key() -> Self {
        Self { code: "key_mismatch", detail: "key_mismatch: the file's name is not a key".into() }
    }

    pub(crate) fn not_in_manifest() -> Self {
        Self { code: "not_in_manifest", detail: "not_in_manifest: the manifest does not list the file's name".into() }
    }

    /// What each code means and what to do, for those that the library and this program give.
    pub(crate) fn advice(code: &str) -> &'static str {
        match code {
            "payload_hash_mismatch" => {
                "The identity names another payload: restore the frame, unless its producer hashes other bytes."
            }
            "key_mismatch" => "The frame lies under another's key and would be served for it: restore it.",
            "fingerprint_mismatch" => "The identity is not the one that the manifest lists: restore the frame.",
            "not_in_manifest" => {
                "The manifest does not list this frame: find out whose it is, and bring the manifest up to date."
            }
            _ => "Restore the frame.",
        }
    }
}

impl From<membrane_codec::Finding> for Finding {
    fn from(finding: membrane_codec::Finding) -> Self {
        Self { code: finding.as_str(), detail: finding.to_string() }
    }
}

/// What a frame says of itself.
pub(crate) struct Claims {
    pub(crate) payload_len: u64,
    pub(crate) payload_hash: PayloadHash,
    pub(crate) fingerprint: Digest,
}

impl From<FrameClaims<'_>> for Claims {
    fn from(claims: FrameClaims<'_>) -> Self {
        let (payload_len, identity) = (claims.payload_len, claims.identity);
        Self { payload_len, payload_hash: identity.payload_hash(), fingerprint: identity.fingerprint() }
    }
}

/// How much is told of each frame.
#[derive(Clone, Copy)]
struct Manner {
    json: bool,
    verbose: bool,
    quiet: bool,
}

/// Prints reports as they come, from any thread, and the summary at the end.
pub(crate) struct Reporter {
    manner: Manner,
    shared: Mutex<Shared>,
}

struct Shared {
    out: BufWriter<Box<dyn Write + Send>>,
    totals: Totals,
}

impl Reporter {
    /// `totals` says what will be counted.
    pub(crate) fn new(args: &Reports, totals: Totals) -> Self {
        // What JSON holds goes out as it is.
        let stdout: Box<dyn Write + Send> =
            if args.json { Box::new(io::stdout()) } else { Box::new(AutoStream::auto(io::stdout())) };
        let out = BufWriter::new(stdout);
        let manner = Manner { json: args.json, verbose: args.verbose, quiet: args.quiet };
        Self { manner, shared: Mutex::new(Shared { out, totals }) }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a frame in which all is well gets a line.
    pub(crate) fn tells_of_sound_frames(&self) -> bool {
        self.manner.json || self.manner.verbose
    }

    /// Counts a frame in which all is well and which gets no line.
    pub(crate) fn count_sound(&self, bytes: u64) {
        self.lock().totals.add_sound(bytes);
    }

    /// Counts a report; prints it, where it is to be printed. `make_way` is called around the printing.
    pub(crate) fn take(&self, report: &Report, make_way: impl FnOnce(&mut dyn FnMut())) -> io::Result<()> {
        let failed = report.verdict.outcome() > Outcome::AllWell;
        let line = match self.manner {
            Manner { json: true, .. } => json::line(report)?,
            Manner { verbose: true, .. } => text::line(report),
            _ if failed => text::line(report),
            _ => String::new(),
        };
        let mut shared = self.lock();
        shared.totals.add(report);
        if line.is_empty() {
            return Ok(());
        }
        let mut printed = shared.out.write_all(line.as_bytes());
        // A failure is worth knowing at once.
        if failed && printed.is_ok() {
            make_way(&mut || printed = shared.out.flush());
        }
        printed
    }

    /// Prints what was taken and waits to be printed.
    pub(crate) fn flush(&self, make_way: impl FnOnce(&mut dyn FnMut())) -> io::Result<()> {
        let mut shared = self.lock();
        if shared.out.buffer().is_empty() {
            return Ok(());
        }
        let mut printed = Ok(());
        make_way(&mut || printed = shared.out.flush());
        printed
    }

    pub(crate) fn count_vanished(&self) {
        self.lock().totals.add_vanished();
    }

    /// Counts a key of a manifest that was not found, and prints it.
    pub(crate) fn take_missing(&self, entry: &Entry) -> io::Result<()> {
        let line = if self.manner.json { json::missing(entry)? } else { text::missing(entry) };
        let mut shared = self.lock();
        shared.totals.add_missing();
        shared.out.write_all(line.as_bytes())
    }

    /// Prints the summary; what the run comes to, and whether it could be printed.
    pub(crate) fn finish(self, end: &End) -> (Totals, io::Result<()>) {
        let Shared { mut out, mut totals } = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        totals.end(end);
        let summary = match self.manner {
            Manner { quiet: true, .. } => Ok(String::new()),
            Manner { json: true, .. } => json::summary(&totals),
            Manner { verbose, .. } => Ok(text::summary(&totals, end, verbose)),
        };
        let printed = summary.map_err(io::Error::from).and_then(|summary| {
            out.write_all(summary.as_bytes())?;
            out.flush()
        });
        (totals, printed)
    }
}

/// How a run ended.
pub(crate) struct End {
    pub(crate) scrub: ScrubSummary,
    pub(crate) verified_before: Option<u64>,
    pub(crate) seed: Option<u64>,
    pub(crate) not_judged: u64,
    pub(crate) seconds: f64,
    pub(crate) interrupted: bool,
}
