//! A file that is read as a stream, by itself but at the pace of the scrub.

use std::io::{self, BufRead, Read};

use super::buffers::Buffers;
use super::file::FrameFile;
use super::observer::Observer;
use super::surroundings::Surroundings;
use super::window::Window;

pub(super) struct Alone<'a, 's, O: ?Sized> {
    file: &'a mut FrameFile,
    surroundings: &'a Surroundings<'s, O>,
    memory: Buffers,
    window: Window,
    /// How much of the window went on.
    given: usize,
    stopped: bool,
}

impl<'a, 's, O: ?Sized> Alone<'a, 's, O> {
    /// From `offset` on, which is a multiple of a buffer's length.
    pub(super) fn new(file: &'a mut FrameFile, offset: u64, surroundings: &'a Surroundings<'s, O>) -> Self {
        Self { file, surroundings, memory: Buffers::new(1), window: Window::at(offset), given: 0, stopped: false }
    }

    /// Up to where in the file everything went on.
    pub(super) fn position(&self) -> u64 {
        self.window.end() - (self.window.filled() - self.given) as u64
    }

    /// Up to where in the file was read.
    pub(super) fn read_to(&self) -> u64 {
        self.window.end()
    }

    /// Whether the observer stopped it: what came of it then is no verdict.
    pub(super) fn was_stopped(&self) -> bool {
        self.stopped
    }
}

impl<O: Observer + ?Sized> BufRead for Alone<'_, '_, O> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let buffer = self.memory.split().next().unwrap_or_default();
        if self.given == self.window.filled() && !self.window.is_at_end() {
            if self.surroundings.stops() {
                self.stopped = true;
                return Err(io::Error::other("stopped"));
            }
            self.window.advance();
            self.given = 0;
            self.window.fill(self.file, buffer, true, self.surroundings)?;
        }
        Ok(&buffer[self.given..self.window.filled()])
    }

    fn consume(&mut self, amount: usize) {
        self.given += amount;
    }
}

impl<O: Observer + ?Sized> Read for Alone<'_, '_, O> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.fill_buf()?.read(buffer)?;
        self.consume(got);
        Ok(got)
    }
}
