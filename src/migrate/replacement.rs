//! A file that is written under a temporary name beside another one and takes its place when it is whole and on disk.
//!
//! Names are looked up in an open directory: what is renamed lies where the other file was found, whatever became of the
//! path. A temporary file is locked as long as somebody works on it, so that those that nobody does can be told and removed.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::attributes;
use crate::scrub::{Entry, FrameFile};

/// What every temporary file of a migration ends with.
const SUFFIX: &str = ".migrate.tmp";

/// Whether this is the name of a migration's temporary file.
pub(super) fn is_leftover(name: &[u8]) -> bool {
    name.starts_with(b".") && name.ends_with(SUFFIX.as_bytes())
}

/// Where a file lies: its name in an open directory.
struct Place {
    directory: Arc<dyn AsFd + Send + Sync>,
    name: CString,
}

impl Place {
    fn of(entry: &Entry) -> io::Result<Self> {
        if let Some(directory) = entry.directory() {
            let directory: Arc<dyn AsFd + Send + Sync> = Arc::<crate::scrub::Directory>::clone(directory);
            return Ok(Self { directory, name: entry.name().to_owned() });
        }
        // Through a symbolic link that was asked for, the file behind it is replaced.
        let path = std::fs::canonicalize(entry.path())?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "names no file"));
        };
        let directory = rustix::fs::open(parent, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { directory: Arc::new(directory), name: CString::new(name.as_bytes())? })
    }

    fn look_at(&self, name: &CStr) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&*self.directory, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    fn remove(&self, name: &CStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&*self.directory, name, AtFlags::empty())?)
    }
}

/// A file that is to take another's place. Dropped before, it is gone.
pub(super) struct Replacement {
    place: Place,
    source: File,
    /// The file that is to be replaced, as it was opened.
    old: Stat,
    file: File,
    temporary: CString,
    is_ours: bool,
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = self.place.remove(&self.temporary);
        }
    }
}

impl Replacement {
    /// An empty file beside the one that was opened as `entry` says, with its owner.
    pub(super) fn create(entry: &Entry, source: FrameFile) -> io::Result<Self> {
        let place = Place::of(entry)?;
        // From here on, whoever writes to it is noticed: also before anything is known that is to be replaced.
        let (source, old) = source.into_file();
        // For the moment in which it has the temporary name. Where it cannot be locked, nobody else can either.
        let _ = rustix::fs::flock(&source, FlockOperation::NonBlockingLockShared);
        let (file, temporary) = create_locked(&place, &old)?;
        let replacement = Self { place, source, old, file, temporary, is_ours: true };
        attributes::keep_owner(&replacement.old, &replacement.file)?;
        Ok(replacement)
    }

    pub(super) fn source(&self) -> &File {
        &self.source
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Lets the disk begin with what was written so far, where the system can be told: there will be less to wait for.
    pub(super) fn start_writing(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
    }

    /// Names that the file that is to be replaced has.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the type differs between systems")]
    pub(super) fn links(&self) -> u64 {
        self.old.st_nlink as u64
    }

    /// Whether the file that is to be replaced is not the one any more that was opened.
    pub(super) fn is_outdated(&self) -> bool {
        let now = self.place.look_at(&self.place.name);
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
        attributes::keep(&self.old, &self.source, &self.file)
    }

    /// The second step. When several files take it one after another, the disk has less to do.
    pub(super) fn put_on_disk(&self) -> io::Result<()> {
        self.file.sync_all()
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
        match self.trade_names() {
            Ok(()) => {}
            // Some file systems cannot.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => return self.rename_over(),
            Err(error) => return Err(error.into()),
        }
        // Whatever it is now that has the temporary name, it is not ours to throw away.
        self.is_ours = false;
        if self.place.look_at(&self.temporary).is_ok_and(|old| is_same_content(&old, &self.old)) {
            return self.place.remove(&self.temporary);
        }
        if self.trade_names().is_ok() {
            let new = rustix::fs::fstat(&self.file)?;
            self.is_ours = self.place.look_at(&self.temporary).is_ok_and(|now| is_same_content(&now, &new));
        }
        Err(if self.is_ours { outdated() } else { self.put_aside() })
    }

    /// What has the temporary name is somebody's who was quicker than two renames: it goes where nobody takes it for a
    /// leftover.
    #[cfg(target_os = "linux")]
    fn put_aside(&self) -> io::Error {
        let Place { directory, name } = &self.place;
        let aside = [name.to_bytes(), b".replaced"].concat();
        let aside = CString::new(aside).unwrap_or_else(|_| self.temporary.clone());
        let no_replace = rustix::fs::RenameFlags::NOREPLACE;
        let moved = rustix::fs::renameat_with(&**directory, &self.temporary, &**directory, &aside, no_replace);
        let shown = if moved.is_ok() { &aside } else { &self.temporary };
        io::Error::other(format!("was replaced twice meanwhile; see {} beside it", shown.to_string_lossy()))
    }

    #[cfg(not(target_os = "linux"))]
    fn rename(&mut self) -> io::Result<()> {
        self.rename_over()
    }

    #[cfg(target_os = "linux")]
    fn trade_names(&self) -> rustix::io::Result<()> {
        let Self { place: Place { directory, name }, temporary, .. } = self;
        rustix::fs::renameat_with(&**directory, temporary, &**directory, name, rustix::fs::RenameFlags::EXCHANGE)
    }

    fn rename_over(&mut self) -> io::Result<()> {
        let Place { directory, name } = &self.place;
        rustix::fs::renameat(&**directory, &self.temporary, &**directory, name)?;
        self.is_ours = false;
        Ok(())
    }
}

/// A directory of which a name is not on disk yet.
pub(super) struct NewNames(Arc<dyn AsFd + Send + Sync>);

impl NewNames {
    pub(super) fn put_on_disk(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&*self.0)?)
    }
}

/// What becomes of a file that changes meanwhile.
pub(super) fn outdated() -> io::Error {
    io::Error::other("was written to, replaced or removed meanwhile: left as it is now; run again")
}

fn is_same_content(one: &Stat, other: &Stat) -> bool {
    let of = |stat: &Stat| (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    of(one) == of(other)
}

/// A new temporary file that nobody else may open, locked.
fn create_locked(place: &Place, old: &Stat) -> io::Result<(File, CString)> {
    for number in 0_u64.. {
        let name = CString::new(format!(".{}-{number}{SUFFIX}", old.st_ino))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&*place.directory, &name, flags, Mode::RUSR | Mode::WUSR) {
            // Another migration is at it, or was killed.
            Err(Errno::EXIST) => continue,
            created => File::from(created?),
        };
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // Somebody who removes what was left took it for that.
            Err(Errno::WOULDBLOCK) => {}
            // Where nothing can be locked, nothing is removed either.
            Err(_) => return Ok((file, name)),
            Ok(()) if rustix::fs::fstat(&file)?.st_nlink > 0 => return Ok((file, name)),
            Ok(()) => {}
        }
    }
    Err(Errno::EXIST.into())
}

/// Removes a temporary file of a migration that was killed; whether it did. One that a migration works on stays.
pub(super) fn remove_leftover(entry: &Entry) -> io::Result<bool> {
    let place = Place::of(entry)?;
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(&*place.directory, &place.name, flags, Mode::empty())?);
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(false),
        Err(error) => return Err(error.into()),
        Ok(()) => {}
    }
    // While it was not locked yet, another one may have come under its name. From now on nobody takes the name away.
    let locked = rustix::fs::fstat(&file)?;
    let named = place.look_at(&place.name)?;
    if (named.st_dev, named.st_ino) != (locked.st_dev, locked.st_ino) {
        return Ok(false);
    }
    place.remove(&place.name).map(|()| true)
}
