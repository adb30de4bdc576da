//! [`Sweeper`]: a thread that sweeps a table.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Clock, Tombstone, TombstoneTable};

/// What a [`Sweeper`] tells. Any closure that takes what was dropped is one.
pub trait SweepObserver: Send {
    /// Told after each pass, on the sweeper's thread, what it dropped; often nothing.
    fn swept(&mut self, dropped: Vec<Tombstone>);

    /// Told that a pass panicked, in the clock or in [`swept`](Self::swept). The next pass comes in its time.
    fn panicked(&mut self, _message: &str) {}
}

impl<F: FnMut(Vec<Tombstone>) + Send> SweepObserver for F {
    fn swept(&mut self, dropped: Vec<Tombstone>) {
        self(dropped);
    }
}

/// A thread that sweeps a table again and again, for who asked for it.
///
/// A panic ends a pass, not the thread. [`stop`](Self::stop) and dropping it end the thread at once, or after the pass that
/// goes on, and wait for that.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use membrane_codec::tombstone::{Sweeper, Tombstone, TombstoneTable};
///
/// let table = Arc::new(TombstoneTable::new());
/// let sweeper = Sweeper::start(Arc::clone(&table), Duration::from_secs(5), |dropped: Vec<Tombstone>| {
///     println!("{} tombstones are over", dropped.len());
/// })?;
/// // ... the node serves ...
/// sweeper.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Sweeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stops: Mutex<bool>,
    changed: Condvar,
    passes: AtomicU64,
    panics: AtomicU64,
}

impl Sweeper {
    /// Starts a thread that sweeps the table after each `interval`, of a millisecond at the least.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start<C, O>(table: Arc<TombstoneTable<C>>, interval: Duration, observer: O) -> io::Result<Self>
    where
        C: Clock + Send + Sync + 'static,
        O: SweepObserver + 'static,
    {
        let shared = Arc::new(Shared::default());
        let interval = interval.max(Duration::from_millis(1));
        let work = {
            let shared = Arc::clone(&shared);
            let mut observer = observer;
            move || {
                while !shared.stops_within(interval) {
                    shared.pass(&table, &mut observer);
                }
            }
        };
        let thread = thread::Builder::new().name("tombstone-sweep".into()).spawn(work)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Ends the thread and returns when it has ended.
    pub fn stop(self) {
        // Dropping it does.
    }

    /// How many passes there were, those that panicked among them.
    pub fn passes(&self) -> u64 {
        self.shared.passes.load(Ordering::Relaxed)
    }

    /// How many panics there were, in passes and in telling of them.
    pub fn panics(&self) -> u64 {
        self.shared.panics.load(Ordering::Relaxed)
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        *self.shared.stops.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.changed.notify_all();
        // An observer that owns its sweeper drops it on its own thread, which cannot wait for itself.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id()) {
            // It catches its panics; and a drop is no place for another.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Waits for the interval; says whether to stop.
    fn stops_within(&self, interval: Duration) -> bool {
        let stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(stops, interval, |stops| !*stops);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn pass<C: Clock>(&self, table: &TombstoneTable<C>, observer: &mut impl SweepObserver) {
        // The table is whole after a panic: a sweep calls nothing of others but the clock, and that first.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| observer.swept(table.sweep()))) {
            self.panics.fetch_add(1, Ordering::Relaxed);
            if let Err(another) = catch_unwind(AssertUnwindSafe(|| observer.panicked(message(&*panic)))) {
                self.panics.fetch_add(1, Ordering::Relaxed);
                discard(another);
            }
            discard(panic);
        }
        self.passes.fetch_add(1, Ordering::Relaxed);
    }
}

/// What was thrown may panic when it is dropped.
fn discard(thrown: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(thrown))) {
        std::mem::forget(another);
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

impl fmt::Debug for Sweeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sweeper").field("passes", &self.passes()).field("panics", &self.panics()).finish()
    }
}
