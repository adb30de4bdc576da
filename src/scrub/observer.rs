//! Who watches a scrub.

use super::report::FileReport;
use super::tree::FoundFile;

/// Decides which files a scrub reads, takes their verdicts, and can stop it.
///
/// All methods are called from the scrub's threads, several at once; they should return soon, since the caller's files
/// wait meanwhile.
pub trait Observer: Sync {
    /// Takes the verdict on a file. In no order. Each selected file gets exactly one, unless the scrub is stopped.
    fn verdict(&self, report: &FileReport<'_>);

    /// Whether to read this file. Asked once for each, before it is opened.
    fn selects(&self, _file: &FoundFile<'_>) -> bool {
        true
    }

    /// Told that this many bytes were read, after each piece of a file.
    fn read(&self, _bytes: u64) {}

    /// Whether to stop. Asked in each round of a thread, which reads at most 4 MiB, and some times a second while one
    /// waits. Files that are in flight then get no verdict. Once it says so, all threads stop.
    fn stops(&self) -> bool {
        false
    }
}

/// Takes verdicts with a closure, selects every file and never stops.
impl<F: Fn(&FileReport<'_>) + Sync> Observer for F {
    fn verdict(&self, report: &FileReport<'_>) {
        self(report);
    }
}
