//! Frames in files and whole directory trees.
//!
//! A run without [`FrameMigrator::write`] verifies each old frame where it lies. One with it copies each first and verifies
//! the copy, in the lanes of the scrub: it is the bytes that were written that are vouched for. Only then the copy gets
//! magic and schema of v5, goes to disk and takes the file's place.

use std::collections::HashMap;
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::frame::{FrameVersion, V5_START};
use super::leftovers::{ABOUT_SPECIAL_FILES, Leftovers, Met, Stop};
use super::observer::FrameObserver;
use super::replacement::{Replacement, outdated};
use super::report::{FrameFate, FrameFileReport, MigrationSummary};
use super::room::{Reserved, Room};
use super::temporary::is_leftover;
use crate::format::HEADER_LEN;
use crate::frame::{Accepts, FrameHeader, parse_header};
use crate::scrub::{
    Entry, FileReport, FileVerdict, FoundFile, FrameFile, Observer, Preparation, Prepared, Scrubber, Survey, Terms,
    is_frame, is_out_of_files, is_temporary,
};

/// Copies that wait for their verdict take no more room than this for each thread, unless one alone does.
const ROOM_PER_THREAD: u64 = 128 * 1024 * 1024;
/// A file is copied in pieces of this length.
const PIECE_LEN: u64 = 4 * 1024 * 1024;

/// Converts files and whole directory trees to v5 (specification, section 7).
///
/// A file whose header is that of v5 is not looked at further: that is for a scrub. It is neither read on nor written, and
/// keeps its times. Every other file is afterwards either byte for byte what it was, or what it was with magic and schema of
/// v5, verified: the trailer and every other check of [`parse_canonical`](crate::parse_canonical) held for the bytes that
/// were written, before they took the old file's place. A file is never seen half-written, whatever stops the run, and a run
/// that was stopped is taken up by another one.
///
/// * The new file has the old one's name, owner, rights, extended attributes and times. Where one of these cannot be kept,
///   the file stays.
/// * No writer may have the files open meanwhile: what it writes after its file's place was taken goes to the old file, which
///   has no name any more, and is lost.
/// * A file that somebody writes to, replaces or removes before its place is taken stays as they left it. Taking the place, looking and, where
///   somebody was quicker, giving it back takes three renames, and on Linux nothing is lost in between, even if the run is
///   killed there: the next one tells where somebody's file is. On other systems, and on file systems that cannot trade two
///   names, what comes between the last look and the rename is lost.
/// * A file that has several names (hard links) is converted under each that is found, and then is a file of its own there.
/// * Symbolic links in directories are passed over. A link among the paths that are asked for stays, and the file behind it
///   is replaced.
///
/// Cost, in a dry run: that of a scrub. To write: one copy, one hash of it in the lanes, and the disk's time to keep it.
/// Files in v5 cost a look at 14 bytes. Memory as for a scrub; on disk, room for 128 MiB of copies for each thread, or for one
/// file if that is larger.
///
/// ```no_run
/// use std::path::PathBuf;
///
/// use membrane_codec::migrate::{FrameFate, FrameMigrator, on_file};
///
/// let told = on_file(|report| match report.fate() {
///     FrameFate::Refused(error) => eprintln!("{}: {error}", report.path().display()),
///     FrameFate::Failed(error) => eprintln!("{}: {error}", report.path().display()),
///     _ => {}
/// });
/// let summary = FrameMigrator::new().write(true).run([PathBuf::from("/var/lib/store")], &told);
/// assert!(!summary.stopped);
/// ```
#[derive(Clone, Debug)]
pub struct FrameMigrator {
    scrubber: Scrubber,
    threads: Option<usize>,
    every_file: bool,
    write: bool,
}

impl Default for FrameMigrator {
    fn default() -> Self {
        Self::new()
    }
}

impl FrameMigrator {
    /// A migrator that only says what it would do, on all cores at full speed, and takes `*.blob` and `*.frame` in
    /// directories for frames.
    pub fn new() -> Self {
        Self { scrubber: Scrubber::new(), threads: None, every_file: false, write: false }
    }

    /// Whether to convert. Without this, a dry run: everything is read and verified, nothing written.
    pub fn write(mut self, write: bool) -> Self {
        self.write = write;
        self
    }

    /// As [`Scrubber::threads`]. By default as many as there are cores, and twice as many to write, since they wait for the
    /// disk by turns.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// As [`Scrubber::every_file`].
    pub fn every_file(mut self, every_file: bool) -> Self {
        self.every_file = every_file;
        self.scrubber = self.scrubber.every_file(every_file);
        self
    }

    /// As [`Scrubber::max_identity_len`].
    pub fn max_identity_len(mut self, bytes: u32) -> Self {
        self.scrubber = self.scrubber.max_identity_len(bytes);
        self
    }

    /// As [`Scrubber::limit_rate`]. To write, each byte counts twice: when it is copied and when it is verified.
    pub fn limit_rate(mut self, bytes_per_second: Option<NonZeroU64>) -> Self {
        self.scrubber = self.scrubber.limit_rate(bytes_per_second);
        self
    }

    /// Migrates the files at `paths` and those below the directories among them, and tells `observer`. Returns when all is
    /// done or the observer stops it. A file is looked at once, however many of the paths lead to where it lies.
    ///
    /// What an earlier run left when it was killed, temporary files `.*.migrate.tmp`, is removed when this one writes: in the
    /// directories that are searched, and beside the files that are asked for.
    ///
    /// # Panics
    /// When the observer or `paths` does.
    pub fn run<P, O>(&self, paths: P, observer: &O) -> MigrationSummary
    where
        P: IntoIterator<Item = PathBuf>,
        P::IntoIter: Send,
        O: FrameObserver + ?Sized,
    {
        let threads = self.thread_count();
        let run = Run {
            observer,
            write: self.write,
            room: Room::new(ROOM_PER_THREAD.saturating_mul(threads as u64), threads),
            copies: Mutex::default(),
            made: Mutex::default(),
            sound: Mutex::default(),
            leftovers: Leftovers::new(self.write),
        };
        let takes = |name: &[u8]| is_frame(name) || is_leftover(name);
        let takes_all = |name: &[u8]| !is_temporary(name) || is_leftover(name);
        let takes = if self.every_file { takes_all } else { takes };
        let terms = Terms {
            accepts: Accepts::Convertible,
            takes,
            each_once: true,
            about_special_files: ABOUT_SPECIAL_FILES,
            preparation: &run,
        };
        let summary = self.scrubber.clone().threads(threads).run_on(&terms, paths, &run);
        run.leftovers.into_summary(&summary)
    }

    /// Counts the files that a run would look at and their lengths, as [`Scrubber::survey`] does, each once.
    pub fn survey<P>(&self, paths: P, stops: impl Fn() -> bool + Sync) -> Survey
    where
        P: IntoIterator<Item = PathBuf>,
    {
        let takes = if self.every_file { |name: &[u8]| !is_temporary(name) } else { is_frame };
        self.scrubber.survey_of(takes, true, paths, &Stop(stops))
    }

    fn thread_count(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(|| if self.write { 2 * cores() } else { cores() })
    }
}

/// A migration at work.
struct Run<'r, O: ?Sized> {
    observer: &'r O,
    write: bool,
    /// For copies: within a bound, or for as many as there are threads.
    room: Room,
    /// Those that wait for their verdict, by device and inode.
    copies: Mutex<HashMap<(u64, u64), Copy>>,
    /// Held by each copy that was made, until it has its place or is gone. Locked while one is begun: then it can be said
    /// whether there were others.
    made: Mutex<Arc<()>>,
    /// Those that are sound, and take their places together when a round is over.
    sound: Mutex<Vec<Sound>>,
    leftovers: Leftovers,
}

/// A copy that is to take its file's place.
struct Sound {
    entry: Entry,
    copy: Copy,
    header: FrameHeader,
}

struct Copy {
    replacement: Replacement,
    len: u64,
    /// Until it has its place, or is gone.
    reserved: Reserved,
    made: Arc<()>,
}

impl<O: FrameObserver + ?Sized> Run<'_, O> {
    fn copies(&self) -> MutexGuard<'_, HashMap<(u64, u64), Copy>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, entry: &FoundFile<'_>, fate: FrameFate<'_>, version: Option<FrameVersion>, len: u64, links: u64) {
        self.observer.file(&FrameFileReport { file: entry, fate, version, len, links });
    }

    /// Makes a copy of a file, which is to be verified in its place.
    fn copy(&self, entry: &Entry, file: FrameFile, passed: &dyn Fn(u64) -> bool) -> io::Result<Prepared> {
        let len = file.stamp().len;
        let Some(reserved) = self.room.take(len) else { return Ok(Prepared::NotYet) };
        let Some((made, replacement)) = self.begin_copy(entry, file)? else { return Ok(Prepared::NotYet) };
        let mut copied = 0;
        loop {
            match io::copy(&mut replacement.source().take(PIECE_LEN), &mut replacement.file())? {
                0 if copied == len => break,
                0 => return Err(outdated()),
                got => {
                    copied += got;
                    self.observer.advanced(got);
                    if !passed(got) {
                        return Ok(Prepared::NotYet);
                    }
                }
            }
        }
        replacement.start_writing();
        let to_verify = FrameFile::of(replacement.file().try_clone()?.into())?;
        let stamp = to_verify.stamp();
        let copy = Copy { replacement, len, reserved, made };
        self.copies().insert((stamp.device, stamp.inode), copy);
        Ok(Prepared::Verify(to_verify))
    }

    /// An empty copy; none while the disk holds no more files, but will when the copies that there are have taken their places.
    fn begin_copy(&self, entry: &Entry, file: FrameFile) -> io::Result<Option<(Arc<()>, Replacement)>> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let others = Arc::strong_count(&made) > 1;
        match Replacement::create(entry, file) {
            Err(error) if others && is_out_of_room(&error) => Ok(None),
            created => Ok(Some((Arc::clone(&made), created?))),
        }
    }

    /// Lets copies take their files' places: step by step, all of them in each, so that the disk puts many on record at once
    /// instead of each by itself.
    fn convert(&self, sound: Vec<Sound>) {
        let files =
            sound.iter().map(|sound| sound.write_header().and_then(|()| sound.copy.replacement.keep_attributes()));
        let files: Vec<_> = files.collect();
        let put_on_disk =
            |(file, sound): (io::Result<()>, &Sound)| file.and_then(|()| sound.copy.replacement.put_on_disk());
        let files: Vec<_> = files.into_iter().zip(&sound).map(put_on_disk).collect();
        let change_names = |(file, sound): (io::Result<()>, Sound)| {
            let Sound { entry, copy: Copy { replacement, len, reserved, made }, header } = sound;
            let links = replacement.links();
            let names = file.and_then(|()| replacement.change_names());
            drop((reserved, made));
            (entry, header, len, links, names)
        };
        let files: Vec<_> = files.into_iter().zip(sound).map(change_names).collect();
        for (entry, header, len, links, file) in files {
            let converted = file.and_then(|names| names.put_on_disk());
            let fate = converted.as_ref().map_or_else(FrameFate::Failed, |()| FrameFate::Converted);
            self.tell(&FoundFile::new(&entry, false), fate, FrameVersion::of(&header), len, links);
        }
    }
}

fn is_out_of_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl Sound {
    /// Magic and schema of v5; what was written is read again.
    fn write_header(&self) -> io::Result<()> {
        let file = self.copy.replacement.file();
        file.write_all_at(&V5_START, 0)?;
        let mut start = [0; HEADER_LEN];
        file.read_exact_at(&mut start, 0)?;
        if start != FrameHeader::new(self.header.identity_len()).to_bytes() {
            return Err(io::Error::other("the header that was written reads otherwise: left as it is"));
        }
        Ok(())
    }
}

impl<O: FrameObserver + ?Sized> Preparation for Run<'_, O> {
    fn prepare(&self, entry: &Entry, mut file: FrameFile, passed: &dyn Fn(u64) -> bool) -> io::Result<Prepared> {
        let len = file.stamp().len;
        let found = FoundFile::new(entry, false);
        match self.leftovers.meet(entry) {
            Met::Another => self.leftovers.look_beside(entry, |left, error| {
                self.tell(&FoundFile::new(left, false), FrameFate::Failed(error), None, 0, 1);
            })?,
            Met::Leftover => return Ok(Prepared::Settled),
            Met::Somebodys(error) => {
                self.tell(&found, FrameFate::Failed(&error), None, len, 1);
                return Ok(Prepared::Settled);
            }
        }
        let header = match parse_header(file.start(&mut [0; HEADER_LEN])?, len, Accepts::Convertible) {
            Ok(header) => header,
            Err(error) => {
                self.tell(&found, FrameFate::Refused(error), None, len, 1);
                return Ok(Prepared::Settled);
            }
        };
        let version = FrameVersion::of(&header);
        if version == Some(FrameVersion::V5) {
            self.observer.advanced(len);
            self.tell(&found, FrameFate::Current, version, len, 1);
            return Ok(Prepared::Settled);
        }
        if !self.write {
            return Ok(Prepared::Verify(file));
        }
        match self.copy(entry, file, passed) {
            // To be tried again when others are closed.
            Err(error) if is_out_of_files(&error) => Err(error),
            Err(error) => {
                self.tell(&found, FrameFate::Failed(&error), version, len, 1);
                Ok(Prepared::Settled)
            }
            Ok(prepared) => Ok(prepared),
        }
    }

    fn round_is_over(&self) {
        let sound = std::mem::take(&mut *self.sound.lock().unwrap_or_else(PoisonError::into_inner));
        self.convert(sound);
    }
}

impl<O: FrameObserver + ?Sized> Observer for Run<'_, O> {
    fn verdict(&self, report: &FileReport<'_>) {
        let file = report.file();
        let stamp = report.stamp();
        let copy = stamp.and_then(|stamp| self.copies().remove(&(stamp.device, stamp.inode)));
        let (len, links) =
            (stamp.map_or(0, |stamp| stamp.len), copy.as_ref().map_or(1, |copy| copy.replacement.links()));
        let version = report.header().as_ref().and_then(FrameVersion::of);
        let tell = |fate| self.tell(&file, fate, version, len, links);
        let changed = || copy.as_ref().map_or(report.changed_while_read(), |copy| copy.replacement.is_outdated());
        match report.verdict() {
            // It became one since its header was looked at.
            FileVerdict::Sound { .. } if version == Some(FrameVersion::V5) => tell(FrameFate::Current),
            FileVerdict::Sound { .. } => match copy.zip(report.header()) {
                None => tell(FrameFate::Convertible),
                Some((copy, header)) => {
                    let sound = Sound { entry: report.entry().clone(), copy, header };
                    self.sound.lock().unwrap_or_else(PoisonError::into_inner).push(sound);
                }
            },
            FileVerdict::Damaged(_) if changed() => tell(FrameFate::Failed(&outdated())),
            FileVerdict::Damaged(error) => tell(FrameFate::Refused(error)),
            FileVerdict::Unreadable(error) => tell(FrameFate::Failed(error)),
            FileVerdict::Vanished => tell(FrameFate::Vanished),
        }
    }

    fn read(&self, bytes: u64) {
        if !self.write {
            self.observer.advanced(bytes);
        }
    }

    fn stops(&self) -> bool {
        self.observer.stops()
    }
}
