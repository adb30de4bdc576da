//! Directories, the files in them, and which of these are taken for frames.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Stat};

use super::platform::{self, Base};
use crate::digest::Digest;

/// An open directory.
pub(crate) struct Directory {
    fd: OwnedFd,
    path: PathBuf,
    was_asked_for: bool,
    /// Its device and inode, where directories are visited once.
    id: Option<(u64, u64)>,
}

impl Directory {
    /// What `entry` names, opened.
    pub(super) fn new(fd: OwnedFd, entry: &Entry, id: Option<(u64, u64)>) -> Self {
        Self { fd, path: entry.path(), was_asked_for: entry.was_asked_for, id }
    }

    pub(super) fn id(&self) -> Option<(u64, u64)> {
        self.id
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Itself, by its whole path.
    pub(super) fn entry(&self) -> Entry {
        let entry = Entry::asked_for(self.path.clone()).unwrap_or_else(|(entry, _)| entry);
        Entry { was_asked_for: self.was_asked_for, ..entry }
    }
}

/// A name in a directory, or a path that was asked for by itself.
#[cfg_attr(feature = "migrate", derive(Clone))]
pub(crate) struct Entry {
    directory: Option<Arc<Directory>>,
    name: CString,
    was_asked_for: bool,
    /// It was a regular file when its directory was listed.
    is_listed_file: bool,
    /// The observer was asked, and wants it.
    pub(super) is_selected: bool,
    /// It is known that no other entry led to the same place before.
    pub(super) is_first: bool,
}

impl Entry {
    fn new(name: CString, was_asked_for: bool) -> Self {
        Self { directory: None, name, was_asked_for, is_listed_file: false, is_selected: false, is_first: false }
    }

    pub(super) fn in_directory(directory: Arc<Directory>, name: CString) -> Self {
        Self { directory: Some(directory), ..Self::new(name, false) }
    }

    pub(super) fn file_in_directory(directory: Arc<Directory>, name: CString) -> Self {
        Self { is_listed_file: true, ..Self::in_directory(directory, name) }
    }

    /// A path that was asked for.
    ///
    /// # Errors
    /// When it holds a NUL, which no path can; with an entry that shows it.
    pub(crate) fn asked_for(path: PathBuf) -> Result<Self, (Self, io::Error)> {
        let entry = |name| Self::new(name, true);
        CString::new(path.into_os_string().into_vec()).map(entry).map_err(|error| {
            let shown = error.into_vec().into_iter().map(|byte| if byte == 0 { b'?' } else { byte });
            let error = io::Error::new(io::ErrorKind::InvalidInput, "a path cannot hold a NUL (shown as ?)");
            (entry(CString::new(shown.collect::<Vec<_>>()).unwrap_or_default()), error)
        })
    }

    pub(crate) fn was_asked_for(&self) -> bool {
        self.was_asked_for
    }

    /// Whether this may be a directory, as far as is known before it is opened.
    pub(super) fn may_be_directory(&self) -> bool {
        !self.is_listed_file
    }

    pub(super) fn base(&self) -> Base<'_> {
        self.directory.as_ref().map(|directory| directory.fd().as_fd())
    }

    /// The directory that it was found in.
    pub(crate) fn directory(&self) -> Option<&Arc<Directory>> {
        self.directory.as_ref()
    }

    pub(crate) fn name(&self) -> &std::ffi::CStr {
        &self.name
    }

    pub(crate) fn path(&self) -> PathBuf {
        let name = Path::new(OsStr::from_bytes(self.name.to_bytes()));
        match &self.directory {
            Some(directory) => directory.path().join(name),
            None => name.to_owned(),
        }
    }
}

#[cfg(feature = "migrate")]
impl AsFd for Directory {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What was known of a file when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileStamp {
    /// Its length in bytes.
    pub len: u64,
    /// When it was last written.
    pub modified: SystemTime,
    /// The device that it lies on.
    pub device: u64,
    /// Its number on that device.
    pub inode: u64,
}

impl FileStamp {
    #[allow(clippy::unnecessary_cast, reason = "these types differ between systems")]
    pub(super) fn new(stat: &Stat) -> Self {
        let seconds = Duration::from_secs((stat.st_mtime as i64).unsigned_abs());
        let whole = if stat.st_mtime < 0 { UNIX_EPOCH.checked_sub(seconds) } else { UNIX_EPOCH.checked_add(seconds) };
        let nanoseconds = Duration::from_nanos(stat.st_mtime_nsec as u64);
        let modified = whole.and_then(|whole| whole.checked_add(nanoseconds)).unwrap_or(UNIX_EPOCH);
        Self { len: stat.st_size as u64, modified, device: stat.st_dev as u64, inode: stat.st_ino as u64 }
    }
}

impl From<&std::fs::Metadata> for FileStamp {
    /// To see whether a file is still the one that was judged, before something is done to it.
    fn from(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        Self { len: metadata.len(), modified, device: metadata.dev(), inode: metadata.ino() }
    }
}

/// A file that a scrub came upon, before it is opened.
pub struct FoundFile<'a> {
    entry: &'a Entry,
    follow_links: bool,
}

impl<'a> FoundFile<'a> {
    pub(crate) fn new(entry: &'a Entry, follow_links: bool) -> Self {
        Self { entry, follow_links }
    }

    /// Its path: the one that was asked for, and what was found below it. Allocates.
    pub fn path(&self) -> PathBuf {
        self.entry.path()
    }

    /// Its name without directories and extension, by convention the key.
    pub fn stem(&self) -> &OsStr {
        let name = Path::new(OsStr::from_bytes(self.entry.name().to_bytes()));
        name.file_stem().unwrap_or(OsStr::new(""))
    }

    /// The key under which a store holds it, by its name `{key}.blob`; `None` when that is no key.
    pub fn key(&self) -> Option<Digest> {
        key_of(Path::new(OsStr::from_bytes(self.entry.name().to_bytes())))
    }

    /// Its length and the time of its last change. Costs a system call.
    ///
    /// # Errors
    /// When it is gone or its directory may not be searched.
    pub fn stamp(&self) -> io::Result<FileStamp> {
        let follow = self.follow_links || self.entry.was_asked_for();
        platform::look_at(self.entry.base(), self.entry.name(), follow).map(|stat| FileStamp::new(&stat))
    }
}

/// The key under which a store holds the file at `path`, by its name `{key}.blob`; `None` when that is no key. Looks at the
/// name alone, whatever its extension.
pub fn key_of(path: &Path) -> Option<Digest> {
    path.file_stem()?.to_str()?.parse().ok()
}

impl std::fmt::Debug for FoundFile<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FoundFile").field(&self.path()).finish()
    }
}

/// What a name in a directory stands for.
pub(super) enum Kind {
    Directory,
    Frame,
    OtherFile,
    TemporaryFile,
    Symlink,
    Special,
    /// Nobody can tell before it is opened.
    Unknown,
}

impl Kind {
    /// By type and name; `takes` says which regular files are taken for frames.
    pub(super) fn of(name: &[u8], kind: FileType, takes: fn(&[u8]) -> bool) -> Self {
        match kind {
            FileType::Directory => Self::Directory,
            FileType::RegularFile if takes(name) => Self::Frame,
            FileType::RegularFile if is_temporary(name) => Self::TemporaryFile,
            FileType::RegularFile => Self::OtherFile,
            FileType::Symlink => Self::Symlink,
            FileType::Unknown => Self::Unknown,
            _ => Self::Special,
        }
    }
}

/// Temporary files of a write that goes on or was killed.
pub(crate) fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(b".") && name.ends_with(b".tmp")
}

pub(super) fn is_named_as_frame(name: &[u8]) -> bool {
    // A name that is nothing but `.blob` has no extension.
    [&b".blob"[..], b".frame"].iter().any(|extension| name.len() > extension.len() && name.ends_with(extension))
}
