//! The temporary files of a migration: a new file until it has its place, and for a moment what it took the place from.
//!
//! They are locked as long as somebody works on them, and their names say what they can be, so that what a killed run left
//! can be told from what is somebody's.

use std::ffi::CString;
use std::fs::File;
use std::io;

use rustix::fs::{FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::place::Place;
use crate::scrub::Entry;

/// What the name of each ends with.
const SUFFIX: &str = ".migrate.tmp";

/// Whether this is the name of a migration's temporary file.
pub(super) fn is_leftover(name: &[u8]) -> bool {
    name.starts_with(b".") && name.ends_with(SUFFIX.as_bytes())
}

/// A new file under a temporary name, locked. Dropped, it is gone, unless it is not ours any more.
pub(super) struct Temporary {
    pub(super) place: Place,
    pub(super) file: File,
    pub(super) is_ours: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = self.place.remove();
        }
    }
}

impl Temporary {
    /// An empty file, which nobody else may open, beside the one that was opened as `old`.
    pub(super) fn create(beside: &Place, old: &Stat) -> io::Result<Self> {
        for number in 0_u64.. {
            let place = beside.beside(CString::new(format!(".{}-{number}{SUFFIX}", old.st_ino))?);
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = match rustix::fs::openat(&*place.directory, &place.name, flags, Mode::RUSR | Mode::WUSR) {
                // Another migration is at it, or was killed.
                Err(Errno::EXIST) => continue,
                created => File::from(created?),
            };
            let mut temporary = Self { place, file, is_ours: true };
            match rustix::fs::flock(&temporary.file, FlockOperation::NonBlockingLockExclusive) {
                // Where nothing can be locked, nothing is removed either.
                Err(error) if error != Errno::WOULDBLOCK => return Ok(temporary),
                Ok(()) if rustix::fs::fstat(&temporary.file)?.st_nlink > 0 => return Ok(temporary),
                // Somebody who removes what was left took it for that; the name may be another one's by now.
                _ => temporary.is_ours = false,
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Gives it the name under which it may trade places with the file that was opened as `old`: whatever has this name
    /// later, it can be told what it is.
    #[cfg(target_os = "linux")]
    pub(super) fn take_trading_name(&mut self, old: &Stat) -> rustix::io::Result<()> {
        let traders = Traders { new: rustix::fs::fstat(&self.file)?.st_ino, old: Trader::of(old) };
        let place = self.place.beside(traders.name());
        self.place.rename(&place.name, rustix::fs::RenameFlags::NOREPLACE)?;
        self.place = place;
        Ok(())
    }
}

/// Two files that trade places, as a temporary name tells of them.
struct Traders {
    /// The inode of the new one.
    new: u64,
    old: Trader,
}

#[derive(PartialEq)]
struct Trader {
    inode: u64,
    len: u64,
    seconds: u64,
    nanoseconds: u64,
}

impl Trader {
    #[allow(clippy::unnecessary_cast, reason = "these types differ between systems")]
    fn of(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino as u64,
            len: stat.st_size as u64,
            seconds: stat.st_mtime as u64,
            nanoseconds: stat.st_mtime_nsec as u64,
        }
    }
}

impl Traders {
    #[cfg(target_os = "linux")]
    fn name(&self) -> CString {
        let Self { new, old: Trader { inode, len, seconds, nanoseconds } } = self;
        let name = format!(".{new:x}-{inode:x}-{len:x}-{seconds:x}-{nanoseconds:x}{SUFFIX}");
        // Holds no NUL.
        CString::new(name).unwrap_or_default()
    }
}

/// What the name of a temporary file says of it.
enum Named {
    /// It never had another name: it is a new file, whole or not.
    New,
    /// It may be either of these, or what came in the old one's place.
    Trading(Traders),
    /// It was not made by a migration.
    Otherwise,
}

impl Named {
    fn of(name: &[u8]) -> Self {
        let numbers = str::from_utf8(name).ok().and_then(|name| name.strip_prefix('.')?.strip_suffix(SUFFIX));
        let numbers: Option<Vec<_>> =
            numbers.and_then(|numbers| numbers.split('-').map(|number| u64::from_str_radix(number, 16).ok()).collect());
        match numbers.as_deref() {
            Some([_, _]) => Self::New,
            Some(&[new, inode, len, seconds, nanoseconds]) => {
                Self::Trading(Traders { new, old: Trader { inode, len, seconds, nanoseconds } })
            }
            _ => Self::Otherwise,
        }
    }
}

/// What becomes of a temporary file that is found.
pub(super) enum Leftover {
    /// A killed run left it.
    Removed,
    /// A migration works on it, or made it not.
    Kept,
    /// A killed run took it from its name, where it had come in the last moment. The file that has the name now has this
    /// inode.
    Somebodys {
        /// Of the converted file.
        now: u64,
    },
}

/// Removes a temporary file of a migration that was killed. One that a migration works on stays, and so does what can be
/// somebody else's.
#[allow(clippy::unnecessary_cast, reason = "the type differs between systems")]
pub(super) fn remove_leftover(entry: &Entry) -> io::Result<Leftover> {
    let place = Place::of(entry)?;
    let open = |how: OFlags| {
        let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(&*place.directory, &place.name, flags, Mode::empty()).map(File::from)
    };
    // Over a network only who may write can lock alone.
    let file = open(OFlags::RDWR).or_else(|_| open(OFlags::RDONLY))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(Leftover::Kept),
        Err(error) => return Err(error.into()),
        Ok(()) => {}
    }
    // While it was not locked yet, another one may have come under its name. From now on nobody takes the name away.
    let locked = rustix::fs::fstat(&file)?;
    let named = place.look()?;
    if (named.st_dev, named.st_ino) != (locked.st_dev, locked.st_ino) {
        return Ok(Leftover::Kept);
    }
    match Named::of(place.name.to_bytes()) {
        Named::Trading(Traders { new, old }) if locked.st_ino as u64 != new && Trader::of(&locked) != old => {
            Ok(Leftover::Somebodys { now: new })
        }
        Named::New | Named::Trading(_) => place.remove().map(|()| Leftover::Removed),
        Named::Otherwise => Ok(Leftover::Kept),
    }
}
