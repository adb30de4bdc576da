//! Snapshots: every published case, what is refused and why, what is kept, and files that are whole whatever happens.
#![cfg(unix)]

mod naive;

#[path = "snapshot/agreement.rs"]
mod agreement;
#[path = "snapshot/editing.rs"]
mod editing;
#[path = "snapshot/hostile.rs"]
mod hostile;
#[path = "snapshot/kill.rs"]
mod kill;
#[path = "snapshot/memory.rs"]
mod memory;
#[path = "snapshot/reading.rs"]
mod reading;
#[path = "../cli/tests/support/small_disk.rs"]
mod small_disk;
#[path = "snapshot/store.rs"]
mod store;
#[path = "snapshot/support.rs"]
mod support;
#[path = "snapshot/texts.rs"]
mod texts;
#[path = "snapshot/turns.rs"]
mod turns;
#[path = "snapshot/vectors.rs"]
mod vectors;
