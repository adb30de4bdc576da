//! Proves on raw bytes as the body of a message: the plain road, simd-json's and serde_json's give the same answer, it is
//! the naive reader's in verdict and in all eleven fields, and what is written from it is the same message to the last
//! digit.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    membrane_codec_fuzz::check_message(body);
});
