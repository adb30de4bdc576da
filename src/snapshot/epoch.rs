//! Whether what was persisted may still be restored.

/// Judges persisted epochs by the live one (specification, section 4): what is more than one step behind is stale.
///
/// ```
/// use membrane_codec::snapshot::EpochGuard;
///
/// let guard = EpochGuard::new(143);
/// assert!(guard.accepts(142));
/// assert!(!guard.accepts(141));
/// assert!(guard.accepts(u64::MAX)); // ahead of the live epoch is not stale
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochGuard {
    live: u64,
}

impl EpochGuard {
    /// With the cluster's live epoch.
    pub const fn new(live: u64) -> Self {
        Self { live }
    }

    /// The cluster's live epoch.
    pub const fn live(self) -> u64 {
        self.live
    }

    /// Whether state of this epoch may be restored.
    pub const fn accepts(self, persisted: u64) -> bool {
        persisted.saturating_add(1) >= self.live
    }
}
