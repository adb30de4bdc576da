//! One thread of a scrub: fills its buffers, hashes what is in them together, settles what has ended, and again.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use super::buffers::Buffers;
use super::file::{FrameFile, Opened};
use super::job::{Decided, Job, State, Surroundings};
use super::observer::Observer;
use super::platform::NameBuffer;
use super::queue::{Queue, Supplies};
use super::report::{FileReport, FileVerdict};
use super::tree::{Entry, FoundFile};
use crate::digest::{Kernel, ManyHasher};

/// Files in flight in one thread: four times the lanes of the widest kernel in use, so that lanes stay full to the end of
/// a round, and enough reads for a disk to choose from.
const SLOTS: usize = 16;
/// How long a thread waits that cannot open a file before others close one.
const NAP: Duration = Duration::from_millis(5);

pub(super) struct Worker<'s, I, O> {
    pub(super) queue: &'s Queue<I>,
    pub(super) surroundings: Surroundings<'s, O>,
    pub(super) kernel: Kernel,
    pub(super) direct: bool,
    pub(super) counts: Counts,
}

/// What a thread counted.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) not_selected: u64,
    pub(super) not_direct: u64,
    /// Files were left without a verdict.
    pub(super) unfinished: bool,
}

/// Lets the other threads end when this one panics: they would wait for it, or go on for nothing.
struct EndOnPanic<'q, I: Iterator<Item = PathBuf>>(&'q Queue<I>, &'q AtomicBool);

impl<I: Iterator<Item = PathBuf>> Drop for EndOnPanic<'_, I> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.1.store(true, Ordering::Relaxed);
            self.0.abandon();
        }
    }
}

struct Slot<'b> {
    buffer: &'b mut [u8],
    job: Option<Job>,
    /// Its piece is there.
    ready: bool,
    /// Its piece was asked for in the last round.
    asked: bool,
}

impl Slot<'_> {
    /// What is to be hashed of it in this round.
    fn piece(&mut self) -> Option<(&mut ManyHasher, &[u8])> {
        let job = self.job.as_mut().filter(|_| self.ready)?;
        Some(job.piece(self.buffer))
    }
}

impl<I: Iterator<Item = PathBuf>, O: Observer> Worker<'_, I, O> {
    pub(super) fn work(mut self) -> Counts {
        let _end = EndOnPanic(self.queue, self.surroundings.over);
        let mut names = NameBuffer::new();
        let mut buffers = Buffers::new(SLOTS);
        let mut slots: Vec<_> =
            buffers.split().map(|buffer| Slot { buffer, job: None, ready: false, asked: false }).collect();
        while !self.stops() {
            if !self.admit(&mut slots, &mut names) {
                return self.counts;
            }
            self.fill(&mut slots);
            self.take(&mut slots);
            self.hash(&mut slots);
            self.settle(&mut slots);
            self.share(&mut slots);
        }
        self.counts.unfinished |= slots.iter().any(|slot| slot.job.is_some());
        self.counts
    }

    fn stops(&self) -> bool {
        self.surroundings.stops()
    }

    /// Takes new files into free slots; whether there is anything to do.
    fn admit(&mut self, slots: &mut [Slot<'_>], names: &mut NameBuffer) -> bool {
        loop {
            let free = slots.iter().filter(|slot| slot.job.is_none()).count();
            let idle = free == slots.len();
            let supplies = self.queue.supply(free, idle, names, || self.stops());
            let Supplies { files, jobs, troubles, mut out_of_files } = supplies;
            let nothing = files.is_empty() && jobs.is_empty() && troubles.is_empty() && !out_of_files;
            for (entry, error) in troubles {
                self.not_opened(&entry, &error);
            }
            let opened = files.into_iter().filter_map(|entry| self.open(entry, &mut out_of_files));
            let mut jobs = jobs.into_iter().chain(opened);
            for slot in slots.iter_mut().filter(|slot| slot.job.is_none()) {
                slot.job = jobs.next();
                (slot.ready, slot.asked) = (false, false);
            }
            if nothing {
                return !idle;
            }
            if out_of_files {
                // Goes on with what is open; who has nothing waits for the others.
                if slots.iter().all(|slot| slot.job.is_none()) {
                    thread::sleep(NAP);
                }
                return true;
            }
            // Of the files that were found, some were directories, or not there any more.
            if slots.iter().all(|slot| slot.job.is_some()) || self.stops() {
                return true;
            }
        }
    }

    /// Opens a file that the observer selects; a directory goes to the queue, and what cannot be opened yet back there.
    fn open(&mut self, mut entry: Entry, out_of_files: &mut bool) -> Option<Job> {
        let follow_links = self.surroundings.follow_links;
        // A path that was asked for may be a directory: only opening tells, and the observer selects files.
        let observer = self.surroundings.observer;
        let selected = |entry: &Entry| observer.selects(&FoundFile::new(entry, follow_links));
        if !entry.was_asked_for() && !entry.is_selected {
            if !selected(&entry) {
                self.counts.not_selected += 1;
                return None;
            }
            entry.is_selected = true;
        }
        self.queue.begin_file();
        let opened = FrameFile::open(&entry, follow_links, self.direct);
        let added = match opened {
            Ok(Opened::File(_)) if entry.was_asked_for() && !selected(&entry) => {
                self.counts.not_selected += 1;
                Ok(())
            }
            Ok(Opened::File(file)) => return Some(Job::new(entry, file)),
            Ok(Opened::Directory(fd)) => self.queue.add_directory(fd, &entry),
            Err(error) => Err(error),
        };
        match added {
            Err(error) if self.queue.may_wait(&error, 1) => {
                *out_of_files = true;
                self.queue.take_back(entry);
            }
            Err(error) => self.not_opened(&entry, &error),
            Ok(()) => {}
        }
        self.queue.end_file();
        None
    }

    /// Tells of what could not be opened.
    fn not_opened(&self, entry: &Entry, error: &io::Error) {
        // Removed since it was listed, or replaced by something of another kind.
        let gone = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].map(Errno::raw_os_error);
        let vanished = !entry.was_asked_for() && error.raw_os_error().is_some_and(|error| gone.contains(&error));
        self.surroundings.observer.verdict(&FileReport {
            entry,
            follow_links: self.surroundings.follow_links,
            verdict: if vanished { FileVerdict::Vanished } else { FileVerdict::Unreadable(error) },
            claims: None,
            stamp: None,
            bytes_read: 0,
            changed: false,
        });
    }

    /// Reads the next piece of each file.
    ///
    /// What is not cached is asked for in one round and waited for in the next. Where nothing is there at all, half of it
    /// is waited for: while that is hashed, the other half comes.
    fn fill(&mut self, slots: &mut [Slot<'_>]) {
        for slot in &mut *slots {
            let wait = slot.asked;
            self.fill_one(slot, wait);
        }
        let waiting = slots.iter().filter(|slot| slot.job.is_some() && !slot.ready).count();
        if slots.iter().any(|slot| slot.ready) {
            return;
        }
        for slot in slots.iter_mut().filter(|slot| slot.job.is_some()).take(waiting.div_ceil(2)) {
            self.fill_one(slot, true);
        }
    }

    fn fill_one(&mut self, slot: &mut Slot<'_>, wait: bool) {
        let Some(job) = &mut slot.job else { return };
        match job.fill(slot.buffer, wait, &self.surroundings) {
            Ok(State::Ready) => (slot.ready, slot.asked) = (true, false),
            Ok(State::Waiting) => slot.asked = true,
            Err(error) => self.decide(slot, &Decided::Unreadable(error)),
        }
    }

    /// Takes apart what was read.
    fn take(&mut self, slots: &mut [Slot<'_>]) {
        for slot in slots.iter_mut().filter(|slot| slot.ready) {
            if let Some(job) = &mut slot.job
                && let Some(decided) = job.take_piece(slot.buffer, &self.surroundings)
            {
                self.decide(slot, &decided);
            }
        }
    }

    /// Hashes the payload in all buffers, the longest first.
    fn hash(&self, slots: &mut [Slot<'_>]) {
        let mut pieces: Vec<_> = slots.iter_mut().filter_map(Slot::piece).collect();
        pieces.sort_unstable_by_key(|(_, piece)| std::cmp::Reverse(piece.len()));
        ManyHasher::update_with(self.kernel, pieces);
    }

    /// Gives verdicts on files that have ended.
    fn settle(&mut self, slots: &mut [Slot<'_>]) {
        let is_over = |slot: &Slot<'_>| slot.ready && slot.job.as_ref().is_some_and(Job::is_over);
        let over = slots.iter().filter(|slot| is_over(slot)).filter_map(|slot| slot.job.as_ref());
        let mut digests = ManyHasher::finalize_with(self.kernel, over.map(Job::hasher)).into_iter();
        for slot in slots.iter_mut().filter(|slot| slot.ready) {
            slot.ready = false;
            match &mut slot.job {
                Some(job) if job.is_over() => {
                    // One for each, in the same order.
                    let Some(digest) = digests.next() else { return };
                    let decided = job.conclude(slot.buffer, digest);
                    self.decide(slot, &decided);
                }
                Some(job) => job.next_piece(),
                None => {}
            }
        }
    }

    /// Tells the observer and frees the slot.
    fn decide(&mut self, slot: &mut Slot<'_>, decided: &Decided) {
        if let Some(job) = slot.job.take() {
            self.counts.unfinished |= matches!(decided, Decided::Stopped);
            self.counts.not_direct += u64::from(self.direct && !job.is_direct());
            job.report(slot.buffer, decided, &self.surroundings);
            drop(job);
            self.queue.end_file();
        }
        slot.ready = false;
    }

    /// Leaves half of the files in flight to threads that have none.
    fn share(&self, slots: &mut [Slot<'_>]) {
        if !self.queue.is_hungry() {
            return;
        }
        let in_flight = slots.iter().filter(|slot| slot.job.is_some()).count();
        let movable = slots.iter_mut().filter(|slot| slot.job.as_ref().is_some_and(Job::is_between_pieces));
        self.queue.leave(movable.take(in_flight / 2).filter_map(|slot| slot.job.take()));
    }
}
