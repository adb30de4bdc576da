//! The consistency levels that the specification names.

use core::fmt;

/// A consistency level of the specification (section 2). The field itself may hold any string; this is what it means when
/// it is one of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Consistency {
    /// `strong`
    Strong,
    /// `quorum`
    Quorum,
    /// `eventual`
    Eventual,
}

impl Consistency {
    /// All three, strongest first.
    pub const ALL: [Self; 3] = [Self::Strong, Self::Quorum, Self::Eventual];

    /// The level's name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Quorum => "quorum",
            Self::Eventual => "eventual",
        }
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<Consistency> for String {
    fn from(level: Consistency) -> Self {
        level.as_str().into()
    }
}
