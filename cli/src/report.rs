//! What `verify` tells: a line per failure and a summary for people, or JSON Lines for programs.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use indicatif::HumanBytes;
use membrane_codec::{Digest, Error, ErrorClass, PayloadHash, Reason};
use serde::Serialize;

use crate::args::VerifyArgs;
use crate::display::{count, path_bytes, printable};
use crate::outcome::Outcome;
use crate::walk::PassedOver;

/// One frame and what was found.
pub(crate) struct Report {
    pub(crate) path: PathBuf,
    pub(crate) verdict: Verdict,
    /// Known once the identity was read.
    pub(crate) claims: Option<Claims>,
    /// Bytes that were read for the verdict.
    pub(crate) bytes: u64,
}

impl Report {
    pub(crate) fn unreadable(path: PathBuf, error: io::Error) -> Self {
        Self { path, verdict: Verdict::Unreadable(error.to_string()), claims: None, bytes: 0 }
    }
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
    fn status(&self) -> &'static str {
        match self {
            Self::Sound { .. } => "ok",
            Self::Damaged(error) => error.class().as_str(),
            Self::Unreadable(_) => "io_error",
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Sound { findings } if findings.is_empty() => Outcome::AllWell,
            Self::Sound { .. } | Self::Damaged(_) => Outcome::Damage,
            Self::Unreadable(_) => Outcome::Unreadable,
        }
    }
}

/// Something beyond the contract that does not hold.
pub(crate) struct Finding {
    code: &'static str,
    detail: String,
}

impl Finding {
    pub(crate) fn not_named_by_key() -> Self {
        Self { code: "key_mismatch", detail: "key_mismatch: the file's name is not a key".into() }
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

#[derive(Default, Serialize)]
pub(crate) struct Totals {
    pub(crate) frames: u64,
    ok: u64,
    schema_error: u64,
    corrupt_payload: u64,
    io_error: u64,
    pub(crate) bytes: u64,
    /// Frames with findings; they are among the ok ones. Present when findings were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<u64>,
}

impl Totals {
    fn add(&mut self, report: &Report) {
        self.frames += 1;
        self.bytes += report.bytes;
        match &report.verdict {
            Verdict::Sound { findings } => {
                self.ok += 1;
                if let Some(with_findings) = &mut self.findings {
                    *with_findings += u64::from(!findings.is_empty());
                }
            }
            Verdict::Damaged(error) => match error.class() {
                ErrorClass::Schema => self.schema_error += 1,
                ErrorClass::CorruptPayload => self.corrupt_payload += 1,
            },
            Verdict::Unreadable(_) => self.io_error += 1,
        }
    }

    pub(crate) fn failures(&self) -> u64 {
        self.schema_error + self.corrupt_payload + self.io_error + self.findings.unwrap_or(0)
    }
}

/// Prints reports as they come and the summary at the end.
pub(crate) struct Reporter {
    out: BufWriter<AutoStream<io::Stdout>>,
    json: bool,
    verbose: bool,
    started: Instant,
    totals: Totals,
    /// How often each reason was given, in the order of the checks.
    reasons: Vec<(Reason, u64)>,
    outcome: Outcome,
}

impl Reporter {
    pub(crate) fn new(args: &VerifyArgs) -> Self {
        let color = if args.json { ColorChoice::Never } else { ColorChoice::Auto };
        let findings = (args.check_hash || args.check_key).then_some(0);
        Self {
            out: BufWriter::new(AutoStream::new(io::stdout(), color)),
            json: args.json,
            verbose: args.verbose,
            started: Instant::now(),
            totals: Totals { findings, ..Totals::default() },
            reasons: Reason::ALL.iter().map(|reason| (*reason, 0)).collect(),
            outcome: Outcome::AllWell,
        }
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Whether this report will show at once.
    pub(crate) fn prints(&self, report: &Report) -> bool {
        self.json || self.verbose || report.verdict.outcome() > Outcome::AllWell
    }

    pub(crate) fn take(&mut self, report: &Report) -> io::Result<()> {
        self.totals.add(report);
        self.outcome = self.outcome.max(report.verdict.outcome());
        if let Verdict::Damaged(error) = &report.verdict {
            self.reasons.iter_mut().filter(|(reason, _)| *reason == error.reason()).for_each(|(_, count)| *count += 1);
        }
        if self.json {
            self.print_json(&FrameLine::from(report))?;
        } else if self.prints(report) {
            self.print_text(report)?;
        }
        // A failure is worth knowing at once.
        if report.verdict.outcome() > Outcome::AllWell { self.out.flush() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self, passed_over: &PassedOver) -> io::Result<Outcome> {
        if self.json {
            let totals = std::mem::take(&mut self.totals);
            let passed_over = (*passed_over != PassedOver::default()).then_some(passed_over);
            self.print_json(&SummaryLine { summary: Summary { totals: &totals, passed_over } })?;
        } else {
            self.print_summary(passed_over)?;
        }
        self.out.flush()?;
        Ok(self.outcome)
    }

    fn print_json(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }

    fn print_text(&mut self, report: &Report) -> io::Result<()> {
        let path = printable(&report.path);
        match &report.verdict {
            Verdict::Sound { findings } if findings.is_empty() => {
                writeln!(self.out, "{}  {path}", painted("ok", GOOD))
            }
            Verdict::Sound { findings } => findings.iter().try_for_each(|finding| {
                writeln!(self.out, "{}  {path}\n    {}", painted("finding", BAD), finding.detail)
            }),
            Verdict::Damaged(error) => {
                writeln!(self.out, "{}  {path}\n    {error}", painted(error.class().as_str(), BAD))
            }
            Verdict::Unreadable(error) => {
                writeln!(self.out, "{}  {path}\n    {error}", painted("io_error", BAD))
            }
        }
    }

    fn print_summary(&mut self, passed_over: &PassedOver) -> io::Result<()> {
        let Self { out, totals, started, .. } = self;
        if totals.failures() > 0 || self.verbose {
            writeln!(out)?;
        }
        let seconds = started.elapsed().as_secs_f64();
        let rate = HumanBytes((totals.bytes as f64 / seconds.max(1e-9)) as u64);
        writeln!(out, "{}, {} in {seconds:.2} s ({rate}/s)", count(totals.frames, "frame"), HumanBytes(totals.bytes))?;
        for (number, status, style) in [
            (totals.ok, "ok", GOOD),
            (totals.schema_error, "schema_error", BAD),
            (totals.corrupt_payload, "corrupt_payload", BAD),
            (totals.io_error, "io_error", BAD),
            (totals.findings.unwrap_or(0), "with findings, among the ok ones", BAD),
        ] {
            if number > 0 {
                writeln!(out, "{number:>9}  {style}{status}{style:#}")?;
            }
        }
        for (reason, number) in self.reasons.iter().filter(|(_, number)| *number > 0) {
            writeln!(out, "\n{number:>9}  {reason}\n           {}", reason.advice())?;
        }
        let passed: Vec<_> = [
            (passed_over.other_files, "other file"),
            (passed_over.temporary_files, "temporary file"),
            (passed_over.symlinks, "symbolic link"),
            (passed_over.special_files, "special file"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, thing)| count(number, thing))
        .collect();
        if !passed.is_empty() {
            writeln!(out, "\npassed over: {}", passed.join(", "))?;
        }
        if totals.frames == 0 {
            writeln!(
                out,
                "\nNo frames found: directories are searched for *.blob and *.frame; --all takes every file."
            )?;
        }
        Ok(())
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
    /// What directories held beside frames, when there was anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    passed_over: Option<&'a PassedOver>,
}

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// A status in a column of its own.
fn painted(status: &str, style: Style) -> String {
    format!("{style}{status:<15}{style:#}")
}

/// One frame in JSON.
#[derive(Serialize)]
struct FrameLine<'a> {
    path: std::borrow::Cow<'a, str>,
    /// The path in hexadecimal, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_len: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<&'static str>,
}

impl<'a> From<&'a Report> for FrameLine<'a> {
    fn from(report: &'a Report) -> Self {
        let (reason, detail, findings) = match &report.verdict {
            Verdict::Sound { findings } => {
                let details: Vec<_> = findings.iter().map(|finding| finding.detail.as_str()).collect();
                let detail = (!details.is_empty()).then(|| details.join("; "));
                (None, detail, findings.iter().map(|finding| finding.code).collect())
            }
            Verdict::Damaged(error) => (Some(error.reason().as_str()), Some(error.to_string()), Vec::new()),
            Verdict::Unreadable(error) => (None, Some(error.clone()), Vec::new()),
        };
        let claims = report.claims.as_ref();
        Self {
            path: report.path.to_string_lossy(),
            path_bytes: path_bytes(&report.path),
            status: report.verdict.status(),
            reason,
            detail,
            payload_len: claims.map(|claims| claims.payload_len),
            payload_hash: claims.map(|claims| claims.payload_hash.to_string()),
            fingerprint: claims.map(|claims| claims.fingerprint.to_string()),
            findings,
        }
    }
}
