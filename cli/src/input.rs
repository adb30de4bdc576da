//! Where bytes come from: regular files and standard input.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use membrane_codec::{FrameReader, PayloadIdentity};

use crate::outcome::Failure;

/// Whether this path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// An open source of bytes.
pub(crate) enum Input {
    File(File, Metadata),
    Stdin(Stdin),
}

/// Where it can be had, the bare file: the standard library takes one that cannot be read for one that is empty.
#[cfg(unix)]
type Stdin = File;
#[cfg(not(unix))]
type Stdin = io::Stdin;

#[cfg(unix)]
fn open_stdin() -> io::Result<Stdin> {
    std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned().map(File::from)
}

#[cfg(not(unix))]
fn open_stdin() -> io::Result<Stdin> {
    Ok(io::stdin())
}

impl Input {
    /// Opens a path, or standard input for `-`.
    ///
    /// Directories, pipes, sockets and devices are refused: reading one could wait for ever.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if is_stdin(path) {
            return open_stdin().map(Self::Stdin);
        }
        let file = open_without_waiting(path)?;
        let metadata = file.metadata()?;
        let kind = metadata.file_type();
        if kind.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory, expected a file"));
        }
        if !kind.is_file() {
            let advice = "is not a regular file; to read a pipe or a device, give it on standard input as -";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, advice));
        }
        Ok(Self::File(file, metadata))
    }

    /// The number of bytes that will come, where the source can say. Files of the kernel's own state say 0 and mean
    /// nothing by it.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Self::File(_, metadata) => Some(metadata.len()).filter(|&len| len > 0),
            Self::Stdin(_) => None,
        }
    }

    /// `reader`, told the source's length where it is known.
    pub(crate) fn reader(&self, reader: FrameReader) -> FrameReader {
        self.len().map_or(reader, |len| reader.source_len(len))
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file, _) => file.read(buffer),
            Self::Stdin(stdin) => stdin.read(buffer),
        }
    }
}

/// Opens a list of any kind, or standard input for `-`. Waits for the writer of a pipe.
#[cfg(unix)]
pub(crate) fn open_list(path: &Path) -> io::Result<File> {
    if is_stdin(path) { open_stdin() } else { File::open(path) }
}

/// Opens what can be read at any place, a regular file or a block device, for reading alone.
pub(crate) fn open_image(path: &Path) -> io::Result<File> {
    if is_stdin(path) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "cannot be searched; name a file"));
    }
    let file = open_without_waiting(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory, expected a file"));
    }
    if !kind.is_file() && !is_block_device(kind) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is neither a regular file nor a block device"));
    }
    Ok(file)
}

#[cfg(unix)]
fn is_block_device(kind: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&kind)
}

#[cfg(not(unix))]
fn is_block_device(_: FileType) -> bool {
    false
}

/// Opens for reading. Between looking at a path and opening it a regular file can become a pipe, whose opening waits for
/// a writer: opening comes first here, in a way that never waits, and looking second.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.open(path)
}

/// Counts the bytes that were read.
pub(crate) struct Counting<R> {
    source: R,
    bytes: u64,
}

impl<R> Counting<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, bytes: 0 }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.source.read(buffer)?;
        self.bytes += got as u64;
        Ok(got)
    }
}

/// Reads an identity's JSON of at most `cap` bytes from a path, or standard input for `-`.
pub(crate) fn read_identity(path: &Path, cap: u32) -> Result<PayloadIdentity, Failure> {
    let cap = u64::from(cap);
    let input = Input::open(path).map_err(|error| Failure::trouble(path, error))?;
    let mut json = Vec::new();
    input.take(cap + 1).read_to_end(&mut json).map_err(|error| Failure::trouble(path, error))?;
    if json.len() as u64 > cap {
        return Err(Failure::damage(path, format!("longer than {cap} bytes, expected the JSON of one identity")));
    }
    PayloadIdentity::from_json(&json).map_err(|error| Failure::damage(path, error))
}
