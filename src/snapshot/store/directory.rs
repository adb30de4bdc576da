//! The file layer over the operating system.
//!
//! The directory is opened once and every name is looked up in it: whoever moves or replaces the directory meanwhile moves
//! nothing of what is written.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::files::{FileId, Files, Kind, OpenFile, Rights, Stamp};

pub(super) struct Directory(OwnedFd);

impl Directory {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }
}

impl Files for Directory {
    fn look_at(&self, name: &OsStr) -> io::Result<Option<Stamp>> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stamp(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn open(&self, name: &OsStr) -> io::Result<Box<dyn OpenFile>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(Box::new(File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?)))
    }

    fn create(&self, name: &OsStr) -> io::Result<Box<dyn OpenFile>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Box::new(File::from(rustix::fs::openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?)))
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.0)?)
    }

    fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(names)
    }

    fn rights(&self) -> io::Result<Rights> {
        let stat = rustix::fs::fstat(&self.0)?;
        let owner_is_trusted = stat.st_uid == 0 || stat.st_uid == rustix::process::geteuid().as_raw();
        Ok(Rights { owner: stat.st_uid, owner_is_trusted, mode: Mode::from_raw_mode(stat.st_mode).as_raw_mode() })
    }
}

impl OpenFile for File {
    fn stamp(&self) -> io::Result<Stamp> {
        Ok(stamp(&rustix::fs::fstat(self)?))
    }

    fn lock(&self) -> io::Result<()> {
        loop {
            match File::lock(self) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                locked => return locked,
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }
}

#[expect(clippy::unnecessary_cast, reason = "systems disagree on the types")]
fn stamp(stat: &Stat) -> Stamp {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Symlink => Kind::SymbolicLink,
        FileType::Directory => Kind::Directory,
        _ => Kind::Other,
    };
    let id = FileId { device: stat.st_dev as u64, number: stat.st_ino as u64 };
    let len = u64::try_from(stat.st_size).unwrap_or(0);
    Stamp { kind, id, len, mode: stat.st_mode as u32 & 0o7777 }
}
