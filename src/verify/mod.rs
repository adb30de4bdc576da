//! Many frames in memory at once: a verdict on each, as [`parse_canonical`](crate::parse_canonical) gives it, at the speed
//! of [`sha256_many`](crate::sha256_many).
//!
//! Cost: structure and identity of a frame some hundred nanoseconds, its payload one hash in a lane. No payload is copied.
//! Memory is in proportion to the number of frames, not to their size. PERF.md has the figures, and how they grow with
//! frames and cores.

mod batch;
mod report;

pub use self::batch::{BatchVerifier, verify_batch};
pub use self::report::{Batch, BatchReport, Verdict};
