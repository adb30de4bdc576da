//! The name of a node, which becomes a file name.

use std::fmt;
use std::str::FromStr;

use crate::identity::DomainError;

/// The name of a node. A node's snapshot is the file `{node_id}.json`, so a name that could lead anywhere else, or hide a
/// file, cannot be one (contract, section 4).
///
/// 1 to 250 bytes of UTF-8, so that `.json` fits into a file name of 255. It does not start with `.`, and holds no `/`, `\`,
/// NUL or other control character. `node-1`, `ノード`, `a b` and `CON` are names of nodes.
///
/// ```
/// use membrane_codec::snapshot::NodeId;
///
/// let node: NodeId = "node-1".parse()?;
/// assert_eq!(node.as_str(), "node-1");
/// assert!("../node-1".parse::<NodeId>().is_err());
/// # Ok::<(), membrane_codec::DomainError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(Box<str>);

impl NodeId {
    /// The longest name, in bytes.
    pub const MAX_LEN: usize = 250;

    pub(super) const DOMAIN: &str =
        "1 to 250 bytes without control characters, / or \\, that do not start with a period";

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is_legal(name: &str) -> bool {
        // `.` and `..` start with a period, and NUL is a control character.
        let is_forbidden = |character: char| matches!(character, '/' | '\\') || character.is_control();
        (1..=Self::MAX_LEN).contains(&name.len()) && !name.starts_with('.') && !name.contains(is_forbidden)
    }
}

impl TryFrom<String> for NodeId {
    type Error = DomainError;

    fn try_from(name: String) -> Result<Self, DomainError> {
        if Self::is_legal(&name) { Ok(Self(name.into())) } else { Err(DomainError::new(Self::DOMAIN)) }
    }
}

impl TryFrom<&str> for NodeId {
    type Error = DomainError;

    fn try_from(name: &str) -> Result<Self, DomainError> {
        if Self::is_legal(name) { Ok(Self(name.into())) } else { Err(DomainError::new(Self::DOMAIN)) }
    }
}

impl FromStr for NodeId {
    type Err = DomainError;

    fn from_str(name: &str) -> Result<Self, DomainError> {
        name.try_into()
    }
}

impl AsRef<str> for NodeId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
