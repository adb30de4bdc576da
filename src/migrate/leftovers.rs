//! Temporary files that a migration comes upon, and what all runs come to.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::report::MigrationSummary;
use super::temporary::{Leftover, is_leftover, remove_leftover};
use crate::scrub::{Entry, FileReport, Observer, ScrubSummary};

/// What earlier migrations left, or others work on.
pub(super) struct Leftovers {
    /// Whether they are removed.
    remove: bool,
    kept: AtomicU64,
    removed: AtomicU64,
}

impl Leftovers {
    pub(super) fn new(remove: bool) -> Self {
        Self { remove, kept: AtomicU64::new(0), removed: AtomicU64::new(0) }
    }

    /// Looks whether a file that was found is one of them. What an earlier run left goes, where that is wanted; what another
    /// one works on, or cannot be removed, is counted among the temporary files.
    pub(super) fn meet(&self, entry: &Entry) -> Met {
        if entry.was_asked_for() || !is_leftover(entry.name().to_bytes()) {
            return Met::Another;
        }
        let count = match self.remove.then(|| remove_leftover(entry)) {
            Some(Ok(Leftover::Somebodys { now })) => return Met::Somebodys(taken_away(now)),
            Some(Ok(Leftover::Removed)) => &self.removed,
            Some(Ok(Leftover::Kept) | Err(_)) | None => &self.kept,
        };
        count.fetch_add(1, Ordering::Relaxed);
        Met::Leftover
    }

    /// What a run came to.
    pub(super) fn into_summary(self, scrub: &ScrubSummary) -> MigrationSummary {
        let mut passed_over = scrub.passed_over;
        passed_over.temporary_files += self.kept.into_inner();
        MigrationSummary { passed_over, leftovers_removed: self.removed.into_inner(), stopped: scrub.stopped }
    }
}

/// What a file is that was found.
pub(super) enum Met {
    /// To be migrated.
    Another,
    /// Counted.
    Leftover,
    /// To be told of, with this error: a killed run took it from its name.
    Somebodys(io::Error),
}

fn taken_away(now: u64) -> io::Error {
    io::Error::other(format!(
        "was written in the last moment, and a run that was killed took its name: the file beside it with inode {now} \
         (ls -i) is older; move this one there, or remove it"
    ))
}

/// Stops a survey.
pub(super) struct Stop<F>(pub(super) F);

impl<F: Fn() -> bool + Sync> Observer for Stop<F> {
    fn verdict(&self, _: &FileReport<'_>) {}

    fn stops(&self) -> bool {
        self.0()
    }
}
