//! The search for intact frames among anything else: what is found is what the naive reader finds, in memory and in
//! sources of any size, however they end, tear, fail or lie.

#![allow(clippy::single_range_in_vec_init)] // Lists of ranges, one long.

#[path = "samples/disk.rs"]
mod disk;
mod naive;
mod samples;

#[path = "scan/agreement.rs"]
mod agreement;
#[path = "scan/copies.rs"]
mod copies;
#[path = "scan/cost.rs"]
mod cost;
#[path = "scan/finding.rs"]
mod finding;
#[path = "scan/support.rs"]
mod support;
#[path = "scan/unreadable.rs"]
mod unreadable;
