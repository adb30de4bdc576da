//! Temporary files that a migration comes upon, and what all runs come to.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::report::MigrationSummary;
use super::temporary::{Leftover, is_leftover, remove_leftover};
use crate::scrub::{Entry, FileReport, Observer, ScrubSummary, is_out_of_files};

/// What earlier migrations left, or others work on.
pub(super) struct Leftovers {
    /// Whether they are removed.
    remove: bool,
    kept: AtomicU64,
    removed: AtomicU64,
    /// Directories that were searched for the sake of files in them that were asked for.
    searched: Mutex<HashSet<PathBuf>>,
}

impl Leftovers {
    pub(super) fn new(remove: bool) -> Self {
        Self { remove, kept: AtomicU64::new(0), removed: AtomicU64::new(0), searched: Mutex::default() }
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

    /// Looks for them beside a file that was asked for by itself, whose directory nobody else lists; once in each. `tell` gets
    /// those that are somebody's.
    ///
    /// # Errors
    /// When too many files are open, to be tried again.
    pub(super) fn look_beside(&self, entry: &Entry, mut tell: impl FnMut(&Entry, &io::Error)) -> io::Result<()> {
        if !entry.was_asked_for() {
            return Ok(());
        }
        let Ok(path) = entry.path().canonicalize() else { return Ok(()) };
        let Some(directory) = path.parent() else { return Ok(()) };
        if !self.searched().insert(directory.to_owned()) {
            return Ok(());
        }
        let names = match fs::read_dir(directory) {
            Err(error) if is_out_of_files(&error) => {
                self.searched().remove(directory);
                return Err(error);
            }
            // Who may not list it can still convert what is in it.
            Err(_) => return Ok(()),
            Ok(names) => names.map_while(Result::ok),
        };
        let is_file = |found: &fs::DirEntry| found.file_type().is_ok_and(|kind| kind.is_file());
        for found in names.filter(|found| is_leftover(found.file_name().as_bytes()) && is_file(found)) {
            let Ok(left) = Entry::asked_for(found.path()) else { continue };
            match self.remove.then(|| remove_leftover(&left)) {
                Some(Ok(Leftover::Somebodys { now })) => tell(&left, &taken_away(now)),
                Some(Ok(Leftover::Removed)) => _ = self.removed.fetch_add(1, Ordering::Relaxed),
                // This run may be the one that works on it.
                Some(Ok(Leftover::Kept)) => {}
                Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Some(Err(_)) | None => _ = self.kept.fetch_add(1, Ordering::Relaxed),
            }
        }
        Ok(())
    }

    fn searched(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.searched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a run came to.
    pub(super) fn into_summary(self, scrub: &ScrubSummary) -> MigrationSummary {
        let mut passed_over = scrub.passed_over;
        passed_over.temporary_files += self.kept.into_inner();
        MigrationSummary { passed_over, leftovers_removed: self.removed.into_inner(), stopped: scrub.stopped }
    }
}

/// What is told of what is neither file nor directory.
pub(super) const ABOUT_SPECIAL_FILES: &str = "is not a regular file: only those can be converted in their places";

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
