//! How many files are open, so that whoever cannot open another knows whether one will be closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts them, for all threads of a scrub.
#[derive(Default)]
pub(super) struct OpenFiles(Arc<AtomicUsize>);

impl OpenFiles {
    /// Counts a file that is about to be opened, until what this returns is dropped.
    pub(super) fn count_one(&self) -> InFlight {
        self.0.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(&self.0))
    }

    pub(super) fn number(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A file that is counted among those in flight. To be dropped after the file is closed.
pub(super) struct InFlight(Arc<AtomicUsize>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
