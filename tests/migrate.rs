//! From older versions to v5: what the vectors say, nothing lost whatever a file is or does, and nothing done twice.
#![cfg(unix)]

mod samples;

#[path = "migrate/attributes.rs"]
mod attributes;
#[path = "migrate/changes.rs"]
mod changes;
#[path = "migrate/envelope.rs"]
mod envelope;
#[path = "migrate/envelope_files.rs"]
mod envelope_files;
#[path = "migrate/frame.rs"]
mod frame;
#[path = "migrate/frame_files.rs"]
mod frame_files;
#[path = "migrate/support.rs"]
mod support;
