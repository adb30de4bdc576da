//! What all files of a scrub share, in one thread of it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::observer::Observer;
use super::pace::Pace;
use super::terms::Terms;

pub(super) struct Surroundings<'s, O: ?Sized> {
    pub(super) observer: &'s O,
    pub(super) pace: &'s Pace,
    /// One thread was told to stop, or has panicked.
    pub(super) over: &'s AtomicBool,
    pub(super) max_identity_len: u32,
    pub(super) terms: &'s Terms<'s>,
    pub(super) follow_links: bool,
}

impl<O: Observer + ?Sized> Surroundings<'_, O> {
    /// Tells of bytes that were read, at the pace of the scrub.
    pub(super) fn passed(&self, bytes: usize) {
        self.observer.read(bytes as u64);
        self.pace.spend(bytes as u64, || self.stops());
    }

    /// Whether the observer stops the scrub. When it told one thread so, it told all.
    pub(super) fn stops(&self) -> bool {
        let stops = self.over.load(Ordering::Relaxed) || self.observer.stops();
        if stops {
            self.over.store(true, Ordering::Relaxed);
        }
        stops
    }
}
