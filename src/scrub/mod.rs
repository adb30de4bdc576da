//! Many files: walks directories, reads what lies there and verifies it, many frames in each core at once, without
//! disturbing anyone (feature `scrub`; Unix).
//!
//! [`Scrubber`] says how, an [`Observer`] decides which files and takes the verdicts, [`Scrubber::run`] does it. What a
//! frame must be is what [`parse_canonical`](crate::parse_canonical) says; a file gets the verdict that a slice of its
//! bytes gets, and [`Unreadable`](FileVerdict::Unreadable) when the bytes cannot be had.
//!
//! Files are read, never mapped: one that shrinks under a mapping would end the process. A thread has sixteen files in
//! flight, each with a buffer of 256 KiB; whatever their number and size, it needs no more. A file that is larger than its
//! buffer passes through it, piece after piece, and the pieces of all files are hashed together
//! ([`ManyHasher`](crate::ManyHasher)). Who has no more files takes over half of those that another thread still has.
//!
//! On Linux a scrub leaves the page cache as it found it. What is cached is read from there; what is not is asked for,
//! read a round later while other files are hashed, and let go. [`Scrubber::direct`] reads past the cache instead.
//!
//! Cost: one pass over the files, at 0.75 of the rate of [`verify_batch`](crate::verify_batch) when they are cached (the
//! rest is the copy out of the cache), at the rate of the disk when not; about 5 MiB of memory for each thread. PERF.md has
//! the figures.
//!
//! Layers, downward: `scrubber` (options and threads), `worker` (rounds: fill, hash, settle), `job` (one file in flight),
//! `concatenated` and `alone` (files that pass as a stream), `window` (which part of a file is in a buffer), `surroundings`
//! (what all files share), `terms` (what a migration asks beside), `queue` (which file next), `file` (reads and the page
//! cache), `tree` (directories), `platform` (system calls).

mod alone;
mod buffers;
mod concatenated;
mod file;
mod in_flight;
mod job;
mod observer;
mod pace;
mod platform;
mod portion;
mod queue;
mod report;
mod scrubber;
mod surroundings;
mod terms;
mod tree;
mod window;
mod worker;

pub use self::observer::{Observer, OnVerdict, on_verdict};
pub use self::portion::{PortionError, Sample, Subset};
pub use self::report::{FileReport, FileVerdict, FrameClaims, PassedOver, ScrubSummary, Survey};
pub use self::scrubber::Scrubber;
pub use self::tree::{FileStamp, FoundFile, key_of};
#[cfg(feature = "migrate")]
pub(crate) use self::{
    file::FrameFile,
    platform::is_out_of_files,
    terms::{Preparation, Prepared, Terms, is_frame},
    tree::{Directory, Entry, is_temporary},
};
