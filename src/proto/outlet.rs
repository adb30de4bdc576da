//! [`Outlet`]: where a stream's bytes go once all before them have gone: through the decoder, past the announced length
//! and the hash, into the sink.

use std::io::{self, Write};

use super::decoder::Decoder;
use super::{Compression, Limits, ReceiveError, WireError};
use crate::digest::Sha256;

pub(super) struct Outlet<W> {
    decoder: Decoder,
    content: Content<W>,
    /// Why nothing more can go through.
    spoilt: Option<Spoilt>,
}

/// The uncompressed payload, as far as it has come.
struct Content<W> {
    sink: W,
    hasher: Sha256,
    written: u64,
    total_bytes: u64,
}

#[derive(Clone)]
enum Spoilt {
    Refused(WireError),
    Sink(io::ErrorKind),
}

impl<W: Write> Outlet<W> {
    pub(super) fn new(compression: Compression, total_bytes: u64, limits: &Limits, sink: W) -> Result<Self, WireError> {
        let decoder = Decoder::new(compression, limits)?;
        Ok(Self { decoder, content: Content { sink, hasher: Sha256::new(), written: 0, total_bytes }, spoilt: None })
    }

    /// How many bytes of the uncompressed payload were written.
    pub(super) const fn written(&self) -> u64 {
        self.content.written
    }

    /// Whether no more bytes are to come: the compressed stream says so, or all that were announced are there.
    pub(super) fn has_ended(&self) -> bool {
        self.decoder.has_ended().unwrap_or(self.content.written == self.content.total_bytes)
    }

    pub(super) fn push(&mut self, piece: &[u8]) -> Result<(), ReceiveError> {
        self.check_unspoilt()?;
        let content = &mut self.content;
        let pushed = self.decoder.decode(piece, &mut |decoded| content.take(decoded));
        pushed.inspect_err(|error| {
            self.spoilt = Some(match error {
                ReceiveError::Refused(error) => Spoilt::Refused(error.clone()),
                ReceiveError::Sink(error) => Spoilt::Sink(error.kind()),
            });
        })
    }

    pub(super) fn check_unspoilt(&self) -> Result<(), ReceiveError> {
        match &self.spoilt {
            None => Ok(()),
            Some(Spoilt::Refused(error)) => Err(error.clone().into()),
            Some(Spoilt::Sink(kind)) => Err(ReceiveError::Sink((*kind).into())),
        }
    }

    /// The flushed sink and the hash of all that was written into it.
    pub(super) fn finish(self) -> Result<(W, Sha256), ReceiveError> {
        self.check_unspoilt()?;
        let Content { mut sink, hasher, .. } = self.content;
        sink.flush().map_err(ReceiveError::Sink)?;
        Ok((sink, hasher))
    }
}

impl<W: Write> Content<W> {
    fn take(&mut self, bytes: &[u8]) -> Result<(), ReceiveError> {
        // In range: what was written never exceeds what was announced.
        if bytes.len() as u64 > self.total_bytes - self.written {
            return Err(WireError::content_length("more bytes".into(), self.total_bytes).into());
        }
        self.sink.write_all(bytes).map_err(ReceiveError::Sink)?;
        self.hasher.update(bytes);
        self.written += bytes.len() as u64;
        Ok(())
    }
}
