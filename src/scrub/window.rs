//! Which part of a file is in a buffer.

use std::io;

use super::file::{FrameFile, Piece};
use super::observer::Observer;
use super::surroundings::Surroundings;

#[derive(Default)]
pub(super) struct Window {
    /// Where the buffer's first byte lies in the file.
    offset: u64,
    /// How much of the buffer is filled.
    filled: usize,
    /// Nothing follows in the file.
    at_end: bool,
}

/// Whether what was asked for is there.
pub(super) enum State {
    Waiting,
    Ready,
}

impl Window {
    /// Begins at this place of a file.
    pub(super) fn at(offset: u64) -> Self {
        Self { offset, ..Self::default() }
    }

    pub(super) fn filled(&self) -> usize {
        self.filled
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Where in the file what is filled ends.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.filled as u64
    }

    /// Fills the buffer, to its end or the file's. Without `wait`, with what does not have to be waited for.
    pub(super) fn fill<O: Observer + ?Sized>(
        &mut self,
        file: &mut FrameFile,
        buffer: &mut [u8],
        wait: bool,
        surroundings: &Surroundings<'_, O>,
    ) -> io::Result<State> {
        while self.filled < buffer.len() && !self.at_end {
            let rest = &mut buffer[self.filled..];
            let wanted = rest.len();
            match file.read(rest, self.end(), wait)? {
                Piece::OnItsWay => return Ok(State::Waiting),
                Piece::Read(got) => {
                    self.filled += got;
                    surroundings.passed(got);
                    self.at_end = got == 0 || file.ends_at(self.end(), got, wanted);
                }
            }
        }
        file.let_go(self.end(), self.at_end);
        Ok(State::Ready)
    }

    /// Moves behind what is filled.
    pub(super) fn advance(&mut self) {
        *self = Self { offset: self.end(), filled: 0, at_end: self.at_end };
    }
}
