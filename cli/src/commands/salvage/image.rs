//! What is searched, while somebody watches and may end it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use rustix::fs::{SeekFrom as SeekTo, seek};
use rustix::io::Errno;

use crate::interrupt;
use crate::progress::Progress;

/// A file or device that ends where it is read once a signal asks to stop: whoever reads it then ends soon, whatever it was
/// about to read. What they make of such an end counts for nothing.
pub(super) struct Image<'p> {
    file: File,
    at: u64,
    progress: &'p Progress,
}

impl<'p> Image<'p> {
    pub(super) fn new(file: File, progress: &'p Progress) -> Self {
        Self { file, at: 0, progress }
    }

    /// Where data begins at or after `at`, in a file that has holes.
    pub(super) fn next_data(&mut self, at: u64) -> io::Result<u64> {
        match seek(&self.file, SeekTo::Data(at)) {
            // All that follows is a hole.
            Err(Errno::NXIO) => Ok(u64::MAX),
            data => Ok(data?),
        }
    }
}

impl Read for Image<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if interrupt::stop_is_asked() {
            return Ok(0);
        }
        let got = self.file.read(buffer)?;
        self.at += got as u64;
        self.progress.reach(self.at);
        Ok(got)
    }
}

impl Seek for Image<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}
