//! Lines on standard output, from any thread.

use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anstream::AutoStream;
use serde::Serialize;

use crate::json;
use crate::outcome::Failure;
use crate::progress::Progress;

pub(super) struct Lines<'p> {
    progress: &'p Progress,
    shared: Mutex<Shared>,
    /// Whether there is a reason in `shared` why nothing can be printed any more, for those that ask after every line.
    failed: AtomicBool,
}

struct Shared {
    out: BufWriter<Box<dyn Write + Send>>,
    /// Why nothing can be printed any more; that ends the run.
    failed: Option<io::Error>,
}

impl<'p> Lines<'p> {
    pub(super) fn new(json: bool, progress: &'p Progress) -> Self {
        // What JSON holds goes out as it is.
        let stdout: Box<dyn Write + Send> =
            if json { Box::new(io::stdout()) } else { Box::new(AutoStream::auto(io::stdout())) };
        Self {
            progress,
            shared: Mutex::new(Shared { out: BufWriter::new(stdout), failed: None }),
            failed: AtomicBool::new(false),
        }
    }

    /// Prints text that ends its lines; at once, where it tells of a failure.
    pub(super) fn print(&self, text: &str, at_once: bool) {
        self.write(at_once, |out| out.write_all(text.as_bytes()));
    }

    pub(super) fn print_json(&self, line: &impl Serialize, at_once: bool) {
        self.write(at_once, |out| out.write_all(json::line(line)?.as_bytes()));
    }

    fn write(&self, at_once: bool, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut written = write(&mut shared.out);
        if at_once && written.is_ok() {
            self.progress.make_way(&mut || written = shared.out.flush());
        }
        if let Err(error) = written {
            shared.failed.get_or_insert(error);
            self.failed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether nothing can be printed any more.
    pub(super) fn have_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        let Shared { mut out, failed } = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failed {
            Some(error) => Err(Failure::stdout(error)),
            None => out.flush().map_err(Failure::stdout),
        }
    }
}
