//! Who watches a migration.

use std::fmt;
use std::sync::Arc;

use super::report::{EnvelopeFileReport, FrameFileReport, Refusal};
use crate::scrub::FoundFile;

/// Is told what becomes of each file, and can stop a migration.
///
/// All methods are called from the migration's threads, several at once; they should return soon. [`on_file`] makes an
/// observer of a closure.
pub trait FrameObserver: Sync {
    /// Takes what became of a file. In no order. Each file gets exactly one report, unless the migration is stopped.
    fn file(&self, report: &FrameFileReport<'_>);

    /// Told that this many more bytes of the files are done with.
    fn advanced(&self, _bytes: u64) {}

    /// Whether to stop. Asked some times a second. Files in flight then are as they were, and get no report.
    fn stops(&self) -> bool {
        false
    }
}

/// An observer that gives each report to a closure and never stops.
///
/// ```no_run
/// use membrane_codec::migrate::{FrameFate, FrameMigrator, on_file};
///
/// FrameMigrator::new().run(["/var/lib/store".into()], &on_file(|report| {
///     if let FrameFate::Refused(error) = report.fate() {
///         eprintln!("{}: {error}", report.path().display());
///     }
/// }));
/// ```
pub fn on_file<F: Fn(&FrameFileReport<'_>) + Sync>(take: F) -> OnFile<F> {
    OnFile(take)
}

/// What [`on_file`] makes.
#[derive(Clone, Copy)]
pub struct OnFile<F>(F);

impl<F: Fn(&FrameFileReport<'_>) + Sync> FrameObserver for OnFile<F> {
    fn file(&self, report: &FrameFileReport<'_>) {
        (self.0)(report);
    }
}

impl<F> fmt::Debug for OnFile<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnFile").finish_non_exhaustive()
    }
}

/// Is told what becomes of envelopes and their files, and can stop a migration.
///
/// All methods are called from the migration's threads, several at once; they should return soon.
pub trait EnvelopeObserver: Sync {
    /// Takes what is refused: in this file, and in this line, which counts from 1; an envelope of several begins there.
    fn refused(&self, file: &FoundFile<'_>, line: u64, why: &Refusal);

    /// Takes what became of a file. In no order. Each file gets exactly one report, unless the migration is stopped.
    fn file(&self, report: &EnvelopeFileReport<'_>);

    /// Told that this many more bytes of the files are done with.
    fn advanced(&self, _bytes: u64) {}

    /// Whether to stop. Asked after each line, and in long lines and documents between values. Files in flight then are as they were, and get no report.
    fn stops(&self) -> bool {
        false
    }
}

macro_rules! observes_through {
    ($(#[$why:meta])* $pointer:ty, $($also:tt)*) => {
        $(#[$why])*
        impl<O: FrameObserver $($also)* + ?Sized> FrameObserver for $pointer {
            fn file(&self, report: &FrameFileReport<'_>) {
                (**self).file(report);
            }

            fn advanced(&self, bytes: u64) {
                (**self).advanced(bytes);
            }

            fn stops(&self) -> bool {
                (**self).stops()
            }
        }

        $(#[$why])*
        impl<O: EnvelopeObserver $($also)* + ?Sized> EnvelopeObserver for $pointer {
            fn refused(&self, file: &FoundFile<'_>, line: u64, why: &Refusal) {
                (**self).refused(file, line, why);
            }

            fn file(&self, report: &EnvelopeFileReport<'_>) {
                (**self).file(report);
            }

            fn advanced(&self, bytes: u64) {
                (**self).advanced(bytes);
            }

            fn stops(&self) -> bool {
                (**self).stops()
            }
        }
    };
}

observes_through!(&O,);
observes_through!(Box<O>,);
observes_through!(
    /// For an observer that others look into while the migration goes on.
    Arc<O>,
    + Send
);
