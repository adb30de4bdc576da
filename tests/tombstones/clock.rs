//! A clock that stands until it is moved, forwards or backwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use membrane_codec::tombstone::{Clock, TombstoneTable, Until};
use membrane_codec::{Digest, sha256};

/// Copies show the same time.
#[derive(Clone, Default)]
pub(crate) struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    pub(crate) fn at(seconds: u64) -> Self {
        let clock = Self::default();
        clock.set(seconds);
        clock
    }

    pub(crate) fn set(&self, seconds: u64) {
        self.0.store(seconds * 1000, Ordering::Relaxed);
    }

    pub(crate) fn set_millis(&self, millis: u64) {
        self.0.store(millis, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// A table at second 1000 of its clock.
pub(crate) fn table_and_clock() -> (TombstoneTable<ManualClock>, ManualClock) {
    let clock = ManualClock::at(1000);
    (TombstoneTable::with_clock(clock.clone()), clock)
}

pub(crate) fn hash(number: u64) -> Digest {
    sha256(&number.to_le_bytes())
}

pub(crate) fn until(seconds: f64) -> Until {
    Until::from_unix_seconds(seconds).expect("finite")
}
