//! The protobuf form: its bytes are those that other libraries write, and a payload that comes out of chunks is the one that
//! was cut, or none comes out.

#[path = "proto/chunks.rs"]
mod chunks;
#[path = "proto/compression.rs"]
mod compression;
#[path = "proto/independent.rs"]
mod independent;
#[path = "proto/memory.rs"]
mod memory;
#[path = "proto/messages.rs"]
mod messages;
#[path = "proto/naive.rs"]
mod naive;
#[path = "proto/properties.rs"]
mod properties;
#[path = "proto/reassembly.rs"]
mod reassembly;
#[path = "proto/support.rs"]
mod support;
