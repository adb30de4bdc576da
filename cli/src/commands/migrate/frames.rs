//! `membrane-codec migrate frames`

mod totals;

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use membrane_codec::migrate::{FrameFate, FrameFileReport, FrameMigrator, FrameObserver};
use serde::Serialize;

use self::totals::Totals;
use super::lines::Lines;
use crate::args::MigrateFramesArgs;
use crate::display::{BAD, painted, path_bytes, printable};
use crate::interrupt;
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;

pub(crate) fn run(args: &MigrateFramesArgs) -> Result<Outcome, Failure> {
    let mut migrator = FrameMigrator::new()
        .write(args.write)
        .every_file(args.all)
        .limit_rate(args.limit_rate)
        .max_identity_len(args.limits.max_identity_len);
    if let Some(threads) = args.threads {
        migrator = migrator.threads(threads.into());
    }
    let progress = Progress::new("frames", None, false);
    let watch = Watch {
        json: args.json,
        lines: Lines::new(args.json, &progress),
        progress: &progress,
        totals: Mutex::default(),
    };
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

impl FrameObserver for Watch<'_> {
    fn file(&self, report: &FrameFileReport<'_>) {
        self.totals().add(report);
        let Some(status) = status(&report.fate()) else { return };
        let failed = matches!(report.fate(), FrameFate::Refused(_) | FrameFate::Failed(_));
        self.progress.add_frame(failed);
        if self.json {
            let path = report.path();
            self.lines.print_json(&FileLine::new(report, status, &path), failed);
        } else if let (true, Some(detail)) = (failed, detail(&report.fate())) {
            let text = format!("{}  {}\n    {detail}\n", painted(status, BAD), printable(&report.path()));
            self.lines.print(&text, true);
        }
    }

    fn advanced(&self, bytes: u64) {
        self.progress.add_bytes(bytes);
    }

    fn stops(&self) -> bool {
        interrupt::stop_is_asked() || self.lines.have_failed()
    }
}

/// The word for what became of a file; none for one that was gone before it was looked at.
fn status(fate: &FrameFate<'_>) -> Option<&'static str> {
    match fate {
        FrameFate::Current => Some("current"),
        FrameFate::Convertible => Some("convertible"),
        FrameFate::Converted => Some("converted"),
        FrameFate::Refused(_) => Some("refused"),
        FrameFate::Vanished => None,
        FrameFate::Failed(_) | _ => Some("io_error"),
    }
}

fn detail(fate: &FrameFate<'_>) -> Option<String> {
    match fate {
        FrameFate::Refused(error) => Some(error.to_string()),
        FrameFate::Failed(error) => Some(error.to_string()),
        _ => None,
    }
}

#[derive(Serialize)]
struct FileLine<'a> {
    path: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
    len: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<u64>,
}

impl<'a> FileLine<'a> {
    fn new(report: &FrameFileReport<'_>, status: &'static str, path: &'a std::path::Path) -> Self {
        let fate = report.fate();
        let is_converted = matches!(fate, FrameFate::Converted);
        Self {
            path: path.to_string_lossy(),
            path_bytes: path_bytes(path),
            status,
            from: report.version().map(|version| version.as_str()),
            len: report.len(),
            reason: if let FrameFate::Refused(error) = &fate { Some(error.reason().as_str()) } else { None },
            detail: detail(&fate),
            links: (is_converted && report.links() > 1).then(|| report.links()),
        }
    }
}

#[derive(Serialize)]
struct SummaryLine<'a> {
    summary: &'a Totals,
}
