//! Four lanes, or three, with the SHA extensions and the sixteen further registers of AVX-512.
//!
//! The kernel of [`super::sha_ni`] keeps most of the schedule in memory, since four lanes do not fit into sixteen registers.
//! AVX-512 has thirty-two, of which the SHA instructions reach the lower half: here the states and what is being worked on
//! lie there, and the whole schedule above. Copies between the halves cost no execution, and no load waits for a store.

#![allow(unsafe_code, reason = "instructions that only some processors have")]

use core::arch::asm;

use super::sha_registers::{BIG_ENDIAN, Registers, add_state, load_state, store_state};
use super::{BLOCK_LEN, ROUND_CONSTANTS, State, sha_ni};

pub(super) const LANES: usize = 4;

/// # Safety
/// The processor must have SHA, SSE4.1, SSSE3, AVX, and AVX-512 F, BW and VL.
pub(super) unsafe fn compress(states: &mut [State], blocks: &[&[u8]]) {
    match (states, blocks) {
        ([a, b, c, d], &[wa, wb, wc, wd]) => {
            // SAFETY: the processor has what is enabled there, by the caller.
            unsafe { compress4([a, b, c, d], [wa, wb, wc, wd]) }
        }
        ([a, b, c], &[wa, wb, wc]) => {
            // SAFETY: as above.
            unsafe { compress3([a, b, c], [wa, wb, wc]) }
        }
        (states, blocks) => {
            // Two lanes wait for their own rounds, wherever the schedule lies.
            // SAFETY: the processor has what it asks for, by the caller.
            unsafe { sha_ni::compress(states, blocks) }
        }
    }
}

// The pieces of assembly. `lane` numbers the lane, `ab` and `cd` are the registers of its state, `w0` to `w3` those of its
// schedule, the oldest quadruple first. xmm0 holds words and constants for two rounds, as sha256rnds2 will have it; xmm1 to
// xmm3 are free.

/// Reads the block's sixteen words.
macro_rules! read_block {
    ($lane:literal $ab:literal $cd:literal, $w0:literal $w1:literal $w2:literal $w3:literal) => {
        concat!(
            "vmovdqu xmm1, [{data",
            $lane,
            "}]\n",
            "vmovdqu xmm2, [{data",
            $lane,
            "} + 16]\n",
            "vpshufb xmm",
            $w0,
            ", xmm1, [{byte_order}]\n",
            "vpshufb xmm",
            $w1,
            ", xmm2, [{byte_order}]\n",
            "vmovdqu xmm1, [{data",
            $lane,
            "} + 32]\n",
            "vmovdqu xmm2, [{data",
            $lane,
            "} + 48]\n",
            "vpshufb xmm",
            $w2,
            ", xmm1, [{byte_order}]\n",
            "vpshufb xmm",
            $w3,
            ", xmm2, [{byte_order}]\n",
            "add {data",
            $lane,
            "}, 64\n",
        )
    };
}

/// Four rounds with the oldest quadruple, and the new one that takes its place, sixteen rounds on.
macro_rules! rounds_and_schedule {
    ($lane:literal $ab:literal $cd:literal, $w0:literal $w1:literal $w2:literal $w3:literal, $step:literal) => {
        concat!(
            "vpaddd xmm0, xmm",
            $w0,
            ", [{constants} + 16*",
            $step,
            "]\n",
            "sha256rnds2 xmm",
            $cd,
            ", xmm",
            $ab,
            ", xmm0\n",
            "vpshufd xmm0, xmm0, 0x0e\n",
            "vpalignr xmm1, xmm",
            $w3,
            ", xmm",
            $w2,
            ", 4\n",
            "vmovdqa64 xmm2, xmm",
            $w0,
            "\n",
            "vmovdqa64 xmm3, xmm",
            $w1,
            "\n",
            "sha256msg1 xmm2, xmm3\n",
            "sha256rnds2 xmm",
            $ab,
            ", xmm",
            $cd,
            ", xmm0\n",
            "vpaddd xmm2, xmm2, xmm1\n",
            "vmovdqa64 xmm3, xmm",
            $w3,
            "\n",
            "sha256msg2 xmm2, xmm3\n",
            "vmovdqa64 xmm",
            $w0,
            ", xmm2\n",
        )
    };
}

/// Four rounds of the last sixteen, which need no new words.
macro_rules! rounds {
    ($lane:literal $ab:literal $cd:literal, $w0:literal $w1:literal $w2:literal $w3:literal, $step:literal) => {
        concat!(
            "vpaddd xmm0, xmm",
            $w0,
            ", [{constants} + 16*",
            $step,
            "]\n",
            "sha256rnds2 xmm",
            $cd,
            ", xmm",
            $ab,
            ", xmm0\n",
            "vpshufd xmm0, xmm0, 0x0e\n",
            "sha256rnds2 xmm",
            $ab,
            ", xmm",
            $cd,
            ", xmm0\n",
        )
    };
}

/// One piece for each lane, with the registers that are the lane's; the number before the step turns the schedule by as many
/// quadruples as steps were taken.
macro_rules! each_of_3 {
    ($piece:ident, 0 $($step:tt)*) => {
        concat!($piece!(0 15 14, 16 17 18 19 $($step)*), $piece!(1 13 12, 20 21 22 23 $($step)*), $piece!(2 11 10, 24 25 26 27 $($step)*))
    };
    ($piece:ident, 1 $($step:tt)*) => {
        concat!($piece!(0 15 14, 17 18 19 16 $($step)*), $piece!(1 13 12, 21 22 23 20 $($step)*), $piece!(2 11 10, 25 26 27 24 $($step)*))
    };
    ($piece:ident, 2 $($step:tt)*) => {
        concat!($piece!(0 15 14, 18 19 16 17 $($step)*), $piece!(1 13 12, 22 23 20 21 $($step)*), $piece!(2 11 10, 26 27 24 25 $($step)*))
    };
    ($piece:ident, 3 $($step:tt)*) => {
        concat!($piece!(0 15 14, 19 16 17 18 $($step)*), $piece!(1 13 12, 23 20 21 22 $($step)*), $piece!(2 11 10, 27 24 25 26 $($step)*))
    };
}
macro_rules! each_of_4 {
    ($piece:ident, 0 $($step:tt)*) => {
        concat!(each_of_3!($piece, 0 $($step)*), $piece!(3 9 8, 28 29 30 31 $($step)*))
    };
    ($piece:ident, 1 $($step:tt)*) => {
        concat!(each_of_3!($piece, 1 $($step)*), $piece!(3 9 8, 29 30 31 28 $($step)*))
    };
    ($piece:ident, 2 $($step:tt)*) => {
        concat!(each_of_3!($piece, 2 $($step)*), $piece!(3 9 8, 30 31 28 29 $($step)*))
    };
    ($piece:ident, 3 $($step:tt)*) => {
        concat!(each_of_3!($piece, 3 $($step)*), $piece!(3 9 8, 31 28 29 30 $($step)*))
    };
}

/// A kernel of one width.
macro_rules! kernel {
    ($name:ident, $lanes:literal, $each:ident, $($data:ident $index:literal),*) => {
        #[target_feature(enable = "sha,sse4.1,ssse3,avx512f,avx512bw,avx512vl")]
        fn $name(mut states: [&mut State; $lanes], data: [&[u8]; $lanes]) {
            let blocks = data.iter().map(|lane| lane.len() / BLOCK_LEN).min().unwrap_or(0);
            if blocks == 0 {
                return;
            }
            let mut registers = Registers::from_states(&states);
            // SAFETY: the features enabled here cover all instructions. The code reads `blocks` blocks of 64 bytes from each
            // lane, which has as many; it reads and writes `registers` within their bounds (32 bytes per lane), reads the
            // round constants and the byte order within theirs, and touches no other memory and no stack. What needs
            // alignment has it by its type. Registers that it changes are named (a name stands for the whole vector
            // register); flags count as changed unless said otherwise.
            unsafe {
                asm!(
                    // The SHA instructions have only the old encoding, which is slow beside dirty upper halves.
                    "vzeroupper",
                    $each!(load_state, 0),
                    "2:",
                    $each!(store_state, 0),
                    $each!(read_block, 0),
                    $each!(rounds_and_schedule, 0, 0),
                    $each!(rounds_and_schedule, 1, 1),
                    $each!(rounds_and_schedule, 2, 2),
                    $each!(rounds_and_schedule, 3, 3),
                    $each!(rounds_and_schedule, 0, 4),
                    $each!(rounds_and_schedule, 1, 5),
                    $each!(rounds_and_schedule, 2, 6),
                    $each!(rounds_and_schedule, 3, 7),
                    $each!(rounds_and_schedule, 0, 8),
                    $each!(rounds_and_schedule, 1, 9),
                    $each!(rounds_and_schedule, 2, 10),
                    $each!(rounds_and_schedule, 3, 11),
                    $each!(rounds, 0, 12),
                    $each!(rounds, 1, 13),
                    $each!(rounds, 2, 14),
                    $each!(rounds, 3, 15),
                    $each!(add_state, 0),
                    "dec {blocks}",
                    "jnz 2b",
                    $each!(store_state, 0),
                    $($data = inout(reg) data[$index].as_ptr() => _,)*
                    blocks = inout(reg) blocks => _,
                    states = in(reg) registers.as_mut_ptr(),
                    constants = in(reg) ROUND_CONSTANTS.0.as_ptr(),
                    byte_order = in(reg) BIG_ENDIAN.as_ptr(),
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    out("xmm16") _, out("xmm17") _, out("xmm18") _, out("xmm19") _,
                    out("xmm20") _, out("xmm21") _, out("xmm22") _, out("xmm23") _,
                    out("xmm24") _, out("xmm25") _, out("xmm26") _, out("xmm27") _,
                    out("xmm28") _, out("xmm29") _, out("xmm30") _, out("xmm31") _,
                    options(nostack),
                );
            }
            registers.into_states(&mut states);
        }
    };
}

kernel!(compress3, 3, each_of_3, data0 0, data1 1, data2 2);
kernel!(compress4, 4, each_of_4, data0 0, data1 1, data2 2, data3 3);
