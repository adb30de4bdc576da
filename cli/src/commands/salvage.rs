//! `membrane-codec salvage`: saves every intact frame inside a file, whatever else that holds.

mod devices;
mod image;
mod report;
mod store;

use std::io::{Read, Seek};
use std::path::Path;

use membrane_codec::{FrameScanner, ScanEvent, StoredFrame};

use self::image::Image;
use self::report::{Event, Fate, Reporter};
use self::store::{Kept, Store};
use crate::args::SalvageArgs;
use crate::display::printable;
use crate::input::open_image;
use crate::interrupt;
use crate::outcome::{Failure, Outcome};
use crate::progress::{Progress, Whole};

pub(crate) fn run(args: &SalvageArgs) -> Result<Outcome, Failure> {
    let trouble = |error| Failure::trouble(&args.path, error);
    let image = open_image(&args.path).map_err(trouble)?;
    let store = match &args.output {
        Some(directory) if !args.dry_run => Some(Store::open(directory, &args.path, &image)?),
        _ => None,
    };
    let is_file = image.metadata().map_err(trouble)?.is_file();
    let progress = Progress::new("frames", args.progress_every, args.quiet);
    let mut scanner = FrameScanner::new(Image::new(image, &progress))
        .map_err(trouble)?
        .max_depth(args.max_depth)
        .max_identity_len(args.limits.max_identity_len);
    if is_file {
        scanner = scanner.next_data(Image::next_data);
    }
    progress.set_whole(Whole { bytes: scanner.source_len(), frames: None });

    let mut reporter = Reporter::new(args.json, args.quiet);
    let mut search = Search { path: &args.path, store: store.as_ref(), reporter: &mut reporter, progress: &progress };
    interrupt::ask_first();
    let searched = progress.while_shown(|_| search.run(&mut scanner));
    // What was saved stays saved, whatever stopped the search.
    let synced = store.as_ref().map_or(Ok(()), Store::sync);
    searched.and(synced)?;
    reporter.finish().map_err(Failure::stdout)
}

struct Search<'s> {
    path: &'s Path,
    store: Option<&'s Store>,
    reporter: &'s mut Reporter,
    progress: &'s Progress,
}

impl Search<'_> {
    /// Saves and tells what there is, up to the end of the image, to a signal or to something that cannot be written.
    fn run(&mut self, scanner: &mut FrameScanner<impl Read + Seek>) -> Result<(), Failure> {
        let mut reached = 0;
        while let Some(event) = scanner.next() {
            let event = match event {
                // What is found in an image that a signal ended is not what it holds.
                _ if interrupt::stop_is_asked() => break,
                ScanEvent::Frame { offset, frame } => {
                    let fate = match self.store {
                        Some(store) => self.save(scanner, store, offset, &frame)?,
                        None => Fate::Found,
                    };
                    if interrupt::stop_is_asked() && matches!(fate, Fate::Failed(_)) {
                        break;
                    }
                    reached = offset + frame.frame_len();
                    self.progress.add_frame(matches!(fate, Fate::Failed(_)));
                    Event::Frame { offset, frame: Box::new(frame), fate }
                }
                ScanEvent::Refused { offset, why } => Event::Refused { offset, why },
                ScanEvent::Gap { range, zeros } => {
                    reached = range.end;
                    Event::Gap { range, zeros }
                }
                ScanEvent::Unreadable { range } => {
                    reached = range.end;
                    let detail = scanner.read_error().map(ToString::to_string).unwrap_or_default();
                    Event::Unreadable { range, detail }
                }
                other => return Err(Failure::trouble(self.path, format!("cannot be told: {other:?}"))),
            };
            let mut told = Ok(());
            self.progress.make_way(&mut || told = self.reporter.take(&event));
            told.map_err(Failure::stdout)?;
        }
        if interrupt::stop_is_asked() { Err(self.stopped("interrupted".into(), reached)?) } else { Ok(()) }
    }

    /// Saves one frame. What cannot be read any more is this frame's fate; what cannot be written ends the run.
    fn save(
        &mut self,
        scanner: &mut FrameScanner<impl Read + Seek>,
        store: &Store,
        offset: u64,
        frame: &StoredFrame,
    ) -> Result<Fate, Failure> {
        match store.keep(scanner, offset, frame) {
            Ok(Kept::Saved(name)) => Ok(Fate::Saved(name)),
            Ok(Kept::AlreadyThere(name)) => Ok(Fate::AlreadyThere(name)),
            Ok(Kept::Lost(error)) => Ok(Fate::Failed(error.to_string())),
            Err((path, error)) => Err(self.stopped(format!("{}: {error}", printable(&path)), offset)?),
        }
    }

    /// What is said when the search ends before the end of the image.
    fn stopped(&mut self, why: String, at: u64) -> Result<Failure, Failure> {
        // What was found so far is worth knowing.
        self.reporter.flush().map_err(Failure::stdout)?;
        let saved = match self.store {
            Some(_) => "; what was saved is whole, and the same command, run again, saves the rest",
            None => "",
        };
        Ok(Failure::Trouble(format!("{why}\n  stopped at byte {at} of {}{saved}", printable(self.path))))
    }
}
