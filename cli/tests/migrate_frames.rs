//! `migrate frames`: old frames become v5, whole or not at all, whatever happens.

#![cfg(unix)]

mod support;

#[path = "migrate_frames/limits.rs"]
mod limits;
#[path = "migrate_frames/stopped.rs"]
mod stopped;
#[path = "migrate_frames/stores.rs"]
mod stores;
#[path = "migrate_frames/told.rs"]
mod told;
