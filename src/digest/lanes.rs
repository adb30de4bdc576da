//! The scheduler: keeps the lanes of a kernel full with messages of any lengths.
//!
//! A message is the run of whole blocks that lie in its buffer and, before or after them, an edge: one or two blocks that
//! do not lie there as they are hashed (what an earlier piece left over, or the padding). All lanes advance together by as
//! many blocks as the one that needs a new run soonest still has. When a message ends, the next takes its lane; when there
//! is none, the last lane moves into the gap and the kernel gets narrower.
//!
//! Cost: no copy of what is hashed beyond the edges, no allocation.

use super::Kernel;
use super::kernel::{BLOCK_LEN, INITIAL, MAX_LANES, State};

/// A message, or a piece of one, on its way through a lane.
pub(super) struct Message<'a, Slot> {
    /// Where its last state goes; taken when it does.
    slot: Option<Slot>,
    state: State,
    /// The whole blocks that lie in the buffer.
    body: &'a [u8],
    edge: [u8; 2 * BLOCK_LEN],
    /// What of the edge is still to be hashed.
    edge_at: u8,
    edge_end: u8,
    edge_comes_first: bool,
}

impl<'a, Slot> Message<'a, Slot> {
    /// All of a message.
    pub(super) fn whole(slot: Slot, message: &'a [u8]) -> Self {
        let (body, rest) = split_blocks(message);
        Self::last(slot, INITIAL, body, rest, message.len() as u64)
    }

    /// What ends a message of `total_len` bytes of which `state` has seen all before `body` and `rest`.
    pub(super) fn last(slot: Slot, state: State, body: &'a [u8], rest: &[u8], total_len: u64) -> Self {
        let (edge, edge_end) = padding(rest, total_len);
        Self { slot: Some(slot), state, body, edge, edge_at: 0, edge_end, edge_comes_first: false }
    }

    /// Blocks in the middle of a message: one that was put together from two pieces, and those that lie in `body`.
    pub(super) fn middle(slot: Slot, state: State, first: Option<&[u8; BLOCK_LEN]>, body: &'a [u8]) -> Self {
        let mut edge = [0; 2 * BLOCK_LEN];
        if let Some(first) = first {
            edge[..BLOCK_LEN].copy_from_slice(first);
        }
        let edge_end = if first.is_some() { BLOCK_LEN as u8 } else { 0 };
        Self { slot: Some(slot), state, body, edge, edge_at: 0, edge_end, edge_comes_first: true }
    }

    /// The blocks that come next and lie in one piece; empty at the end.
    fn run(&self) -> &[u8] {
        let edge = &self.edge[self.edge_at.into()..self.edge_end.into()];
        let edge_is_next = if self.edge_comes_first { !edge.is_empty() } else { self.body.is_empty() };
        if edge_is_next { edge } else { self.body }
    }

    /// Leaves the first `len` bytes of the run behind.
    fn advance(&mut self, len: usize) {
        let edge_left = self.edge_at < self.edge_end;
        if edge_left && (self.edge_comes_first || self.body.is_empty()) {
            // An edge has at most two blocks.
            self.edge_at += len as u8;
        } else {
            self.body = &self.body[len..];
        }
    }
}

/// The whole blocks of `bytes` and what is left over.
pub(super) fn split_blocks(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.len() - bytes.len() % BLOCK_LEN)
}

/// The last one or two blocks of a message of `total_len` bytes that ends in `rest`, less than a block (FIPS 180-4,
/// section 5.1.1), and their length.
fn padding(rest: &[u8], total_len: u64) -> ([u8; 2 * BLOCK_LEN], u8) {
    let mut blocks = [0; 2 * BLOCK_LEN];
    blocks[..rest.len()].copy_from_slice(rest);
    blocks[rest.len()] = 0x80;
    let end = if rest.len() + 1 + 8 <= BLOCK_LEN { BLOCK_LEN } else { 2 * BLOCK_LEN };
    // FIPS 180-4 defines messages below 2^64 bits only; a longer one wraps as in every other implementation.
    blocks[end - 8..end].copy_from_slice(&total_len.wrapping_mul(8).to_be_bytes());
    (blocks, end as u8)
}

/// Where messages come from and where their ends go.
pub(super) trait Work<'a> {
    /// What tells one message from another.
    type Slot;

    /// The next message to take a lane. Messages that are given first should be the longest: what is left for the end
    /// then is short.
    fn next(&mut self) -> Option<Message<'a, Self::Slot>>;

    /// Takes a message's last state, in the order in which they end.
    fn done(&mut self, slot: Self::Slot, state: State);
}

/// Hashes until there is no more work.
pub(super) fn hash_all<'a, W: Work<'a>>(kernel: Kernel, work: &mut W) {
    let mut lanes: [Option<Message<'a, W::Slot>>; MAX_LANES] = [const { None }; MAX_LANES];
    let mut states = [State::default(); MAX_LANES];
    let mut busy = 0;
    loop {
        while busy < kernel.lanes() {
            let Some(message) = work.next() else { break };
            states[busy] = message.state;
            lanes[busy] = Some(message);
            busy += 1;
        }
        if busy == 0 {
            return;
        }
        let mut blocks = [&[][..]; MAX_LANES];
        for (blocks, lane) in blocks.iter_mut().zip(&lanes[..busy]) {
            *blocks = lane.as_ref().map_or(&[], Message::run);
        }
        let len = blocks[..busy].iter().map(|blocks| blocks.len()).min().unwrap_or(0);
        blocks[..busy].iter_mut().for_each(|blocks| *blocks = &blocks[..len]);
        kernel.compress(&mut states[..busy], &blocks[..busy]);

        // From the last, so that what moves into a gap was looked at before.
        for at in (0..busy).rev() {
            let Some(message) = &mut lanes[at] else { continue };
            message.advance(len);
            if message.run().is_empty() {
                if let Some(slot) = message.slot.take() {
                    work.done(slot, states[at]);
                }
                busy -= 1;
                if at < busy {
                    lanes.swap(at, busy);
                    states.swap(at, busy);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_padding_says_the_length_in_bits_and_all_of_them() {
        let (blocks, end) = padding(b"abc", (1 << 61) - 1 + 3);
        assert_eq!(end, 64);
        assert_eq!(blocks[..5], [b'a', b'b', b'c', 0x80, 0]);
        // 2^61 + 2 bytes are 2^64 + 16 bits: as everywhere, only the lower 64 bits stay.
        assert_eq!(blocks[56..64], 16_u64.to_be_bytes());
        let (blocks, _) = padding(b"", 1 << 32);
        assert_eq!(blocks[56..64], (1_u64 << 35).to_be_bytes());
        assert_eq!((padding(&[0; 55], 55).1, padding(&[0; 56], 56).1, padding(&[0; 63], 63).1), (64, 128, 128));
    }
}
