//! Who watches a scrub.

use std::fmt;
use std::sync::Arc;

use super::report::FileReport;
use super::tree::FoundFile;

/// Decides which files a scrub reads, takes their verdicts, and can stop it.
///
/// All methods are called from the scrub's threads, several at once; they should return soon, since the caller's files
/// wait meanwhile. [`on_verdict`] makes an observer of a closure.
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

/// An observer that gives each verdict to a closure, selects every file and never stops.
///
/// ```no_run
/// use membrane_codec::scrub::{FileVerdict, Scrubber, on_verdict};
///
/// Scrubber::new().run(["/var/lib/store".into()], &on_verdict(|report| {
///     if let FileVerdict::Damaged(error) = report.verdict() {
///         eprintln!("{}: {error}", report.path().display());
///     }
/// }));
/// ```
pub fn on_verdict<F: Fn(&FileReport<'_>) + Sync>(take: F) -> OnVerdict<F> {
    OnVerdict(take)
}

/// What [`on_verdict`] makes.
#[derive(Clone, Copy)]
pub struct OnVerdict<F>(F);

impl<F: Fn(&FileReport<'_>) + Sync> Observer for OnVerdict<F> {
    fn verdict(&self, report: &FileReport<'_>) {
        (self.0)(report);
    }
}

impl<F> fmt::Debug for OnVerdict<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnVerdict").finish_non_exhaustive()
    }
}

macro_rules! observes_through {
    ($(#[$why:meta])* $pointer:ty, $($bounds:tt)+) => {
        $(#[$why])*
        impl<O: $($bounds)+ + ?Sized> Observer for $pointer {
            fn verdict(&self, report: &FileReport<'_>) {
                (**self).verdict(report);
            }

            fn selects(&self, file: &FoundFile<'_>) -> bool {
                (**self).selects(file)
            }

            fn read(&self, bytes: u64) {
                (**self).read(bytes);
            }

            fn stops(&self) -> bool {
                (**self).stops()
            }
        }
    };
}

observes_through!(&O, Observer);
observes_through!(Box<O>, Observer);
observes_through!(
    /// For an observer that others look into while the scrub goes on.
    Arc<O>,
    Observer + Send
);
