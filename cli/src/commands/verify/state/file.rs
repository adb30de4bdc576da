//! The file that holds the state: whether it can be one, is damaged, or is somebody's for something else.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use membrane_codec::{Frame, Reason};
use rusqlite::ErrorCode;

use crate::display::printable;
use crate::outcome::say;

/// Why the state cannot be used.
pub(super) enum Trouble {
    /// It is damaged: nothing of it is lost when it is begun anew but work.
    Damage(String),
    /// Anything else.
    Other(String),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        use ErrorCode::*;

        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => Self::Other("another run uses this state file".into()),
            // What ails the disk, its rights or the machine, not the file.
            Some(
                PermissionDenied
                | ReadOnly
                | OutOfMemory
                | SystemIoFailure
                | DiskFull
                | CannotOpen
                | FileLockingProtocolFailed
                | NoLargeFileSupport,
            ) => Self::Other(error.to_string()),
            // All that this program asks can be answered, unless the file is not what it was made to be.
            _ => Self::Damage(error.to_string()),
        }
    }
}

impl Trouble {
    pub(super) fn into_message(self) -> String {
        match self {
            Self::Damage(message) | Self::Other(message) => message,
        }
    }
}

/// How SQLite's files begin.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Where two bytes say who may write and read the file: 1, or 2 with a write-ahead log.
const VERSIONS: std::ops::Range<usize> = 18..20;

/// Looks at what lies at `path`, if anything does, before it is opened as a database. Damage makes of a database no text
/// and no frame: those are somebody's, and a slip of the fingers must not move them.
pub(super) fn check(path: &Path) -> Result<(), Trouble> {
    // Where nothing can be looked at, opening says why.
    let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
    if !metadata.is_file() {
        return Err(Trouble::Other("is not a regular file".into()));
    }
    let mut start = Vec::new();
    let file = File::options().read(true).write(true).open(path);
    let read = file.and_then(|file| file.take(4096).read_to_end(&mut start));
    read.map_err(|error| Trouble::Other(format!("cannot be read and written: {error}")))?;
    if MAGIC.starts_with(&start) {
        return if start.is_empty() { Ok(()) } else { Err(Trouble::Damage("cut short".into())) };
    }
    if start.starts_with(MAGIC) {
        let versions = start.get(VERSIONS).unwrap_or_default();
        let are_known = versions.iter().all(|version| matches!(version, 1 | 2));
        return if are_known { Ok(()) } else { Err(Trouble::Damage("unknown file format".into())) };
    }
    if is_text(&start) {
        return Err(Trouble::Other("is a text, no state; name another file".into()));
    }
    let is_frame = Frame::parse(&start).map_or_else(|error| error.reason() != Reason::BadMagic, |_| true);
    if is_frame {
        return Err(Trouble::Other("is a frame, no state; name another file".into()));
    }
    Ok(())
}

/// Whether this begins a text; a character may be cut at its end.
fn is_text(start: &[u8]) -> bool {
    let is_utf8 = std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_utf8 && !start.contains(&0)
}

/// Renames a damaged database and what belongs to it, to names that nothing has.
pub(super) fn set_aside(path: &Path, damage: &str) -> io::Result<()> {
    let with = |suffix: &str| {
        let mut name = path.as_os_str().to_owned().into_vec();
        name.extend(suffix.as_bytes());
        PathBuf::from(OsString::from_vec(name))
    };
    let free = |number: &u32| fs::symlink_metadata(with(&format!(".damaged-{number}"))).is_err();
    let number = (1..).find(free).unwrap_or(u32::MAX);
    let aside = with(&format!(".damaged-{number}"));
    fs::rename(path, &aside)?;
    for companion in ["-wal", "-shm"] {
        match fs::rename(with(companion), with(&format!(".damaged-{number}{companion}"))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    say(format_args!(
        "{}: the state file is damaged ({damage}); it is now {}, and a new one is begun: everything is verified",
        printable(path),
        printable(&aside)
    ));
    Ok(())
}
