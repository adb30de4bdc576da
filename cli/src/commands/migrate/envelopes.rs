//! `membrane-codec migrate envelopes`

mod totals;

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use membrane_codec::migrate::{EnvelopeFate, EnvelopeFileMigrator, EnvelopeFileReport, EnvelopeObserver, Refusal};
use membrane_codec::scrub::FoundFile;
use serde::Serialize;

use self::totals::Totals;
use super::lines::Lines;
use crate::args::MigrateEnvelopesArgs;
use crate::display::{BAD, painted, path_bytes, printable};
use crate::interrupt;
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;

pub(super) fn run(args: &MigrateEnvelopesArgs) -> Result<Outcome, Failure> {
    let mut migrator = EnvelopeFileMigrator::new(args.tenant.clone())
        .write(args.write)
        .limit_rate(args.limit_rate)
        .max_document_len(args.max_len.get());
    if let Some(threads) = args.threads {
        migrator = migrator.threads(threads.into());
    }
    let progress = Progress::new("files", None, false);
    let lines = Lines::new(args.json, &progress);
    let watch = Watch { json: args.json, lines, progress: &progress, totals: Mutex::default() };
    let summary = progress.while_surveyed(
        || migrator.survey(args.paths.iter().cloned(), || progress.is_over() || watch.stops()),
        || migrator.run(args.paths.iter().cloned(), &watch),
    );
    let Watch { lines, totals, .. } = watch;
    let mut totals = totals.into_inner().unwrap_or_else(PoisonError::into_inner);
    totals.end(&summary);
    if args.json {
        lines.print_json(&SummaryLine { summary: &totals }, false);
    } else {
        lines.print(&totals.text(args.write, progress.elapsed(), &summary), false);
    }
    lines.finish()?;
    totals.say_if_empty();
    Ok(totals.outcome())
}

struct Watch<'p> {
    json: bool,
    lines: Lines<'p>,
    progress: &'p Progress,
    totals: Mutex<Totals>,
}

impl Watch<'_> {
    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EnvelopeObserver for Watch<'_> {
    fn refused(&self, file: &FoundFile<'_>, line: u64, why: &Refusal) {
        self.totals().refuse(why);
        self.progress.add_failure();
        let path = file.path();
        if self.json {
            let line = RefusalLine {
                path: path.to_string_lossy(),
                path_bytes: path_bytes(&path),
                line,
                status: "refused",
                reason: why.as_str(),
                detail: why.to_string(),
            };
            self.lines.print_json(&line, true);
        } else {
            let text = format!("{}  {}, line {line}\n    {why}\n", painted("refused", BAD), printable(&path));
            self.lines.print(&text, true);
        }
    }

    fn file(&self, report: &EnvelopeFileReport<'_>) {
        self.totals().add(report);
        let (status, detail) = match report.fate() {
            EnvelopeFate::Unchanged => ("unchanged", None),
            EnvelopeFate::Convertible => ("convertible", None),
            EnvelopeFate::Converted => ("converted", None),
            EnvelopeFate::Vanished => return,
            EnvelopeFate::Failed(error) => ("io_error", Some(error.to_string())),
            other => ("io_error", Some(format!("{other:?}"))),
        };
        self.progress.add_frame(detail.is_some());
        let path = report.path();
        if self.json {
            let failed = detail.is_some();
            self.lines.print_json(&FileLine::new(report, &path, status, detail), failed);
        } else if let Some(detail) = detail {
            self.lines.print(&format!("{}  {}\n    {detail}\n", painted(status, BAD), printable(&path)), true);
        }
    }

    fn advanced(&self, bytes: u64) {
        self.progress.add_bytes(bytes);
    }

    fn stops(&self) -> bool {
        interrupt::stop_is_asked() || self.lines.have_failed()
    }
}

#[derive(Serialize)]
struct RefusalLine<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    line: u64,
    status: &'static str,
    reason: &'static str,
    detail: String,
}

#[derive(Serialize)]
struct FileLine<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    status: &'static str,
    v2: u64,
    v3: u64,
    v4: u64,
    current: u64,
    refused: u64,
    other: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<u64>,
}

impl<'a> FileLine<'a> {
    fn new(report: &EnvelopeFileReport<'_>, path: &'a Path, status: &'static str, detail: Option<String>) -> Self {
        let counts = report.counts();
        Self {
            path: path.to_string_lossy(),
            path_bytes: path_bytes(path),
            status,
            v2: counts.v2,
            v3: counts.v3,
            v4: counts.v4,
            current: counts.current,
            refused: counts.refused,
            other: counts.other,
            detail,
            links: Some(report.links()).filter(|links| *links > 1),
        }
    }
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    summary: &'a Totals,
}
