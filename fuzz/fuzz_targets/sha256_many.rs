//! Proves that messages of any lengths, in any number and order, hashed at once by any kernel, whole or in pieces, have the
//! digests that an independent library gives each alone.

#![no_main]

use libfuzzer_sys::arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use membrane_codec::{Digest, Kernel, ManyHasher, sha256_many_with};
use sha2::Digest as _;

#[derive(Arbitrary, Debug)]
struct Batch<'a> {
    /// Where each message starts and how long it is, in a buffer that repeats `bytes`.
    messages: Vec<(u8, u16)>,
    /// After how many bytes each message is cut in two pieces.
    cuts: Vec<u16>,
    bytes: &'a [u8],
}

/// Long enough for several blocks in every lane, short enough for many runs.
const MAX_MESSAGE_LEN: usize = 2048;

fuzz_target!(|batch: Batch<'_>| {
    let seed = if batch.bytes.is_empty() { &[0][..] } else { batch.bytes };
    let buffer: Vec<u8> = seed.iter().copied().cycle().take(256 + MAX_MESSAGE_LEN).collect();
    let messages: Vec<&[u8]> = batch
        .messages
        .iter()
        .take(64)
        .map(|(start, len)| &buffer[usize::from(*start)..][..usize::from(*len) % MAX_MESSAGE_LEN])
        .collect();
    let expected: Vec<Digest> =
        messages.iter().map(|message| Digest::from_bytes(sha2::Sha256::digest(message).into())).collect();

    for kernel in Kernel::available() {
        assert_eq!(sha256_many_with(kernel, &messages), expected, "{kernel}");

        let cut = |number: usize| {
            let message = messages[number];
            let cut = batch.cuts.get(number % batch.cuts.len().max(1)).copied().unwrap_or_default();
            message.split_at(usize::from(cut).min(message.len()))
        };
        let (heads, tails): (Vec<_>, Vec<_>) = (0..messages.len()).map(cut).unzip();
        let mut hashers = vec![ManyHasher::new(); messages.len()];
        ManyHasher::update_with(kernel, &mut hashers, &heads);
        ManyHasher::update_with(kernel, &mut hashers, &tails);
        assert_eq!(ManyHasher::finalize(&hashers), expected, "{kernel}, in pieces");
    }
});
