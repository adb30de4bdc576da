//! Room on disk for copies that are not in their places yet.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much copies may take, all together.
pub(super) struct Room {
    /// Bytes, unless there are fewer than `always` of them.
    bound: u64,
    always: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    copies: usize,
    bytes: u64,
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Room {
    /// Room for so many bytes, or for so many copies if they are longer.
    pub(super) fn new(bound: u64, always: usize) -> Self {
        Self { bound, always, taken: Arc::default() }
    }

    /// Takes room for a copy, before it is made; none if there is none.
    pub(super) fn take(&self, len: u64) -> Option<Reserved> {
        let mut taken = lock(&self.taken);
        if taken.copies >= self.always && taken.bytes.saturating_add(len) > self.bound {
            return None;
        }
        taken.bytes = taken.bytes.checked_add(len)?;
        taken.copies += 1;
        Some(Reserved { len, taken: Arc::clone(&self.taken) })
    }
}

/// Room of one copy, given back when this is dropped.
pub(super) struct Reserved {
    len: u64,
    taken: Arc<Mutex<Taken>>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.copies -= 1;
        taken.bytes -= self.len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_count_from_before_they_are_made_until_they_are_dropped() {
        let room = Room::new(100, 2);
        let long = room.take(1000).expect("one is always taken");
        let short = room.take(10).expect("and another");
        assert!(room.take(1).is_none());
        drop(long);
        let rest = room.take(1000).expect("one alone again");
        assert!(room.take(0).is_none());
        drop(rest);
        let rest = room.take(90).expect("just enough");
        assert!(room.take(1).is_none());
        assert!(room.take(0).is_some());
        drop((short, rest));
        let taken = lock(&room.taken);
        assert_eq!((taken.copies, taken.bytes), (0, 0));
    }
}
