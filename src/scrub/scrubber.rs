//! How to scrub, and the threads that do.

use std::convert::Infallible;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::observer::Observer;
use super::pace::Pace;
use super::platform::{KNOWS_DIRECT, NameBuffer};
use super::queue::Queue;
use super::report::{ScrubSummary, Survey};
use super::surroundings::Surroundings;
use super::terms::Terms;
use super::tree::FoundFile;
use super::worker::{Counts, Worker};
use crate::digest::Kernel;
use crate::frame::FrameReader;

/// Verifies files and whole directory trees.
///
/// ```no_run
/// use std::path::PathBuf;
///
/// use membrane_codec::scrub::{FileVerdict, Scrubber, on_verdict};
///
/// let summary = Scrubber::new().threads(2).run([PathBuf::from("/var/lib/store")], &on_verdict(|report| {
///     match report.verdict() {
///         FileVerdict::Damaged(error) => eprintln!("{}: {error}", report.path().display()),
///         FileVerdict::Unreadable(error) => eprintln!("{}: {error}", report.path().display()),
///         _ => {}
///     }
/// }));
/// assert!(!summary.stopped);
/// ```
#[derive(Clone, Debug)]
pub struct Scrubber {
    threads: Option<usize>,
    direct: bool,
    concatenated: bool,
    every_file: bool,
    follow_links: bool,
    max_identity_len: u32,
    bytes_per_second: Option<NonZeroU64>,
    kernel: Kernel,
}

impl Default for Scrubber {
    fn default() -> Self {
        Self::new()
    }
}

impl Scrubber {
    /// A scrubber that works on all cores at full speed, takes `*.blob` and `*.frame` in directories for frames, and
    /// follows no symbolic links.
    pub fn new() -> Self {
        Self {
            threads: None,
            direct: false,
            concatenated: false,
            every_file: false,
            follow_links: false,
            max_identity_len: FrameReader::DEFAULT_MAX_IDENTITY_LEN,
            bytes_per_second: None,
            kernel: Kernel::default(),
        }
    }

    /// The number of threads that read and hash, the calling one among them; 0 is taken for 1. Spinning disks want one.
    ///
    /// By default as many as there are cores; for direct reads four times as many, since each then waits for the disk.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Whether to read past the page cache (O_DIRECT), where that can be done. Where not (a file system that refuses,
    /// systems other than Linux) files are read through it, and [`ScrubSummary::not_direct`] counts them.
    pub fn direct(mut self, direct: bool) -> Self {
        self.direct = direct;
        self
    }

    /// Whether files hold several frames, one after another. Each frame then gets a verdict of its own, with its
    /// [`FileReport::offset`](super::FileReport::offset); what follows one that does not say where it ends is not looked
    /// at. A file's frames pass through one lane, so this is as fast as one hash in each thread.
    pub fn concatenated(mut self, concatenated: bool) -> Self {
        self.concatenated = concatenated;
        self
    }

    /// Whether every regular file in directories is taken for a frame, whatever its name. Temporary files `.*.tmp` are
    /// not.
    pub fn every_file(mut self, every_file: bool) -> Self {
        self.every_file = every_file;
        self
    }

    /// Whether symbolic links in directories are followed. Each directory is then visited once, however many links lead
    /// there. Paths that are asked for may always be links.
    pub fn follow_links(mut self, follow: bool) -> Self {
        self.follow_links = follow;
        self
    }

    /// The longest identity JSON to accept, in bytes: as [`FrameReader::max_identity_len`].
    pub fn max_identity_len(mut self, bytes: u32) -> Self {
        self.max_identity_len = bytes;
        self
    }

    /// Reads at most this many bytes per second, all threads of a run together. `None`: as fast as it goes.
    ///
    /// Exact over seconds. Reads come in pieces of up to 256 KiB: a rate that takes seconds for a piece holds over many.
    pub fn limit_rate(mut self, bytes_per_second: Option<NonZeroU64>) -> Self {
        self.bytes_per_second = bytes_per_second;
        self
    }

    /// Hashes with this kernel instead of the fastest.
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Verifies the files at `paths` and those below the directories among them, and tells `observer`. Returns when all
    /// is done or the observer stops it.
    ///
    /// `paths` is asked for more as work goes on, by one thread at a time, and may be long.
    ///
    /// # Panics
    /// When the observer or `paths` does.
    pub fn run<P, O>(&self, paths: P, observer: &O) -> ScrubSummary
    where
        P: IntoIterator<Item = PathBuf>,
        P::IntoIter: Send,
        O: Observer + ?Sized,
    {
        self.run_on(&Terms::of_scrub(self.every_file), paths, observer)
    }

    /// As [`Scrubber::run`], on these terms.
    pub(crate) fn run_on<P, O>(&self, terms: &Terms<'_>, paths: P, observer: &O) -> ScrubSummary
    where
        P: IntoIterator<Item = PathBuf>,
        P::IntoIter: Send,
        O: Observer + ?Sized,
    {
        let threads = self.thread_count();
        let queue =
            Queue::new(paths.into_iter().fuse(), threads, terms.takes, self.follow_links).each_once(terms.each_once);
        let pace = Pace::new(self.bytes_per_second);
        let over = AtomicBool::new(false);
        let work = || {
            let surroundings = Surroundings {
                observer,
                pace: &pace,
                over: &over,
                max_identity_len: self.max_identity_len,
                terms,
                follow_links: self.follow_links,
            };
            let (kernel, direct, concatenated) = (self.kernel, self.direct, self.concatenated);
            Worker { queue: &queue, surroundings, kernel, direct, concatenated, counts: Counts::default() }.work()
        };
        let counts: Vec<Counts> = thread::scope(|scope| {
            let start = |_| {
                let thread = thread::Builder::new().name("scrub".into()).spawn_scoped(scope, work);
                // Fewer threads do it as well.
                thread.inspect_err(|_| queue.dismiss_worker()).ok()
            };
            let others: Vec<_> = (1..threads).filter_map(start).collect();
            let own = work();
            let others = others.into_iter().map(|thread| match thread.join() {
                Ok(counts) => counts,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            others.chain([own]).collect()
        });
        let sum = |count: fn(&Counts) -> u64| counts.iter().map(count).sum();
        ScrubSummary {
            passed_over: queue.passed_over(),
            not_selected: sum(|counts| counts.not_selected),
            not_direct: sum(|counts| counts.not_direct),
            stopped: counts.iter().any(|counts| counts.unfinished) || !queue.is_exhausted(),
        }
    }

    /// Counts the regular files that a run would read and their lengths, without reading them. In one thread.
    ///
    /// Asks `observer` which files it selects and whether to stop. What cannot be looked at is not counted.
    ///
    /// Cost: a look at each file.
    pub fn survey<P, O>(&self, paths: P, observer: &O) -> Survey
    where
        P: IntoIterator<Item = PathBuf>,
        O: Observer + ?Sized,
    {
        self.survey_of(Terms::of_scrub(self.every_file).takes, false, paths, observer)
    }

    /// As [`Scrubber::survey`], of files with these names; of each once, however many of the paths lead to it, where that
    /// is wanted.
    pub(crate) fn survey_of<P, O>(&self, takes: fn(&[u8]) -> bool, each_once: bool, paths: P, observer: &O) -> Survey
    where
        P: IntoIterator<Item = PathBuf>,
        O: Observer + ?Sized,
    {
        let queue =
            Queue::<_, Infallible>::new(paths.into_iter().fuse(), 1, takes, self.follow_links).each_once(each_once);
        let mut names = NameBuffer::new();
        let mut survey = Survey::default();
        loop {
            let files = queue.supply(1, true, &mut names, || observer.stops()).files;
            if files.is_empty() && (queue.is_exhausted() || observer.stops()) {
                break;
            }
            for mut entry in files {
                let is_file = queue.look_at(&entry).is_ok_and(|is_file| is_file) && queue.is_first(&mut entry);
                let file = FoundFile::new(&entry, self.follow_links);
                if is_file
                    && observer.selects(&file)
                    && let Ok(stamp) = file.stamp()
                {
                    survey.files += 1;
                    survey.bytes = survey.bytes.saturating_add(stamp.len);
                }
            }
        }
        survey.stopped = !queue.is_exhausted();
        survey
    }

    fn thread_count(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(|| if self.direct && KNOWS_DIRECT { 4 * cores() } else { cores() })
    }
}
