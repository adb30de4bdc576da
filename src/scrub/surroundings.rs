//! What all files of a scrub share, in one thread of it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::observer::Observer;
use super::pace::Pace;

pub(super) struct Surroundings<'s, O: ?Sized> {
    pub(super) observer: &'s O,
    pub(super) pace: &'s Pace,
    /// One thread was told to stop, or has panicked.
    pub(super) over: &'s AtomicBool,
    pub(super) max_identity_len: u32,
    pub(super) follow_links: bool,
}

impl<O: Observer + ?Sized> Surroundings<'_, O> {
    /// Whether the observer stops the scrub. When it told one thread so, it told all.
    pub(super) fn stops(&self) -> bool {
        let stops = self.over.load(Ordering::Relaxed) || self.observer.stops();
        if stops {
            self.over.store(true, Ordering::Relaxed);
        }
        stops
    }
}
