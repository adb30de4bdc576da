//! The search in a byte buffer.

use core::fmt;
use core::iter::FusedIterator;

use super::{Course, Ground, MagicFinder, Passed, Refusal, ScanEvent, Then, leading_zeros};
use crate::digest::sha256;
use crate::frame::{UnverifiedFrame, VerifiedFrame};

/// Finds every intact frame (specification, section 3) in `bytes`, at any offset, and says what lies between.
///
/// A frame is intact when [`parse_canonical`](crate::parse_canonical) accepts its bytes. After one, the search goes on at
/// its end, so that frames inside its payload stay payload; after a place that is none, at the next byte, so that frames
/// inside a damaged one are found.
///
/// Cost: one pass over what lies between, at the speed of memory; one hash of each intact frame's payload. For damaged
/// frames see [`Scan::max_depth`]. Memory for one number for each damaged frame around the place that is searched.
///
/// ```
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
/// # let frame = membrane_codec::canonicalize(&identity, b"payload")?;
/// use membrane_codec::{ScanEvent, scan};
///
/// let log = [&frame[..50], &frame, b"junk"].concat(); // a write that was cut, a whole one, and what was there before
/// let events: Vec<_> = scan(&log).collect();
/// assert!(matches!(events[0], ScanEvent::Refused { offset: 0, .. }));
/// assert_eq!(events[1], ScanEvent::Gap { range: 0..50, zeros: false });
/// assert!(matches!(&events[2], ScanEvent::Frame { offset: 50, frame } if frame.payload() == b"payload"));
/// let end = log.len() as u64;
/// assert_eq!(events[3..], [ScanEvent::Gap { range: end - 4..end, zeros: false }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn scan(bytes: &[u8]) -> Scan<'_> {
    Scan { course: Course::new(), ground: Memory { bytes, finder: MagicFinder::new() } }
}

/// What [`scan`] finds, in the order of the offsets.
#[must_use = "a scan does nothing until it is asked for events"]
pub struct Scan<'a> {
    course: Course<VerifiedFrame<'a>>,
    ground: Memory<'a>,
}

impl Scan<'_> {
    /// How many damaged frames a place may lie inside and still be hashed; 1024 unless this sets another.
    ///
    /// A frame that claims a long payload is hashed before it is known to be damaged, and so is each frame that starts
    /// inside it. Without a limit, headers nested on purpose would cost time that grows with the square of the length;
    /// with it, every byte is hashed at most `depth` + 2 times. A place that is not hashed for this is
    /// [`Refusal::TooDeep`]. Everything but the payload costs one pass, whatever the bytes.
    pub const fn max_depth(mut self, depth: usize) -> Self {
        self.course.max_depth = depth;
        self
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = ScanEvent<VerifiedFrame<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.course.next(&mut self.ground)
    }
}

impl FusedIterator for Scan<'_> {}

impl fmt::Debug for Scan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan").field("at", &self.course.at).finish_non_exhaustive()
    }
}

struct Memory<'a> {
    bytes: &'a [u8],
    finder: MagicFinder,
}

impl<'a> Memory<'a> {
    /// What lies at and after `at`, an offset in these bytes, which therefore fits.
    fn from(&self, at: u64) -> &'a [u8] {
        &self.bytes[at as usize..]
    }
}

impl<'a> Ground for Memory<'a> {
    type Frame = VerifiedFrame<'a>;
    type Claim = UnverifiedFrame<'a>;

    fn pass_over(&mut self, from: u64) -> Passed {
        let rest = self.from(from);
        // A pass of its own, so that the many zeros of images are looked at once and not twice.
        let zeros = leading_zeros(rest);
        let (len, then) = match self.finder.find(&rest[zeros..]) {
            Some(found) => (zeros + found, Then::Magic),
            None => (rest.len(), Then::End),
        };
        Passed { end: from + len as u64, zeros: len == zeros, then }
    }

    fn claim(&mut self, at: u64) -> Result<(UnverifiedFrame<'a>, u64), Refusal> {
        let frame = UnverifiedFrame::parse_prefix(self.from(at)).map_err(Refusal::Damaged)?;
        Ok((frame, frame.frame_len() as u64))
    }

    fn verify(&mut self, _: u64, frame: UnverifiedFrame<'a>) -> Result<VerifiedFrame<'a>, Refusal> {
        frame.conclude(sha256(frame.payload())).map_err(Refusal::Damaged)
    }
}
