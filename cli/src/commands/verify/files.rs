//! The files that a run leaves: the page and the metrics.

use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use membrane_codec::Reason;

use super::page::{self, Record, Status, Tally};
use super::report::{Finding, Totals, notes};
use super::watch::Listed;
use crate::display::time;
use crate::outcome::Failure;
use crate::output::AtomicFile;
use crate::progress::Interval;

/// Writes a file that appears whole or not at all.
pub(super) fn write_file(path: &Path, write: impl FnOnce(&mut AtomicFile) -> io::Result<()>) -> Result<(), Failure> {
    let written = AtomicFile::create(path).and_then(|mut file| {
        write(&mut file)?;
        file.flush()?;
        file.commit()
    });
    written.map_err(|error| Failure::trouble(path, error))
}

/// The run, for its page.
pub(super) fn record(
    started: SystemTime,
    seconds: f64,
    totals: &Totals,
    listed: Listed,
    rates: Vec<Interval>,
) -> Result<Record, Failure> {
    let summary = serde_json::to_value(totals).map_err(|error| Failure::Trouble(format!("--report: {error}")))?;
    let frames = [totals.ok, totals.schema_error, totals.corrupt_payload, totals.io_error];
    let statuses = [Status::Ok, Status::SchemaError, Status::CorruptPayload, Status::IoError];
    let counted = statuses.into_iter().zip(frames).zip(totals.bytes_by_status);
    let mut verdicts: Vec<_> = counted.map(|((status, frames), bytes)| Tally { status, frames, bytes }).collect();
    if let Some(frames) = totals.findings {
        verdicts.push(Tally { status: Status::Finding, frames, bytes: totals.bytes_with_findings });
    }
    let reasons = Reason::OF_FRAMES.iter().filter_map(|reason| {
        let frames = *totals.reasons.get(reason)?;
        let status = Status::of(reason.class());
        Some(page::Reason { code: reason.as_str(), status, frames, advice: reason.advice() })
    });
    let findings = totals.finding_codes.iter().map(|(code, frames)| page::Reason {
        code,
        status: Status::Finding,
        frames: *frames,
        advice: Finding::advice(code),
    });
    let missing = totals.missing.unwrap_or(0);
    let keys = (missing > 0).then_some(page::Reason {
        code: "missing",
        status: Status::Missing,
        frames: missing,
        advice: "The manifest lists these keys: restore the frames, or bring the manifest up to date.",
    });
    let asked = std::env::args_os().skip(1).map(|word| shell_word(&word.to_string_lossy()));
    Ok(Record {
        started: time(started),
        seconds,
        asked: asked.collect::<Vec<_>>().join(" "),
        interrupted: totals.interrupted,
        verdicts,
        missing,
        not_judged: totals.not_judged,
        not_quarantined: totals.not_quarantined,
        verified_before: totals.verified_before.unwrap_or(0),
        summary,
        reasons: reasons.chain(findings).chain(keys).collect(),
        rates,
        failures: listed.failures,
        failures_left_out: listed.left_out,
        notes: notes(totals),
    })
}

/// As it can be typed in a shell.
fn shell_word(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_./=%:,+@".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
