//! The values of the keys that a reader knows, in one object.

use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{check_strings_and_nesting, refusal, trailing};
use crate::error::Error;

/// The raw text of the values of `N` known keys.
pub(crate) struct Fields<'a, const N: usize> {
    pub(crate) raw: [Option<&'a str>; N],
    /// The first known key that came twice, and its second value.
    pub(crate) duplicate: Option<(usize, &'a str)>,
}

/// Reads one strict JSON object, surrounded by nothing but white space. `index_of` knows the keys; all others are checked
/// and passed over.
pub(crate) fn fields<'a, const N: usize>(
    text: &'a str,
    index_of: impl Fn(&str) -> Option<usize>,
) -> Result<Fields<'a, N>, Error> {
    let mut fields = Fields { raw: [None; N], duplicate: None };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let visitor = Values { fields: &mut fields, index_of: &index_of };
    deserializer.deserialize_map(visitor).map_err(|error| refusal(&error, text))?;
    deserializer.end().map_err(|error| trailing(&error, text))?;
    check_strings_and_nesting(text)?;
    Ok(fields)
}

struct Values<'f, 'a, I, const N: usize> {
    fields: &'f mut Fields<'a, N>,
    index_of: &'f I,
}

impl<'a, I: Fn(&str) -> Option<usize>, const N: usize> Visitor<'a> for Values<'_, 'a, I, N> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(index) = map.next_key_seed(Key(self.index_of))? {
            let raw = map.next_value::<&'a RawValue>()?.get();
            let Some(index) = index else { continue };
            match &mut self.fields.raw[index] {
                slot @ None => *slot = Some(raw),
                Some(_) => _ = self.fields.duplicate.get_or_insert((index, raw)),
            }
        }
        Ok(())
    }
}

/// Reads a key: a known one, or any other.
struct Key<'f, I>(&'f I);

impl<'a, I: Fn(&str) -> Option<usize>> DeserializeSeed<'a> for Key<'_, I> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<I: Fn(&str) -> Option<usize>> Visitor<'_> for Key<'_, I> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok((self.0)(key))
    }
}
