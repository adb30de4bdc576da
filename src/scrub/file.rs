//! Reads one file in pieces and leaves the page cache as it was.
//!
//! Every read first asks for what is cached and nothing else. Where that is not all, the rest is requested and read in a
//! later round; its pages are let go as soon as they are copied. Nothing is read ahead, or what came for the scrub's sake
//! would look like what was cached before. So pages that others keep cached stay, to the buffer's length, and no others
//! come.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, Stat};

use super::buffers::BUFFER_LEN;
use super::platform::{self, Cached, advice};
use super::tree::{Entry, FileStamp};

/// Advice on a run of uncached pieces reaches back this far: a large page that lies across pieces goes only with both.
const REACH_BACK: u64 = 8 * 1024 * 1024;

/// What a path turned out to be.
pub(super) enum Opened {
    File(FrameFile),
    Directory(OwnedFd),
    /// Neither.
    Special,
}

/// A file that is being read.
pub(crate) struct FrameFile {
    fd: OwnedFd,
    stamp: FileStamp,
    /// What it was when it was opened.
    #[cfg(feature = "migrate")]
    stat: Box<Stat>,
    road: Road,
    /// Nothing is read ahead of what is asked for.
    no_readahead: bool,
    /// Something of the current piece was not cached, from here on.
    uncached_from: Option<u64>,
    /// Where the last run of uncached pieces lies.
    uncached_run: Range<u64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Road {
    /// Past the page cache.
    Direct,
    /// What is cached first.
    Cached,
    /// As the file system likes: it does not tell what is cached.
    Plain,
}

#[cfg(feature = "migrate")]
impl AsFd for FrameFile {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What a read gave.
pub(super) enum Piece {
    /// So many bytes; 0 at the end of the file.
    Read(usize),
    /// Nothing yet: it is on its way.
    OnItsWay,
}

impl FrameFile {
    /// Opens what an entry names.
    ///
    /// # Errors
    /// Those of opening.
    pub(super) fn open(entry: &Entry, follow_links: bool, direct: bool) -> io::Result<Opened> {
        let follow = follow_links || entry.was_asked_for();
        let direct = direct && platform::KNOWS_DIRECT;
        let mut road = if direct { Road::Direct } else { Road::Cached };
        let fd = match platform::open_file(entry.base(), entry.name(), follow, direct) {
            Err(error) if direct && platform::refuses_direct(&error) => {
                road = Road::Cached;
                platform::open_file(entry.base(), entry.name(), follow, false)?
            }
            opened => opened?,
        };
        let stat = platform::look_at_open(&fd)?;
        match platform::kind(&stat) {
            FileType::RegularFile => {}
            FileType::Directory => return Ok(Opened::Directory(fd)),
            _ => return Ok(Opened::Special),
        }
        Ok(Opened::File(Self::new(fd, &stat, road)))
    }

    fn new(fd: OwnedFd, stat: &Stat, road: Road) -> Self {
        Self {
            fd,
            stamp: FileStamp::new(stat),
            #[cfg(feature = "migrate")]
            stat: Box::new(*stat),
            road,
            no_readahead: false,
            uncached_from: None,
            uncached_run: 0..0,
        }
    }

    /// A file that was opened elsewhere, to be read through the page cache.
    #[cfg(feature = "migrate")]
    pub(crate) fn of(fd: OwnedFd) -> io::Result<Self> {
        let stat = platform::look_at_open(&fd)?;
        Ok(Self::new(fd, &stat, Road::Cached))
    }

    /// The open file, at its start, to be read from one end to the other; and what it was when it was opened.
    #[cfg(feature = "migrate")]
    pub(crate) fn into_file(self) -> (std::fs::File, Stat) {
        if self.no_readahead {
            advice::as_usual(self.fd.as_fd());
        }
        (self.fd.into(), *self.stat)
    }

    /// The first bytes, as many as there are and fit.
    #[cfg(feature = "migrate")]
    pub(crate) fn start<'b>(&mut self, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..], filled as u64, true)? {
                Piece::Read(0) => break,
                Piece::Read(got) => filled += got,
                Piece::OnItsWay => {}
            }
        }
        self.let_go(filled as u64, true);
        Ok(&buffer[..filled])
    }

    pub(crate) fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// The file's length; files of the kernel's own state say 0 and mean nothing by it.
    pub(super) fn known_len(&self) -> Option<u64> {
        Some(self.stamp.len).filter(|len| *len > 0)
    }

    pub(super) fn is_direct(&self) -> bool {
        self.road == Road::Direct
    }

    /// Whether somebody wrote to it since it was opened.
    pub(super) fn changed(&self) -> bool {
        platform::look_at_open(&self.fd).map_or(true, |stat| FileStamp::new(&stat) != self.stamp)
    }

    /// Reads into `buffer` from `offset` on. Without `wait`, only what does not have to be waited for.
    ///
    /// Past the page cache, `buffer` and `offset` are multiples of a page.
    pub(super) fn read(&mut self, buffer: &mut [u8], offset: u64, wait: bool) -> io::Result<Piece> {
        if self.road == Road::Cached && self.uncached_from.is_none() {
            self.read_nothing_ahead();
            match platform::read_cached(self.fd.as_fd(), buffer, offset)? {
                // Linux 5.9 and 5.10 say so at times where there is more (BUGS in readv(2)): only a plain read knows.
                Cached::Read(0) => {}
                Cached::Read(got) => return Ok(Piece::Read(got)),
                Cached::Unknown => self.take_plain_road(),
                Cached::Nothing => {
                    self.uncached_from = Some(offset);
                    advice::needed_soon(self.fd.as_fd(), offset, buffer.len() as u64);
                    if !wait {
                        return Ok(Piece::OnItsWay);
                    }
                }
            }
        }
        let result = platform::read(self.fd.as_fd(), buffer, offset);
        if self.road == Road::Direct {
            match &result {
                Err(error) if platform::refuses_direct(error) => {
                    self.leave_direct_road()?;
                    return self.read(buffer, offset, wait);
                }
                // No direct read could follow: its offset need be no multiple of a page.
                Ok(got) if *got < buffer.len() && offset + *got as u64 != self.stamp.len => self.leave_direct_road()?,
                _ => {}
            }
        }
        result.map(Piece::Read)
    }

    fn leave_direct_road(&mut self) -> io::Result<()> {
        platform::read_through_cache(self.fd.as_fd())?;
        self.road = Road::Cached;
        Ok(())
    }

    /// Before the first read: already a question about what is cached makes the system read ahead.
    fn read_nothing_ahead(&mut self) {
        if !self.no_readahead && self.stamp.len > BUFFER_LEN as u64 {
            advice::only_what_is_asked_for(self.fd.as_fd());
            self.no_readahead = true;
        }
    }

    fn take_plain_road(&mut self) {
        self.road = Road::Plain;
        if self.no_readahead {
            advice::as_usual(self.fd.as_fd());
        }
    }

    /// Whether a piece that was read to `got` bytes of `wanted`, up to `end`, is known to end the file.
    pub(super) fn ends_at(&self, end: u64, got: usize, wanted: usize) -> bool {
        // A read of the cache may end where the cached pages do, one over a network anywhere.
        got < wanted && end == self.stamp.len
    }

    /// Lets go of the pages that came into the cache for the piece that ends at `end`; `last` when no other will follow.
    pub(super) fn let_go(&mut self, end: u64, last: bool) {
        let Some(from) = self.uncached_from.take() else { return };
        // Does not go on where the beginning of this piece was cached.
        let run = if self.uncached_run.end == from { self.uncached_run.start } else { from };
        self.uncached_run = run..end;
        let start = run.max(end.saturating_sub(REACH_BACK));
        advice::not_needed(self.fd.as_fd(), start, (!last).then_some(end));
    }
}
