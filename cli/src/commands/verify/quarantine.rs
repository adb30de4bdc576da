//! Moves damaged frames aside: `verify --quarantine`.
//!
//! A frame is renamed, so it is never half there, and never onto something else. A note is written first, so no frame lies
//! in quarantine without its reason; a crash in between leaves a note alone. What is moved is what was judged: a file that
//! was replaced in the meantime stays.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use membrane_codec::scrub::FileStamp;
use membrane_codec::sha256;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::Serialize;

use crate::display::{path_bytes, printable, time};
use crate::json;
use crate::outcome::{Failure, say};
use crate::output::{NewFile, directory_of, sync_directory};

pub(crate) struct Quarantine {
    directory: PathBuf,
    moved: Mutex<Moved>,
}

/// What this run has moved: a path can be named twice. Some 50 bytes for each damaged file.
#[derive(Default)]
struct Moved {
    /// Device and number.
    files: HashSet<(u64, u64)>,
    places: HashSet<Place>,
}

/// Where a file lay: half of the SHA-256 of its path without links in its directories.
#[derive(PartialEq, Eq, Hash)]
struct Place([u8; 16]);

impl Place {
    fn of(path: &Path) -> Option<Self> {
        let path = fs::canonicalize(directory_of(path)).ok()?.join(path.file_name()?);
        sha256(path.as_os_str().as_encoded_bytes()).as_bytes().first_chunk().copied().map(Self)
    }
}

/// What became of a file.
pub(crate) enum Taken {
    /// It is here now.
    Now(PathBuf),
    /// This run has moved it before: it was named twice, or a link leads to it.
    Before,
}

/// What the note says.
#[derive(Serialize)]
struct Note<'a> {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    status: &'a str,
    reason: &'a str,
    detail: &'a str,
    len: u64,
    quarantined: String,
    by: &'static str,
}

impl Quarantine {
    /// Creates the directory where there is none.
    pub(crate) fn open(directory: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(directory).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                Failure::trouble(directory, "is not a directory")
            }
            _ => Failure::trouble(directory, error),
        })?;
        Ok(Self { directory: directory.to_owned(), moved: Mutex::default() })
    }

    /// Moves the file at `path`, which was judged when it was as `stamp` says, to a name that nothing has.
    pub(crate) fn take(
        &self,
        path: &Path,
        stamp: &FileStamp,
        status: &str,
        reason: &str,
        detail: &str,
    ) -> io::Result<Taken> {
        // One file at a time is moved.
        let mut moved = self.lock();
        if let Err(error) = check_unchanged(path, stamp) {
            return if moved.files.contains(&(stamp.device, stamp.inode)) { Ok(Taken::Before) } else { Err(error) };
        }
        let lay_at = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let note = Note {
            path: lay_at.to_string_lossy().into_owned(),
            path_bytes: path_bytes(&lay_at),
            status,
            reason,
            detail,
            len: stamp.len,
            quarantined: time(SystemTime::now()),
            by: concat!("membrane-codec ", env!("CARGO_PKG_VERSION")),
        };
        let place = Place::of(path);
        let name = path.file_name().ok_or_else(|| io::Error::other("has no name"))?;
        let to = match self.move_to_free_name(path, name, stamp, &note) {
            Err(error) if error.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error()) => {
                self.move_to_free_name(path, &shortened(name), stamp, &note)
            }
            moved => moved,
        }?;
        moved.files.insert((stamp.device, stamp.inode));
        moved.places.extend(place);
        Ok(Taken::Now(to))
    }

    /// Whether a file was moved from this path, or from where this link leads, by this run.
    pub(crate) fn has_taken(&self, path: &Path) -> bool {
        let mut path = path.to_owned();
        // As many links as a system follows.
        for _ in 0..40 {
            if Place::of(&path).is_some_and(|place| self.lock().places.contains(&place)) {
                return true;
            }
            match fs::read_link(&path) {
                Ok(target) => path = directory_of(&path).join(target),
                Err(_) => return false,
            }
        }
        false
    }

    fn lock(&self) -> MutexGuard<'_, Moved> {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves a file to `name`, or `name` with a number. Where it is then.
    fn move_to_free_name(&self, path: &Path, name: &OsStr, stamp: &FileStamp, note: &Note<'_>) -> io::Result<PathBuf> {
        for number in 1_u32.. {
            // Not a name that a later scrub would take for a frame.
            let mut target = name.to_owned();
            target.push(if number == 1 { ".damaged".into() } else { format!(".{number}.damaged") });
            let target = self.directory.join(target);
            let mut beside = target.clone().into_os_string();
            beside.push(".json");
            let beside = PathBuf::from(beside);
            match self.write_note(note, &beside) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                written => written?,
            }
            match rename(path, &target, stamp) {
                Err(error) => {
                    let is_taken = error.kind() == io::ErrorKind::AlreadyExists;
                    if is_taken || fs::symlink_metadata(&target).is_err() {
                        // A note on nothing, or on another's frame.
                        let _ = fs::remove_file(&beside);
                    }
                    if !is_taken {
                        return Err(error);
                    }
                }
                Ok(()) => {
                    for directory in [&*self.directory, directory_of(path)] {
                        if let Err(error) = sync_directory(directory) {
                            say(format_args!("{}: moved, but not safely on disk: {error}", printable(directory)));
                        }
                    }
                    return Ok(target);
                }
            }
        }
        Err(io::Error::other("every name is taken"))
    }

    fn write_note(&self, note: &Note<'_>, path: &Path) -> io::Result<()> {
        let mut file = NewFile::create_in(&self.directory)?;
        file.write_all(json::lines(note)?.as_bytes())?;
        file.commit(path)?;
        sync_directory(&self.directory)
    }
}

fn check_unchanged(path: &Path, stamp: &FileStamp) -> io::Result<()> {
    let there = fs::symlink_metadata(path)?;
    if FileStamp::from(&there) == *stamp {
        return Ok(());
    }
    if there.is_symlink()
        && let Ok(target) = fs::read_link(path)
    {
        let target = printable(&directory_of(path).join(target));
        return Err(io::Error::other(format!("is a symbolic link; verify what it leads to by its own name: {target}")));
    }
    Err(io::Error::other("is not the file any more that was judged"))
}

/// A name short enough for any file system with what is added to it, the same each time: its beginning and a part of its
/// hash. The note holds the whole.
fn shortened(name: &OsStr) -> OsString {
    let hash = sha256(name.as_encoded_bytes()).to_string();
    let beginning: String = name.to_string_lossy().chars().take_while(char::is_ascii).take(64).collect();
    format!("{beginning}~{}", &hash[..16]).into()
}

/// Renames, never onto something, and back when what was renamed turns out to be another file.
fn rename(path: &Path, target: &Path, stamp: &FileStamp) -> io::Result<()> {
    let rename = |from: &Path, to: &Path| match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::XDEV) => {
            Err(io::Error::other("the quarantine is on another file system; name a directory on this one"))
        }
        Err(Errno::INVAL) => Err(io::Error::other("this file system cannot rename without replacing")),
        renamed => Ok(renamed?),
    };
    rename(path, target)?;
    check_unchanged(target, stamp).map_err(|error| match rename(target, path) {
        Ok(()) => error,
        // What came in between and what came then are both somebody's: neither replaces the other.
        Err(_) => io::Error::other(format!("was replaced twice meanwhile; see {}", printable(target))),
    })
}
