//! What the kernels on the SHA extensions share: how a state lies in registers, and the pieces of assembly that carry it
//! between there and memory.

use super::State;

/// States as the instructions want them: f, e, b, a of a lane in one register, h, g, d, c in the other.
#[repr(align(64))]
pub(super) struct Registers<const LANES: usize>([[u32; 8]; LANES]);

impl<const LANES: usize> Registers<LANES> {
    pub(super) fn from_states(states: &[&mut State; LANES]) -> Self {
        Self(core::array::from_fn(|lane| {
            let [a, b, c, d, e, f, g, h] = *states[lane];
            [f, e, b, a, h, g, d, c]
        }))
    }

    pub(super) fn into_states(self, states: &mut [&mut State; LANES]) {
        for (state, [f, e, b, a, h, g, d, c]) in states.iter_mut().zip(self.0) {
            **state = [a, b, c, d, e, f, g, h];
        }
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut [u32; 8] {
        self.0.as_mut_ptr()
    }
}

#[repr(align(16))]
pub(super) struct ByteOrder([u8; 16]);

impl ByteOrder {
    pub(super) fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr()
    }
}

/// Reverses the bytes of each of four words.
pub(super) static BIG_ENDIAN: ByteOrder = ByteOrder([3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12]);

// `lane` numbers the lane, `ab` and `cd` are the registers of its state; what follows is the kernel's own.

/// Loads the state of a lane.
macro_rules! load_state {
    ($lane:literal $ab:literal $cd:literal $($schedule:tt)*) => {
        concat!(
            "vmovdqa xmm",
            $ab,
            ", [{states} + 32*",
            $lane,
            "]\n",
            "vmovdqa xmm",
            $cd,
            ", [{states} + 32*",
            $lane,
            " + 16]\n",
        )
    };
}

/// Stores the state of a lane: at the block's start for the addition at its end, and when all is done.
macro_rules! store_state {
    ($lane:literal $ab:literal $cd:literal $($schedule:tt)*) => {
        concat!(
            "vmovdqa [{states} + 32*",
            $lane,
            "], xmm",
            $ab,
            "\n",
            "vmovdqa [{states} + 32*",
            $lane,
            " + 16], xmm",
            $cd,
            "\n",
        )
    };
}

/// Adds the state from before the block.
macro_rules! add_state {
    ($lane:literal $ab:literal $cd:literal $($schedule:tt)*) => {
        concat!(
            "vpaddd xmm",
            $ab,
            ", xmm",
            $ab,
            ", [{states} + 32*",
            $lane,
            "]\n",
            "vpaddd xmm",
            $cd,
            ", xmm",
            $cd,
            ", [{states} + 32*",
            $lane,
            " + 16]\n",
        )
    };
}

pub(super) use {add_state, load_state, store_state};
