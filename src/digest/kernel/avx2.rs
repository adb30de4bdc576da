//! Eight lanes in AVX2, for x86-64 without the SHA extensions: each vector holds one word of all eight messages, and the
//! rounds are those of the portable model, eight at a time.

#![allow(unsafe_code, reason = "instructions that only some processors have")]

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_permute2x128_si256,
    _mm256_set_epi8, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi32,
    _mm256_srli_epi32, _mm256_storeu_si256, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32,
    _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use super::{BLOCK_LEN, ROUND_CONSTANTS, State, single};

pub(super) const LANES: usize = 8;

/// From here on, eight lanes with idle ones among them are faster than one message after another.
const MIN_BUSY_LANES: usize = 3;

/// # Safety
/// The processor must have AVX2.
pub(super) unsafe fn compress(states: &mut [State], blocks: &[&[u8]]) {
    if states.len() < MIN_BUSY_LANES {
        return single::compress(states, blocks);
    }
    // Idle lanes hash the first message once more, for nobody.
    let mut lanes = [State::default(); LANES];
    let mut data = [blocks[0].as_chunks().0; LANES];
    lanes[..states.len()].copy_from_slice(states);
    for (data, blocks) in data.iter_mut().zip(blocks) {
        *data = blocks.as_chunks().0;
    }
    // SAFETY: the processor has AVX2, by the caller.
    unsafe { compress8(&mut lanes, data) };
    states.copy_from_slice(&lanes[..states.len()]);
}

#[target_feature(enable = "avx2")]
fn compress8(states: &mut [State; LANES], data: [&[[u8; BLOCK_LEN]]; LANES]) {
    let mut rows = [_mm256_setzero_si256(); LANES];
    for (row, state) in rows.iter_mut().zip(&*states) {
        *row = load(zerocopy::transmute_ref!(state));
    }
    let mut state = transpose(rows);
    let blocks = data.iter().map(|lane| lane.len()).min().unwrap_or(0);
    for at in 0..blocks {
        // One half of the block of every lane, then the other: vector i holds word i of all lanes.
        let mut w = [_mm256_setzero_si256(); 16];
        for (half, w) in w.as_chunks_mut().0.iter_mut().enumerate() {
            for (row, lane) in rows.iter_mut().zip(data) {
                let halves: &[[u8; BLOCK_LEN / 2]; 2] = zerocopy::transmute_ref!(&lane[at]);
                *row = big_endian(load(&halves[half]));
            }
            *w = transpose(rows);
        }
        state = block(state, w);
    }
    for (out, lane) in states.iter_mut().zip(transpose(state)) {
        // SAFETY: 32 bytes are there to be written; no alignment is needed.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), lane) };
    }
}

/// One block of every lane, as FIPS 180-4, section 6.2.2 writes it.
#[inline]
#[target_feature(enable = "avx2")]
fn block(state: [__m256i; 8], mut w: [__m256i; 16]) -> [__m256i; 8] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    for sixteen in 0..4 {
        for t in 0..16 {
            let constant = _mm256_set1_epi32(ROUND_CONSTANTS.0[16 * sixteen + t] as i32);
            let t1 = add(add(add(h, big_sigma1(e)), ch(e, f, g)), add(constant, w[t]));
            let t2 = add(big_sigma0(a), maj(a, b, c));
            (h, g, f, e) = (g, f, e, add(d, t1));
            (d, c, b, a) = (c, b, a, add(t1, t2));
            if sixteen < 3 {
                // The word that takes the place of w[t], sixteen rounds on.
                let next = add(small_sigma1(w[(t + 14) % 16]), w[(t + 9) % 16]);
                w[t] = add(add(w[t], small_sigma0(w[(t + 1) % 16])), next);
            }
        }
    }
    let [a0, b0, c0, d0, e0, f0, g0, h0] = state;
    [add(a, a0), add(b, b0), add(c, c0), add(d, d0), add(e, e0), add(f, f0), add(g, g0), add(h, h0)]
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(x: __m256i, y: __m256i) -> __m256i {
    _mm256_add_epi32(x, y)
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor3(x: __m256i, y: __m256i, z: __m256i) -> __m256i {
    _mm256_xor_si256(_mm256_xor_si256(x, y), z)
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate_right<const RIGHT: i32, const LEFT: i32>(x: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_srli_epi32::<RIGHT>(x), _mm256_slli_epi32::<LEFT>(x))
}

/// (x AND y) XOR (NOT x AND z), with one operation less.
#[inline]
#[target_feature(enable = "avx2")]
fn ch(x: __m256i, y: __m256i, z: __m256i) -> __m256i {
    _mm256_xor_si256(z, _mm256_and_si256(x, _mm256_xor_si256(y, z)))
}

/// (x AND y) XOR (x AND z) XOR (y AND z), with one operation less.
#[inline]
#[target_feature(enable = "avx2")]
fn maj(x: __m256i, y: __m256i, z: __m256i) -> __m256i {
    _mm256_xor_si256(y, _mm256_and_si256(_mm256_xor_si256(x, y), _mm256_xor_si256(y, z)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn big_sigma0(x: __m256i) -> __m256i {
    xor3(rotate_right::<2, 30>(x), rotate_right::<13, 19>(x), rotate_right::<22, 10>(x))
}

#[inline]
#[target_feature(enable = "avx2")]
fn big_sigma1(x: __m256i) -> __m256i {
    xor3(rotate_right::<6, 26>(x), rotate_right::<11, 21>(x), rotate_right::<25, 7>(x))
}

#[inline]
#[target_feature(enable = "avx2")]
fn small_sigma0(x: __m256i) -> __m256i {
    xor3(rotate_right::<7, 25>(x), rotate_right::<18, 14>(x), _mm256_srli_epi32::<3>(x))
}

#[inline]
#[target_feature(enable = "avx2")]
fn small_sigma1(x: __m256i) -> __m256i {
    xor3(rotate_right::<17, 15>(x), rotate_right::<19, 13>(x), _mm256_srli_epi32::<10>(x))
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: 32 bytes are there to be read; no alignment is needed.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// The bytes of each word in the other order.
#[inline]
#[target_feature(enable = "avx2")]
fn big_endian(words: __m256i) -> __m256i {
    let order = _mm256_set_epi8(
        12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3,
    );
    _mm256_shuffle_epi8(words, order)
}

/// Eight vectors of eight words: word j of vector i becomes word i of vector j.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(rows: [__m256i; 8]) -> [__m256i; 8] {
    let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
    let (a0, a1) = (_mm256_unpacklo_epi32(r0, r1), _mm256_unpackhi_epi32(r0, r1));
    let (a2, a3) = (_mm256_unpacklo_epi32(r2, r3), _mm256_unpackhi_epi32(r2, r3));
    let (a4, a5) = (_mm256_unpacklo_epi32(r4, r5), _mm256_unpackhi_epi32(r4, r5));
    let (a6, a7) = (_mm256_unpacklo_epi32(r6, r7), _mm256_unpackhi_epi32(r6, r7));
    let (b0, b1) = (_mm256_unpacklo_epi64(a0, a2), _mm256_unpackhi_epi64(a0, a2));
    let (b2, b3) = (_mm256_unpacklo_epi64(a1, a3), _mm256_unpackhi_epi64(a1, a3));
    let (b4, b5) = (_mm256_unpacklo_epi64(a4, a6), _mm256_unpackhi_epi64(a4, a6));
    let (b6, b7) = (_mm256_unpacklo_epi64(a5, a7), _mm256_unpackhi_epi64(a5, a7));
    [
        _mm256_permute2x128_si256::<0x20>(b0, b4),
        _mm256_permute2x128_si256::<0x20>(b1, b5),
        _mm256_permute2x128_si256::<0x20>(b2, b6),
        _mm256_permute2x128_si256::<0x20>(b3, b7),
        _mm256_permute2x128_si256::<0x31>(b0, b4),
        _mm256_permute2x128_si256::<0x31>(b1, b5),
        _mm256_permute2x128_si256::<0x31>(b2, b6),
        _mm256_permute2x128_si256::<0x31>(b3, b7),
    ]
}
