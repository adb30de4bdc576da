//! Where results go: a file that appears whole or not at all, or standard output once all of it is known to be good.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, SpooledTempFile};

use crate::interrupt;
use crate::outcome::Failure;

/// Up to this many bytes wait for standard output in memory, more in an unnamed temporary file.
const SPOOL_IN_MEMORY: usize = 8 * 1024 * 1024;

/// Takes bytes; nothing of them shows until [`Output::commit`]. Dropped before, it leaves nothing behind.
pub(crate) enum Output {
    File(AtomicFile),
    Stdout(SpooledTempFile),
}

impl Output {
    /// For the file at `path`, or for standard output.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self, Failure> {
        match path {
            Some(path) => AtomicFile::create(path).map(Self::File).map_err(|error| Failure::trouble(path, error)),
            None if io::stdout().is_terminal() => {
                Err(Failure::Trouble("refusing to write binary data to a terminal; name a file with -o".into()))
            }
            None => Ok(Self::Stdout(SpooledTempFile::new(SPOOL_IN_MEMORY))),
        }
    }

    /// Lets everything that was written show.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        match self {
            Self::File(file) => {
                let path = file.target.clone();
                file.commit().map_err(|error| Failure::trouble(&path, error))
            }
            Self::Stdout(mut spool) => {
                spool.rewind().map_err(|error| Failure::Trouble(format!("temporary file: {error}")))?;
                let mut stdout = io::stdout().lock();
                io::copy(&mut spool, &mut stdout).and_then(|_| stdout.flush()).map_err(Failure::stdout)
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.temporary.write(buffer),
            Self::Stdout(spool) => spool.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.temporary.flush(),
            Self::Stdout(spool) => spool.flush(),
        }
    }
}

/// A file that is written under a temporary name beside its place (`.*.tmp`, which no scan takes for a frame), and
/// renamed into it when it is whole and on disk.
pub(crate) struct AtomicFile {
    temporary: NamedTempFile,
    target: PathBuf,
}

impl AtomicFile {
    fn create(path: &Path) -> io::Result<Self> {
        let (target, permissions) = match fs::metadata(path) {
            // A device or pipe would be replaced by a file, which nobody means by naming it.
            Ok(existing) if !existing.is_file() => {
                let advice = "exists and is not a regular file; leave out -o to write to standard output";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, advice));
            }
            // Through a symbolic link the file behind it is replaced, not the link.
            Ok(existing) => (fs::canonicalize(path)?, Some(existing.permissions())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(path).is_ok() {
                    let advice = "is a symbolic link to nothing; remove it or name the file itself";
                    return Err(io::Error::new(io::ErrorKind::NotFound, advice));
                }
                (path.to_owned(), None)
            }
            Err(error) => return Err(error),
        };
        if target.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "names no file"));
        }

        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(".tmp");
        #[cfg(unix)]
        let builder = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let temporary = builder.tempfile_in(directory_of(&target))?;
        interrupt::remove_when_interrupted(temporary.path().to_owned())?;
        if let Some(permissions) = permissions {
            temporary.as_file().set_permissions(permissions)?;
        }
        Ok(Self { temporary, target })
    }

    fn commit(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary.persist(&self.target).map_err(|error| error.error)?;
        // The new name is on disk only when the directory is.
        #[cfg(unix)]
        File::open(directory_of(&self.target))?.sync_all()?;
        Ok(())
    }
}

/// Where a file lies; `.` for a bare name.
fn directory_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
