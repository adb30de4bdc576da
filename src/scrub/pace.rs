//! How fast a scrub may read, all its threads together.

use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time that was not used can be caught up, up to this much: sleep is not exact, and reads take time.
const CREDIT: Duration = Duration::from_millis(100);
/// Sleeps no longer than this before it asks whether to stop.
const NAP: Duration = Duration::from_millis(50);

pub(super) struct Pace(Option<Limit>);

struct Limit {
    bytes_per_second: f64,
    /// When all that was read so far should have been read.
    due: Mutex<Instant>,
}

impl Pace {
    pub(super) fn new(bytes_per_second: Option<NonZeroU64>) -> Self {
        let limit = |rate: NonZeroU64| Limit { bytes_per_second: rate.get() as f64, due: Mutex::new(Instant::now()) };
        Self(bytes_per_second.map(limit))
    }

    /// Returns when it is time to go on after a read of this many bytes, or at once when `stop` says so.
    pub(super) fn spend(&self, bytes: u64, stop: impl Fn() -> bool) {
        let Some(limit) = &self.0 else { return };
        let due = {
            let mut due = limit.due.lock().unwrap_or_else(PoisonError::into_inner);
            let earliest = Instant::now().checked_sub(CREDIT);
            let from = earliest.map_or(*due, |earliest| earliest.max(*due));
            *due = from + Duration::from_secs_f64(bytes as f64 / limit.bytes_per_second);
            *due
        };
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() || stop() {
                return;
            }
            thread::sleep(left.min(NAP));
        }
    }
}
