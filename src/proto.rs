//! The protobuf form of the wire message (specification, section 2; contract, section 3; experimental): [`Envelope`],
//! [`TensorPayload`], [`ChunkRequest`] and [`Chunk`] of the package `membrane.wire.v3`, a [`Chunker`] that cuts a payload
//! into chunks, and a [`Reassembler`] that puts it together again. Needs the feature `proto`.
//!
//! A payload (any bytes: a tensor's, or a whole frame) travels as one envelope and as many chunks as it takes, each with its
//! SHA-256. Chunks may be lost, come twice, in any order, or in parts: the receiver says what is [missing](Reassembler::missing),
//! and gives the payload only when it has the length and hash that the envelope announced. How messages get from one to
//! the other (gRPC, files, anything) is the caller's business.
//!
//! Cost: chunks share the payload's memory, and decoding them from [`Bytes`](bytes::Bytes) shares the message's. The
//! sender hashes all chunks at once ([`sha256_many`](crate::sha256_many)); the receiver copies each byte once, into its
//! sink. PERF.md has figures.
//!
//! ```
//! use bytes::Bytes;
//! use membrane_codec::proto::{Chunk, Chunker, Compression, Envelope, Message, Reassembler};
//!
//! let payload: Bytes = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
//!
//! // The sender cuts.
//! let sender = Chunker::new().chunk_len(16 * 1024).compression(Compression::Zstd).cut(payload.clone())?;
//! let envelope = Envelope { tenant_id: "public".into(), model_id: "llama-3-8b".into(), ..sender.envelope() };
//!
//! // Some chunks get lost on the wire, and the rest comes in another order.
//! let wire: Vec<Vec<u8>> = sender.chunks().map(|chunk| chunk.encode_to_vec()).collect();
//! let mut receiver = Reassembler::in_memory(&envelope)?;
//! for message in wire.into_iter().rev().step_by(2) {
//!     receiver.receive(Chunk::decode(Bytes::from(message))?)?;
//! }
//! assert!(!receiver.is_complete());
//!
//! // The receiver asks again.
//! for request in receiver.missing().collect::<Vec<_>>() {
//!     receiver.receive_answer(&request, sender.answer(&request)?)?;
//! }
//! assert_eq!(receiver.finish()?, payload);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What the contract leaves open, and how it is here
//!
//! * Offsets, of a request and of a chunk, are within the chunk.
//! * A chunk's data runs to the chunk's end unless it answers a request with a `length`.
//! * `is_last` belongs to the chunk: every part of the last chunk has it. It tells a receiver when to stop asking; complete is
//!   a payload when all bytes are there.
//! * Chunks may have any lengths, and any may be empty. A sender gives an empty payload one empty chunk; a receiver of an
//!   empty payload that is not compressed needs none.
//! * A payload is compressed as a whole, before it is cut: one zstd frame or one LZ4 frame. Hashes of chunks are those of
//!   the compressed bytes.
//! * Hashes are read in either case and written in lower case.

mod chunker;
mod compression;
mod decoder;
mod envelope;
mod error;
mod limits;
#[rustfmt::skip]
mod messages;
mod outlet;
mod partial_chunk;
mod reassembler;
mod tensor;

#[doc(no_inline)]
pub use prost::Message;

pub use self::chunker::{ChunkedPayload, Chunker};
pub use self::compression::Compression;
pub use self::error::{ReceiveError, WireError, WireReason};
pub use self::limits::Limits;
pub use self::messages::{Chunk, ChunkRequest, Envelope, TensorPayload};
pub use self::reassembler::Reassembler;
