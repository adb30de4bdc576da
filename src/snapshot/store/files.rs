//! The file layer: all that a store asks of its directory. One implementation asks the operating system
//! ([`directory`](super::directory)); the tests have another, whose every step may fail or be the last before the power goes.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};

/// A directory. Names are of what lies in it, and are never followed when they are links.
pub(super) trait Files: Send + Sync {
    /// What a name stands for, if for anything.
    fn look_at(&self, name: &OsStr) -> io::Result<Option<Stamp>>;
    /// Opens for reading, without waiting for anybody.
    fn open(&self, name: &OsStr) -> io::Result<Box<dyn OpenFile>>;
    /// Creates an empty file for writing, which its owner alone may open, where nothing has this name.
    fn create(&self, name: &OsStr) -> io::Result<Box<dyn OpenFile>>;
    /// Gives a file another name, in place of what has that name.
    fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()>;
    fn remove(&self, name: &OsStr) -> io::Result<()>;
    /// Has the names, as they are now, survive a loss of power.
    fn sync(&self) -> io::Result<()>;
    /// All names, in any order.
    fn names(&self) -> io::Result<Vec<OsString>>;
    /// Who may change the names.
    fn rights(&self) -> io::Result<Rights>;
}

/// An open file.
pub(super) trait OpenFile: Read + Write + Send {
    fn stamp(&self) -> io::Result<Stamp>;
    /// Waits until nobody else has the file locked, and locks it until it is closed.
    fn lock(&self) -> io::Result<()>;
    /// Has the bytes survive a loss of power.
    fn sync(&self) -> io::Result<()>;
}

/// What is told of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) kind: Kind,
    pub(super) id: FileId,
    pub(super) len: u64,
    /// Who may read, write and execute it.
    pub(super) mode: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    SymbolicLink,
    Directory,
    Other,
}

/// Tells a file from every other that is there at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    pub(super) device: u64,
    pub(super) number: u64,
}

/// Owner and mode of a directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rights {
    pub(super) owner: u32,
    /// Whether its owner is the superuser, or whoever runs this.
    pub(super) owner_is_trusted: bool,
    pub(super) mode: u32,
}
