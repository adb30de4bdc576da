//! Where results go: a file that appears whole or not at all, or standard output once all of it is known to be good.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, IsTerminal, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, SpooledTempFile};

use crate::display::printable;
use crate::input::is_stdin;
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
    /// For the file at `path`, which must be none of `inputs`, or for standard output.
    pub(crate) fn create(path: Option<&Path>, inputs: &[&Path]) -> Result<Self, Failure> {
        match path.filter(|path| *path != Path::new("-")) {
            Some(path) if inputs.iter().any(|input| same_file(path, input)) => {
                Err(Failure::trouble(path, "is also an input; it would be lost"))
            }
            Some(path) => AtomicFile::create(path).map(Self::File).map_err(|error| Failure::trouble(path, error)),
            None if io::stdout().is_terminal() => {
                Err(Failure::Trouble("refusing to write binary data to a terminal; name a file with -o".into()))
            }
            None => Ok(Self::Stdout(SpooledTempFile::new(SPOOL_IN_MEMORY))),
        }
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(file) => printable(&file.named),
            Self::Stdout(_) => "temporary file for standard output".into(),
        }
    }

    /// Lets everything that was written show.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        match self {
            Self::File(file) => {
                let path = file.named.clone();
                file.commit().map_err(|error| Failure::trouble(&path, error))
            }
            Self::Stdout(mut spool) => {
                spool.rewind().map_err(|error| Failure::Trouble(format!("temporary file: {error}")))?;
                open_stdout().and_then(|mut stdout| io::copy(&mut spool, &mut stdout)).map_err(Failure::stdout)?;
                Ok(())
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(buffer),
            Self::Stdout(spool) => spool.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stdout(spool) => spool.flush(),
        }
    }
}

/// Where it can be had, the bare file: the standard library says nothing when one cannot be written.
#[cfg(unix)]
fn open_stdout() -> io::Result<File> {
    std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned().map(File::from)
}

#[cfg(not(unix))]
fn open_stdout() -> io::Result<io::Stdout> {
    Ok(io::stdout())
}

/// Whether both are the same file, under whatever names. Looked at and never opened: that would wait for the writer of a
/// pipe, or take its only reader away.
pub(crate) fn same_file(output: &Path, input: &Path) -> bool {
    let input = if is_stdin(input) { metadata_of_stdin() } else { fs::metadata(input) };
    matches!((fs::metadata(output), input), (Ok(output), Ok(input)) if is_same(&output, &input))
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Nothing that can be had without opening tells.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn metadata_of_stdin() -> io::Result<Metadata> {
    std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned().map(File::from)?.metadata()
}

#[cfg(not(unix))]
fn metadata_of_stdin() -> io::Result<Metadata> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A file that is written under a temporary name beside its place (`.*.tmp`, which no scan takes for a frame), and
/// renamed into it when it is whole and on disk.
pub(crate) struct AtomicFile {
    temporary: NamedTempFile,
    target: PathBuf,
    /// The target as the user wrote it.
    named: PathBuf,
}

impl AtomicFile {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
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
        let temporary = create_temporary(directory_of(&target), permissions.as_ref())?;
        if let Some(permissions) = permissions {
            // As they were, whatever the umask made of them.
            temporary.as_file().set_permissions(permissions)?;
        }
        Ok(Self { temporary, target, named: path.to_owned() })
    }

    /// Gives it its place.
    pub(crate) fn commit(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary.persist(&self.target).map_err(|error| error.error)?;
        sync_directory(directory_of(&self.target))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.temporary.as_file_mut().write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.as_file_mut().flush()
    }
}

/// As [`AtomicFile`], for a name that nothing has yet.
pub(crate) struct NewFile(NamedTempFile);

impl NewFile {
    pub(crate) fn create_in(directory: &Path) -> io::Result<Self> {
        create_temporary(directory, None).map(Self)
    }

    /// Puts the whole file on disk and gives it its name in the same directory, unless something has that name: then the
    /// error is [`AlreadyExists`](io::ErrorKind::AlreadyExists), and the file is gone. The name is on disk only after
    /// [`sync_directory`].
    pub(crate) fn commit(self, target: &Path) -> io::Result<()> {
        self.0.as_file().sync_all()?;
        self.0.persist_noclobber(target).map(drop).map_err(|error| error.error)
    }
}

impl Write for NewFile {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.as_file_mut().write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_file_mut().flush()
    }
}

/// Has new names in a directory survive a loss of power.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(directory)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = directory;
    Ok(())
}

/// A temporary file in `directory` that nobody may open who could not open the file with `permissions` that it is to
/// replace; without those, one with the rights of any new file.
fn create_temporary(directory: &Path, permissions: Option<&Permissions>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".tmp");
    #[cfg(unix)]
    let rights = {
        use std::os::unix::fs::PermissionsExt;
        Permissions::from_mode(permissions.map_or(0o666, |permissions| permissions.mode() & 0o777))
    };
    #[cfg(unix)]
    builder.permissions(rights);
    let created = interrupt::create_temporary(|| {
        let temporary = builder.tempfile_in(directory)?;
        let path = temporary.path().to_owned();
        Ok((temporary, path))
    });
    created.map_err(|error| {
        // tempfile adds the name that it tried, which tells nobody anything.
        match error.to_string().split_once(" at path ") {
            Some((cause, _)) => io::Error::new(error.kind(), format!("its directory: {cause}")),
            None => error,
        }
    })
}

/// Where a file lies; `.` for a bare name.
pub(crate) fn directory_of(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
