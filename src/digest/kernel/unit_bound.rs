//! What the SHA unit itself allows: the round and schedule instructions of [`super::sha_ni`], on registers that know
//! nothing of each other, and nothing else. A measure for benches; it hashes nothing.

#![allow(unsafe_code, reason = "instructions that only some processors have")]

use core::arch::asm;

/// Two rounds of one lane.
macro_rules! rounds {
    ($ab:literal $cd:literal) => {
        concat!("sha256rnds2 xmm", $cd, ", xmm", $ab, ", xmm0\n", "sha256rnds2 xmm", $ab, ", xmm", $cd, ", xmm0\n")
    };
}

/// Four rounds of four lanes.
macro_rules! last_step {
    () => {
        concat!(rounds!(15 11), rounds!(14 10), rounds!(13 9), rounds!(12 8))
    };
}

/// Four rounds and four schedule words of four lanes.
macro_rules! step {
    () => {
        concat!(
            rounds!(15 11), "sha256msg1 xmm4, xmm0\n", "sha256msg2 xmm4, xmm0\n",
            rounds!(14 10), "sha256msg1 xmm5, xmm0\n", "sha256msg2 xmm5, xmm0\n",
            rounds!(13 9), "sha256msg1 xmm6, xmm0\n", "sha256msg2 xmm6, xmm0\n",
            rounds!(12 8), "sha256msg1 xmm7, xmm0\n", "sha256msg2 xmm7, xmm0\n",
        )
    };
}

/// Does the SHA unit's work for `blocks` blocks of four messages.
///
/// # Safety
/// The processor must have SHA, and AVX.
pub(super) unsafe fn four_lanes(blocks: usize) {
    if blocks == 0 {
        return;
    }
    // SAFETY: the processor has the instructions, by the caller; they touch no memory, and registers are named.
    unsafe {
        asm!(
            "vzeroupper",
            "2:",
            step!(), step!(), step!(), step!(), step!(), step!(), step!(), step!(), step!(), step!(), step!(), step!(),
            last_step!(), last_step!(), last_step!(), last_step!(),
            "dec {blocks}",
            "jnz 2b",
            blocks = inout(reg) blocks => _,
            out("xmm0") _, out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _,
            out("xmm10") _, out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nomem, nostack),
        );
    }
}
