//! Kernels: each advances several independent SHA-256 messages, one per lane, by the same number of blocks.
//!
//! One SHA-256 waits on the latency of its own rounds. Several that know nothing of each other fill the gaps, in one core
//! and without threads. A kernel is one file with one function per width; this file alone decides which one runs, once per
//! process, by what the processor can do.
//!
//! | kernel | lanes | needs |
//! |---|---|---|
//! | [`sha_ni_avx512`] | 4, 3 | x86-64 with the SHA extensions and AVX-512 F, BW and VL |
//! | [`sha_ni`] | 4, 3, 2 | x86-64 with the SHA extensions and AVX |
//! | [`avx2`] | 8 | x86-64 with AVX2 |
//! | [`single`] | 1 | nothing: sha2, with what it finds |
//! | [`portable`] | 1 | nothing: the model that reads like FIPS 180-4 |

#![allow(unsafe_code, reason = "kernels may run only where the processor was asked, and only this file asks")]

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod avx2;
mod portable;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod sha_ni;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod sha_ni_avx512;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod sha_registers;
mod single;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod unit_bound;

/// The eight working variables between two blocks, a to h (FIPS 180-4, section 6.2).
pub(super) type State = [u32; 8];

/// Length of a block in bytes.
pub(super) const BLOCK_LEN: usize = 64;

/// The most lanes that any kernel has.
pub(super) const MAX_LANES: usize = 8;

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
const _: () = assert!(sha_ni_avx512::LANES <= MAX_LANES && sha_ni::LANES <= MAX_LANES && avx2::LANES <= MAX_LANES);

/// The state before the first block (FIPS 180-4, section 5.3.3).
pub(super) const INITIAL: State =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

/// The constants of the rounds (FIPS 180-4, section 4.2.2), on a cache line of their own.
#[repr(align(64))]
struct RoundConstants([u32; 64]);

static ROUND_CONSTANTS: RoundConstants = RoundConstants([
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
    0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
    0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2,
]);

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
cpufeatures::new!(cpu_has_sha_ni, "sha", "sse4.1", "ssse3", "avx");
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
cpufeatures::new!(cpu_has_avx512, "avx512f", "avx512bw", "avx512vl");
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
cpufeatures::new!(cpu_has_avx2, "avx2");

/// A way to hash several messages at once. The default is the fastest that this processor has.
///
/// ```
/// use membrane_codec::Kernel;
///
/// println!("{} with {} lanes", Kernel::default(), Kernel::default().lanes());
/// assert!(Kernel::available().any(|kernel| kernel == Kernel::default()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    ShaNiAvx512,
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    ShaNi,
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    Avx2,
    Single,
    Portable,
}

impl Kernel {
    /// The kernels that this processor can run, the fastest first.
    pub fn available() -> impl Iterator<Item = Self> {
        let kinds = [
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            (cpu_has_sha_ni::get() && cpu_has_avx512::get()).then_some(Kind::ShaNiAvx512),
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            cpu_has_sha_ni::get().then_some(Kind::ShaNi),
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            cpu_has_avx2::get().then_some(Kind::Avx2),
            Some(Kind::Single),
            Some(Kind::Portable),
        ];
        kinds.into_iter().flatten().map(Self)
    }

    /// The name: `sha_ni_avx512`, `sha_ni`, `avx2`, `single` or `portable`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            Kind::ShaNiAvx512 => "sha_ni_avx512",
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            Kind::ShaNi => "sha_ni",
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            Kind::Avx2 => "avx2",
            Kind::Single => "single",
            Kind::Portable => "portable",
        }
    }

    /// How many messages it advances at once.
    pub const fn lanes(self) -> usize {
        match self.0 {
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            Kind::ShaNiAvx512 => sha_ni_avx512::LANES,
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            Kind::ShaNi => sha_ni::LANES,
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            Kind::Avx2 => avx2::LANES,
            Kind::Single | Kind::Portable => 1,
        }
    }

    /// Does the work of the SHA unit for `blocks` blocks of each of four messages, and nothing else of a hash; false where
    /// there is no such unit. For the bench `sha_unit_bound`.
    #[doc(hidden)]
    pub fn run_sha_unit(blocks: usize) -> bool {
        #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
        if cpu_has_sha_ni::get() {
            // SAFETY: just asked.
            unsafe { unit_bound::four_lanes(blocks) };
            return true;
        }
        let _ = blocks;
        false
    }

    /// Advances `states`, one per lane and at most [`Kernel::lanes`], by the whole blocks in `blocks`. All slices of
    /// `blocks` have the same length.
    pub(super) fn compress(self, states: &mut [State], blocks: &[&[u8]]) {
        debug_assert_eq!(states.len(), blocks.len());
        debug_assert!(blocks.iter().all(|lane| lane.len() == blocks[0].len() && lane.len() % BLOCK_LEN == 0));
        match self.0 {
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            // SAFETY: a `Kind` of this sort is made in `available` alone, when the processor has what it needs.
            Kind::ShaNiAvx512 => unsafe { sha_ni_avx512::compress(states, blocks) },
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            // SAFETY: a `Kind` of this sort is made in `available` alone, when the processor has what it needs.
            Kind::ShaNi => unsafe { sha_ni::compress(states, blocks) },
            #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
            // SAFETY: a `Kind` of this sort is made in `available` alone, when the processor has what it needs.
            Kind::Avx2 => unsafe { avx2::compress(states, blocks) },
            Kind::Single => single::compress(states, blocks),
            Kind::Portable => portable::compress(states, blocks),
        }
    }
}

impl Default for Kernel {
    fn default() -> Self {
        // There always is one; the first is the fastest.
        Self::available().next().unwrap_or(Self(Kind::Single))
    }
}

impl core::fmt::Display for Kernel {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}
