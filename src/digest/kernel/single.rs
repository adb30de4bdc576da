//! One message at a time through sha2, which knows the SHA extensions of x86 and Arm.

use super::{BLOCK_LEN, State};

pub(super) fn compress(states: &mut [State], blocks: &[&[u8]]) {
    for (state, blocks) in states.iter_mut().zip(blocks) {
        sha2::block_api::compress256(state, blocks.as_chunks::<BLOCK_LEN>().0);
    }
}
