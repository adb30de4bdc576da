//! Which file is next: paths, directories and their files, for all threads of a scrub.
//!
//! Directories are listed some hundred names at a time, and what was found is worked off before more is listed: memory
//! does not follow the size of a directory. They are opened one after another, each when those before it are worked off,
//! and closed when nothing of them is left.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{FileType, Stat};

use super::in_flight::{InFlight, OpenFiles};
use super::platform::{self, NameBuffer};
use super::report::PassedOver;
use super::tree::{Directory, Entry, FileStamp, Kind};

/// How long a thread waits for work before it asks whether to stop.
const NAP: Duration = Duration::from_millis(50);
/// So many names of a directory are taken at once, if there are so many: a small one need not stay open for the rest.
const SOME_NAMES: usize = 256;

/// `L` is what threads leave to others: files that they have begun to read.
pub(super) struct Queue<I, L> {
    shared: Mutex<Shared<L>>,
    /// Apart: to wait for the next one must not hold up those who have enough.
    paths: Mutex<I>,
    changed: Condvar,
    /// How many threads wait for work.
    hungry: AtomicUsize,
    open_files: OpenFiles,
    takes: fn(&[u8]) -> bool,
    follow_links: bool,
    /// Whether a file is given once, however many of the paths lead to where it lies.
    each_once: bool,
}

struct Shared<L> {
    /// The threads that are at work or wait for it.
    workers: usize,
    /// There is no other path.
    paths_are_done: bool,
    /// The last comes first.
    directories: Vec<Unlisted>,
    files: VecDeque<Entry>,
    /// What one thread left to others.
    left: Vec<L>,
    /// Directories that were visited, where each is once: links that are followed may lead in circles.
    visited: HashSet<(u64, u64)>,
    /// Files that were asked for by themselves, by their directories, where each is given once.
    asked_for: HashMap<(u64, u64), HashSet<CString>>,
    passed_over: PassedOver,
    /// Every thread waits, so there is nothing left; or one has panicked.
    over: bool,
}

/// A directory of which names are missing.
enum Unlisted {
    /// All of them, found in another.
    Found(Entry),
    /// Some or all.
    Open(Arc<Directory>),
}

impl Unlisted {
    fn entry(self) -> Entry {
        match self {
            Self::Found(entry) => entry,
            Self::Open(directory) => directory.entry(),
        }
    }
}

/// What a thread gets to do.
pub(super) struct Supplies<L> {
    pub(super) files: Vec<Entry>,
    pub(super) left: Vec<L>,
    /// Paths and directories that could not be looked into.
    pub(super) troubles: Vec<(Entry, io::Error)>,
    /// There is more, but no other file can be opened before one is closed.
    pub(super) out_of_files: bool,
}

impl<L> Supplies<L> {
    fn none() -> Self {
        Self { files: Vec::new(), left: Vec::new(), troubles: Vec::new(), out_of_files: false }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.left.is_empty() && self.troubles.is_empty()
    }
}

impl<I: Iterator<Item = PathBuf>, L> Queue<I, L> {
    pub(super) fn new(paths: I, workers: usize, takes: fn(&[u8]) -> bool, follow_links: bool) -> Self {
        let shared = Shared {
            workers,
            paths_are_done: false,
            directories: Vec::new(),
            files: VecDeque::new(),
            left: Vec::new(),
            visited: HashSet::new(),
            asked_for: HashMap::new(),
            passed_over: PassedOver::default(),
            over: false,
        };
        Self {
            shared: Mutex::new(shared),
            paths: Mutex::new(paths),
            changed: Condvar::new(),
            hungry: AtomicUsize::new(0),
            open_files: OpenFiles::default(),
            takes,
            follow_links,
            each_once: false,
        }
    }

    /// Whether a file is given once, however many of the paths lead to where it lies.
    pub(super) fn each_once(mut self, each_once: bool) -> Self {
        self.each_once = each_once;
        self
    }

    fn lock(&self) -> MutexGuard<'_, Shared<L>> {
        // A thread that panics ends the scrub; what the others still do is of no consequence.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether other threads wait for work.
    pub(super) fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) > 0
    }

    /// One thread less is there than was said.
    pub(super) fn dismiss_worker(&self) {
        self.lock().workers -= 1;
    }

    /// Ends the work of all threads.
    pub(super) fn abandon(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }

    /// Whether every file was given to somebody.
    pub(super) fn is_exhausted(&self) -> bool {
        let shared = self.lock();
        let nothing_was_found = shared.directories.is_empty() && shared.files.is_empty() && shared.left.is_empty();
        shared.paths_are_done && nothing_was_found
    }

    pub(super) fn passed_over(&self) -> PassedOver {
        self.lock().passed_over
    }

    /// Leaves something to others.
    pub(super) fn leave(&self, things: impl IntoIterator<Item = L>) {
        self.lock().left.extend(things);
        self.changed.notify_all();
    }

    /// Counts a file that is about to be opened, until what this returns is dropped.
    pub(super) fn count_file(&self) -> InFlight {
        self.open_files.count_one()
    }

    /// Whether it is worth waiting for a file to be closed; `own` of those that are counted are the caller's and not open.
    pub(super) fn may_wait(&self, error: &io::Error, own: usize) -> bool {
        platform::is_out_of_files(error) && self.open_files.number() > own
    }

    /// Takes back a file that could not be opened yet.
    pub(super) fn take_back(&self, file: Entry) {
        self.lock().files.push_front(file);
    }

    /// An entry was opened and is a directory.
    pub(super) fn add_directory(&self, fd: OwnedFd, entry: &Entry) -> io::Result<()> {
        let is_visited_once = self.follow_links || self.each_once;
        let id = if is_visited_once { Some(id_of(&platform::look_at_open(&fd)?)) } else { None };
        let mut shared = self.lock();
        if let Some(id) = id
            && !shared.visited.insert(id)
        {
            shared.passed_over.symlinks += u64::from(self.follow_links);
            return Ok(());
        }
        shared.directories.push(Unlisted::Open(Arc::new(Directory::new(fd, entry, id))));
        drop(shared);
        self.changed.notify_all();
        Ok(())
    }

    /// Gives up to `wanted` files, fewer only when there are no more. `idle` is a thread that has nothing else to do: it
    /// waits while others may still find something, and gets nothing when everything is done.
    pub(super) fn supply(
        &self,
        wanted: usize,
        idle: bool,
        names: &mut NameBuffer,
        stops: impl Fn() -> bool,
    ) -> Supplies<L> {
        let mut supplies = Supplies::none();
        let mut shared = self.lock();
        while supplies.files.len() < wanted && !shared.over && !stops() {
            if idle && supplies.is_empty() && !shared.left.is_empty() {
                let half = shared.left.len().div_ceil(2).min(wanted);
                supplies.left.extend(shared.left.drain(..half));
                break;
            }
            if !shared.files.is_empty() {
                let some = shared.files.len().min(wanted - supplies.files.len());
                supplies.files.extend(shared.files.drain(..some));
            } else if let Some(directory) = shared.directories.pop() {
                drop(shared);
                let result = match &directory {
                    Unlisted::Found(entry) => self.open_directory(entry),
                    Unlisted::Open(directory) => self.list(directory, names),
                };
                shared = self.lock();
                match result {
                    Ok(()) => {}
                    Err(error) if self.may_wait(&error, 0) => {
                        shared.directories.push(directory);
                        supplies.out_of_files = true;
                        break;
                    }
                    Err(error) => supplies.troubles.push((directory.entry(), error)),
                }
                // Files in flight wait meanwhile.
                if !idle {
                    break;
                }
            } else if !shared.paths_are_done {
                drop(shared);
                let next = self.paths.try_lock().map(|mut paths| paths.next().map(Entry::asked_for));
                shared = self.lock();
                match next {
                    Ok(Some(Ok(entry))) => supplies.files.push(entry),
                    Ok(Some(Err(trouble))) => supplies.troubles.push(trouble),
                    Ok(None) => shared.paths_are_done = true,
                    // Another thread waits for it.
                    Err(_) if idle && supplies.is_empty() => shared = self.wait(shared),
                    Err(_) => break,
                }
            } else if !idle || !supplies.is_empty() {
                break;
            } else {
                shared = self.wait(shared);
            }
        }
        supplies
    }

    /// Waits until something changes, or some milliseconds. When all threads do, it is over.
    fn wait<'s>(&'s self, mut shared: MutexGuard<'s, Shared<L>>) -> MutexGuard<'s, Shared<L>> {
        if self.hungry.fetch_add(1, Ordering::Relaxed) + 1 == shared.workers {
            shared.over = true;
            self.changed.notify_all();
        } else {
            shared = self.changed.wait_timeout(shared, NAP).unwrap_or_else(PoisonError::into_inner).0;
        }
        self.hungry.fetch_sub(1, Ordering::Relaxed);
        shared
    }

    /// Whether no other entry led to where this file lies, where each is given once. It is the place that counts: a file
    /// that has several names lies at each of them.
    pub(super) fn is_first(&self, entry: &mut Entry) -> bool {
        entry.is_first = entry.is_first || !self.each_once || self.meets_first(entry);
        entry.is_first
    }

    fn meets_first(&self, entry: &Entry) -> bool {
        if let Some(directory) = entry.directory() {
            let shared = self.lock();
            let asked_for = directory.id().and_then(|id| shared.asked_for.get(&id));
            return !asked_for.is_some_and(|names| names.contains(entry.name()));
        }
        // What cannot be said where it lies is looked at.
        let Some((directory, name)) = place_of(&entry.path()) else { return true };
        let mut shared = self.lock();
        let is_found_there = shared.visited.contains(&directory) && (self.takes)(name.to_bytes());
        !is_found_there && shared.asked_for.entry(directory).or_default().insert(name)
    }

    /// Whether an entry is a regular file. One that turns out to be a directory is queued.
    pub(super) fn look_at(&self, entry: &Entry) -> io::Result<bool> {
        if !entry.may_be_directory() {
            return Ok(true);
        }
        let kind = platform::kind(&platform::look_at(entry.base(), entry.name(), true)?);
        if kind == FileType::Directory {
            self.add_directory(platform::open_directory(entry.base(), entry.name(), true)?, entry)?;
        }
        Ok(kind == FileType::RegularFile)
    }

    fn open_directory(&self, entry: &Entry) -> io::Result<()> {
        let fd = platform::open_directory(entry.base(), entry.name(), self.follow_links)?;
        self.add_directory(fd, entry)
    }

    /// Lists some more of a directory.
    fn list(&self, directory: &Arc<Directory>, names: &mut NameBuffer) -> io::Result<()> {
        let (mut files, mut directories, mut passed_over) = (Vec::new(), Vec::new(), PassedOver::default());
        let mut count = 0;
        let listed = loop {
            let listed = platform::list_some(directory.fd().as_fd(), names, |name, kind| {
                count += 1;
                let entry = || Entry::in_directory(Arc::clone(directory), CString::from(name));
                match self.kind(directory, name, kind) {
                    Kind::Directory => directories.push(entry()),
                    Kind::Frame => files.push(Entry::file_in_directory(Arc::clone(directory), CString::from(name))),
                    Kind::Unknown => files.push(entry()),
                    Kind::OtherFile => passed_over.other_files += 1,
                    Kind::TemporaryFile => passed_over.temporary_files += 1,
                    Kind::Symlink => passed_over.symlinks += 1,
                    Kind::Special => passed_over.special_files += 1,
                }
            });
            if count >= SOME_NAMES || !matches!(listed, Ok(true)) {
                break listed;
            }
        };
        let mut shared = self.lock();
        shared.passed_over.add(passed_over);
        shared.files.extend(files);
        // Below what it holds, so that this is worked off first.
        if let Ok(true) = listed {
            shared.directories.push(Unlisted::Open(Arc::clone(directory)));
        }
        // As they were listed.
        shared.directories.extend(directories.into_iter().rev().map(Unlisted::Found));
        drop(shared);
        if self.is_hungry() {
            self.changed.notify_all();
        }
        listed.map(|_| ())
    }

    /// What a name stands for; asks the system where the listing does not tell. What it does not tell either is opened
    /// and found to be what it is, or reported: passed over, it could be a directory of frames.
    fn kind(&self, directory: &Arc<Directory>, name: &CStr, kind: FileType) -> Kind {
        let base = Some(directory.fd().as_fd());
        let ask = |follow| platform::look_at(base, name, follow).map(|stat| platform::kind(&stat));
        let kind = match kind {
            FileType::Unknown => ask(false).unwrap_or(kind),
            kind => kind,
        };
        let kind = match kind {
            FileType::Symlink if self.follow_links => match ask(true) {
                // A link that leads to nothing stays a link.
                Err(error) if platform::leads_nowhere(&error) => kind,
                led_to => led_to.unwrap_or(FileType::Unknown),
            },
            kind => kind,
        };
        Kind::of(name.to_bytes(), kind, self.takes)
    }
}

fn id_of(stat: &Stat) -> (u64, u64) {
    let stamp = FileStamp::new(stat);
    (stamp.device, stamp.inode)
}

/// The directory and the name of what a path leads to, through links.
fn place_of(path: &Path) -> Option<((u64, u64), CString)> {
    let path = path.canonicalize().ok()?;
    let directory = FileStamp::from(&path.parent()?.metadata().ok()?);
    let name = CString::new(path.file_name()?.as_bytes()).ok()?;
    Some(((directory.device, directory.inode), name))
}
