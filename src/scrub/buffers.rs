//! The buffers of one thread, aligned for reads past the page cache.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Length of one buffer. Large enough for a read to cost less than the hash of what it brings, small enough for the
/// buffers of all files in flight to stay in a cache. PERF.md says what other lengths give.
pub(super) const BUFFER_LEN: usize = 256 * 1024;

const PAGE_LEN: usize = 4096;

/// The largest block size that a disk asks for.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(4096))]
struct Page([u8; PAGE_LEN]);

/// The memory of some buffers. It is the system's until a buffer is written.
pub(super) struct Buffers(Vec<Page>);

impl Buffers {
    pub(super) fn new(count: usize) -> Self {
        // Without memory there is no scrub, and nothing that could be done about it.
        let pages = Page::new_vec_zeroed(count * BUFFER_LEN / PAGE_LEN);
        Self(pages.unwrap_or_else(|_| std::alloc::handle_alloc_error(std::alloc::Layout::new::<Page>())))
    }

    /// The buffers, each [`BUFFER_LEN`] long.
    pub(super) fn split(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.0.as_mut_slice().as_mut_bytes().chunks_exact_mut(BUFFER_LEN)
    }
}
