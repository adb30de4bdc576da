//! How far a long run is, on a terminal and nowhere else.

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::display::count;
use crate::report::Totals;

/// Draws to standard error; hidden where that is no terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{spinner} {msg}  {elapsed}").unwrap_or(ProgressStyle::default_spinner());
        bar.set_style(style);
        Self(bar)
    }

    pub(crate) fn advance(&self, totals: &Totals) {
        if self.0.is_hidden() {
            return;
        }
        let (frames, bytes) = (HumanCount(totals.frames), HumanBytes(totals.bytes));
        self.0.set_message(format!("{frames} checked, {bytes}, {}", count(totals.failures(), "failure")));
    }

    /// Makes way for what `print` prints.
    pub(crate) fn pause<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.suspend(print)
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
