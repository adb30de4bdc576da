//! From older versions to v5 (specification, section 7; feature `migrate`).
//!
//! [`migrate_frame`] looks at one frame in memory and says which six bytes make it v5: nothing is copied. On Unix,
//! [`FrameMigrator`] does it to files and whole trees, each file atomically, at the pace of a copy. [`EnvelopeMigrator`]
//! edits the JSON of one envelope, [`EnvelopeFileMigrator`] that of all in files.
//!
//! Layers, downward: `frame_files` and `envelope_files` (files and trees), `envelope_file` (one of them), `leftovers` (of runs that were killed), `report`
//! (what they tell), `rewrite` (a file that is written anew where it changes), `replacement` (a file that takes another's
//! place), `temporary` (files that have no place yet), `place` (a name in a directory), `attributes` (what a file is beside its bytes), `document` (text that holds envelopes), `envelope` and `frame` (one
//! of them in memory).

mod attributes;
mod document;
mod envelope;
mod envelope_file;
mod envelope_files;
mod frame;
mod frame_files;
mod leftovers;
mod place;
mod replacement;
mod report;
mod rewrite;
mod temporary;

pub use self::document::EnvelopeCounts;
pub use self::envelope::{EnvelopeMigration, EnvelopeMigrator, EnvelopeVersion};
pub use self::envelope_files::EnvelopeFileMigrator;
pub use self::frame::{FrameMigration, FrameVersion, V5_START, migrate_frame};
pub use self::frame_files::FrameMigrator;
pub use self::report::{
    EnvelopeFate, EnvelopeFileReport, EnvelopeObserver, FrameFate, FrameFileReport, FrameObserver, MigrationSummary,
    Refusal,
};
