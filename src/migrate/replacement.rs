//! A file that is written under a temporary name beside another one and takes its place when it is whole and on disk.
//!
//! Names are looked up in an open directory: what is renamed lies where the other file was found, whatever became of the
//! path.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{FlockOperation, Stat};
#[cfg(target_os = "linux")]
use rustix::{fs::RenameFlags, io::Errno};

use super::attributes;
use super::place::Place;
use super::temporary::Temporary;
use crate::scrub::{Entry, FrameFile};

/// A file that is to take another's place. Dropped before, it is gone.
pub(super) struct Replacement {
    place: Place,
    source: File,
    /// The file that is to be replaced, as it was opened.
    old: Stat,
    temporary: Temporary,
}

impl Replacement {
    /// An empty file beside the one that was opened as `entry` says, with its owner.
    pub(super) fn create(entry: &Entry, source: FrameFile) -> io::Result<Self> {
        let place = Place::of(entry)?;
        // From here on, whoever writes to it is noticed: also before anything is known that is to be replaced.
        let (source, old) = source.into_file();
        // For the moment in which it has the temporary name. Where it cannot be locked, nobody else can either.
        let _ = rustix::fs::flock(&source, FlockOperation::NonBlockingLockShared);
        let temporary = Temporary::create(&place, &old)?;
        let replacement = Self { place, source, old, temporary };
        attributes::keep_owner(&replacement.old, replacement.file())?;
        Ok(replacement)
    }

    pub(super) fn source(&self) -> &File {
        &self.source
    }

    pub(super) fn file(&self) -> &File {
        &self.temporary.file
    }

    /// Lets the disk begin with what was written so far, where the system can be told: there will be less to wait for.
    pub(super) fn start_writing(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(self.file(), 0, None, rustix::fs::Advice::DontNeed);
    }

    /// Names that the file that is to be replaced has.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the type differs between systems")]
    pub(super) fn links(&self) -> u64 {
        self.old.st_nlink as u64
    }

    /// Whether the file that is to be replaced is not the one any more that was opened.
    pub(super) fn is_outdated(&self) -> bool {
        let now = self.place.look();
        // A file that has several names changes when one of them goes, which may be this migration's work.
        let same_state = |now: &Stat| {
            self.old.st_nlink > 1 || (now.st_ctime, now.st_ctime_nsec) == (self.old.st_ctime, self.old.st_ctime_nsec)
        };
        !now.is_ok_and(|now| is_same_content(&now, &self.old) && same_state(&now))
    }

    /// Puts everything on disk and takes the other file's place, with its rights, attributes and times.
    ///
    /// # Errors
    /// When the other file was written to or replaced since it was opened, and those of the system. The other file, or what
    /// came in its place, then stays.
    pub(super) fn take_place(self) -> io::Result<()> {
        self.keep_attributes()?;
        self.put_on_disk()?;
        self.change_names()?.put_on_disk()
    }

    /// The first step of [`Replacement::take_place`]: it gets the other file's rights, attributes and times.
    pub(super) fn keep_attributes(&self) -> io::Result<()> {
        attributes::keep(&self.old, &self.source, self.file())
    }

    /// The second step. When several files take it one after another, the disk has less to do.
    pub(super) fn put_on_disk(&self) -> io::Result<()> {
        self.file().sync_all()
    }

    /// The third step; the last one is to put the new names on disk.
    pub(super) fn change_names(mut self) -> io::Result<NewNames> {
        if self.is_outdated() {
            return Err(outdated());
        }
        self.rename()?;
        Ok(NewNames(Arc::clone(&self.place.directory)))
    }

    /// Trades names with the other file, looks at what that was, and trades back if it was another one by then.
    #[cfg(target_os = "linux")]
    fn rename(&mut self) -> io::Result<()> {
        match self.temporary.take_trading_name(&self.old).and_then(|()| self.trade_names()) {
            Ok(()) => {}
            // Some file systems cannot.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => return self.rename_over(),
            Err(error) => return Err(error.into()),
        }
        // Whatever it is now that has the temporary name, it is not ours to throw away.
        self.temporary.is_ours = false;
        if self.temporary.place.look().is_ok_and(|old| is_same_content(&old, &self.old)) {
            return self.temporary.place.remove().map_err(|error| {
                let name = self.temporary.place.name.to_string_lossy();
                told_with(&format!("converted, but the old file is left as {name} beside it"), &error)
            });
        }
        if self.trade_names().is_ok() {
            let new = rustix::fs::fstat(self.file())?;
            self.temporary.is_ours = self.temporary.place.look().is_ok_and(|now| is_same_content(&now, &new));
        }
        Err(if self.temporary.is_ours { outdated() } else { self.put_aside() })
    }

    /// What has the temporary name is somebody's who was quicker than two renames: it goes where it is seen.
    #[cfg(target_os = "linux")]
    fn put_aside(&self) -> io::Error {
        let temporary = &self.temporary.place;
        let aside = [self.place.name.to_bytes(), b".replaced"].concat();
        let aside = std::ffi::CString::new(aside).unwrap_or_else(|_| temporary.name.clone());
        let moved = temporary.rename(&aside, RenameFlags::NOREPLACE);
        let shown = if moved.is_ok() { &aside } else { &temporary.name };
        io::Error::other(format!("was replaced twice meanwhile; see {} beside it", shown.to_string_lossy()))
    }

    #[cfg(target_os = "linux")]
    fn trade_names(&self) -> rustix::io::Result<()> {
        self.temporary.place.rename(&self.place.name, RenameFlags::EXCHANGE)
    }

    #[cfg(not(target_os = "linux"))]
    fn rename(&mut self) -> io::Result<()> {
        self.rename_over()
    }

    fn rename_over(&mut self) -> io::Result<()> {
        self.temporary.place.rename_over(&self.place.name)?;
        self.temporary.is_ours = false;
        Ok(())
    }
}

/// A directory of which a name is not on disk yet.
pub(super) struct NewNames(Arc<dyn AsFd + Send + Sync>);

impl NewNames {
    pub(super) fn put_on_disk(&self) -> io::Result<()> {
        rustix::fs::fsync(&*self.0)
            .map_err(|error| told_with("converted, but its name is not known to be on disk", &error.into()))
    }
}

/// What becomes of a file that changes meanwhile.
pub(super) fn outdated() -> io::Error {
    io::Error::other("was written to, replaced or removed meanwhile: left as it is now; run again")
}

/// An error with what it means for the file.
fn told_with(meaning: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{meaning}: {error}"))
}

fn is_same_content(one: &Stat, other: &Stat) -> bool {
    let of = |stat: &Stat| (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    of(one) == of(other)
}
