//! The frame that the benches read: names and revisions as Hugging Face has them, five dimensions.

use membrane_codec::{Dtype, HeadRange, InclusiveRange, PayloadIdentity, canonicalize, sha256};

/// The frame of `payload`.
pub(crate) fn frame_of(payload: &[u8]) -> Vec<u8> {
    let identity = PayloadIdentity {
        payload_hash: sha256(payload).into(),
        model_id: "meta-llama/Llama-3.1-8B-Instruct".into(),
        model_revision: "0e9e39f249a16976918f6564b8830bc894c89659".into(),
        tokenizer_name: "meta-llama/Llama-3.1-8B-Instruct".into(),
        tokenizer_revision: "main".into(),
        layer_range: InclusiveRange::new(0, 31).expect("a range"),
        head_range: HeadRange::All,
        token_span: InclusiveRange::new(4096, 4351).expect("a range"),
        dtype: Dtype::Bfloat16,
        shape: [1, 32, 8, 256, 128].try_into().expect("a shape"),
    };
    canonicalize(&identity, payload).expect("a small identity")
}
