//! What time it is.

use std::sync::Arc;
use std::time::Duration;

/// Tells the time. Tests bring their own.
///
/// It may jump, and may go backwards: [`tombstone`](super) says what happens then.
pub trait Clock {
    /// The time since the Unix epoch; a time before it is zero.
    fn now(&self) -> Duration;
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Duration {
        (**self).now()
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Duration {
        (**self).now()
    }
}

/// The system's clock.
///
/// On Linux it is the coarse one: a tick of the kernel, 1 to 10 milliseconds, behind the exact one at most, so a tombstone
/// may count for a tick longer. It is read in 3 nanoseconds instead of 30, and it does not make the processor wait for the
/// memory accesses that came before, which would keep one look-up from overlapping with the next.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[cfg(target_os = "linux")]
    #[inline]
    fn now(&self) -> Duration {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        // Nanoseconds are less than 10^9.
        u64::try_from(now.tv_sec).map_or(Duration::ZERO, |seconds| Duration::new(seconds, now.tv_nsec as u32))
    }

    #[cfg(not(target_os = "linux"))]
    fn now(&self) -> Duration {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
    }
}
