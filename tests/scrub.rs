//! Scrubs of real files: the verdicts of a slice, whatever the files' lengths and the number of threads, and no trouble
//! from trees and files that are not as they should be, or change meanwhile.
#![cfg(unix)]

mod samples;

#[path = "scrub/absent.rs"]
mod absent;
#[path = "scrub/agreement.rs"]
mod agreement;
#[path = "scrub/faults.rs"]
mod faults;
#[path = "scrub/memory.rs"]
mod memory;
#[cfg(all(target_os = "linux", not(portable_scrub)))]
#[path = "scrub/page_cache.rs"]
mod page_cache;
#[path = "scrub/portions.rs"]
mod portions;
#[path = "scrub/support.rs"]
mod support;
#[path = "scrub/threads.rs"]
mod threads;
#[path = "scrub/walking.rs"]
mod walking;
