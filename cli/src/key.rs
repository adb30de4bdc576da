//! Keys in file names.

use std::path::Path;

use membrane_codec::Digest;

/// The key under which a store holds the file, by its name `{key}.blob`; `None` when that is no key.
pub(crate) fn key_of(path: &Path) -> Option<Digest> {
    path.file_stem()?.to_str()?.parse().ok()
}
