//! The model: one block after another, as FIPS 180-4, section 6.2.2 writes it. Slow, and what the other kernels are
//! compared with.

use super::{BLOCK_LEN, ROUND_CONSTANTS, State};

pub(super) fn compress(states: &mut [State], blocks: &[&[u8]]) {
    for (state, blocks) in states.iter_mut().zip(blocks) {
        for block in blocks.as_chunks::<BLOCK_LEN>().0 {
            compress_block(state, block);
        }
    }
}

fn compress_block(state: &mut State, block: &[u8; BLOCK_LEN]) {
    let schedule = message_schedule(block);
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in schedule.iter().zip(ROUND_CONSTANTS.0) {
        let t1 = h.wrapping_add(big_sigma1(e)).wrapping_add(ch(e, f, g)).wrapping_add(constant).wrapping_add(*word);
        let t2 = big_sigma0(a).wrapping_add(maj(a, b, c));
        h = g;
        g = f;
        f = e;
        e = d.wrapping_add(t1);
        d = c;
        c = b;
        b = a;
        a = t1.wrapping_add(t2);
    }
    for (before, after) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *before = before.wrapping_add(after);
    }
}

fn message_schedule(block: &[u8; BLOCK_LEN]) -> [u32; 64] {
    let mut w = [0; 64];
    for (word, bytes) in w.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for t in 16..64 {
        w[t] =
            small_sigma1(w[t - 2]).wrapping_add(w[t - 7]).wrapping_add(small_sigma0(w[t - 15])).wrapping_add(w[t - 16]);
    }
    w
}

// FIPS 180-4, section 4.1.2.

fn ch(x: u32, y: u32, z: u32) -> u32 {
    (x & y) ^ (!x & z)
}

fn maj(x: u32, y: u32, z: u32) -> u32 {
    (x & y) ^ (x & z) ^ (y & z)
}

fn big_sigma0(x: u32) -> u32 {
    x.rotate_right(2) ^ x.rotate_right(13) ^ x.rotate_right(22)
}

fn big_sigma1(x: u32) -> u32 {
    x.rotate_right(6) ^ x.rotate_right(11) ^ x.rotate_right(25)
}

fn small_sigma0(x: u32) -> u32 {
    x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3)
}

fn small_sigma1(x: u32) -> u32 {
    x.rotate_right(17) ^ x.rotate_right(19) ^ (x >> 10)
}
