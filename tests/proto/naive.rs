//! The receiver a second time, as plainly as it can be said: every byte in a map, every question asked of the whole map. For
//! payloads that are not compressed.

use std::collections::BTreeMap;

use membrane_codec::proto::Chunk;
use sha2::{Digest, Sha256};

pub(crate) struct NaiveReceiver {
    total: i64,
    max_chunks: i32,
    bytes: BTreeMap<(i32, i64), u8>,
    lens: BTreeMap<i32, i64>,
    seen: Vec<i32>,
    last: Option<i32>,
}

impl NaiveReceiver {
    pub(crate) fn new(total: usize, max_chunks: i32) -> Self {
        Self {
            total: total as i64,
            max_chunks,
            bytes: BTreeMap::new(),
            lens: BTreeMap::new(),
            seen: vec![],
            last: None,
        }
    }

    fn is_whole(&self, index: i32) -> bool {
        self.lens.get(&index).is_some_and(|len| (0..*len).all(|offset| self.bytes.contains_key(&(index, offset))))
    }

    /// Whether it and all before it are whole.
    fn is_gone(&self, index: i32) -> bool {
        (0..=index).all(|index| self.is_whole(index))
    }

    /// "ok" or the reason; takes the chunk if it is ok.
    pub(crate) fn receive(&mut self, chunk: &Chunk, reaches_end: bool) -> &'static str {
        let (index, end) = (chunk.chunk_index, chunk.offset.saturating_add(chunk.data.len() as i64));
        if index < 0 || index >= self.max_chunks {
            return "chunk_index";
        }
        if chunk.offset < 0 {
            return "chunk_range";
        }
        if hex(&Sha256::digest(&chunk.data)) != chunk.sha256_hex.to_lowercase() {
            return "chunk_hash";
        }
        if end > self.total {
            return "too_long";
        }
        let contradicts_last = match self.last {
            Some(last) => index > last || chunk.is_last != (index == last),
            None => chunk.is_last && self.seen.iter().any(|seen| *seen >= index),
        };
        let highest = self.bytes.keys().filter(|key| key.0 == index).map(|key| key.1 + 1).max().unwrap_or(0);
        let contradicts_end = match self.lens.get(&index) {
            Some(len) => end > *len || reaches_end && end != *len,
            None => reaches_end && end < highest,
        };
        if contradicts_last || contradicts_end {
            return "chunk_conflict";
        }
        let place = |at: usize| (index, chunk.offset + at as i64);
        let differs = |(at, byte): (usize, &u8)| self.bytes.get(&place(at)).is_some_and(|there| there != byte);
        // A part of what went out is not compared.
        let is_whole = chunk.offset == 0 && reaches_end;
        if (!self.is_gone(index) || is_whole) && chunk.data.iter().enumerate().any(differs) {
            return "chunk_conflict";
        }
        let new = (0..chunk.data.len()).filter(|at| !self.bytes.contains_key(&place(*at))).count();
        if self.bytes.len() + new > self.total as usize {
            return "too_long";
        }
        for (at, byte) in chunk.data.iter().enumerate() {
            self.bytes.entry(place(at)).or_insert(*byte);
        }
        if reaches_end {
            self.lens.insert(index, end);
        }
        if chunk.is_last {
            self.last = Some(index);
        }
        self.seen.push(index);
        "ok"
    }

    /// What went out.
    pub(crate) fn written(&self) -> Vec<u8> {
        let gone = (0..).take_while(|index| self.is_whole(*index)).count() as i32;
        self.bytes.iter().filter(|((index, _), _)| *index < gone).map(|(_, byte)| *byte).collect()
    }

    pub(crate) fn received_len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
