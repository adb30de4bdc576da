//! A file that is read as a stream, by itself but at the pace of the scrub.

use std::io::{self, Read};

use super::file::{FrameFile, Piece};
use super::job::Surroundings;
use super::observer::Observer;

pub(super) struct Alone<'a, 's, O> {
    file: &'a mut FrameFile,
    surroundings: &'a Surroundings<'s, O>,
    offset: u64,
    stopped: bool,
}

impl<'a, 's, O> Alone<'a, 's, O> {
    pub(super) fn new(file: &'a mut FrameFile, surroundings: &'a Surroundings<'s, O>) -> Self {
        Self { file, surroundings, offset: 0, stopped: false }
    }

    /// How much was read.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the observer stopped it: what came of it then is no verdict.
    pub(super) fn was_stopped(&self) -> bool {
        self.stopped
    }
}

impl<O: Observer> Read for Alone<'_, '_, O> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.surroundings.observer.stops() {
            self.stopped = true;
            return Err(io::Error::other("stopped"));
        }
        match self.file.read(buffer, self.offset, true)? {
            // Does not happen to who waits.
            Piece::OnItsWay => Err(io::ErrorKind::WouldBlock.into()),
            Piece::Read(got) => {
                self.offset += got as u64;
                self.file.let_go(self.offset, got == 0);
                self.surroundings.observer.read(got as u64);
                self.surroundings.pace.spend(got, || self.surroundings.observer.stops());
                Ok(got)
            }
        }
    }
}
