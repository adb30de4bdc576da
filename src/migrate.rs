//! From older versions to v5 (specification, section 7; feature `migrate`).
//!
//! [`migrate_frame`] looks at one frame in memory and says which six bytes make it v5: nothing is copied. On Unix,
//! [`FrameMigrator`] does it to files and whole trees, each file atomically, at the pace of a copy.
//!
//! Layers, downward: `frame_files` (a tree of frames), `report` (what it tells), `replacement` (a file that takes another's
//! place), `attributes` (what a file is beside its bytes), `frame` (one frame in memory).

mod attributes;
mod frame;
mod frame_files;
mod replacement;
mod report;

pub use self::frame::{FrameMigration, FrameVersion, V5_START, migrate_frame};
pub use self::frame_files::FrameMigrator;
pub use self::report::{FrameFate, FrameFileReport, FrameObserver, FrameSummary};
