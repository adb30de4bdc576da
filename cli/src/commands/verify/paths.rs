//! The paths that `verify` is given: on the command line and in a list.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::input::open_list;
use crate::interrupt;
use crate::outcome::Failure;

/// No path is longer; a list whose lines are is none.
const PATH_CAP: u64 = 64 * 1024;
/// How long a list is waited for before a look at whether to stop.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Paths from a list, read as they are needed.
pub(crate) struct PathList<'e> {
    source: BufReader<Source<'e>>,
    end_of_path: u8,
    name: PathBuf,
    ended: &'e ListEnd,
}

/// Why a list ended before its end, if it did.
#[derive(Default)]
pub(crate) struct ListEnd {
    trouble: Mutex<Option<Failure>>,
    stopped: AtomicBool,
}

impl ListEnd {
    /// Whether a signal came while it was read.
    pub(crate) fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Why it could not be read.
    pub(crate) fn into_trouble(self) -> Option<Failure> {
        self.trouble.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who writes a list to a pipe may take their time: a signal ends the wait.
struct Source<'e> {
    file: File,
    ended: &'e ListEnd,
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let ready = poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&NAP));
            if interrupt::stop_is_asked() {
                self.ended.stopped.store(true, Ordering::Relaxed);
                return Err(io::Error::other("stopped"));
            }
            match ready {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                // Where it cannot be told, reading waits.
                Ok(_) | Err(_) => return self.file.read(buffer),
            }
        }
    }
}

impl<'e> PathList<'e> {
    /// Opens the list at `path`, or on standard input for `-`; paths end with a NUL or a line feed. Waits for the writer of
    /// a pipe.
    pub(crate) fn open(path: &Path, null: bool, ended: &'e ListEnd) -> Result<Self, Failure> {
        let file = open_list(path).map_err(|error| Failure::trouble(path, error))?;
        let end_of_path = if null { 0 } else { b'\n' };
        Ok(Self { source: BufReader::new(Source { file, ended }), end_of_path, name: path.to_owned(), ended })
    }

    fn read(&mut self) -> io::Result<Option<PathBuf>> {
        loop {
            let mut path = Vec::new();
            if self.source.by_ref().take(PATH_CAP).read_until(self.end_of_path, &mut path)? == 0 {
                return Ok(None);
            }
            if path.len() as u64 == PATH_CAP {
                return Err(io::Error::other("holds a line longer than any path; is -0 missing?"));
            }
            if path.last() == Some(&self.end_of_path) {
                path.pop();
            }
            match &path[..] {
                [] => {}
                // A list names files: on the command line and in results this would be standard input.
                b"-" => return Ok(Some(PathBuf::from("./-"))),
                _ => return Ok(Some(PathBuf::from(OsString::from_vec(path)))),
            }
        }
    }
}

impl Iterator for PathList<'_> {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        self.read().unwrap_or_else(|error| {
            if !self.ended.was_stopped() {
                let trouble = Failure::trouble(&self.name, error);
                *self.ended.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(trouble);
            }
            None
        })
    }
}
