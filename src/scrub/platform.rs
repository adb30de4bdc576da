//! The system calls of a scrub, and where Linux has more to offer than other Unixes.
//!
//! The configuration `portable_scrub` (`RUSTFLAGS="--cfg portable_scrub"`) builds what other Unixes get on Linux too, so
//! that it can be tested there.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};

/// A directory to look names up in; `None` is the working directory.
pub(super) type Base<'a> = Option<BorrowedFd<'a>>;

fn base(directory: Base<'_>) -> BorrowedFd<'_> {
    directory.unwrap_or(CWD)
}

/// Opens for reading what should be a regular file, without waiting: a pipe's opening would wait for a writer.
pub(super) fn open_file(directory: Base<'_>, name: &CStr, follow: bool, direct: bool) -> io::Result<OwnedFd> {
    let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    flags.set(OFlags::NOFOLLOW, !follow);
    #[cfg(all(target_os = "linux", not(portable_scrub)))]
    flags.set(OFlags::DIRECT, direct);
    #[cfg(not(all(target_os = "linux", not(portable_scrub))))]
    let _ = direct;
    Ok(rustix::fs::openat(base(directory), name, flags, Mode::empty())?)
}

pub(super) fn open_directory(directory: Base<'_>, name: &CStr, follow: bool) -> io::Result<OwnedFd> {
    let mut flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follow);
    Ok(rustix::fs::openat(base(directory), name, flags, Mode::empty())?)
}

pub(super) fn look_at(directory: Base<'_>, name: &CStr, follow: bool) -> io::Result<Stat> {
    let flags = if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    Ok(rustix::fs::statat(base(directory), name, flags)?)
}

pub(super) fn look_at_open(file: impl AsFd) -> io::Result<Stat> {
    Ok(rustix::fs::fstat(file)?)
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Room for names while a directory is listed.
#[cfg(all(target_os = "linux", not(portable_scrub)))]
pub(super) struct NameBuffer(Vec<std::mem::MaybeUninit<u8>>);
#[cfg(not(all(target_os = "linux", not(portable_scrub))))]
pub(super) struct NameBuffer;

#[cfg(all(target_os = "linux", not(portable_scrub)))]
impl NameBuffer {
    pub(super) fn new() -> Self {
        Self(vec![std::mem::MaybeUninit::uninit(); 32 * 1024])
    }
}

#[cfg(not(all(target_os = "linux", not(portable_scrub))))]
impl NameBuffer {
    pub(super) fn new() -> Self {
        Self
    }
}

/// Gives some hundred of a directory's names that were not given before; whether there may be more.
#[cfg(all(target_os = "linux", not(portable_scrub)))]
pub(super) fn list_some(
    directory: BorrowedFd<'_>,
    buffer: &mut NameBuffer,
    mut give: impl FnMut(&CStr, FileType),
) -> io::Result<bool> {
    let mut entries = rustix::fs::RawDir::new(directory, &mut buffer.0);
    loop {
        let Some(entry) = entries.next() else { return Ok(false) };
        let entry = entry?;
        if !is_self_or_parent(entry.file_name()) {
            give(entry.file_name(), entry.file_type());
        }
        if entries.is_buffer_empty() {
            return Ok(true);
        }
    }
}

/// Gives all of a directory's names.
#[cfg(not(all(target_os = "linux", not(portable_scrub))))]
pub(super) fn list_some(
    directory: BorrowedFd<'_>,
    _: &mut NameBuffer,
    mut give: impl FnMut(&CStr, FileType),
) -> io::Result<bool> {
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        if !is_self_or_parent(entry.file_name()) {
            give(entry.file_name(), entry.file_type());
        }
    }
    Ok(false)
}

fn is_self_or_parent(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// What the page cache knows of a read.
#[cfg_attr(not(all(target_os = "linux", not(portable_scrub))), expect(dead_code, reason = "only Linux tells"))]
pub(super) enum Cached {
    /// This many bytes were there.
    Read(usize),
    /// Nothing is there; it has been asked for.
    Nothing,
    /// This file system does not say.
    Unknown,
}

/// Reads what is in the page cache, from `offset` on, and nothing that is not.
#[cfg(all(target_os = "linux", not(portable_scrub)))]
pub(super) fn read_cached(file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> io::Result<Cached> {
    use rustix::io::{Errno, ReadWriteFlags};

    let mut parts = [io::IoSliceMut::new(buffer)];
    loop {
        match rustix::io::preadv2(file, &mut parts, offset, ReadWriteFlags::NOWAIT) {
            Ok(got) => return Ok(Cached::Read(got)),
            Err(Errno::AGAIN) => return Ok(Cached::Nothing),
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => return Ok(Cached::Unknown),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(all(target_os = "linux", not(portable_scrub))))]
pub(super) fn read_cached(_: BorrowedFd<'_>, _: &mut [u8], _: u64) -> io::Result<Cached> {
    Ok(Cached::Unknown)
}

/// Reads from `offset` on, as long as it takes.
pub(super) fn read(file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match rustix::io::pread(file, &mut *buffer, offset) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

/// Whether a direct read failed because the file system or its block size does not allow it.
pub(super) fn refuses_direct(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error())
}

/// Whether a path failed because nothing is where it leads: removed, replaced by something of another kind, or a circle
/// of links.
pub(super) fn leads_nowhere(error: &io::Error) -> bool {
    use rustix::io::Errno;

    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Whether nothing can be opened before something is closed.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    let limits = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE].map(rustix::io::Errno::raw_os_error);
    error.raw_os_error().is_some_and(|error| limits.contains(&error))
}

/// What a file's pages are to the page cache. Advice: nothing that depends on its being taken.
#[cfg(all(target_os = "linux", not(portable_scrub)))]
pub(super) mod advice {
    use std::num::NonZeroU64;
    use std::os::fd::BorrowedFd;

    use rustix::fs::{Advice, fadvise};

    /// Nothing is to be read ahead of what is asked for.
    pub(in super::super) fn only_what_is_asked_for(file: BorrowedFd<'_>) {
        let _ = fadvise(file, 0, None, Advice::Random);
    }

    pub(in super::super) fn as_usual(file: BorrowedFd<'_>) {
        let _ = fadvise(file, 0, None, Advice::Normal);
    }

    /// This part will be read soon.
    pub(in super::super) fn needed_soon(file: BorrowedFd<'_>, offset: u64, len: u64) {
        let _ = fadvise(file, offset, NonZeroU64::new(len), Advice::WillNeed);
    }

    /// This part will not be read again; without an end, all that follows.
    pub(in super::super) fn not_needed(file: BorrowedFd<'_>, start: u64, end: Option<u64>) {
        let len = end.and_then(|end| NonZeroU64::new(end.saturating_sub(start)));
        let _ = fadvise(file, start, len, Advice::DontNeed);
    }
}

#[cfg(not(all(target_os = "linux", not(portable_scrub))))]
pub(super) mod advice {
    use std::os::fd::BorrowedFd;

    pub(in super::super) fn only_what_is_asked_for(_: BorrowedFd<'_>) {}
    pub(in super::super) fn as_usual(_: BorrowedFd<'_>) {}
    pub(in super::super) fn needed_soon(_: BorrowedFd<'_>, _: u64, _: u64) {}
    pub(in super::super) fn not_needed(_: BorrowedFd<'_>, _: u64, _: Option<u64>) {}
}

/// Makes further reads of a file that was opened past the page cache go through it.
#[cfg(all(target_os = "linux", not(portable_scrub)))]
pub(super) fn read_through_cache(file: BorrowedFd<'_>) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    Ok(rustix::fs::fcntl_setfl(file, flags.difference(OFlags::DIRECT))?)
}

#[cfg(not(all(target_os = "linux", not(portable_scrub))))]
pub(super) fn read_through_cache(_: BorrowedFd<'_>) -> io::Result<()> {
    Ok(())
}

/// Whether files can be read past the page cache at all.
pub(super) const KNOWS_DIRECT: bool = cfg!(all(target_os = "linux", not(portable_scrub)));
