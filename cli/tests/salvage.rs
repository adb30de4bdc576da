//! `salvage`: every intact frame saved byte for byte, nothing overwritten, nothing half-written, and all that was not a frame
//! told.
#![cfg(unix)]

mod support;

#[path = "salvage/found.rs"]
mod found;
#[path = "salvage/images.rs"]
mod images;
#[path = "salvage/kept.rs"]
mod kept;
#[path = "salvage/stopped.rs"]
mod stopped;
#[path = "salvage/told.rs"]
mod told;
