//! A file that is written anew as far as it changes: not at all while everything stays.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use super::replacement::Replacement;
use crate::digest::Sha256;
use crate::scrub::{Entry, FrameFile};

const BUFFER_LEN: usize = 128 * 1024;

pub(super) struct Rewrite<'e> {
    entry: &'e Entry,
    source: &'e File,
    /// What was passed on without a change, from the start on, while nothing is written.
    kept: u64,
    stage: Stage,
}

enum Stage {
    Unchanged(FrameFile),
    Changed(Box<Changed>),
    /// It could not be begun.
    Failed,
}

struct Changed {
    replacement: Replacement,
    /// What was written, in order.
    hasher: Sha256,
    out: BufWriter<File>,
}

impl<'e> Rewrite<'e> {
    /// Of `file`, which was opened as `entry` says and can be read from `source` as well.
    pub(super) fn new(entry: &'e Entry, file: FrameFile, source: &'e File) -> Self {
        Self { entry, source, kept: 0, stage: Stage::Unchanged(file) }
    }

    /// The next piece stays as it is.
    pub(super) fn keep(&mut self, piece: &[u8]) -> io::Result<()> {
        match &mut self.stage {
            Stage::Unchanged(_) => {
                self.kept += piece.len() as u64;
                Ok(())
            }
            Stage::Changed(changed) => changed.write(piece),
            Stage::Failed => Err(failed_before()),
        }
    }

    /// The next piece becomes this one.
    pub(super) fn replace(&mut self, piece: &[u8]) -> io::Result<()> {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Failed) {
            Stage::Unchanged(file) => Stage::Changed(Box::new(self.begin(file)?)),
            stage => stage,
        };
        match &mut self.stage {
            Stage::Changed(changed) => changed.write(piece),
            Stage::Unchanged(_) | Stage::Failed => Err(failed_before()),
        }
    }

    /// Writes what was kept so far.
    fn begin(&self, file: FrameFile) -> io::Result<Changed> {
        let replacement = Replacement::create(self.entry, file)?;
        let out = BufWriter::with_capacity(BUFFER_LEN, replacement.file().try_clone()?);
        let mut changed = Changed { replacement, hasher: Sha256::new(), out };
        let mut at = 0;
        read_pieces(self.source, |piece| {
            let rest = usize::try_from(self.kept - at).unwrap_or(usize::MAX);
            let piece = &piece[..piece.len().min(rest)];
            at += piece.len() as u64;
            changed.write(piece).map(|()| at < self.kept)
        })?;
        Ok(changed)
    }

    /// Lets what was written take the file's place, after it was read again. How many names the file had; `None` when
    /// nothing changed.
    pub(super) fn finish(self) -> io::Result<Option<u64>> {
        let changed = match self.stage {
            Stage::Unchanged(_) => return Ok(None),
            Stage::Changed(changed) => changed,
            Stage::Failed => return Err(failed_before()),
        };
        let Changed { replacement, hasher, mut out } = *changed;
        out.flush()?;
        let mut read = Sha256::new();
        read_pieces(replacement.file(), |piece| {
            read.update(piece);
            Ok(true)
        })?;
        if read.finalize() != hasher.finalize() {
            return Err(io::Error::other("what was written reads otherwise: left as it is"));
        }
        let links = replacement.links();
        replacement.take_place()?;
        Ok(Some(links))
    }
}

/// Whoever goes on after an error would lose what it was about.
fn failed_before() -> io::Error {
    io::Error::other("could not be written before: left as it is")
}

impl Changed {
    fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.hasher.update(piece);
        self.out.write_all(piece)
    }
}

/// Gives a file in pieces, from its start, until there are no more or `take` wants none.
fn read_pieces(file: &File, mut take: impl FnMut(&[u8]) -> io::Result<bool>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_LEN];
    let mut at = 0;
    loop {
        match file.read_at(&mut buffer, at) {
            Ok(0) => return Ok(()),
            Ok(got) => {
                at += got as u64;
                if !take(&buffer[..got])? {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
