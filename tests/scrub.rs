//! Scrubs of real files: the verdicts of a slice, whatever the files' lengths and the number of threads, and no trouble
//! from trees and files that are not as they should be, or change meanwhile.
#![cfg(unix)]

mod samples;

#[path = "scrub/agreement.rs"]
mod agreement;
#[path = "scrub/faults.rs"]
mod faults;
#[cfg(all(target_os = "linux", not(portable_scrub)))]
#[path = "scrub/page_cache.rs"]
mod page_cache;
#[path = "scrub/support.rs"]
mod support;
#[path = "scrub/walking.rs"]
mod walking;
