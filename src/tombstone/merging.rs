//! [`Merging`]: a merge of gossip, entry by entry, within the limits of the table.

use super::shard::{Announced, Recorded};
use super::{Clock, Merged, TombstoneTable, Until};
use crate::digest::Digest;

pub(crate) struct Merging<'t, C> {
    table: &'t TombstoneTable<C>,
    now: f64,
    /// New tombstones that the table still takes.
    room: usize,
    merged: Merged,
}

impl<'t, C: Clock> Merging<'t, C> {
    pub(super) fn new(table: &'t TombstoneTable<C>, room: usize) -> Self {
        Self { table, now: table.now(), room, merged: Merged::default() }
    }

    /// After a wait the time is another.
    pub(crate) fn look_at_the_clock(&mut self) {
        self.now = self.table.now();
    }

    /// Whether the entry changes nothing, found out without a lock, and then it is counted. Most gossip repeats what is
    /// known.
    pub(crate) fn dismisses(&mut self, content_hash: &Digest, until: Until) -> bool {
        let until = until.as_unix_seconds();
        let count = if self.now >= until {
            &mut self.merged.expired
        } else if until > self.table.latest(self.now) {
            &mut self.merged.too_far_ahead
        } else if self.table.has_until(content_hash, until) {
            &mut self.merged.known
        } else {
            return false;
        };
        *count += 1;
        true
    }

    /// Records an entry that was not dismissed; whether it told something new.
    pub(crate) fn take(&mut self, content_hash: &Digest, until: Until) -> bool {
        let announced = Announced { until: until.as_unix_seconds(), node_id: None, now: self.now };
        let (recorded, _) = self.table.announce(content_hash, announced, self.room > 0);
        let count = match recorded {
            Recorded::New => {
                self.room -= 1;
                &mut self.merged.learned
            }
            Recorded::Extended => &mut self.merged.extended,
            Recorded::Known => &mut self.merged.known,
            Recorded::NoRoom => &mut self.merged.no_room,
        };
        *count += 1;
        matches!(recorded, Recorded::New | Recorded::Extended)
    }

    pub(crate) fn merged(self) -> Merged {
        self.merged
    }
}
