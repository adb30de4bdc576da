//! What directories held beside what was looked for.

use membrane_codec::scrub;
use serde::Serialize;

use crate::display::count;

/// The numbers, as `--json` gives them.
#[derive(Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct PassedOver {
    other_files: u64,
    temporary_files: u64,
    symlinks: u64,
    special_files: u64,
}

impl PassedOver {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// With so many more.
    pub(crate) fn and_other_files(self, more: u64) -> Self {
        Self { other_files: self.other_files + more, ..self }
    }

    /// In words, when there was anything.
    pub(crate) fn note(&self) -> Option<String> {
        let things = [
            (self.other_files, "other file"),
            (self.temporary_files, "temporary file"),
            (self.symlinks, "symbolic link"),
            (self.special_files, "special file"),
        ];
        let counted = things.into_iter().filter(|(number, _)| *number > 0);
        let counted: Vec<_> = counted.map(|(number, thing)| count(number, thing)).collect();
        (!counted.is_empty()).then(|| format!("passed over: {}", counted.join(", ")))
    }
}

impl From<scrub::PassedOver> for PassedOver {
    fn from(passed: scrub::PassedOver) -> Self {
        let scrub::PassedOver { other_files, temporary_files, symlinks, special_files, .. } = passed;
        Self { other_files, temporary_files, symlinks, special_files }
    }
}
