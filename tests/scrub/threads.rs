//! One verdict for each file whatever the threads do, stops, panics, and the pace of all threads together.

use std::collections::HashSet;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use membrane_codec::scrub::{FileReport, Observer, Scrubber, on_verdict};
use membrane_codec::sha256;
use tempfile::TempDir;

use crate::samples;
use crate::support::{BUFFER_LEN, Log, Verdict, directory, is_sound, names, noise, scrub, scrub_all, scrubbers, write};

/// Small files, files of some buffers, and damaged ones, in some directories.
fn store(files: usize) -> TempDir {
    let directory = directory();
    for number in 0..files {
        let len = if number.is_multiple_of(10) { 2 * BUFFER_LEN + number } else { number % 500 };
        let mut frame = samples::frame_of(&noise(len, number as u64));
        if number.is_multiple_of(7) {
            *frame.last_mut().expect("a trailer") ^= 1;
        }
        write(directory.path(), &format!("{}/{number:04}.blob", number % 5), &frame);
    }
    directory
}

#[test]
fn each_file_gets_one_verdict() {
    let directory = store(300);
    for round in 0..3 {
        for scrubber in scrubbers() {
            let (summary, told) = scrub(&scrubber, directory.path());
            let mut numbers: Vec<usize> =
                names(&told).iter().map(|name| name[..4].parse().expect("a number")).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..300).collect::<Vec<_>>(), "round {round}");
            assert!(names(&told).iter().zip(&told).all(|(name, told)| {
                let number: usize = name[..4].parse().expect("a number");
                is_sound(told) != number.is_multiple_of(7)
            }));
            assert_eq!(summary.not_selected, 0);
        }
    }
}

#[test]
fn files_that_are_not_selected_are_counted_and_not_read() {
    let directory = store(100);
    let paths: Vec<PathBuf> = scrub(&Scrubber::new(), directory.path()).1.into_iter().map(|told| told.path).collect();
    for threads in [1, 2, 5] {
        // Found in a directory, and asked for.
        for paths in [vec![directory.path().to_owned()], paths.clone()] {
            let log = Log::new().selects(|file| file.stem().to_str().is_some_and(|stem| stem.ends_with('3')));
            let summary = Scrubber::new().threads(threads).run(paths.clone(), &log);
            assert_eq!((summary.not_selected, log.count(), summary.stopped), (90, 10, false));
            let survey = Scrubber::new().survey(paths, &log);
            let told = log.told();
            assert!(names(&told).iter().all(|name| name.ends_with("3.blob")));
            let bytes = told.iter().filter_map(|told| told.stamp).map(|stamp| stamp.len).sum();
            assert_eq!((survey.files, survey.bytes, survey.stopped), (10, bytes, false));
        }
    }
}

#[test]
fn an_observer_knows_length_and_time_of_what_it_selects() {
    let directory = directory();
    let path = write(directory.path(), "a.blob", &samples::frame_of(b"payload"));
    let modified = std::time::UNIX_EPOCH - Duration::new(5, 250_000_000);
    std::fs::File::open(&path).and_then(|file| file.set_modified(modified)).expect("it is ours");
    for asked_for in [directory.path(), &path] {
        let log = Log::new().selects(|file| {
            let stamp = file.stamp().expect("it is there");
            stamp.modified == modified && stamp.len == 327 && file.path() == path
        });
        let summary = Scrubber::new().run([asked_for.to_owned()], &log);
        assert_eq!((summary.not_selected, log.count()), (0, 1));
        let [told] = log.told().try_into().expect("one file");
        assert_eq!(told.stamp.expect("it was opened").modified, modified);
    }
}

#[test]
fn a_stop_at_any_moment_gives_each_file_one_verdict_at_most() {
    let directory = store(200);
    let (_, all) = scrub(&Scrubber::new(), directory.path());
    let total: u64 = all.iter().map(|told| told.bytes_read).sum();
    for round in 0..30 {
        let (stop, threads) = (AtomicBool::new(false), [1, 2, 5][round % 3]);
        let at = total * (round as u64 + 1) / 40;
        let log = Log::new()
            .after_read(|bytes| stop.store(bytes > at, Ordering::Relaxed))
            .stops(|| stop.load(Ordering::Relaxed));
        let start = Instant::now();
        let summary = Scrubber::new().threads(threads).run([directory.path().to_owned()], &log);
        assert!(start.elapsed() < Duration::from_secs(20));
        assert!(summary.stopped);
        let told = log.told();
        assert!(told.len() < all.len());
        let distinct: HashSet<_> = told.iter().map(|told| &told.path).collect();
        assert_eq!(distinct.len(), told.len());
        // As far as they go, the verdicts are those of a whole scrub.
        for told in &told {
            assert!(all.iter().any(|other| (&other.path, &other.verdict) == (&told.path, &told.verdict)));
        }
    }
}

#[test]
fn who_is_stopped_before_the_beginning_reads_nothing() {
    let directory = store(20);
    for threads in [1, 5] {
        let log = Log::new().stops(|| true);
        let summary = Scrubber::new().threads(threads).run([directory.path().to_owned()], &log);
        assert_eq!((summary.stopped, log.count(), log.read()), (true, 0, 0));
        let survey = Scrubber::new().survey([directory.path().to_owned()], &log);
        assert_eq!((survey.stopped, survey.files), (true, 0));
    }
}

#[test]
fn a_stop_when_all_is_done_is_none() {
    let directory = store(20);
    for threads in [1, 2, 5] {
        // Two paths: that there is no third is asked for before the last verdict.
        let paths = ["0/0000.blob", "1/0001.blob"].map(|name| directory.path().join(name));
        let done = AtomicUsize::new(0);
        let observer = Counting(&done, 2);
        let summary = Scrubber::new().threads(threads).run(paths, &observer);
        assert_eq!((summary.stopped, done.load(Ordering::Relaxed)), (false, 2));
    }

    /// Stops after some verdicts.
    struct Counting<'a>(&'a AtomicUsize, usize);
    impl Observer for Counting<'_> {
        fn verdict(&self, _: &FileReport<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn stops(&self) -> bool {
            self.0.load(Ordering::Relaxed) >= self.1
        }
    }
}

#[test]
fn a_stop_within_a_frame_that_is_read_alone_leaves_it_without_a_verdict() {
    let directory = directory();
    let mut identity = samples::identity_of(b"");
    identity.model_id = "m".repeat(BUFFER_LEN + 1000);
    let frame = membrane_codec::canonicalize(&identity, &noise(4 * BUFFER_LEN, 1)).expect("a frame");
    let path = write(directory.path(), "a.blob", &frame);
    let read = AtomicUsize::new(0);
    let log = Log::new()
        .after_read(|bytes| read.store(bytes as usize, Ordering::Relaxed))
        .stops(|| read.load(Ordering::Relaxed) > BUFFER_LEN + 1000);
    let summary = Scrubber::new().threads(1).run([path], &log);
    assert_eq!((summary.stopped, log.count()), (true, 0));
}

#[test]
fn files_that_hold_several_frames_keep_all_threads_busy() {
    let directory = directory();
    let frames = (0..20).flat_map(|number| samples::frame_of(&noise(2 * BUFFER_LEN, number))).collect::<Vec<_>>();
    let paths: Vec<_> = (0..12).map(|number| write(directory.path(), &format!("{number}.blob"), &frames)).collect();
    let threads = std::sync::Mutex::new(HashSet::new());
    let log = Log::new().after_read(|_| {
        threads.lock().expect("nobody panicked").insert(thread::current().id());
    });
    let summary = Scrubber::new().threads(2).concatenated(true).run(paths, &log);
    assert!(!summary.stopped);
    let told = log.told();
    assert!(told.iter().all(is_sound));
    assert_eq!((told.len(), threads.into_inner().expect("nobody panicked").len()), (12 * 20, 2));
}

#[test]
fn a_stop_ends_the_wait_for_the_pace() {
    let directory = directory();
    let path = write(directory.path(), "a.blob", &samples::frame_of(&noise(4 * BUFFER_LEN, 1)));
    for threads in [1, 2] {
        let start = Instant::now();
        let log = Log::new().stops(|| start.elapsed() > Duration::from_millis(300));
        // An hour and more for each piece.
        let summary = Scrubber::new().threads(threads).limit_rate(NonZeroU64::new(70)).run([path.clone()], &log);
        assert!(summary.stopped);
        assert_eq!(log.count(), 0);
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn a_stop_is_heard_within_a_frame_with_a_long_identity() {
    let directory = directory();
    let mut identity = samples::identity_of(b"");
    identity.model_id = "x".repeat(300_000);
    let frame = membrane_codec::canonicalize(&identity, &noise(20 * BUFFER_LEN, 1)).expect("a small frame");
    let path = write(directory.path(), "a.blob", &frame);
    let stop = AtomicBool::new(false);
    let log = Log::new()
        .after_read(|bytes| stop.store(bytes >= 4 * BUFFER_LEN as u64, Ordering::Relaxed))
        .stops(|| stop.load(Ordering::Relaxed));
    let summary = Scrubber::new().threads(1).run([path], &log);
    assert_eq!((summary.stopped, log.count(), log.read()), (true, 0, 4 * BUFFER_LEN as u64));
}

/// What the observer of a scrub panics in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    Verdict,
    Selects,
    Read,
    Stops,
}

/// Panics in a method when it is called for the tenth time.
struct Panicking(Method, AtomicUsize);

impl Panicking {
    fn called(&self, method: Method) {
        if method == self.0 && self.1.fetch_add(1, Ordering::Relaxed) == 9 {
            panic!("the observer has had enough of {method:?}");
        }
    }
}

impl Observer for Panicking {
    fn verdict(&self, _: &FileReport<'_>) {
        self.called(Method::Verdict);
    }
    fn selects(&self, _: &membrane_codec::scrub::FoundFile<'_>) -> bool {
        self.called(Method::Selects);
        true
    }
    fn read(&self, _: u64) {
        self.called(Method::Read);
    }
    fn stops(&self) -> bool {
        self.called(Method::Stops);
        false
    }
}

fn message_of(run: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
    panic.downcast_ref::<String>().cloned().unwrap_or_else(|| (*panic.downcast_ref::<&str>().expect("a text")).into())
}

#[test]
fn an_observer_that_panics_ends_the_run() {
    let directory = store(100);
    for method in [Method::Verdict, Method::Selects, Method::Read, Method::Stops] {
        for threads in [1, 2, 5] {
            let observer = Panicking(method, AtomicUsize::new(0));
            let message = message_of(|| {
                Scrubber::new().threads(threads).run([directory.path().to_owned()], &observer);
            });
            assert_eq!(message, format!("the observer has had enough of {method:?}"), "{threads} threads");
        }
    }
}

#[test]
fn a_stop_is_heard_by_all_threads_though_one_alone_was_told() {
    let directory = store(200);
    for threads in [1, 2, 5] {
        let asked = AtomicUsize::new(0);
        let log = Log::new().stops(|| asked.fetch_add(1, Ordering::Relaxed) == 20);
        let summary = Scrubber::new().threads(threads).run([directory.path().to_owned()], &log);
        assert!(summary.stopped);
    }
}

#[test]
fn an_observer_that_panics_wakes_threads_that_wait_for_the_pace() {
    let directory = directory();
    let large = samples::frame_of(&noise(4 * BUFFER_LEN, 1));
    let paths: Vec<_> = (0..40).map(|number| write(directory.path(), &format!("{number:02}"), &large)).collect();
    let start = Instant::now();
    let log = Log::new().after_read(|bytes| {
        if bytes == 2 * BUFFER_LEN as u64 {
            panic!("enough");
        }
    });
    let message = message_of(|| {
        Scrubber::new().threads(2).limit_rate(NonZeroU64::new(70)).run(paths, &log);
    });
    assert_eq!(message, "enough");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_list_of_paths_that_panics_ends_the_run() {
    let directory = store(10);
    let path = directory.path().to_owned();
    for threads in [1, 2, 5] {
        let paths = (0..50).map(|number| if number == 40 { panic!("no more paths") } else { path.join("0/0000.blob") });
        let message = message_of(|| {
            Scrubber::new().threads(threads).run(paths, &on_verdict(|_| {}));
        });
        assert_eq!(message, "no more paths");
    }
}

#[test]
fn few_large_files_are_shared_by_many_threads() {
    let directory = directory();
    let payloads = [1, 2, 3].map(|seed| noise((20 << 20) + seed, seed as u64));
    let paths = [0, 1, 2].map(|at| write(directory.path(), &at.to_string(), &samples::frame_of(&payloads[at])));
    let ids = std::sync::Mutex::new(HashSet::new());
    let log = Log::new().after_read(|_| {
        ids.lock().expect("nobody panicked").insert(thread::current().id());
    });
    Scrubber::new().threads(4).run(paths.clone(), &log);
    let verdicts: Vec<_> = log.told().into_iter().map(|told| (told.path, told.verdict)).collect();
    let expected: Vec<_> =
        paths.into_iter().zip(&payloads).map(|(path, payload)| (path, Verdict::Sound(sha256(payload)))).collect();
    assert_eq!(verdicts, expected);
    assert!(ids.into_inner().expect("nobody panicked").len() > 1, "one thread did it all");
}

/// How long a scrub takes at 10 MB/s, in seconds.
fn time_at_ten_megabytes_a_second(directory: &Path, threads: usize) -> f64 {
    let start = Instant::now();
    let scrubber = Scrubber::new().threads(threads).limit_rate(NonZeroU64::new(10_000_000));
    let (_, told) = scrub_all(&scrubber, [directory.to_owned()]);
    assert!(told.iter().all(is_sound));
    assert_eq!(told.iter().map(|told| told.bytes_read).sum::<u64>(), 20_000_000);
    start.elapsed().as_secs_f64()
}

#[test]
fn the_pace_is_kept() {
    let [large, small] = [directory(), directory()];
    let overhead = samples::frame_of(b"").len();
    let frame_of_len = |len: usize| samples::frame_of(&noise(len - overhead, 1));
    for number in 0..4 {
        write(large.path(), &format!("{number}.blob"), &frame_of_len(5_000_000));
    }
    let frame = frame_of_len(10_000);
    for number in 0..2000 {
        write(small.path(), &format!("{number}.blob"), &frame);
    }
    for directory in [&large, &small] {
        for threads in [1, 2] {
            let mut seconds = Vec::new();
            // Slower is also what a busy machine makes it.
            while seconds.len() < 5 && seconds.last().is_none_or(|last| *last > 2.1) {
                seconds.push(time_at_ten_megabytes_a_second(directory.path(), threads));
            }
            assert!(seconds.iter().all(|seconds| *seconds > 1.9), "{seconds:?} with {threads} threads");
            assert!(seconds.last().is_some_and(|last| *last < 2.1), "{seconds:?} with {threads} threads");
        }
    }
}

#[test]
fn observers_can_be_shared_boxed_and_without_a_type() {
    let directory = store(10);
    let paths = || [directory.path().to_owned()];
    let selects = |file: &membrane_codec::scrub::FoundFile<'_>| file.stem() == "0003";
    let log = Arc::new(Log::new().selects(selects));
    let shared: Arc<dyn Observer + Send + Sync + '_> = log.clone();
    let boxed: Box<dyn Observer + '_> = Box::new(&shared);
    Scrubber::new().run(paths(), &*shared);
    Scrubber::new().run(paths(), &shared);
    Scrubber::new().run(paths(), &boxed);
    assert_eq!(Scrubber::new().survey(paths(), &*boxed).files, 1);
    drop(boxed);
    drop(shared);
    assert!((*log).read() > 0);
    let told = Arc::into_inner(log).expect("nobody else has it").told();
    assert_eq!(names(&told), ["0003.blob"; 3]);
    // What asks to stop is heard through all of them.
    let log = Log::new().stops(|| true);
    let boxed: Box<dyn Observer + '_> = Box::new(&log);
    assert!(Scrubber::new().run(paths(), &boxed).stopped);
}
