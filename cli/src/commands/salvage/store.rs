//! The directory into which frames are saved: by name, whole or not at all, nothing ever overwritten.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use membrane_codec::{FrameScanner, ReadError, StoredFrame};

use super::devices::{LiesOn, lies_on};
use crate::display::printable;
use crate::input::Input;
use crate::outcome::{Failure, say};
use crate::output::{NewFile, directory_of, same_file, sync_directory};

/// Pieces in which a file that is there is compared, in bytes.
const COMPARE_BUFFER_LEN: usize = 64 * 1024;

pub(super) struct Store {
    directory: PathBuf,
}

/// What became of a frame, and under which name.
pub(super) enum Kept {
    Saved(String),
    AlreadyThere(String),
    /// The image has changed since the frame was found, or cannot be read any more.
    Lost(ReadError),
}

impl Store {
    /// Opens the directory, or makes it and those above it.
    pub(super) fn open(directory: &Path, image_path: &Path, image: &File) -> Result<Self, Failure> {
        let trouble = |error: io::Error| Failure::trouble(directory, error);
        // Before anything is written: there, a new directory alone could be over what is looked for.
        let nearest = directory.ancestors().map(or_here).find(|above| above.exists()).unwrap_or(directory);
        match lies_on(nearest, &image.metadata().map_err(trouble)?).map_err(trouble)? {
            LiesOn::No => {}
            LiesOn::Yes => {
                return Err(Failure::trouble(
                    directory,
                    "lies on the device that is searched; name one on another disk",
                ));
            }
            LiesOn::Unknown => say(format_args!(
                "{}: whether it lies on the device that is searched cannot be told; if so, stop: writing there destroys \
                 what is looked for",
                printable(directory)
            )),
        }
        make_with_parents(directory).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::trouble(directory, "is not a directory"),
            _ => trouble(error),
        })?;
        // Saved frames would lie among those of a store, or beside the image as if they had always been there.
        if same_file(directory, directory_of(image_path)) {
            return Err(Failure::trouble(directory, "is where FILE lies; name another directory"));
        }
        Ok(Self { directory: directory.into() })
    }

    /// Saves a frame, unless it is there already. An error comes with the path that could not be written.
    pub(super) fn keep(
        &self,
        scanner: &mut FrameScanner<impl Read + Seek>,
        offset: u64,
        frame: &StoredFrame,
    ) -> Result<Kept, (PathBuf, io::Error)> {
        // From the digest: the identity is covered by no checksum, and may write its hash in upper case.
        let key = frame.identity().payload_hash.digest();
        let names = (1..u64::MAX).map(|number| match number {
            1 => format!("{key}.blob"),
            number => format!("{key}.{number}.blob"),
        });
        for name in names {
            let path = self.directory.join(&name);
            let failed = |error| (path.clone(), error);
            match fs::symlink_metadata(&path) {
                Ok(_) => match self.is_there(&path, scanner, offset, frame) {
                    Ok(true) => return Ok(Kept::AlreadyThere(name)),
                    Ok(false) => continue,
                    Err(error) => return Ok(Kept::Lost(error)),
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
            let file = NewFile::create_in(&self.directory).map_err(failed)?;
            let file = match scanner.copy_frame(offset, frame, file) {
                Ok(file) => file,
                Err(ReadError::Sink(error)) => return Err(failed(error)),
                Err(error) => return Ok(Kept::Lost(error)),
            };
            match file.commit(&path) {
                Ok(()) => return Ok(Kept::Saved(name)),
                // Somebody was faster, perhaps with something else: the next name is free, or the one after it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err((self.directory.clone(), io::Error::other("every name is taken")))
    }

    /// Has all that was saved survive a loss of power.
    pub(super) fn sync(&self) -> Result<(), Failure> {
        sync_directory(&self.directory).map_err(|error| Failure::trouble(&self.directory, error))
    }

    /// Whether the file at `path` is this frame, byte for byte. One that cannot be read is taken for another.
    fn is_there(
        &self,
        path: &Path,
        scanner: &mut FrameScanner<impl Read + Seek>,
        offset: u64,
        frame: &StoredFrame,
    ) -> Result<bool, ReadError> {
        let Ok(existing) = Input::open(path) else { return Ok(false) };
        if existing.len() != Some(frame.frame_len()) {
            return Ok(false);
        }
        let compare = Compare { existing, buffer: vec![0; COMPARE_BUFFER_LEN] };
        match scanner.copy_frame(offset, frame, compare) {
            Ok(_) => Ok(true),
            Err(ReadError::Sink(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Makes a directory where there is none, and those above it; each survives a loss of power.
fn make_with_parents(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    if let Some(above) = directory.parent().filter(|above| *above != Path::new("")) {
        make_with_parents(above)?;
    }
    match fs::create_dir(directory) {
        Ok(()) => sync_directory(directory_of(directory)),
        // Somebody was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// The empty path is where we are.
fn or_here(path: &Path) -> &Path {
    if path == Path::new("") { Path::new(".") } else { path }
}

/// Takes only the bytes that a file holds.
struct Compare {
    existing: Input,
    buffer: Vec<u8>,
}

impl Write for Compare {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(self.buffer.len());
        let there = &mut self.buffer[..len];
        self.existing.read_exact(there)?;
        if *there == bytes[..len] { Ok(len) } else { Err(io::Error::other("another file")) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
