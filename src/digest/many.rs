//! Many messages at once: [`sha256_many`] for messages in memory, [`ManyHasher`] for messages that come in pieces.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

use super::kernel::{BLOCK_LEN, INITIAL, State};
use super::lanes::{Message, Work, hash_all, split_blocks};
use super::{Digest, Kernel};

/// The SHA-256 of each message, in the order of the messages.
///
/// Lengths may differ; the lanes stay full as long as there are messages. In one thread.
///
/// Cost: on processors with the SHA extensions less than half the time of hashing one after another; PERF.md has the
/// figures. No copy of the messages; allocates the result and one list of the messages' lengths.
///
/// ```
/// use membrane_codec::{sha256, sha256_many};
///
/// let messages: [&[u8]; 3] = [b"one", b"", b"three"];
/// assert_eq!(sha256_many(&messages), messages.map(sha256));
/// ```
pub fn sha256_many<M: AsRef<[u8]>>(messages: &[M]) -> Vec<Digest> {
    sha256_many_with(Kernel::default(), messages)
}

/// As [`sha256_many`], with a kernel of the caller's choice.
///
/// ```
/// use membrane_codec::{Kernel, sha256, sha256_many_with};
///
/// for kernel in Kernel::available() {
///     assert_eq!(sha256_many_with(kernel, &[b"message"]), [sha256(b"message")]);
/// }
/// ```
pub fn sha256_many_with<M: AsRef<[u8]>>(kernel: Kernel, messages: &[M]) -> Vec<Digest> {
    let mut digests = vec![Digest::from_bytes([0; Digest::LEN]); messages.len()];
    let mut order = longest_first(messages.len(), |number| messages[number].as_ref().len());
    let next = || order.next().map(|number| (number, messages[number].as_ref()));
    sha256_from(kernel, next, |number, digest| digests[number] = digest);
    digests
}

/// The numbers from 0 to `count`, that of the longest message first. Asks for each length once.
pub(crate) fn longest_first(count: usize, len: impl Fn(usize) -> usize) -> impl Iterator<Item = usize> {
    let mut order: Vec<(usize, usize)> = (0..count).map(|number| (len(number), number)).collect();
    let longer_first = |(len, number): &(usize, usize)| (Reverse(*len), *number);
    // Equal lengths need no sorting, and are common.
    if !order.is_sorted_by_key(longer_first) {
        order.sort_unstable_by_key(longer_first);
    }
    order.into_iter().map(|(_, number)| number)
}

/// Hashes the messages that `next` gives, with their numbers, until it gives none; hands number and digest of each to
/// `done` when it ends.
pub(crate) fn sha256_from<'a>(
    kernel: Kernel,
    next: impl FnMut() -> Option<(usize, &'a [u8])>,
    done: impl FnMut(usize, Digest),
) {
    hash_all(kernel, &mut Whole { next, done });
}

/// Messages that are in memory from their first byte to their last.
struct Whole<N, D> {
    next: N,
    done: D,
}

impl<'a, N: FnMut() -> Option<(usize, &'a [u8])>, D: FnMut(usize, Digest)> Work<'a> for Whole<N, D> {
    type Slot = usize;

    fn next(&mut self) -> Option<Message<'a, usize>> {
        let (number, message) = (self.next)()?;
        Some(Message::whole(number, message))
    }

    fn done(&mut self, number: usize, state: State) {
        (self.done)(number, digest_of(state));
    }
}

/// One of many messages, fed in pieces as they come; the pieces of several messages are hashed at once.
///
/// ```
/// use membrane_codec::{ManyHasher, sha256};
///
/// let (mut one, mut another) = (ManyHasher::new(), ManyHasher::new());
/// ManyHasher::update([(&mut one, &b"the first"[..]), (&mut another, b"the second, ")]);
/// ManyHasher::update([(&mut another, &b"goes on"[..])]);
/// assert_eq!(ManyHasher::finalize([&one, &another]), [sha256(b"the first"), sha256(b"the second, goes on")]);
/// ```
#[derive(Clone)]
pub struct ManyHasher {
    state: State,
    total_len: u64,
    /// What the pieces so far left over: less than a block.
    rest: [u8; BLOCK_LEN],
    rest_len: usize,
}

impl ManyHasher {
    /// A hasher that has seen nothing.
    pub const fn new() -> Self {
        Self { state: INITIAL, total_len: 0, rest: [0; BLOCK_LEN], rest_len: 0 }
    }

    /// How many bytes it has seen.
    pub const fn total_len(&self) -> u64 {
        self.total_len
    }

    /// Appends to each hasher's message the piece that comes with it. Pieces may be empty and of different lengths. In one
    /// thread.
    ///
    /// The lanes are full while there are pieces, and all pieces are hashed when this returns. So give several times
    /// [`Kernel::lanes`] of them, the longest first, or as many of equal length as there are lanes.
    ///
    /// Cost: as [`sha256_many`](crate::sha256_many), without any allocation; up to 63 bytes per hasher are copied.
    ///
    /// # Panics
    /// Not by itself. When `pieces` does, the hashers that it has given are spoilt.
    pub fn update<'a>(pieces: impl IntoIterator<Item = (&'a mut Self, &'a [u8])>) {
        Self::update_with(Kernel::default(), pieces);
    }

    /// As [`ManyHasher::update`], with a kernel of the caller's choice.
    ///
    /// # Panics
    /// As [`ManyHasher::update`].
    pub fn update_with<'a>(kernel: Kernel, pieces: impl IntoIterator<Item = (&'a mut Self, &'a [u8])>) {
        hash_all(kernel, &mut Pieces(pieces.into_iter()));
    }

    /// The digest of each hasher's message, in the order in which they are given. In one thread.
    ///
    /// Cost: one or two blocks for each; allocates the result.
    pub fn finalize<'a>(hashers: impl IntoIterator<Item = &'a Self>) -> Vec<Digest> {
        Self::finalize_with(Kernel::default(), hashers)
    }

    /// As [`ManyHasher::finalize`], with a kernel of the caller's choice.
    pub fn finalize_with<'a>(kernel: Kernel, hashers: impl IntoIterator<Item = &'a Self>) -> Vec<Digest> {
        let mut ends = Ends { hashers: hashers.into_iter(), digests: Vec::new() };
        hash_all(kernel, &mut ends);
        ends.digests
    }

    /// Takes a piece; gives the blocks that it completes, if any. Their state is to come back before the next piece.
    fn take<'a>(&'a mut self, mut piece: &'a [u8]) -> Option<Message<'a, &'a mut Self>> {
        // A message of 2^64 bytes and more wraps; see the padding.
        self.total_len = self.total_len.wrapping_add(piece.len() as u64);
        let mut first = None;
        if self.rest_len > 0 {
            let missing = (BLOCK_LEN - self.rest_len).min(piece.len());
            let (fill, after) = piece.split_at(missing);
            self.rest[self.rest_len..self.rest_len + missing].copy_from_slice(fill);
            self.rest_len += missing;
            if self.rest_len < BLOCK_LEN {
                return None;
            }
            (first, piece) = (Some(self.rest), after);
        }
        let (body, rest) = split_blocks(piece);
        self.rest[..rest.len()].copy_from_slice(rest);
        self.rest_len = rest.len();
        let state = self.state;
        (first.is_some() || !body.is_empty()).then(|| Message::middle(self, state, first.as_ref(), body))
    }
}

impl Default for ManyHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ManyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManyHasher").field("total_len", &self.total_len).finish_non_exhaustive()
    }
}

/// The next piece of several messages.
struct Pieces<I>(I);

impl<'a, I: Iterator<Item = (&'a mut ManyHasher, &'a [u8])>> Work<'a> for Pieces<I> {
    type Slot = &'a mut ManyHasher;

    fn next(&mut self) -> Option<Message<'a, Self::Slot>> {
        self.0.find_map(|(hasher, piece)| hasher.take(piece))
    }

    fn done(&mut self, hasher: Self::Slot, state: State) {
        hasher.state = state;
    }
}

/// The ends of several messages.
struct Ends<I> {
    hashers: I,
    digests: Vec<Digest>,
}

impl<'a, I: Iterator<Item = &'a ManyHasher>> Work<'a> for Ends<I> {
    type Slot = usize;

    fn next(&mut self) -> Option<Message<'a, usize>> {
        let hasher = self.hashers.next()?;
        let rest = &hasher.rest[..hasher.rest_len];
        let number = self.digests.len();
        self.digests.push(Digest::from_bytes([0; Digest::LEN]));
        Some(Message::last(number, hasher.state, &[], rest, hasher.total_len))
    }

    fn done(&mut self, number: usize, state: State) {
        self.digests[number] = digest_of(state);
    }
}

fn digest_of(state: State) -> Digest {
    let mut bytes = [0; Digest::LEN];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    Digest::from_bytes(bytes)
}
