//! The paths that `verify` is given: on the command line and in a list.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::input::is_stdin;
use crate::outcome::Failure;

/// No path is longer; a list whose lines are is none.
const PATH_CAP: u64 = 64 * 1024;

/// Paths from a list, read as they are needed.
pub(crate) struct PathList<'t> {
    source: BufReader<Box<dyn Read + Send>>,
    end: u8,
    name: PathBuf,
    /// Why the list could not be read to its end.
    trouble: &'t Mutex<Option<Failure>>,
}

impl<'t> PathList<'t> {
    /// Opens the list at `path`, or on standard input for `-`; paths end with a NUL or a line feed.
    pub(crate) fn open(path: &Path, null: bool, trouble: &'t Mutex<Option<Failure>>) -> Result<Self, Failure> {
        let source: Box<dyn Read + Send> = if is_stdin(path) {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path).map_err(|error| Failure::trouble(path, error))?)
        };
        let end = if null { 0 } else { b'\n' };
        Ok(Self { source: BufReader::new(source), end, name: path.to_owned(), trouble })
    }

    fn read(&mut self) -> io::Result<Option<PathBuf>> {
        loop {
            let mut path = Vec::new();
            if self.source.by_ref().take(PATH_CAP).read_until(self.end, &mut path)? == 0 {
                return Ok(None);
            }
            if path.len() as u64 == PATH_CAP {
                return Err(io::Error::other("holds a line longer than any path; is -0 missing?"));
            }
            if path.last() == Some(&self.end) {
                path.pop();
            }
            if !path.is_empty() {
                return Ok(Some(PathBuf::from(OsString::from_vec(path))));
            }
        }
    }
}

impl Iterator for PathList<'_> {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        self.read().unwrap_or_else(|error| {
            if let Ok(mut trouble) = self.trouble.lock() {
                *trouble = Some(Failure::trouble(&self.name, error));
            }
            None
        })
    }
}
