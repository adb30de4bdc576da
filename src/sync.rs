//! The locks and atomics of what many threads share: those of std, or those of loom when its models are built.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering, fence},
};
#[cfg(loom)]
pub(crate) use std::sync::PoisonError;

/// A value alone on its cache lines, so that writing it takes none away from the readers of its neighbours. Two lines:
/// processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

/// The lock's content, also after a panic: what it guards is whole between any two statements that can panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
