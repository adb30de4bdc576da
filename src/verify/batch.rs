//! The verifier of batches: reads every frame, hands the payloads to the lanes of one or several threads, the longest
//! first, and puts the verdicts back in order.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{Batch, BatchReport, Verdict};
use crate::digest::{Digest, Kernel, longest_first, sha256_from};
use crate::error::Error;
use crate::frame::{UnverifiedFrame, Verifier};

/// Verifies `frames`, each exactly one frame, on all cores; see [`BatchVerifier::verify`].
///
/// ```
/// # let identity = membrane_codec::PayloadIdentity::from_json(br#"{"payload_hash":
/// #   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "model_id": "m", "model_revision": "",
/// #   "tokenizer_name": "m", "tokenizer_revision": "", "layer_range": [0, 0], "head_range": [-1, -1],
/// #   "token_span": [0, 0], "dtype": "nf4", "shape": [1]}"#)?;
/// # let sound = membrane_codec::canonicalize(&identity, b"payload")?;
/// use membrane_codec::{Reason, verify_batch};
///
/// let frames = [sound.clone(), b"GGUF".to_vec(), sound];
/// let batch = verify_batch(&frames);
/// assert_eq!(batch.verdicts[0].sound().unwrap().payload(), b"payload");
/// assert_eq!(batch.verdicts[1].error().unwrap().reason(), Reason::BadMagic);
/// assert_eq!((batch.report.sound(), batch.report.damaged()), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_batch<B: AsRef<[u8]> + Sync>(frames: &[B]) -> Batch<'_> {
    BatchVerifier::new().verify(frames)
}

/// How to verify batches of frames. [`verify_batch`] is the short form.
///
/// ```
/// # let frames: [Vec<u8>; 0] = [];
/// use membrane_codec::BatchVerifier;
///
/// let batch = BatchVerifier::new().check_payload_hash(true).verify_in_this_thread(&frames);
/// assert!(batch.report.all_well());
/// ```
#[derive(Clone, Debug, Default)]
pub struct BatchVerifier<'v> {
    check_payload_hash: bool,
    keys: Option<&'v [Digest]>,
    stop_at_first_failure: bool,
    kernel: Kernel,
    #[cfg(feature = "rayon")]
    threads: Threads<'v>,
}

/// Who works.
#[cfg(feature = "rayon")]
#[derive(Clone, Copy, Debug, Default)]
enum Threads<'v> {
    /// The threads of the pool that the caller runs in.
    #[default]
    All,
    AtMost(usize),
    Of(&'v rayon::ThreadPool),
}

impl<'v> BatchVerifier<'v> {
    /// A verifier that checks what the contract asks, on all cores, with the fastest kernel.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether each identity's payload_hash must be the SHA-256 of its payload. What disagrees is in
    /// [`BatchReport::findings`]. Costs nothing: the digest is there.
    pub fn check_payload_hash(mut self, check: bool) -> Self {
        self.check_payload_hash = check;
        self
    }

    /// The keys under which the frames lie, one for each and in their order: each identity's payload_hash must name its
    /// frame's. What disagrees is in [`BatchReport::findings`].
    pub fn expect_keys(mut self, keys: &'v [Digest]) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Whether to stop at the first failure, a damaged frame or a finding. Frames that then have no verdict are
    /// [`Verdict::Skipped`]; there may be further failures among those that have.
    pub fn stop_at_first_failure(mut self, stop: bool) -> Self {
        self.stop_at_first_failure = stop;
        self
    }

    /// Hashes with this kernel instead of the fastest.
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// At most this many threads, of those of the pool that the caller runs in. 0 is taken for 1.
    #[cfg(feature = "rayon")]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Threads::AtMost(threads.max(1));
        self
    }

    /// The threads of this pool instead of rayon's global one.
    #[cfg(feature = "rayon")]
    pub fn pool(mut self, pool: &'v rayon::ThreadPool) -> Self {
        self.threads = Threads::Of(pool);
        self
    }

    /// Verifies `frames`, each exactly one frame, in parallel on rayon's threads; without the feature `rayon`, as
    /// [`BatchVerifier::verify_in_this_thread`]. No frame hides another one's verdict.
    ///
    /// # Panics
    /// When there are keys, but not as many as frames.
    pub fn verify<'a, B: AsRef<[u8]> + Sync>(&self, frames: &'a [B]) -> Batch<'a> {
        #[cfg(feature = "rayon")]
        {
            match self.threads {
                Threads::AtMost(1) => self.verify_in_this_thread(frames),
                Threads::AtMost(threads) => self.verify_on(threads, frames),
                Threads::All => self.verify_on(rayon::current_num_threads(), frames),
                Threads::Of(pool) => pool.install(|| self.verify_on(pool.current_num_threads(), frames)),
            }
        }
        #[cfg(not(feature = "rayon"))]
        self.verify_in_this_thread(frames)
    }

    /// Verifies `frames`, each exactly one frame, in the calling thread and no other.
    ///
    /// # Panics
    /// As [`BatchVerifier::verify`].
    pub fn verify_in_this_thread<'a, B: AsRef<[u8]>>(&self, frames: &'a [B]) -> Batch<'a> {
        self.check_keys(frames.len());
        let parsed: Vec<_> = frames.iter().map(|frame| UnverifiedFrame::parse(frame.as_ref())).collect();
        let queue = Queue::new(self, &parsed);
        let digests = if queue.stopped() { Vec::new() } else { queue.work() };
        self.conclude(frames, parsed, [digests])
    }

    #[cfg(feature = "rayon")]
    fn verify_on<'a, B: AsRef<[u8]> + Sync>(&self, threads: usize, frames: &'a [B]) -> Batch<'a> {
        use rayon::prelude::*;

        /// Fewer frames than this are read faster than handed to another thread.
        const MIN_FRAMES_PER_TASK: usize = 64;

        self.check_keys(frames.len());
        let parsed: Vec<_> = frames
            .par_iter()
            .with_min_len(MIN_FRAMES_PER_TASK.max(frames.len().div_ceil(threads)))
            .map(|frame| UnverifiedFrame::parse(frame.as_ref()))
            .collect();
        let queue = Queue::new(self, &parsed);
        let digests: Vec<Vec<_>> = match queue.stopped() {
            true => Vec::new(),
            // Each takes the next payload whenever one of its lanes is free, so none is done long before the others.
            false => (0..threads).into_par_iter().with_max_len(1).map(|_| queue.work()).collect(),
        };
        self.conclude(frames, parsed, digests)
    }

    fn check_keys(&self, frames: usize) {
        if let Some(keys) = self.keys {
            assert_eq!(keys.len(), frames, "one key for each frame");
        }
    }

    /// What is expected of frame `number` beyond the contract.
    fn verifier(&self, number: usize) -> Verifier {
        let verifier = Verifier::new().check_payload_hash(self.check_payload_hash);
        match self.keys {
            Some(keys) => verifier.expect_key(keys[number]),
            None => verifier,
        }
    }

    /// Puts digests and frames together.
    fn conclude<'a, B: AsRef<[u8]>>(
        &self,
        frames: &'a [B],
        parsed: Vec<Result<UnverifiedFrame<'a>, Error>>,
        digests: impl IntoIterator<Item = Vec<(usize, Digest)>>,
    ) -> Batch<'a> {
        let mut digest_of = alloc::vec![None; frames.len()];
        for (number, digest) in digests.into_iter().flatten() {
            digest_of[number] = Some(digest);
        }
        let mut report = BatchReport::default();
        let conclude = |(number, parsed): (usize, Result<UnverifiedFrame<'a>, Error>)| {
            let verdict = match (parsed, digest_of[number]) {
                (Err(error), _) => Verdict::Damaged(error),
                (Ok(_), None) => Verdict::Skipped,
                (Ok(frame), Some(digest)) => match frame.conclude(digest) {
                    Ok(frame) => Verdict::Sound(frame),
                    Err(error) => Verdict::Damaged(error),
                },
            };
            let findings =
                verdict.sound().map(|frame| self.verifier(number).findings(frame.identity(), frame.payload_digest()));
            report.count(number, frames[number].as_ref().len(), &verdict, findings.unwrap_or_default().iter());
            verdict
        };
        let verdicts = parsed.into_iter().enumerate().map(conclude).collect();
        Batch { verdicts, report }
    }
}

/// The payloads of a batch, for as many threads as want to hash them.
struct Queue<'q, 'a> {
    verifier: &'q BatchVerifier<'q>,
    parsed: &'q [Result<UnverifiedFrame<'a>, Error>],
    /// The numbers of the frames to hash, the longest payload's first.
    order: Vec<usize>,
    next: AtomicUsize,
    stop: AtomicBool,
}

impl<'q, 'a> Queue<'q, 'a> {
    fn new(verifier: &'q BatchVerifier<'q>, parsed: &'q [Result<UnverifiedFrame<'a>, Error>]) -> Self {
        let payload_len = |number: usize| parsed[number].as_ref().map_or(0, |frame| frame.payload().len());
        let mut order = longest_first(parsed.len(), payload_len);
        order.retain(|number| parsed[*number].is_ok());
        let stop = verifier.stop_at_first_failure && order.len() < parsed.len();
        Self { verifier, parsed, order, next: AtomicUsize::new(0), stop: AtomicBool::new(stop) }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Hashes payloads until there are no more; gives their numbers and digests.
    fn work(&self) -> Vec<(usize, Digest)> {
        let mut digests = Vec::new();
        let next = || {
            if self.stopped() {
                return None;
            }
            let number = *self.order.get(self.next.fetch_add(1, Ordering::Relaxed))?;
            let frame = self.parsed[number].as_ref().ok()?;
            Some((number, frame.payload()))
        };
        sha256_from(self.verifier.kernel, next, |number, digest| {
            if self.verifier.stop_at_first_failure && self.fails(number, digest) {
                self.stop.store(true, Ordering::Relaxed);
            }
            digests.push((number, digest));
        });
        digests
    }

    fn fails(&self, number: usize, digest: Digest) -> bool {
        self.parsed[number].as_ref().is_ok_and(|frame| match frame.conclude(digest) {
            Ok(frame) => !self.verifier.verifier(number).findings(frame.identity(), digest).is_empty(),
            Err(_) => true,
        })
    }
}
