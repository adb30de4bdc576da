//! From older versions to v5 (specification, section 7; feature `migrate`).
//!
//! [`migrate_frame`] looks at one frame in memory and says which six bytes make it v5: nothing is copied. On Unix,
//! [`FrameMigrator`] does it to files and whole trees, each file atomically, at the pace of a copy. [`EnvelopeMigrator`]
//! edits the JSON of one envelope, [`EnvelopeFileMigrator`] that of all in files.
//!
//! Layers, downward: `frame_files` and `envelope_files` (files and trees), `envelope_file` (one of them), `leftovers` (of runs
//! that were killed), `report` and `observer` (what they tell, and whom), `rewrite` (a file that is written anew where it
//! changes), `replacement` (a file that takes another's place), `temporary` (files that have no place yet), `room` (what they
//! may take on disk), `place` (a name in a directory), `attributes` (what a file is beside its bytes), `document` (text that
//! holds envelopes), `envelope` and `frame` (one of them in memory).

#[cfg(unix)]
mod attributes;
#[cfg(unix)]
mod document;
mod envelope;
#[cfg(unix)]
mod envelope_file;
#[cfg(unix)]
mod envelope_files;
mod frame;
#[cfg(unix)]
mod frame_files;
#[cfg(unix)]
mod leftovers;
#[cfg(unix)]
mod observer;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod replacement;
#[cfg(unix)]
mod report;
#[cfg(unix)]
mod rewrite;
#[cfg(unix)]
mod room;
#[cfg(unix)]
mod temporary;

pub use self::envelope::{EnvelopeMigration, EnvelopeMigrator, EnvelopeVersion};
pub use self::frame::{FrameMigration, FrameVersion, V5_START, migrate_frame};
#[cfg(unix)]
pub use self::{
    document::EnvelopeCounts,
    envelope_files::EnvelopeFileMigrator,
    frame_files::FrameMigrator,
    observer::{EnvelopeObserver, FrameObserver, OnFile, on_file},
    report::{EnvelopeFate, EnvelopeFileReport, FrameFate, FrameFileReport, MigrationSummary, Refusal},
};
