//! Four lanes, or three, or two, with the SHA extensions of x86-64.
//!
//! `sha256rnds2` does two rounds and gives its result four cycles later; one can start every cycle. A single message
//! therefore leaves three quarters of the unit idle, and four messages, interleaved four rounds at a time, fill it.
//!
//! Four lanes need more registers than there are: two for the state and four for the schedule, each. Left to itself a
//! compiler spills what it must, when it must. Here the schedule lives in memory by design: a lane keeps its state and its
//! newest four schedule words in registers, and each step reads the three older quadruples as operands. So the code is
//! written out as assembly. PERF.md has what else was tried.

#![allow(unsafe_code, reason = "instructions that only some processors have")]

use core::arch::asm;

use super::sha_registers::{BIG_ENDIAN, Registers, add_state, load_state, store_state};
use super::{BLOCK_LEN, ROUND_CONSTANTS, State, single};

pub(super) const LANES: usize = 4;

/// # Safety
/// The processor must have SHA, SSE4.1, SSSE3 and AVX.
pub(super) unsafe fn compress(states: &mut [State], blocks: &[&[u8]]) {
    // As wide as there are lanes, so that none hashes for nobody.
    match (states, blocks) {
        ([a, b, c, d], &[wa, wb, wc, wd]) => {
            // SAFETY: the processor has what is enabled there, by the caller.
            unsafe { compress4([a, b, c, d], [wa, wb, wc, wd]) }
        }
        ([a, b, c], &[wa, wb, wc]) => {
            // SAFETY: as above.
            unsafe { compress3([a, b, c], [wa, wb, wc]) }
        }
        ([a, b], &[wa, wb]) => {
            // SAFETY: as above.
            unsafe { compress2([a, b], [wa, wb]) }
        }
        (states, blocks) => single::compress(states, blocks),
    }
}

/// The quadruples of the schedule that are in use, four per lane.
#[repr(align(64))]
struct Schedule<const LANES: usize>([[u32; 16]; LANES]);

// The pieces of assembly. `lane` numbers the lane, `ab` and `cd` are the registers of its state, `new` that of its newest
// schedule words; `w0` to `w3` say where in its schedule the quadruples of this step lie, the oldest first. xmm0 holds
// words and constants for two rounds, as sha256rnds2 will have it; xmm1 and xmm2 are free.

/// Reads the block's sixteen words.
macro_rules! read_block {
    ($lane:literal $ab:literal $cd:literal $new:literal) => {
        concat!(
            "vmovdqu xmm1, [{data",
            $lane,
            "}]\n",
            "vmovdqu xmm2, [{data",
            $lane,
            "} + 16]\n",
            "vpshufb xmm1, xmm1, [{byte_order}]\n",
            "vpshufb xmm2, xmm2, [{byte_order}]\n",
            "vmovdqa [{schedule} + 64*",
            $lane,
            "], xmm1\n",
            "vmovdqa [{schedule} + 64*",
            $lane,
            " + 16], xmm2\n",
            "vmovdqu xmm1, [{data",
            $lane,
            "} + 32]\n",
            "vmovdqu xmm",
            $new,
            ", [{data",
            $lane,
            "} + 48]\n",
            "vpshufb xmm1, xmm1, [{byte_order}]\n",
            "vpshufb xmm",
            $new,
            ", xmm",
            $new,
            ", [{byte_order}]\n",
            "vmovdqa [{schedule} + 64*",
            $lane,
            " + 32], xmm1\n",
            "vmovdqa [{schedule} + 64*",
            $lane,
            " + 48], xmm",
            $new,
            "\n",
            "add {data",
            $lane,
            "}, 64\n",
        )
    };
}

/// Four rounds with the oldest quadruple, and the new one that takes its place, sixteen rounds on.
macro_rules! rounds_and_schedule {
    ($lane:literal $ab:literal $cd:literal $new:literal, $step:literal, $w0:literal $w1:literal $w2:literal) => {
        concat!(
            "vmovdqa xmm2, [{schedule} + 64*",
            $lane,
            " + 16*",
            $w0,
            "]\n",
            "vpaddd xmm0, xmm2, [{constants} + 16*",
            $step,
            "]\n",
            "sha256rnds2 xmm",
            $cd,
            ", xmm",
            $ab,
            ", xmm0\n",
            "vpshufd xmm0, xmm0, 0x0e\n",
            "vpalignr xmm1, xmm",
            $new,
            ", [{schedule} + 64*",
            $lane,
            " + 16*",
            $w2,
            "], 4\n",
            "sha256msg1 xmm2, [{schedule} + 64*",
            $lane,
            " + 16*",
            $w1,
            "]\n",
            "vpaddd xmm2, xmm2, xmm1\n",
            "sha256rnds2 xmm",
            $ab,
            ", xmm",
            $cd,
            ", xmm0\n",
            "sha256msg2 xmm2, xmm",
            $new,
            "\n",
            "vmovdqa [{schedule} + 64*",
            $lane,
            " + 16*",
            $w0,
            "], xmm2\n",
            "vmovdqa xmm",
            $new,
            ", xmm2\n",
        )
    };
}

/// Four rounds of the last sixteen, which need no new words.
macro_rules! rounds {
    ($lane:literal $ab:literal $cd:literal $new:literal, $step:literal, $w0:literal) => {
        concat!(
            "vmovdqa xmm0, [{schedule} + 64*",
            $lane,
            " + 16*",
            $w0,
            "]\n",
            "vpaddd xmm0, xmm0, [{constants} + 16*",
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

/// One piece for each lane, with the registers that are the lane's.
macro_rules! each_of_2 {
    ($piece:ident $($step:tt)*) => {
        concat!($piece!(0 15 13 11 $($step)*), $piece!(1 14 12 10 $($step)*))
    };
}
macro_rules! each_of_3 {
    ($piece:ident $($step:tt)*) => {
        concat!($piece!(0 15 12 9 $($step)*), $piece!(1 14 11 8 $($step)*), $piece!(2 13 10 7 $($step)*))
    };
}
macro_rules! each_of_4 {
    ($piece:ident $($step:tt)*) => {
        concat!(
            $piece!(0 15 11 7 $($step)*), $piece!(1 14 10 6 $($step)*),
            $piece!(2 13 9 5 $($step)*), $piece!(3 12 8 4 $($step)*),
        )
    };
}

/// A kernel of one width.
macro_rules! kernel {
    ($name:ident, $lanes:literal, $each:ident, $($data:ident $index:literal),*) => {
        #[target_feature(enable = "sha,sse4.1,ssse3,avx")]
        fn $name(mut states: [&mut State; $lanes], data: [&[u8]; $lanes]) {
            let blocks = data.iter().map(|lane| lane.len() / BLOCK_LEN).min().unwrap_or(0);
            if blocks == 0 {
                return;
            }
            let mut registers = Registers::from_states(&states);
            let mut schedule = Schedule([[0; 16]; $lanes]);
            // SAFETY: the features enabled here cover all instructions. The code reads `blocks` blocks of 64 bytes from each
            // lane, which has as many; it reads and writes `registers` and `schedule` within their bounds (32 and 64 bytes
            // per lane), reads the round constants and the byte order within theirs, and touches no other memory and no
            // stack. What needs alignment has it by its type. Registers that it changes are named (a name stands for the
            // whole vector register); flags count as changed unless said otherwise.
            unsafe {
                asm!(
                    // The SHA instructions have only the old encoding, which is slow beside dirty upper halves.
                    "vzeroupper",
                    $each!(load_state),
                    "2:",
                    $each!(store_state),
                    $each!(read_block),
                    $each!(rounds_and_schedule, 0, 0 1 2),
                    $each!(rounds_and_schedule, 1, 1 2 3),
                    $each!(rounds_and_schedule, 2, 2 3 0),
                    $each!(rounds_and_schedule, 3, 3 0 1),
                    $each!(rounds_and_schedule, 4, 0 1 2),
                    $each!(rounds_and_schedule, 5, 1 2 3),
                    $each!(rounds_and_schedule, 6, 2 3 0),
                    $each!(rounds_and_schedule, 7, 3 0 1),
                    $each!(rounds_and_schedule, 8, 0 1 2),
                    $each!(rounds_and_schedule, 9, 1 2 3),
                    $each!(rounds_and_schedule, 10, 2 3 0),
                    $each!(rounds_and_schedule, 11, 3 0 1),
                    $each!(rounds, 12, 0),
                    $each!(rounds, 13, 1),
                    $each!(rounds, 14, 2),
                    $each!(rounds, 15, 3),
                    $each!(add_state),
                    "dec {blocks}",
                    "jnz 2b",
                    $each!(store_state),
                    $($data = inout(reg) data[$index].as_ptr() => _,)*
                    blocks = inout(reg) blocks => _,
                    states = in(reg) registers.as_mut_ptr(),
                    schedule = in(reg) schedule.0.as_mut_ptr(),
                    constants = in(reg) ROUND_CONSTANTS.0.as_ptr(),
                    byte_order = in(reg) BIG_ENDIAN.as_ptr(),
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nostack),
                );
            }
            registers.into_states(&mut states);
        }
    };
}

kernel!(compress2, 2, each_of_2, data0 0, data1 1);
kernel!(compress3, 3, each_of_3, data0 0, data1 1, data2 2);
kernel!(compress4, 4, each_of_4, data0 0, data1 1, data2 2, data3 3);
