//! One command per file.

pub(crate) mod canonicalize;
pub(crate) mod extract;
pub(crate) mod fingerprint;
pub(crate) mod inspect;
pub(crate) mod message;
pub(crate) mod migrate;
pub(crate) mod salvage;
pub(crate) mod snapshot;
pub(crate) mod verify;
