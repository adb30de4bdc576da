//! Moves damaged frames aside: `verify --quarantine`.
//!
//! A frame is renamed, so it is never half there, and never onto something else. A note is written first, so no frame lies
//! in quarantine without its reason; a crash in between leaves a note alone. What is moved is what was judged: a file that
//! was replaced in the meantime stays.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use membrane_codec::scrub::FileStamp;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::Serialize;

use crate::display::{path_bytes, printable};
use crate::outcome::{Failure, say};
use crate::output::{NewFile, directory_of, sync_directory};

pub(crate) struct Quarantine {
    directory: PathBuf,
    /// One file at a time is moved.
    moving: Mutex<()>,
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
        fs::create_dir_all(directory).map_err(|error| Failure::trouble(directory, error))?;
        Ok(Self { directory: directory.to_owned(), moving: Mutex::new(()) })
    }

    /// Moves the file at `path`, which was judged when it was as `stamp` says, to a name that nothing has. Where it is then.
    pub(crate) fn take(
        &self,
        path: &Path,
        stamp: &FileStamp,
        status: &str,
        reason: &str,
        detail: &str,
    ) -> io::Result<PathBuf> {
        let _moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        check_unchanged(path, stamp)?;
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let note = Note {
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned(),
            path_bytes: path_bytes(path),
            status,
            reason,
            detail,
            len: stamp.len,
            quarantined: now,
            by: concat!("membrane-codec ", env!("CARGO_PKG_VERSION")),
        };
        let name = path.file_name().ok_or_else(|| io::Error::other("has no name"))?;
        for number in 1_u32.. {
            // Not a name that a later scrub would take for a frame.
            let mut target = name.to_owned();
            target.push(if number == 1 { ".damaged".into() } else { format!(".{number}.damaged") });
            let target = self.directory.join(target);
            let mut beside = target.clone().into_os_string();
            beside.push(".json");
            let beside = PathBuf::from(beside);
            match self.write_note(&note, &beside) {
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
        serde_json::to_writer_pretty(&mut file, note)?;
        file.write_all(b"\n")?;
        file.commit(path)?;
        sync_directory(&self.directory)
    }
}

fn check_unchanged(path: &Path, stamp: &FileStamp) -> io::Result<()> {
    let is_same = FileStamp::from(&fs::symlink_metadata(path)?) == *stamp;
    if is_same { Ok(()) } else { Err(io::Error::other("is not the file any more that was judged (or a link to it)")) }
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
