//! `membrane-codec salvage`: saves every intact frame inside a file, whatever else that holds.

mod report;
mod store;

use std::io::{Read, Seek};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use membrane_codec::{FrameScanner, ScanEvent, StoredFrame};

use self::report::{Event, Fate, Reporter};
use self::store::{Kept, Store};
use crate::args::SalvageArgs;
use crate::display::printable;
use crate::input::open_image;
use crate::outcome::{Failure, Outcome};

pub(crate) fn run(args: &SalvageArgs) -> Result<Outcome, Failure> {
    let trouble = |error| Failure::trouble(&args.path, error);
    let image = open_image(&args.path).map_err(trouble)?;
    let store = match &args.output {
        Some(directory) if !args.dry_run => Some(Store::open(directory, &args.path, &image)?),
        _ => None,
    };
    let bar = progress_bar();
    let scanner = FrameScanner::new(bar.wrap_read(image)).map_err(trouble)?;
    bar.set_length(scanner.source_len());
    let mut scanner = scanner.max_depth(args.max_depth).max_identity_len(args.limits.max_identity_len);

    let mut reporter = Reporter::new(args.json);
    let searched = search(&mut scanner, &args.path, store.as_ref(), &mut reporter, &bar);
    // What was saved stays saved, whatever stopped the search.
    let synced = store.as_ref().map_or(Ok(()), Store::sync);
    bar.finish_and_clear();
    searched.and(synced)?;
    reporter.finish().map_err(Failure::stdout)
}

/// Saves and tells what there is, up to the end of the image or to something that cannot be written.
fn search(
    scanner: &mut FrameScanner<impl Read + Seek>,
    image: &Path,
    store: Option<&Store>,
    reporter: &mut Reporter,
    bar: &ProgressBar,
) -> Result<(), Failure> {
    while let Some(event) = scanner.next() {
        let event = match event {
            ScanEvent::Frame { offset, frame } => {
                let fate = match store {
                    Some(store) => save(scanner, image, store, offset, &frame, reporter)?,
                    None => Fate::Found,
                };
                Event::Frame { offset, frame: Box::new(frame), fate }
            }
            ScanEvent::Refused { offset, why } => Event::Refused { offset, why },
            ScanEvent::Gap { range, zeros } => Event::Gap { range, zeros },
            ScanEvent::Unreadable { range } => {
                let detail = scanner.read_error().map(ToString::to_string).unwrap_or_default();
                Event::Unreadable { range, detail }
            }
            other => return Err(Failure::trouble(image, format!("cannot be told: {other:?}"))),
        };
        bar.suspend(|| reporter.take(&event)).map_err(Failure::stdout)?;
    }
    Ok(())
}

/// Saves one frame. What cannot be read any more is this frame's fate; what cannot be written ends the run.
fn save(
    scanner: &mut FrameScanner<impl Read + Seek>,
    image: &Path,
    store: &Store,
    offset: u64,
    frame: &StoredFrame,
    reporter: &mut Reporter,
) -> Result<Fate, Failure> {
    match store.keep(scanner, offset, frame) {
        Ok(Kept::Saved(name)) => Ok(Fate::Saved(name)),
        Ok(Kept::AlreadyThere(name)) => Ok(Fate::AlreadyThere(name)),
        Ok(Kept::Lost(error)) => Ok(Fate::Failed(error.to_string())),
        Err((path, error)) => {
            // What was found so far is worth knowing.
            reporter.flush().map_err(Failure::stdout)?;
            Err(Failure::Trouble(format!(
                "{}: {error}\n  stopped at byte {offset} of {}; what was saved is whole, and the same command, run again, saves the rest",
                printable(&path),
                printable(image)
            )))
        }
    }
}

/// How far the search is, on a terminal and nowhere else.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let template = "{spinner} {bytes} of {total_bytes} searched, {bytes_per_sec}, {eta} left";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_spinner()));
    bar
}
