// @generated from proto/membrane/wire/v3/wire_v3.proto by testprograms/proto_gen. Change that file and run:
// cargo run --manifest-path testprograms/proto_gen/Cargo.toml
/// What a transfer carries: whose payload it is, what it hashes to, and how it travels.
///
/// The payload is any bytes: a tensor's, or a whole frame. With a compression it is compressed as one stream, and the
/// chunks are cuts of that stream.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Envelope {
    /// The same in a request and in what answers it; empty for none.
    #[prost(string, tag = "1")]
    pub request_id: ::prost::alloc::string::String,
    /// The tenant: 1 to 128 characters, none of them white space, a control character, `:`, `/`, `\` or `"`.
    #[prost(string, tag = "2")]
    pub tenant_id: ::prost::alloc::string::String,
    /// The model that computed the payload.
    #[prost(string, tag = "3")]
    pub model_id: ::prost::alloc::string::String,
    /// The compatibility fingerprint of model and engine: 64 hexadecimal characters, or empty for none.
    #[prost(string, tag = "4")]
    pub fingerprint_compat: ::prost::alloc::string::String,
    /// The SHA-256 of the uncompressed payload: 64 hexadecimal characters.
    #[prost(string, tag = "5")]
    pub content_hash: ::prost::alloc::string::String,
    /// The length of the uncompressed payload in bytes: 0 or more.
    #[prost(int64, tag = "6")]
    pub total_bytes: i64,
    /// How the payload travels: 0 as it is, 1 as one zstd frame, 2 as one LZ4 frame.
    #[prost(int32, tag = "7")]
    pub compression: i32,
    /// What the payload is to those who read it; empty for raw bytes.
    #[prost(string, tag = "8")]
    pub content_type: ::prost::alloc::string::String,
}
/// A tensor as it is in memory, and what it takes to read it.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
#[prost(skip_debug)]
pub struct TensorPayload {
    /// The elements, in the order of the shape, the last dimension the fastest.
    #[prost(bytes = "bytes", tag = "1")]
    pub data: ::prost::bytes::Bytes,
    /// What its producer calls this layout; not checked.
    #[prost(string, tag = "2")]
    pub schema_fingerprint: ::prost::alloc::string::String,
    /// The dimensions: one or more, each 0 or more.
    #[prost(int64, repeated, tag = "3")]
    pub shape: ::prost::alloc::vec::Vec<i64>,
    /// The element type, by the name that an identity has for it: `float16`, say.
    #[prost(string, tag = "4")]
    pub dtype: ::prost::alloc::string::String,
}
/// Asks for a chunk, or for a part of one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ChunkRequest {
    /// Which chunk, the first being 0.
    #[prost(int32, tag = "1")]
    pub chunk_index: i32,
    /// Where in the chunk the answer is to start, in bytes from the chunk's first.
    #[prost(int64, tag = "2")]
    pub offset: i64,
    /// How many bytes the answer may have; 0 for all up to the chunk's end.
    #[prost(int64, tag = "3")]
    pub length: i64,
}
/// A chunk, or a part of one.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
#[prost(skip_debug)]
pub struct Chunk {
    /// Which chunk, the first being 0.
    #[prost(int32, tag = "1")]
    pub chunk_index: i32,
    /// Where in the chunk the data starts, in bytes from the chunk's first: 0 for a whole chunk.
    #[prost(int64, tag = "2")]
    pub offset: i64,
    /// The bytes, compressed if the envelope says so.
    #[prost(bytes = "bytes", tag = "3")]
    pub data: ::prost::bytes::Bytes,
    /// The SHA-256 of the data as it is in this message: 64 hexadecimal characters.
    #[prost(string, tag = "4")]
    pub sha256_hex: ::prost::alloc::string::String,
    /// Whether this chunk is the transfer's last; the same in every part of a chunk.
    #[prost(bool, tag = "5")]
    pub is_last: bool,
}
