//! What happens to each file: judged, moved aside, remembered, reported.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use membrane_codec::scrub::{FileReport, FileVerdict, FoundFile, Observer};
use membrane_codec::{Error, FrameReader, FrameStream, ReadError, Reason, Verifier};

use super::page;
use super::quarantine::{Quarantine, Taken};
use super::report::{Claims, Finding, Quarantined, Report, Reporter, Verdict};
use super::selection::Selection;
use crate::args::{Checks, VerifyArgs};
use crate::display::{path_bytes, printable};
use crate::input;
use crate::interrupt;
use crate::outcome::{Outcome, say};
use crate::progress::Progress;

/// The failures that a page lists; who has more needs a program to read them.
const MOST_LISTED: usize = 10_000;

pub(super) struct Watch<'r> {
    checks: &'r Checks,
    selection: &'r Selection,
    quarantine: Option<&'r Quarantine>,
    reporter: Reporter,
    progress: &'r Progress,
    /// For the page, where there will be one.
    listed: Option<Mutex<Listed>>,
    /// Something could not be looked into: files may lie there.
    something_hidden: AtomicBool,
    /// Why nothing can be printed any more; that ends the run.
    output_failed: Mutex<Option<io::Error>>,
}

/// What is left of it at the end.
pub(super) struct Watched {
    pub(super) reporter: Reporter,
    /// The failures for the page.
    pub(super) listed: Listed,
    pub(super) something_hidden: bool,
    /// Why nothing could be printed any more.
    pub(super) output_failed: Option<io::Error>,
}

#[derive(Default)]
pub(super) struct Listed {
    pub(super) failures: Vec<page::Failure>,
    pub(super) left_out: u64,
}

impl Listed {
    pub(super) fn add(&mut self, failure: page::Failure) {
        if self.failures.len() < MOST_LISTED {
            self.failures.push(failure);
        } else {
            self.left_out += 1;
        }
    }
}

impl<'r> Watch<'r> {
    pub(super) fn new(
        args: &'r VerifyArgs,
        selection: &'r Selection,
        quarantine: Option<&'r Quarantine>,
        reporter: Reporter,
        progress: &'r Progress,
    ) -> Self {
        let listed = args.reports.report.as_ref().map(|_| Mutex::default());
        Self {
            checks: &args.checks,
            selection,
            quarantine,
            reporter,
            progress,
            listed,
            something_hidden: AtomicBool::new(false),
            output_failed: Mutex::new(None),
        }
    }

    pub(super) fn end(self) -> Watched {
        Watched {
            reporter: self.reporter,
            listed: self.listed.unwrap_or_default().into_inner().unwrap_or_else(PoisonError::into_inner),
            something_hidden: self.something_hidden.into_inner(),
            output_failed: self.output_failed.into_inner().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Verifies one frame on standard input.
    pub(super) fn verify_stdin(&self, reader: FrameReader) {
        let path = PathBuf::from("-");
        let report = |verdict, claims, bytes| Report {
            path: path.clone(),
            offset: None,
            verdict,
            claims,
            bytes,
            not_checked: 0,
            changed_while_read: false,
            quarantine: Quarantined::NotAsked,
        };
        let stdin = match input::Input::open(&path) {
            Ok(stdin) => stdin,
            Err(error) => return self.tell(&report(Verdict::Unreadable(error.to_string()), None, 0)),
        };
        let mut stdin = input::Counting::new(stdin);
        let mut claims = None;
        let verified = reader.open_structure(&mut stdin).and_then(|stream| self.judge_stream(stream, &mut claims));
        let verdict = match verified {
            Ok(findings) => Verdict::Sound { findings },
            Err(ReadError::Frame(error)) => Verdict::Damaged(error),
            Err(ReadError::Source(error)) => Verdict::Unreadable(error.to_string()),
            Err(other) => Verdict::Unreadable(other.to_string()),
        };
        self.progress.add_bytes(stdin.bytes());
        self.tell(&report(verdict, claims, stdin.bytes()));
    }

    fn judge_stream(
        &self,
        stream: FrameStream<impl io::Read>,
        claims: &mut Option<Claims>,
    ) -> Result<Vec<Finding>, ReadError> {
        let identity = stream.identity()?;
        *claims = Some(Claims {
            payload_len: stream.payload_len(),
            payload_hash: identity.payload_hash(),
            fingerprint: identity.fingerprint(),
        });
        let verifier = Verifier::new().check_payload_hash(self.checks.check_hash);
        let (_, found) = stream.verify_with(&verifier)?;
        Ok(found.iter().map(Finding::from).collect())
    }

    /// What was asked for beyond the format and does not hold.
    fn findings(&self, report: &FileReport<'_>) -> Vec<Finding> {
        let Checks { check_hash, check_key, .. } = *self.checks;
        let key = if check_key || self.selection.manifest.is_some() { report.file().key() } else { None };
        let mut verifier = Verifier::new().check_payload_hash(check_hash);
        let mut findings = Vec::new();
        match key {
            Some(key) if check_key => verifier = verifier.expect_key(key),
            None if check_key => findings.push(Finding::not_named_by_key()),
            _ => {}
        }
        match self.selection.expected(key) {
            Some(Some(entry)) => {
                if let Some(fingerprint) = entry.fingerprint {
                    verifier = verifier.expect_fingerprint(fingerprint);
                }
            }
            Some(None) => findings.push(Finding::not_in_manifest()),
            None => {}
        }
        findings.extend(report.findings(&verifier).iter().map(Finding::from));
        findings
    }

    /// Moves a damaged file aside, where that was asked for; nothing when this run has moved it before.
    fn quarantine(&self, path: &Path, report: &FileReport<'_>, error: &Error) -> Option<Quarantined> {
        Some(match (self.quarantine, report.stamp()) {
            // A frame of another version may be whole, and can be converted.
            _ if matches!(error.reason(), Reason::OldVersion | Reason::SchemaVersion) => Quarantined::NotAsked,
            // So may one with an identity of which this run would not read so much.
            _ if error.is_above_cap() => Quarantined::NotAsked,
            (Some(_), _) if report.changed_while_read() => {
                Quarantined::Failed("it was written to while it was read".into())
            }
            (Some(quarantine), Some(stamp)) => {
                let (status, reason) = (error.class().as_str(), error.reason().as_str());
                match quarantine.take(path, &stamp, status, reason, &error.to_string()) {
                    Ok(Taken::Now(to)) => Quarantined::Moved(to),
                    Ok(Taken::Before) => return None,
                    Err(error) => Quarantined::Failed(error.to_string()),
                }
            }
            _ => Quarantined::NotAsked,
        })
    }

    /// A path was named again whose file this run has moved: its verdict was told then.
    fn named_again(&self, path: &Path) {
        let message = format!("{}: named again; this run has moved it to quarantine", printable(path));
        self.progress.make_way(&mut || say(&message));
    }

    /// Whether this is no more than a path that is empty since this run moved its file.
    fn was_moved(&self, report: &FileReport<'_>, error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::NotFound
            && self.quarantine.is_some_and(|quarantine| quarantine.has_taken(&report.path()))
    }

    /// Counts, prints and lists.
    fn tell(&self, report: &Report) {
        let failed = report.verdict.outcome() > Outcome::AllWell;
        self.progress.add_frame(failed);
        if let (true, Some(listed)) = (failed, &self.listed) {
            listed.lock().unwrap_or_else(PoisonError::into_inner).add(listed_failure(report));
        }
        self.note_output(self.reporter.take(report, |print| self.progress.make_way(print)));
    }

    /// Puts on disk what is remembered, when it is time.
    fn keep(&self) {
        self.selection.keep(|| {
            let printed = self.reporter.flush(|print| self.progress.make_way(print));
            let told = printed.is_ok();
            self.note_output(printed);
            told
        });
    }

    fn note_output(&self, printed: io::Result<()>) {
        if let Err(error) = printed {
            self.output_failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

impl Observer for Watch<'_> {
    fn verdict(&self, report: &FileReport<'_>) {
        let (verdict, status, quarantine) = match report.verdict() {
            FileVerdict::Sound { .. } => {
                let findings = self.findings(report);
                let status = if findings.is_empty() { "ok" } else { "finding" };
                (Verdict::Sound { findings }, status, Quarantined::NotAsked)
            }
            FileVerdict::Damaged(error) => {
                let path = report.path();
                let Some(quarantine) = self.quarantine(&path, report, &error) else { return self.named_again(&path) };
                (Verdict::Damaged(error), error.reason().as_str(), quarantine)
            }
            FileVerdict::Unreadable(error) if self.was_moved(report, error) => {
                return self.named_again(&report.path());
            }
            FileVerdict::Unreadable(error) => {
                self.something_hidden.fetch_or(report.may_hide_files(), Ordering::Relaxed);
                (Verdict::Unreadable(error.to_string()), "io_error", Quarantined::NotAsked)
            }
            FileVerdict::Vanished => {
                self.selection.lost(&report.file());
                return self.reporter.count_vanished();
            }
            other => (Verdict::Unreadable(format!("{other:?}")), "io_error", Quarantined::NotAsked),
        };
        if verdict.outcome() == Outcome::AllWell && !self.reporter.tells_of_sound_frames() {
            self.progress.add_frame(false);
            self.reporter.count_sound(report.bytes_read());
        } else {
            self.tell(&Report {
                path: report.path(),
                offset: report.offset(),
                verdict,
                claims: report.claims().map(Claims::from),
                bytes: report.bytes_read(),
                not_checked: report.not_checked(),
                changed_while_read: report.changed_while_read(),
                quarantine,
            });
        }
        self.selection.remember(&report.file(), report.stamp(), status);
        self.keep();
    }

    fn selects(&self, file: &FoundFile<'_>) -> bool {
        let takes = self.selection.takes(file);
        self.keep();
        takes
    }

    fn read(&self, bytes: u64) {
        self.progress.add_bytes(bytes);
        // Large files can come to their ends long after others did.
        self.keep();
    }

    fn stops(&self) -> bool {
        interrupt::stop_is_asked() || self.output_failed.lock().is_ok_and(|failed| failed.is_some())
    }
}

fn listed_failure(report: &Report) -> page::Failure {
    let status = match &report.verdict {
        Verdict::Sound { .. } => page::Status::Finding,
        Verdict::Damaged(error) => page::Status::of(error.class()),
        Verdict::Unreadable(_) => page::Status::IoError,
    };
    page::Failure {
        path: report.path.to_string_lossy().into_owned(),
        path_bytes: path_bytes(&report.path),
        status,
        reasons: report.verdict.reasons(),
        detail: report.verdict.detail().unwrap_or_default(),
    }
}

/// Looks at files ahead of the run, to know how many there are.
pub(super) struct Counting<'w, 'r, F> {
    pub(super) watch: &'w Watch<'r>,
    pub(super) over: F,
}

impl<F: Fn() -> bool + Sync> Observer for Counting<'_, '_, F> {
    fn verdict(&self, _: &FileReport<'_>) {}

    fn selects(&self, file: &FoundFile<'_>) -> bool {
        self.watch.selection.would_take(file)
    }

    fn stops(&self) -> bool {
        (self.over)() || self.watch.stops()
    }
}
