//! Parts of a store: a stable partition, and a random sample.

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

use crate::digest::Sha256;

/// Where a name falls in 0..2^64: evenly, whatever the names look like. Names that differ in the case of ASCII letters
/// alone fall together, as keys do.
fn place(seed: Option<u64>, stem: &OsStr) -> u64 {
    let mut hasher = Sha256::new();
    if let Some(seed) = seed {
        hasher.update(&seed.to_le_bytes());
    }
    hasher.update(&stem.as_encoded_bytes().to_ascii_lowercase());
    let digest = hasher.finalize();
    u64::from_be_bytes(digest.trailer())
}

/// One part of a partition into equal parts, by name: every file is in exactly one of the parts 1/T to T/T, and stays
/// there whatever is added, removed or moved to another directory meanwhile.
///
/// ```
/// use membrane_codec::scrub::Subset;
///
/// let monday: Subset = "1/7".parse()?;
/// let rest = (2..=7).map(|night| Subset::new(night, 7).unwrap());
/// let name = "53b442e8fea5afe1713c4c3e659e3e2438b12c49dbb4970180aa667208f06b67".as_ref();
/// assert_eq!(rest.filter(|part| part.contains(name)).count(), usize::from(!monday.contains(name)));
/// # Ok::<(), membrane_codec::scrub::PortionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subset {
    part: u32,
    of: u32,
}

impl Subset {
    /// Part `part` of `of`, counted from 1.
    ///
    /// # Errors
    /// [`PortionError`] unless 1 <= `part` <= `of`.
    pub const fn new(part: u32, of: u32) -> Result<Self, PortionError> {
        if 1 <= part && part <= of { Ok(Self { part, of }) } else { Err(PortionError::Subset) }
    }

    /// Whether a file with this stem (its name without directories and extension, by convention the key) is in this part.
    ///
    /// Cost: the hash of the name.
    pub fn contains(&self, stem: &OsStr) -> bool {
        // The upper half of the product: below `of`.
        let part = (u128::from(place(None, stem)) * u128::from(self.of)) >> 64;
        part == u128::from(self.part - 1)
    }
}

impl fmt::Display for Subset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

impl FromStr for Subset {
    type Err = PortionError;

    /// Parses `N/T`.
    fn from_str(text: &str) -> Result<Self, PortionError> {
        let (part, of) = text.split_once('/').ok_or(PortionError::Subset)?;
        let number = |text: &str| text.parse().map_err(|_| PortionError::Subset);
        Self::new(number(part)?, number(of)?)
    }
}

/// A random sample: each file is in it with the same probability. The same seed gives the same sample.
///
/// ```
/// use membrane_codec::scrub::Sample;
///
/// let sample = Sample::new(0.05, 2026)?;
/// let sampled = (0..10_000).filter(|number| sample.contains(format!("{number}").as_ref())).count();
/// assert_eq!(sampled, 517);
/// # Ok::<(), membrane_codec::scrub::PortionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    share: f64,
    seed: u64,
}

impl Sample {
    /// A sample of this share, 0 to 1, of all files.
    ///
    /// # Errors
    /// [`PortionError`] for a share outside 0..=1.
    pub fn new(share: f64, seed: u64) -> Result<Self, PortionError> {
        if (0.0..=1.0).contains(&share) { Ok(Self { share, seed }) } else { Err(PortionError::Sample) }
    }

    /// Whether a file with this stem is in the sample. Cost: the hash of the name.
    pub fn contains(&self, stem: &OsStr) -> bool {
        let below = self.share * 2_f64.powi(64);
        (place(Some(self.seed), stem) as f64) < below || self.share >= 1.0
    }
}

/// Not a part of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PortionError {
    /// Not `N/T` with 1 <= N <= T.
    Subset,
    /// A share that is not between 0 and 1.
    Sample,
}

impl fmt::Display for PortionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Subset => "a subset is written N/T, with 1 <= N <= T",
            Self::Sample => "a sample is a share between 0 and 1",
        })
    }
}

impl std::error::Error for PortionError {}
