//! One thread of a scrub: fills its buffers, hashes what is in them together, settles what has ended, and again.

use std::cmp::Reverse;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::buffers::Buffers;
use super::concatenated;
use super::file::{FrameFile, Opened};
use super::job::{Decided, Job};
use super::observer::Observer;
use super::platform::{self, NameBuffer};
use super::queue::{Queue, Supplies};
use super::report::{FileReport, FileVerdict};
use super::surroundings::Surroundings;
use super::terms::Prepared;
use super::tree::{Entry, FoundFile};
use super::window::State;
use crate::digest::{Kernel, ManyHasher};

/// Files in flight in one thread: four times the lanes of the widest kernel in use, so that lanes stay full to the end of
/// a round, and enough reads for a disk to choose from.
const SLOTS: usize = 16;
/// How long a thread waits that cannot open a file before others close one.
const NAP: Duration = Duration::from_millis(5);

pub(super) struct Worker<'s, I, O: ?Sized> {
    pub(super) queue: &'s Queue<I, Job>,
    pub(super) surroundings: Surroundings<'s, O>,
    pub(super) kernel: Kernel,
    pub(super) direct: bool,
    pub(super) concatenated: bool,
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
struct EndOnPanic<'q, I: Iterator<Item = PathBuf>>(&'q Queue<I, Job>, &'q AtomicBool);

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
    stage: Stage,
}

/// How far a slot is with its piece.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// Nothing was done yet.
    Empty,
    /// It was asked for in the last round.
    Asked,
    /// It is there.
    Filled,
    /// It is taken apart, and hashed in this round or the next.
    Taken,
    /// It is taken apart, and waits for the next round.
    Postponed,
    /// It has waited, and is hashed in this round.
    Due,
}

impl<'b> Slot<'b> {
    fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, job: None, stage: Stage::Empty }
    }

    /// What is to be hashed of it in this round.
    fn piece(&mut self) -> Option<(&mut ManyHasher, &[u8])> {
        let hashed_now = self.is_hashed_now();
        let job = self.job.as_mut().filter(|_| hashed_now)?;
        Some(job.piece(self.buffer))
    }

    fn is_hashed_now(&self) -> bool {
        matches!(self.stage, Stage::Taken | Stage::Due)
    }

    fn is_over(&self) -> bool {
        self.is_hashed_now() && self.job.as_ref().is_some_and(Job::is_over)
    }
}

impl<I: Iterator<Item = PathBuf>, O: Observer + ?Sized> Worker<'_, I, O> {
    pub(super) fn work(mut self) -> Counts {
        let _end = EndOnPanic(self.queue, self.surroundings.over);
        let mut names = NameBuffer::new();
        let mut buffers = Buffers::new(SLOTS);
        let mut slots: Vec<_> = buffers.split().map(Slot::new).collect();
        while !self.stops() {
            if !self.admit(&mut slots, &mut names) {
                return self.counts;
            }
            self.fill(&mut slots);
            self.take(&mut slots);
            self.postpone(&mut slots);
            self.hash(&mut slots);
            self.settle(&mut slots);
            self.surroundings.terms.preparation.round_is_over();
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
            // One that is read alone holds up those that were taken with it.
            let wanted = if self.concatenated { free.min(1) } else { free };
            let supplies = self.queue.supply(wanted, idle, names, || self.stops());
            let Supplies { files, left: jobs, troubles, mut out_of_files } = supplies;
            let nothing = files.is_empty() && jobs.is_empty() && troubles.is_empty() && !out_of_files;
            for (entry, error) in troubles {
                self.not_opened(&entry, &error);
            }
            let opened = files.into_iter().filter_map(|entry| self.open(entry, &mut out_of_files));
            let mut jobs = jobs.into_iter().chain(opened);
            for slot in slots.iter_mut().filter(|slot| slot.job.is_none()) {
                slot.job = jobs.next();
                slot.stage = Stage::Empty;
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
        if *out_of_files {
            self.queue.take_back(entry);
            return None;
        }
        let follow_links = self.surroundings.follow_links;
        // What may be a directory is opened first: the observer selects files.
        let observer = self.surroundings.observer;
        let selected = |entry: &Entry| observer.selects(&FoundFile::new(entry, follow_links));
        if !entry.may_be_directory() && !entry.is_selected {
            if !selected(&entry) {
                self.counts.not_selected += 1;
                return None;
            }
            entry.is_selected = true;
        }
        // Before the file, so that it is dropped after it.
        let in_flight = self.queue.count_file();
        let opened = FrameFile::open(&entry, follow_links, self.direct);
        if matches!(opened, Ok(Opened::File(_))) && !self.queue.is_first(&mut entry) {
            return None;
        }
        let added = match opened {
            Ok(Opened::File(_)) if entry.may_be_directory() && !selected(&entry) => {
                self.counts.not_selected += 1;
                Ok(())
            }
            Ok(Opened::File(mut file)) if self.concatenated => {
                let stopped = !concatenated::verify(&entry, &mut file, &self.surroundings);
                self.counts.not_direct += u64::from(self.direct && !file.is_direct());
                self.counts.unfinished |= stopped;
                return None;
            }
            Ok(Opened::File(file)) => match self.prepare(&entry, file) {
                Ok(Prepared::Verify(file)) => return Some(Job::new(entry, file, in_flight)),
                Ok(Prepared::Settled) => Ok(()),
                Ok(Prepared::NotYet) => {
                    *out_of_files = true;
                    self.queue.take_back(entry);
                    return None;
                }
                Err(error) => Err(error),
            },
            Ok(Opened::Special) => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, self.surroundings.terms.about_special_files))
            }
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
        None
    }

    fn prepare(&self, entry: &Entry, file: FrameFile) -> io::Result<Prepared> {
        let passed = |bytes| {
            self.surroundings.pace.spend(bytes, || self.stops());
            !self.stops()
        };
        self.surroundings.terms.preparation.prepare(entry, file, &passed)
    }

    /// Tells of what could not be opened.
    fn not_opened(&self, entry: &Entry, error: &io::Error) {
        // Removed since it was listed, or replaced by something of another kind.
        let vanished = !entry.was_asked_for() && platform::leads_nowhere(error);
        self.surroundings.observer.verdict(&FileReport {
            entry,
            follow_links: self.surroundings.follow_links,
            verdict: if vanished { FileVerdict::Vanished } else { FileVerdict::Unreadable(error) },
            header: None,
            claims: None,
            stamp: None,
            offset: None,
            bytes_read: 0,
            not_checked: 0,
            changed: false,
        });
    }

    /// Reads the next piece of each file.
    ///
    /// What is not cached is asked for in one round and waited for in the next. Where nothing is there at all, half of it
    /// is waited for: while that is hashed, the other half comes.
    fn fill(&mut self, slots: &mut [Slot<'_>]) {
        for slot in &mut *slots {
            let wait = slot.stage == Stage::Asked;
            self.fill_one(slot, wait);
        }
        if slots.iter().any(|slot| matches!(slot.stage, Stage::Filled | Stage::Postponed)) {
            return;
        }
        let waiting = slots.iter().filter(|slot| slot.job.is_some()).count();
        for slot in slots.iter_mut().filter(|slot| slot.job.is_some()).take(waiting.div_ceil(2)) {
            self.fill_one(slot, true);
        }
    }

    fn fill_one(&mut self, slot: &mut Slot<'_>, wait: bool) {
        let Some(job) = slot.job.as_mut().filter(|_| matches!(slot.stage, Stage::Empty | Stage::Asked)) else { return };
        match job.fill(slot.buffer, wait, &self.surroundings) {
            Ok(State::Ready) => slot.stage = Stage::Filled,
            Ok(State::Waiting) => slot.stage = Stage::Asked,
            Err(error) => self.decide(slot, &Decided::Unreadable(error)),
        }
    }

    /// Takes apart what was read.
    fn take(&mut self, slots: &mut [Slot<'_>]) {
        for slot in slots {
            match (slot.stage, &mut slot.job) {
                (Stage::Postponed, _) => slot.stage = Stage::Due,
                (Stage::Filled, Some(job)) => {
                    slot.stage = Stage::Taken;
                    if let Some(decided) = job.take_piece(slot.buffer, &self.surroundings) {
                        self.decide(slot, &decided);
                    }
                }
                _ => {}
            }
        }
    }

    /// Leaves the longest pieces that would have lanes to themselves to the next round, where there will be others, once.
    fn postpone(&self, slots: &mut [Slot<'_>]) {
        let hashed = slots.iter().filter(|slot| slot.is_hashed_now()).count();
        let lanes = self.kernel.lanes();
        if hashed <= lanes {
            return;
        }
        let mut taken: Vec<_> = slots.iter_mut().filter(|slot| slot.stage == Stage::Taken).collect();
        taken.sort_unstable_by_key(|slot| Reverse(slot.job.as_ref().map(Job::piece_len)));
        taken.into_iter().take(hashed % lanes).for_each(|slot| slot.stage = Stage::Postponed);
    }

    /// Hashes the payload in all buffers, the longest first.
    fn hash(&self, slots: &mut [Slot<'_>]) {
        let mut pieces: Vec<_> = slots.iter_mut().filter_map(Slot::piece).collect();
        pieces.sort_unstable_by_key(|(_, piece)| Reverse(piece.len()));
        ManyHasher::update_with(self.kernel, pieces);
    }

    /// Gives verdicts on files that have ended.
    fn settle(&mut self, slots: &mut [Slot<'_>]) {
        let over = slots.iter().filter(|slot| slot.is_over()).filter_map(|slot| slot.job.as_ref());
        let mut digests = ManyHasher::finalize_with(self.kernel, over.map(Job::hasher)).into_iter();
        for slot in slots.iter_mut().filter(|slot| slot.is_hashed_now()) {
            let is_over = slot.is_over();
            slot.stage = Stage::Empty;
            if !is_over {
                slot.job.iter_mut().for_each(Job::next_piece);
            } else if let (Some(job), Some(digest)) = (self.free(slot), digests.next()) {
                // One digest for each, in the same order.
                job.conclude(slot.buffer, digest, &self.surroundings);
            }
        }
    }

    /// Tells the observer and frees the slot.
    fn decide(&mut self, slot: &mut Slot<'_>, decided: &Decided) {
        self.counts.unfinished |= matches!(decided, Decided::Stopped);
        if let Some(job) = self.free(slot) {
            job.report(slot.buffer, decided, &self.surroundings);
            drop(job);
        }
    }

    fn free(&mut self, slot: &mut Slot<'_>) -> Option<Job> {
        slot.stage = Stage::Empty;
        let job = slot.job.take()?;
        self.counts.not_direct += u64::from(self.direct && !job.is_direct());
        Some(job)
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
