//! `verify --report`: a run as one HTML page. It needs nothing beside itself, and without scripts it lacks only the
//! search and the reading of charts under the pointer, so that it can be mailed, archived, printed and read years later.
//!
//! What a store's file names and a damaged frame's bytes bring in is hostile until shown otherwise. In markup it goes
//! through [`escape::Html`] and, so that nothing of it hides or moves text, through `printable` or [`escape::legible`];
//! in the embedded JSON through [`escape::ScriptJson`]. Should all of that fail, the page's policy lets no script run
//! but the page's own, which is named by its hash, and nothing be loaded.

mod charts;
mod escape;
mod figures;
mod headline;
mod tables;
#[cfg(test)]
mod tests;

use std::io::{self, BufWriter, Write};

use membrane_codec::{Digest, ErrorClass, sha256};
use serde::Serialize;

use self::escape::{Html, ScriptJson};
use self::headline::Headline;
use crate::progress::Interval;

/// A whole run. The page holds it as JSON too, in the element `record`, for programs.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    /// When, by RFC 3339 and in UTC.
    pub(crate) started: String,
    /// How long it took.
    pub(crate) seconds: f64,
    /// Paths and options, as on the command line.
    pub(crate) asked: String,
    /// Whether a signal ended the run before all was read.
    pub(crate) interrupted: bool,
    /// One for each status; one for findings only where they were asked for.
    pub(crate) verdicts: Vec<Tally>,
    /// Keys that a manifest lists and no file has.
    pub(crate) missing: u64,
    /// Such keys in a run that could not look everywhere.
    pub(crate) not_judged: u64,
    /// Damaged files that were to go to quarantine and did not.
    pub(crate) not_quarantined: u64,
    /// Files that were not read again, being sound since an earlier run.
    pub(crate) verified_before: u64,
    /// What `verify --json` prints last, inside its `summary`.
    pub(crate) summary: serde_json::Value,
    /// What failed, findings among it; in the order of the checks. Not what could not be read: that has no code.
    pub(crate) reasons: Vec<Reason>,
    /// Throughput over time, without gaps from the start to the end, so that they add up to the totals; at most 240.
    pub(crate) rates: Vec<Interval>,
    /// At most some ten thousand, for the sake of who opens the page.
    pub(crate) failures: Vec<Failure>,
    /// How many more there were.
    pub(crate) failures_left_out: u64,
    /// Sentences or lines on what else should be known, such as `passed over: 3 temporary files`.
    pub(crate) notes: Vec<String>,
}

/// What a frame can come to: the statuses of `verify --json`, and findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Ok,
    /// Sound, but something beyond the contract does not hold. These are among the ok ones as well.
    Finding,
    SchemaError,
    CorruptPayload,
    IoError,
    /// No frame at all, but one that a manifest lists. Counted by [`Record::missing`] alone.
    Missing,
}

impl Status {
    /// What a frame that is there can come to.
    const ALL: [Self; 5] = [Self::Ok, Self::Finding, Self::SchemaError, Self::CorruptPayload, Self::IoError];

    /// The status of frames that are damaged in this class.
    pub(crate) const fn of(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Schema => Self::SchemaError,
            ErrorClass::CorruptPayload => Self::CorruptPayload,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Finding => "finding",
            Self::SchemaError => "schema_error",
            Self::CorruptPayload => "corrupt_payload",
            Self::IoError => "io_error",
            Self::Missing => "missing",
        }
    }
}

/// How much came to one status.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Tally {
    pub(crate) status: Status,
    pub(crate) frames: u64,
    /// That were read for the verdicts.
    pub(crate) bytes: u64,
}

/// A check that failed, how often, and what to do.
#[derive(Debug, Serialize)]
pub(crate) struct Reason {
    pub(crate) code: &'static str,
    pub(crate) status: Status,
    pub(crate) frames: u64,
    pub(crate) advice: &'static str,
}

/// A frame that failed, or a path that could not be read.
#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    /// As in `verify --json`: unescaped, with replacements for what is not UTF-8.
    pub(crate) path: String,
    /// The path in hexadecimal, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path_bytes: Option<String>,
    pub(crate) status: Status,
    /// The code of the check that failed, or those of the findings; none for what could not be read.
    pub(crate) reasons: Vec<&'static str>,
    pub(crate) detail: String,
}

impl Failure {
    /// A key that a manifest lists and no file has.
    pub(crate) fn missing(key: Digest) -> Self {
        Self {
            path: key.to_string(),
            path_bytes: None,
            status: Status::Missing,
            reasons: vec!["missing"],
            detail: "the manifest lists this key, and no file has it".into(),
        }
    }
}

impl Record {
    /// All zeros for a status that was not counted.
    fn tally(&self, status: Status) -> Tally {
        let found = self.verdicts.iter().find(|tally| tally.status == status);
        found.copied().unwrap_or(Tally { status, frames: 0, bytes: 0 })
    }

    fn findings_asked_for(&self) -> bool {
        self.verdicts.iter().any(|tally| tally.status == Status::Finding)
    }

    fn frames(&self) -> u64 {
        self.sum(|tally| tally.frames)
    }

    fn bytes(&self) -> u64 {
        self.sum(|tally| tally.bytes)
    }

    /// Over the statuses that exclude each other.
    fn sum(&self, number: impl Fn(&Tally) -> u64) -> u64 {
        self.verdicts.iter().filter(|tally| tally.status != Status::Finding).map(number).sum()
    }

    /// Bytes per second, of the samples that the chart shows: so it is never above the highest of them. Without samples, of
    /// the totals.
    fn mean_rate(&self) -> f64 {
        let steps = charts::steps(&self.rates);
        match steps.last() {
            Some(last) => {
                let bytes = steps.iter().map(|step| step.interval.bytes).sum();
                figures::per_second(bytes, last.interval.seconds)
            }
            None => figures::per_second(self.bytes(), self.seconds),
        }
    }

    /// Frames that failed in any way or are missing, listed or not.
    fn failed(&self) -> u64 {
        let failed = self.verdicts.iter().filter(|tally| tally.status != Status::Ok).map(|tally| tally.frames);
        self.missing + failed.sum::<u64>()
    }
}

/// What every page begins with.
pub(crate) const FIRST_BYTES: &str = "<!doctype html>\n<!-- membrane-codec verify -->\n";

const TEMPLATE: &str = include_str!("page/template.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

/// Writes the page, piece by piece.
pub(crate) fn write(record: &Record, to: &mut impl Write) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    let headline = Headline::of(record);
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        to.write_all(before.as_bytes())?;
        fill(name, record, &headline, &mut to)?;
        rest = after;
    }
    to.write_all(rest.as_bytes())?;
    to.flush()
}

/// What stands in the template's place of this name. Nothing of it is searched for places again.
fn fill(name: &str, record: &Record, headline: &Headline, to: &mut impl Write) -> io::Result<()> {
    match name {
        "style" => to.write_all(as_parsed(STYLE).as_bytes()),
        "style hash" => to.write_all(source_hash(STYLE).as_bytes()),
        "script" => to.write_all(as_parsed(SCRIPT).as_bytes()),
        "script hash" => to.write_all(source_hash(SCRIPT).as_bytes()),
        "record" => Ok(record.serialize(&mut serde_json::Serializer::with_formatter(to, ScriptJson))?),
        "version" => to.write_all(env!("CARGO_PKG_VERSION").as_bytes()),
        "mood" => to.write_all(headline.mood.as_bytes()),
        "title" => write!(to, "{}", Html(&headline.title)),
        "sentences" => headline.sentences.iter().try_for_each(|sentence| write!(to, "<li>{}</li>", Html(sentence))),
        "totals" => tables::totals(record, to),
        "run" => tables::run(record, to),
        "verdicts" => charts::verdicts(record, to),
        "reasons" => tables::reasons(record, to),
        "throughput" => charts::throughput(record, to),
        "failures" => tables::failures(record, to),
        _ => Err(io::Error::other(format!("the page's template has an unknown place, {name}"))),
    }
}

/// As a browser reads it, whatever the ends of lines in the sources that this was built from.
fn as_parsed(source: &str) -> String {
    source.replace("\r\n", "\n")
}

/// How a content security policy names a style or script.
fn source_hash(source: &str) -> String {
    format!("sha256-{}", base64(sha256(as_parsed(source).as_bytes()).as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | usize::from(group.get(at).copied().unwrap_or(0)));
        let digits = (0..4).map(|digit| char::from(DIGITS[bits >> (18 - 6 * digit) & 63]));
        text.extend(digits.take(group.len() + 1));
        text.extend(std::iter::repeat_n('=', 3 - group.len()));
    }
    text
}
