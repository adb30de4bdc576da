//! How far a long run is: drawn on a terminal, in plain lines where those are asked for, and kept for the report.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use membrane_codec::scrub::Survey;
use serde::Serialize;

use crate::display::count;
use crate::outcome::say;

/// How often the terminal is drawn.
const TICK: Duration = Duration::from_millis(100);
/// As many intervals are kept, each as long as it must be for that.
const MOST_INTERVALS: usize = 240;

/// What there is to do.
pub(crate) struct Whole {
    pub(crate) bytes: u64,
    /// How many frames, where that can be known before.
    pub(crate) frames: Option<u64>,
}

impl From<Survey> for Whole {
    fn from(survey: Survey) -> Self {
        Self { bytes: survey.bytes, frames: Some(survey.files) }
    }
}

/// Counts what is done, from any thread.
pub(crate) struct Progress {
    /// What is counted, in the plural.
    noun: &'static str,
    started: Instant,
    bytes: AtomicU64,
    frames: AtomicU64,
    failures: AtomicU64,
    /// What there is to do, once it is known.
    whole: OnceLock<Whole>,
    bar: ProgressBar,
    every: Option<Duration>,
    over: AtomicBool,
    intervals: Mutex<Intervals>,
}

impl Progress {
    /// Counts what `noun` names, in the plural. Draws to standard error where that is a terminal and `quiet` is not set; `every` prints lines where it is none.
    pub(crate) fn new(noun: &'static str, every: Option<Duration>, quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{spinner} {msg}").unwrap_or(ProgressStyle::default_spinner());
        bar.set_style(style);
        Self {
            noun,
            started: Instant::now(),
            bytes: AtomicU64::new(0),
            frames: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            whole: OnceLock::new(),
            every: every.filter(|_| bar.is_hidden()),
            bar,
            over: AtomicBool::new(false),
            intervals: Mutex::new(Intervals::new()),
        }
    }

    /// Whether anybody sees it.
    pub(crate) fn is_shown(&self) -> bool {
        !self.bar.is_hidden() || self.every.is_some()
    }

    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// All up to this byte is done, for work that goes through one file and at times back in it.
    pub(crate) fn reach(&self, byte: u64) {
        self.bytes.fetch_max(byte, Ordering::Relaxed);
    }

    pub(crate) fn add_frame(&self, failed: bool) {
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.failures.fetch_add(u64::from(failed), Ordering::Relaxed);
    }

    /// Something failed that is no frame by itself.
    pub(crate) fn add_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_whole(&self, whole: impl Into<Whole>) {
        let _ = self.whole.set(whole.into());
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Makes way on the terminal for what `print` prints.
    pub(crate) fn make_way(&self, print: &mut dyn FnMut()) {
        self.bar.suspend(print);
    }

    /// Shows and records while `work` is done. Threads that it starts in the scope are to look at [`Progress::is_over`].
    pub(crate) fn while_shown<'e, T>(&'e self, work: impl for<'s> FnOnce(&'s Scope<'s, 'e>) -> T) -> T {
        thread::scope(|scope| {
            // Where threads are scarce the work goes on unshown.
            let shown = thread::Builder::new().spawn_scoped(scope, || self.keep()).ok();
            let _end = EndShowing(self, shown.as_ref().map(|shown| shown.thread()));
            work(scope)
        })
    }

    /// As [`Progress::while_shown`]. Where somebody watches, `survey` meanwhile counts what there is to do; it is to stop when
    /// [`Progress::is_over`].
    pub(crate) fn while_surveyed<'e, T>(
        &'e self,
        survey: impl FnOnce() -> Survey + Send + 'e,
        work: impl FnOnce() -> T,
    ) -> T {
        self.while_shown(|scope| {
            if self.is_shown() {
                let count = || {
                    let whole = survey();
                    if !whole.stopped {
                        self.set_whole(whole);
                    }
                };
                // Where threads are scarce the work goes on uncounted.
                let _ = thread::Builder::new().spawn_scoped(scope, count);
            }
            work()
        })
    }

    /// Shows and records until [`Progress::end`].
    fn keep(&self) {
        let mut next_line = self.every;
        while !self.is_over() {
            thread::park_timeout(TICK);
            self.record();
            if !self.bar.is_hidden() {
                self.bar.set_message(self.line());
                self.bar.tick();
            }
            if let (Some(every), Some(next)) = (self.every, next_line)
                && self.elapsed() >= next
            {
                say(self.line());
                next_line = Some(self.elapsed() + every);
            }
        }
        self.bar.finish_and_clear();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// What was done, interval for interval, to its end.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        let mut intervals = self.intervals.lock().unwrap_or_else(PoisonError::into_inner);
        intervals.add(self.so_far());
        std::mem::take(&mut intervals.done)
    }

    fn record(&self) {
        let mut intervals = self.intervals.lock().unwrap_or_else(PoisonError::into_inner);
        if self.elapsed().as_secs_f64() >= intervals.next_end() {
            intervals.add(self.so_far());
        }
    }

    fn so_far(&self) -> Interval {
        let number = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Interval {
            seconds: self.elapsed().as_secs_f64(),
            bytes: number(&self.bytes),
            frames: number(&self.frames),
            failures: number(&self.failures),
        }
    }

    fn line(&self) -> String {
        let Interval { seconds, bytes, frames, failures } = self.so_far();
        let rate = bytes as f64 / seconds.max(1e-9);
        let noun = self.noun;
        let (files, read) = (HumanCount(frames), HumanBytes(bytes));
        let (done, left) = match self.whole.get() {
            Some(whole) if bytes > 0 && whole.bytes >= bytes => {
                let percent = 100.0 * bytes as f64 / whole.bytes as f64;
                let of_all = whole.frames.map_or(String::new(), |frames| format!(" of {}", HumanCount(frames)));
                let done = format!("{files}{of_all} {noun}, {read} of {} ({percent:.0}%)", HumanBytes(whole.bytes));
                let left = Duration::try_from_secs_f64((whole.bytes - bytes) as f64 / rate);
                (done, left.map_or(String::new(), |left| format!(", {} left", HumanDuration(left))))
            }
            _ => (format!("{files} {noun}, {read}"), String::new()),
        };
        format!("{done}, {}/s{left}, {}", HumanBytes(rate as u64), count(failures, "failure"))
    }
}

/// Ends what shows progress, whatever ends the work.
struct EndShowing<'p>(&'p Progress, Option<&'p thread::Thread>);

impl Drop for EndShowing<'_> {
    fn drop(&mut self) {
        self.0.end();
        self.1.iter().for_each(|shown| shown.unpark());
    }
}

/// What was done since the interval before, or since the start.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Interval {
    /// Its end, from the start of the run.
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    pub(crate) frames: u64,
    pub(crate) failures: u64,
}

/// What was done over time, in intervals that grow with the run.
struct Intervals {
    done: Vec<Interval>,
    width: f64,
    /// Everything up to the end of the last interval.
    sum: Interval,
}

impl Intervals {
    fn new() -> Self {
        Self {
            done: Vec::new(),
            width: TICK.as_secs_f64(),
            sum: Interval { seconds: 0.0, bytes: 0, frames: 0, failures: 0 },
        }
    }

    fn next_end(&self) -> f64 {
        self.sum.seconds + self.width
    }

    /// Ends an interval, given what was done since the start.
    fn add(&mut self, so_far: Interval) {
        self.done.push(Interval {
            seconds: so_far.seconds,
            bytes: so_far.bytes - self.sum.bytes,
            frames: so_far.frames - self.sum.frames,
            failures: so_far.failures - self.sum.failures,
        });
        self.sum = so_far;
        if self.done.len() >= MOST_INTERVALS {
            self.done = self.done.chunks(2).map(merged).collect();
            self.width *= 2.0;
        }
    }
}

fn merged(intervals: &[Interval]) -> Interval {
    let start = Interval { seconds: 0.0, bytes: 0, frames: 0, failures: 0 };
    intervals.iter().fold(start, |sum, interval| Interval {
        seconds: interval.seconds,
        bytes: sum.bytes + interval.bytes,
        frames: sum.frames + interval.frames,
        failures: sum.failures + interval.failures,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_any_rate() {
        let progress = Progress::new("files", None, true);
        progress.add_frame(false);
        assert!(progress.line().starts_with("1 files, 0 B, "), "{}", progress.line());
        progress.add_bytes(1);
        progress.set_whole(Whole { bytes: u64::MAX, frames: Some(2) });
        // At a byte in more than a second, the rest takes longer than a Duration can say.
        std::thread::sleep(Duration::from_millis(1100));
        let line = progress.line();
        assert!(line.starts_with("1 of 2 files, 1 B of 16.00 EiB (0%), 0 B/s, ") && !line.contains("left"), "{line}");
    }

    #[test]
    fn intervals_add_up_however_long_a_run_takes() {
        let mut intervals = Intervals::new();
        for step in 1..=1000_u64 {
            intervals.add(Interval { seconds: step as f64, bytes: 3 * step, frames: 2 * step, failures: step / 10 });
        }
        assert!(intervals.done.len() < MOST_INTERVALS);
        let sum = merged(&intervals.done);
        assert_eq!((sum.seconds, sum.bytes, sum.frames, sum.failures), (1000.0, 3000, 2000, 100));
        assert!(intervals.done.is_sorted_by(|one, next| one.seconds < next.seconds));
    }
}
