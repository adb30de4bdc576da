//! Proves on raw bytes as identity JSON: the fast and the general road give the same answer, it is the naive reader's in
//! verdict and in all ten fields, and the canonical form is the contract's and stands for the same identity.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|json: &[u8]| {
    membrane_codec_fuzz::check_identity(json);
});
