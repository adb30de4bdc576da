//! What a run is asked to do beside verifying what lies there: nothing for a scrub, much for a migration.

use std::io;

use super::file::FrameFile;
use super::tree::{Entry, is_named_as_frame, is_temporary};
use crate::frame::Accepts;

/// On which terms files are read.
pub(crate) struct Terms<'t> {
    /// Which versions are sound.
    pub(crate) accepts: Accepts,
    /// Which regular files in directories are taken, by their names.
    pub(crate) takes: fn(&[u8]) -> bool,
    /// Whether a file is read once, however many of the paths lead to where it lies.
    pub(crate) each_once: bool,
    /// What is told of what is neither file nor directory.
    pub(crate) about_special_files: &'static str,
    pub(crate) preparation: &'t dyn Preparation,
}

impl Terms<'_> {
    /// Those of a scrub.
    pub(super) fn of_scrub(every_file: bool) -> Self {
        let takes = if every_file { |name: &[u8]| !is_temporary(name) } else { is_frame };
        let about_special_files = "is not a regular file; to read a pipe or a device, give it on standard input as -";
        Self { accepts: Accepts::Current, takes, each_once: false, about_special_files, preparation: &AsItLies }
    }
}

/// Whether a file of this name is taken for a frame.
pub(crate) fn is_frame(name: &[u8]) -> bool {
    is_named_as_frame(name) && !is_temporary(name)
}

/// What is done to a file that was opened, before it is read.
pub(crate) trait Preparation: Sync {
    /// `passed` is to be told of every piece that is read for it; it says whether to go on.
    ///
    /// # Errors
    /// The file is then told of as unreadable; or opened again, when this run itself has too many open.
    fn prepare(&self, entry: &Entry, file: FrameFile, passed: &dyn Fn(u64) -> bool) -> io::Result<Prepared>;

    /// Called by each thread when it has told the verdicts of a round.
    fn round_is_over(&self) {}
}

#[cfg_attr(not(feature = "migrate"), expect(dead_code, reason = "a scrub verifies every file"))]
pub(crate) enum Prepared {
    /// This is to be verified: the file, or one in its place.
    Verify(FrameFile),
    /// There is nothing more to do.
    Settled,
    /// It can be done when others in flight are.
    NotYet,
}

/// Nothing: it is verified as it lies.
struct AsItLies;

impl Preparation for AsItLies {
    fn prepare(&self, _: &Entry, file: FrameFile, _: &dyn Fn(u64) -> bool) -> io::Result<Prepared> {
        Ok(Prepared::Verify(file))
    }
}
