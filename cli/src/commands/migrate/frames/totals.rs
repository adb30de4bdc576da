//! What a migration of frames comes to, in numbers and as a table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use indicatif::HumanBytes;
use membrane_codec::Reason;
use membrane_codec::migrate::{FrameFate, FrameFileReport, FrameVersion, MigrationSummary};
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
    current: u64,
    convertible: u64,
    converted: u64,
    refused: u64,
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

    #[serde(skip)]
    rows: BTreeMap<Row, Sum>,
    /// How often each reason was given, and what to do.
    #[serde(skip)]
    reasons: BTreeMap<Reason, (u64, &'static str)>,
}

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Old(FrameVersion),
    Current,
    Refused,
    Failed,
}

#[derive(Default)]
struct Sum {
    files: u64,
    bytes: u64,
}

impl Totals {
    pub(super) fn add(&mut self, report: &FrameFileReport<'_>) {
        let old = || report.version().map_or(Row::Current, Row::Old);
        let (count, row) = match report.fate() {
            FrameFate::Current => (&mut self.current, Row::Current),
            FrameFate::Convertible => (&mut self.convertible, old()),
            FrameFate::Converted => {
                self.links_parted += u64::from(report.links() > 1);
                (&mut self.converted, old())
            }
            FrameFate::Refused(error) => {
                let advice = report.fate().advice().unwrap_or_default();
                self.reasons.entry(error.reason()).or_insert((0, advice)).0 += 1;
                (&mut self.refused, Row::Refused)
            }
            FrameFate::Vanished => {
                self.vanished += 1;
                return;
            }
            FrameFate::Failed(_) | _ => (&mut self.io_error, Row::Failed),
        };
        *count += 1;
        self.files += 1;
        self.bytes += report.len();
        let sum = self.rows.entry(row).or_default();
        sum.files += 1;
        sum.bytes += report.len();
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
            say("nothing to migrate: directories are searched for *.blob and *.frame, with --all for every file");
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
        for (row, Sum { files, bytes }) in &self.rows {
            let (what, style) = match row {
                Row::Old(version) => {
                    (format!("{}, {}", name(*version), if write { "converted" } else { "to convert" }), GOOD)
                }
                Row::Current => ("v5".into(), GOOD),
                Row::Refused => ("refused".into(), BAD),
                Row::Failed => ("io_error".into(), BAD),
            };
            writeln!(out, "{files:>9}  {:>11}  {style}{what}{style:#}", HumanBytes(*bytes).to_string())?;
        }
        for (reason, (number, advice)) in &self.reasons {
            writeln!(out, "\n{number:>9}  {reason}\n           {advice}")?;
        }
        let notes = self.notes(write, summary);
        if !notes.is_empty() {
            writeln!(out)?;
        }
        notes.iter().try_for_each(|note| writeln!(out, "{note}"))
    }

    fn notes(&self, write: bool, summary: &MigrationSummary) -> Vec<String> {
        let mut notes = notes(summary, self.vanished, self.links_parted);
        if !write && self.convertible > 0 {
            notes.push(format!("Nothing was written; --write converts {}.", count(self.convertible, "file")));
        }
        notes
    }
}

/// A version in words.
fn name(version: FrameVersion) -> &'static str {
    match version {
        FrameVersion::V5OverSchema2 => "v5 over schema 2",
        FrameVersion::V5OverSchema4 => "v5 over schema 4",
        other => other.as_str(),
    }
}
