//! Temporary files that a migration comes upon, and what all runs come to.

use std::sync::atomic::{AtomicU64, Ordering};

use super::replacement::{is_leftover, remove_leftover};
use super::report::MigrationSummary;
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

    /// Whether a file that was found is one of them. What an earlier run left goes, where that is wanted; what another one
    /// works on, or cannot be removed, is counted among the temporary files.
    pub(super) fn meet(&self, entry: &Entry) -> bool {
        let is_one = !entry.was_asked_for() && is_leftover(entry.name().to_bytes());
        if is_one {
            let removed = self.remove && remove_leftover(entry).unwrap_or(false);
            let count = if removed { &self.removed } else { &self.kept };
            count.fetch_add(1, Ordering::Relaxed);
        }
        is_one
    }

    /// What a run came to.
    pub(super) fn into_summary(self, scrub: &ScrubSummary) -> MigrationSummary {
        let mut passed_over = scrub.passed_over;
        passed_over.temporary_files += self.kept.into_inner();
        MigrationSummary { passed_over, leftovers_removed: self.removed.into_inner(), stopped: scrub.stopped }
    }
}

/// Stops a survey.
pub(super) struct Stop<F>(pub(super) F);

impl<F: Fn() -> bool + Sync> Observer for Stop<F> {
    fn verdict(&self, _: &FileReport<'_>) {}

    fn stops(&self) -> bool {
        self.0()
    }
}
