//! What a migration of envelopes comes to, in numbers and as a table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use indicatif::HumanBytes;
use membrane_codec::migrate::{EnvelopeFate, EnvelopeFileReport, MigrationSummary, Refusal};
use serde::Serialize;

use crate::commands::migrate::notes;
use crate::display::{BAD, GOOD, count};
use crate::json::{is_false, is_zero};
use crate::outcome::{Outcome, say};
use crate::passed_over::PassedOver;

/// The numbers of a summary, as `--json` gives them.
#[derive(Default, Serialize)]
pub(super) struct Totals {
    files: u64,
    bytes: u64,
    convertible: u64,
    converted: u64,
    current: u64,
    refused: u64,
    other: u64,
    io_error: u64,
    #[serde(skip_serializing_if = "is_zero")]
    vanished: u64,
    /// Converted files that had other names.
    #[serde(skip_serializing_if = "is_zero")]
    links_parted: u64,
    #[serde(skip_serializing_if = "is_zero")]
    leftovers_removed: u64,
    #[serde(skip_serializing_if = "PassedOver::is_empty")]
    passed_over: PassedOver,
    #[serde(skip_serializing_if = "is_false")]
    interrupted: bool,

    /// Of schema 2, 3 and 4, that are converted or would be.
    #[serde(skip)]
    old: [u64; 3],
    #[serde(skip)]
    convertible_files: u64,
    /// How often each reason was given, and what to do.
    #[serde(skip)]
    reasons: BTreeMap<&'static str, (u64, &'static str)>,
}

impl Totals {
    pub(super) fn refuse(&mut self, why: &Refusal) {
        self.refused += 1;
        self.reasons.entry(why.as_str()).or_insert((0, why.advice())).0 += 1;
    }

    /// All but what was refused, which was told before.
    pub(super) fn add(&mut self, report: &EnvelopeFileReport<'_>) {
        let counts = report.counts();
        let sum = match report.fate() {
            EnvelopeFate::Vanished => {
                self.vanished += 1;
                return;
            }
            EnvelopeFate::Converted => {
                self.links_parted += u64::from(report.links() > 1);
                Some(&mut self.converted)
            }
            EnvelopeFate::Convertible => {
                self.convertible_files += 1;
                Some(&mut self.convertible)
            }
            EnvelopeFate::Unchanged => None,
            EnvelopeFate::Failed(_) | _ => {
                self.io_error += 1;
                None
            }
        };
        if let Some(sum) = sum {
            *sum += counts.old();
            self.old.iter_mut().zip([counts.v2, counts.v3, counts.v4]).for_each(|(sum, count)| *sum += count);
        }
        self.files += 1;
        self.bytes += report.len();
        self.current += counts.current;
        self.other += counts.other;
    }

    pub(super) fn end(&mut self, summary: &MigrationSummary) {
        self.passed_over = summary.passed_over.into();
        self.leftovers_removed = summary.leftovers_removed;
        self.interrupted = summary.stopped;
    }

    pub(super) fn outcome(&self) -> Outcome {
        if self.io_error > 0 || self.interrupted {
            Outcome::Unreadable
        } else if self.refused > 0 {
            Outcome::Damage
        } else {
            Outcome::AllWell
        }
    }

    /// A store that is not mounted looks like this.
    pub(super) fn say_if_empty(&self) {
        if self.files + self.vanished == 0 && !self.interrupted {
            say("nothing to migrate: directories are searched for *.json, *.jsonl and *.ndjson");
        }
    }

    /// The summary for people.
    pub(super) fn text(&self, write: bool, elapsed: Duration, summary: &MigrationSummary) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.print(write, elapsed, summary, &mut text);
        text
    }

    fn print(&self, write: bool, elapsed: Duration, summary: &MigrationSummary, out: &mut String) -> std::fmt::Result {
        if self.refused + self.io_error > 0 {
            writeln!(out)?;
        }
        let seconds = elapsed.as_secs_f64();
        let interrupted = if self.interrupted { "interrupted after " } else { "" };
        writeln!(out, "{interrupted}{}, {} in {seconds:.2} s", count(self.files, "file"), HumanBytes(self.bytes))?;
        let done = if write { "converted" } else { "to convert" };
        for (number, what, style) in [
            (self.old[0], format!("envelopes of schema 2, {done}"), GOOD),
            (self.old[1], format!("envelopes of schema 3, {done}"), GOOD),
            (self.old[2], format!("envelopes of schema 4, {done}"), GOOD),
            (self.current, "envelopes of v5".into(), GOOD),
            (self.other, "values that are no envelopes".into(), GOOD),
            (self.refused, "refused".into(), BAD),
            (self.io_error, "files: io_error".into(), BAD),
        ] {
            if number > 0 {
                writeln!(out, "{number:>9}  {style}{what}{style:#}")?;
            }
        }
        for (reason, (number, advice)) in &self.reasons {
            writeln!(out, "\n{number:>9}  {reason}\n           {advice}")?;
        }
        let mut notes = notes(summary, self.vanished, self.links_parted);
        if !write && self.convertible > 0 {
            let files = count(self.convertible_files, "file");
            notes.push(format!(
                "Nothing was written; --write converts {} in {files}.",
                count(self.convertible, "envelope")
            ));
        }
        if !notes.is_empty() {
            writeln!(out)?;
        }
        notes.iter().try_for_each(|note| writeln!(out, "{note}"))
    }
}
