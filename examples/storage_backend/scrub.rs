//! The background scrub: finds what went bad before somebody asks for it, while other replicas still have it.
//!
//! The index, not the directory, says what to read: so a scrub goes on where the last one stopped, and misses what is gone.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use membrane_codec::Digest;
use membrane_codec::scrub::{FileReport, FileVerdict, Observer, Scrubber};

use crate::Fault;
use crate::index::{Entry, Judged};
use crate::store::{Store, failure, now};

/// So many due frames are asked of the index at a time: that bounds memory, and no transaction stays open meanwhile.
const PORTION: usize = 4096;
/// So many verdicts are written together, since each commit syncs the disk. A crash loses no more than these, and they
/// are read again.
const BATCH: usize = 256;

#[derive(Clone, Copy)]
pub(crate) struct ScrubOptions {
    pub(crate) bytes_per_second: NonZeroU64,
    /// A frame is due when it was last verified so long ago.
    pub(crate) max_age: Duration,
    /// How long to wait when nothing more is due.
    pub(crate) pause: Duration,
}

/// What came of one portion.
#[derive(Default)]
pub(crate) struct Portion {
    pub(crate) sound: u64,
    /// Taken out of service, and why.
    pub(crate) failed: Vec<(Digest, String)>,
    /// Could not be read, and stay due.
    pub(crate) unreadable: u64,
    /// Nothing more is due.
    pub(crate) last: bool,
}

/// A thread that scrubs until it is stopped.
pub(crate) struct BackgroundScrub {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), Fault>>,
}

impl BackgroundScrub {
    /// Starts it; `tell` is told of each portion.
    pub(crate) fn start(
        store: Arc<Store>,
        options: ScrubOptions,
        tell: impl Fn(Portion) + Send + 'static,
    ) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let work = move || {
            while !stops.load(Ordering::Relaxed) {
                scrub_what_is_due(&store, options, &stops, &tell)?;
                thread::park_timeout(options.pause);
            }
            Ok(())
        };
        let thread = thread::Builder::new().name("background scrub".into()).spawn(work)?;
        Ok(Self { stop, thread })
    }

    /// Stops it and waits for its last verdicts to be written, which takes some milliseconds.
    pub(crate) fn stop(self) -> Result<(), Fault> {
        self.stop.store(true, Ordering::Relaxed);
        // Ends a pause, also one that is only about to begin.
        self.thread.thread().unpark();
        self.thread.join().unwrap_or_else(|_| Err("the scrub panicked".into()))
    }
}

/// One pass over all that is due.
fn scrub_what_is_due(
    store: &Store,
    options: ScrubOptions,
    stop: &AtomicBool,
    tell: &impl Fn(Portion),
) -> Result<(), Fault> {
    let since = now().saturating_sub(options.max_age.as_secs());
    // One thread: this has time, the cores are for those who are served. The page cache stays as it is, too.
    let scrubber = Scrubber::new().threads(1).limit_rate(Some(options.bytes_per_second));
    let mut after = None;
    loop {
        let due = store.index().due(after, since, PORTION)?;
        // What could not be read is still due: never back to it in this pass.
        after = due.keys().next_back().copied();
        let paths: Vec<_> = due.keys().map(|key| store.path(*key)).collect();
        let watch = Watch { store, stop, due, taken: Mutex::default() };
        let stopped = scrubber.run(paths, &watch).stopped;
        let last = watch.due.len() < PORTION;
        tell(Portion { last: last && !stopped, ..watch.finish()? });
        if last || stopped {
            return Ok(());
        }
    }
}

/// Takes the verdicts on one portion.
struct Watch<'a> {
    store: &'a Store,
    stop: &'a AtomicBool,
    due: BTreeMap<Digest, Entry>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    portion: Portion,
    /// Not in the index yet.
    judged: Vec<Judged>,
    /// The index failed, which ends the scrub: an observer cannot return errors.
    fault: Option<Fault>,
}

impl Watch<'_> {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, taken: &mut Taken) {
        match self.store.record(std::mem::take(&mut taken.judged)) {
            Err(fault) => taken.fault = Some(fault),
            Ok(judged) => judged.into_iter().for_each(|judged| match judged.failure {
                None => taken.portion.sound += 1,
                Some(why) => taken.portion.failed.push((judged.key, why)),
            }),
        }
    }

    fn finish(self) -> Result<Portion, Fault> {
        self.record(&mut self.taken());
        let taken = self.taken.into_inner().unwrap_or_else(PoisonError::into_inner);
        taken.fault.map_or(Ok(taken.portion), Err)
    }
}

impl Observer for Watch<'_> {
    fn verdict(&self, report: &FileReport<'_>) {
        let Some(key) = report.file().key() else { return };
        let Some(entry) = self.due.get(&key) else { return };
        let mut taken = self.taken();
        let failure = match report.verdict() {
            FileVerdict::Sound { .. } => failure(report.findings(&entry.expected(key))),
            FileVerdict::Damaged(error) => Some(error.to_string()),
            FileVerdict::Unreadable(error) if error.kind() == io::ErrorKind::NotFound => Some("no file".into()),
            // No verdict on the frame: perhaps another time.
            _ => return taken.portion.unreadable += 1,
        };
        let file = report.stamp().map(|stamp| (stamp.inode, stamp.modified));
        taken.judged.push(Judged { key, fingerprint: entry.fingerprint, file, failure });
        if taken.judged.len() == BATCH {
            self.record(&mut taken);
        }
    }

    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.taken().fault.is_some()
    }
}
