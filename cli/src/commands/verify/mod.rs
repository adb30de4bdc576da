//! `membrane-codec verify`

mod files;
mod manifest;
mod metrics;
mod own_files;
mod page;
mod paths;
mod quarantine;
mod report;
mod selection;
mod state;
mod watch;

use std::path::{Path, PathBuf};
use std::thread;

use membrane_codec::scrub::{ScrubSummary, Scrubber};

use self::files::{record, write_file};
use self::paths::{ListEnd, PathList};
use self::quarantine::Quarantine;
use self::report::{End, Reporter, Totals, nothing_to_verify};
use self::selection::Selection;
use self::watch::{Counting, Watch, Watched};
use crate::args::VerifyArgs;
use crate::input::is_stdin;
use crate::interrupt;
use crate::outcome::{Failure, Outcome, say};
use crate::output::{AtomicFile, directory_of, same_file};
use crate::progress::Progress;

pub(crate) fn run(args: &VerifyArgs) -> Result<Outcome, Failure> {
    check(args)?;
    if args.load.nice {
        // Disks give way as well: their scheduler takes a process's priority from this, unless told another.
        rustix::process::nice(19).map_err(|error| Failure::Trouble(format!("--nice: {error}")))?;
    }
    let selection = Selection::new(args)?;
    let quarantine = args.checks.quarantine.as_deref().map(Quarantine::open).transpose()?;
    let started = std::time::SystemTime::now();
    let findings = args.checks.check_hash || args.checks.check_key || selection.manifest.is_some();
    let totals = Totals {
        findings: findings.then_some(0),
        missing: selection.manifest.as_ref().map(|_| 0),
        quarantined: quarantine.as_ref().map(|_| 0),
        ..Totals::default()
    };
    let progress = Progress::new("frames", args.reports.progress_every, args.reports.quiet);
    let watch = Watch::new(args, &selection, quarantine.as_ref(), Reporter::new(&args.reports, totals), &progress);
    let list_end = ListEnd::default();

    let scrub = scrub(args, &watch, &progress, &list_end)?;
    let seconds = progress.elapsed().as_secs_f64();
    let Watched { reporter, mut listed, something_hidden, mut output_failed } = watch.end();
    let interrupted = scrub.stopped || list_end.was_stopped();
    let list_trouble = list_end.into_trouble();
    let completed = !interrupted && list_trouble.is_none();
    // Where not all was looked at, a key without a file is not known to be missing.
    let looked_everywhere = completed && !something_hidden;
    for entry in selection.missing().filter(|_| looked_everywhere) {
        let printed = reporter.take_missing(entry);
        output_failed = output_failed.or(printed.err());
        listed.add(page::Failure::missing(entry.key));
    }
    let end = End {
        scrub,
        verified_before: args.portion.state.as_ref().map(|_| selection.verified_before()),
        own_files: selection.own_files_found(),
        seed: selection.seed,
        not_judged: if looked_everywhere { 0 } else { selection.missing().count() as u64 },
        seconds,
        interrupted: !completed,
    };
    let (totals, printed) = reporter.finish(&end);
    output_failed = output_failed.or(printed.err());
    nothing_to_verify(&totals).iter().for_each(say);

    // All of these are tried, whatever becomes of the others.
    let mut troubles: Vec<_> = list_trouble.into_iter().collect();
    if let Some(path) = &args.reports.report {
        let record = record(started, seconds, &totals, listed, progress.intervals());
        let written = record.and_then(|record| write_file(path, |file| page::write(&record, file)));
        troubles.extend(written.err());
    }
    if let Some(path) = &args.reports.metrics {
        let text = metrics::text(&totals, seconds, std::time::SystemTime::now());
        troubles.extend(write_file(path, |file| std::io::Write::write_all(file, text.as_bytes())).err());
    }
    let is_partial = selection.is_partial();
    if let Some(state) = selection.into_state() {
        let seen_all_of = if is_partial { &[][..] } else { &args.paths };
        troubles.extend(state.finish(completed, seen_all_of).err());
    }
    troubles.extend(output_failed.map(Failure::stdout));
    let Some(last) = troubles.pop() else { return Ok(totals.outcome()) };
    for trouble in troubles {
        say(trouble);
    }
    Err(last)
}

/// What can be known to fail before hours of work.
fn check(args: &VerifyArgs) -> Result<(), Failure> {
    let lists = args.files_from.iter().chain(&args.checks.manifest).filter(|path| is_stdin(path)).count();
    match args.paths.iter().filter(|path| is_stdin(path)).count() + lists {
        0 => {}
        1 if lists == 1 => {}
        1 if args.checks.check_key => {
            return Err(Failure::Trouble("--check-key: standard input lies under no key".into()));
        }
        1 if args.checks.manifest.is_some() => {
            return Err(Failure::Trouble("--manifest: standard input lies under no key".into()));
        }
        1 if args.concatenated => {
            return Err(Failure::Trouble("--concatenated: standard input is taken for one frame".into()));
        }
        1 => {}
        _ => return Err(Failure::Trouble("standard input can be given once, as PATH, list or manifest".into())),
    }
    let state = args.portion.state.as_deref();
    let inputs = args.paths.iter().chain(&args.files_from).chain(&args.checks.manifest).map(PathBuf::as_path);
    let mut taken: Vec<_> = inputs.filter(|path| !is_stdin(path)).chain(state).collect();
    for path in args.reports.report.iter().chain(&args.reports.metrics) {
        let directory = directory_of(path);
        if !directory.is_dir() {
            return Err(Failure::trouble(directory, "is no directory; create it first"));
        }
        if path.exists() && !path.is_file() {
            return Err(Failure::trouble(path, "exists and is not a regular file"));
        }
        if taken.iter().any(|other| path == other || same_file(path, other)) {
            return Err(Failure::trouble(path, "is named twice; what it holds would be lost"));
        }
        // Whether it can be written.
        drop(AtomicFile::create(path).map_err(|error| Failure::trouble(path, error))?);
        taken.push(path);
    }
    check_is_ours(args.reports.report.as_deref(), page::FIRST_BYTES)?;
    check_is_ours(args.reports.metrics.as_deref(), metrics::FIRST_BYTES)
}

/// A report takes the place of an earlier one, and of nothing else: a frame that a shell put there would be lost.
fn check_is_ours(report: Option<&Path>, first_bytes: &str) -> Result<(), Failure> {
    let Some(path) =
        report.filter(|path| std::fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() > 0))
    else {
        return Ok(());
    };
    let mut start = vec![0; first_bytes.len()];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    if read.is_ok() && start == first_bytes.as_bytes() {
        Ok(())
    } else {
        Err(Failure::trouble(path, "exists and is no earlier report; it would be lost"))
    }
}

fn scrub(
    args: &VerifyArgs,
    watch: &Watch<'_>,
    progress: &Progress,
    list_end: &ListEnd,
) -> Result<ScrubSummary, Failure> {
    let mut scrubber = Scrubber::new()
        .direct(args.load.direct)
        .every_file(args.all)
        .follow_links(args.follow)
        .concatenated(args.concatenated)
        .limit_rate(args.load.limit_rate)
        .max_identity_len(args.checks.limits.max_identity_len);
    if let Some(threads) = args.load.threads {
        scrubber = scrubber.threads(threads.into());
    }
    let list = |path: &PathBuf| PathList::open(path, args.null, list_end);
    let given = || args.paths.iter().filter(|path| !is_stdin(path)).cloned();
    let paths = given().chain(args.files_from.as_ref().map(list).transpose()?.into_iter().flatten());
    if args.paths.iter().any(|path| is_stdin(path)) {
        watch.verify_stdin(args.checks.limits.reader());
    }
    // Not before: who waits for standard input ends by the first signal.
    interrupt::ask_first();
    let scrubbed = progress.while_shown(|scope| {
        // How much there is, only where somebody waits for the end of it. What comes through a pipe comes once.
        if progress.is_shown() && args.files_from.as_deref().is_none_or(can_be_read_twice) {
            let scrubber = scrubber.clone();
            let _ = thread::Builder::new().spawn_scoped(scope, move || {
                let counting = Counting { watch, over: || progress.is_over() };
                let ignored = ListEnd::default();
                let list = |path: &PathBuf| PathList::open(path, args.null, &ignored).ok();
                let paths = given().chain(args.files_from.as_ref().and_then(list).into_iter().flatten());
                let whole = scrubber.survey(paths, &counting);
                if !whole.stopped {
                    progress.set_whole(whole);
                }
            });
        }
        scrubber.run(paths, watch)
    });
    Ok(scrubbed)
}

fn can_be_read_twice(list: &Path) -> bool {
    !is_stdin(list) && std::fs::metadata(list).is_ok_and(|metadata| metadata.is_file())
}
