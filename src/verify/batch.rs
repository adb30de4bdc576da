//! The verifier of batches: reads every frame, hands the payloads to the lanes of one or several threads, the longest
//! first, and puts the verdicts back in order.

use alloc::vec;
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

    /// Whether to stop at the first failure, a damaged frame or a finding.
    ///
    /// Structure and identity of all frames are read first; when one is at fault, no payload is hashed. Else hashing ends
    /// with the payloads that are in a lane when the first fails. Frames without a verdict are [`Verdict::Skipped`]; more
    /// than one may have failed by then.
    pub fn stop_at_first_failure(mut self, stop: bool) -> Self {
        self.stop_at_first_failure = stop;
        self
    }

    /// Hashes with this kernel instead of the fastest.
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// At most this many threads, of those of the pool that the caller runs in. 0 is taken for 1. Takes the place of
    /// [`BatchVerifier::pool`].
    #[cfg(feature = "rayon")]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Threads::AtMost(threads.max(1));
        self
    }

    /// The threads of this pool instead of rayon's global one. Takes the place of [`BatchVerifier::threads`].
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
        let read: Vec<_> = frames.iter().map(read).collect();
        let digests = Queue::new(self, &read, 1).work(0);
        self.conclude(frames, read, [digests])
    }

    #[cfg(feature = "rayon")]
    fn verify_on<'a, B: AsRef<[u8]> + Sync>(&self, threads: usize, frames: &'a [B]) -> Batch<'a> {
        use rayon::prelude::*;

        /// Fewer frames than this are read faster than handed to another thread.
        const MIN_FRAMES_PER_TASK: usize = 64;

        self.check_keys(frames.len());
        let threads = threads.min(rayon::current_num_threads());
        let read: Vec<_> =
            frames.par_iter().with_min_len(MIN_FRAMES_PER_TASK.max(frames.len().div_ceil(threads))).map(read).collect();
        let queue = Queue::new(self, &read, threads);
        let digests: Vec<_> = match queue.tasks {
            1 => vec![queue.work(0)],
            tasks => (0..tasks).into_par_iter().with_max_len(1).map(|task| queue.work(task)).collect(),
        };
        self.conclude(frames, read, digests)
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
        mut read: Vec<Read<'a>>,
        digests: impl IntoIterator<Item = Vec<(usize, Digest)>>,
    ) -> Batch<'a> {
        for (number, digest) in digests.into_iter().flatten() {
            if let Ok((_, place)) = &mut read[number] {
                *place = Some(digest);
            }
        }
        let mut report = BatchReport::default();
        let conclude = |(number, read): (usize, Read<'a>)| {
            let verdict = match read {
                Err(error) => Verdict::Damaged(error),
                Ok((_, None)) => Verdict::Skipped,
                Ok((frame, Some(digest))) => match frame.conclude(digest) {
                    Ok(frame) => Verdict::Sound(frame),
                    Err(error) => Verdict::Damaged(error),
                },
            };
            let verifier = self.verifier(number);
            let found = verdict.sound().map(|frame| verifier.findings(frame.identity(), frame.payload_digest()));
            report.count(number, frames[number].as_ref().len(), &verdict, found.unwrap_or_default());
            verdict
        };
        // In place: a frame that was read takes no less room than a verdict.
        let verdicts = read.into_iter().enumerate().map(conclude).collect();
        Batch { verdicts, report }
    }
}

/// A frame of which structure and identity were read, and later the digest of its payload; or why not.
type Read<'a> = Result<(UnverifiedFrame<'a>, Option<Digest>), Error>;

fn read<B: AsRef<[u8]>>(frame: &B) -> Read<'_> {
    UnverifiedFrame::parse(frame.as_ref()).map(|frame| (frame, None))
}

/// The payloads of a batch, for the tasks that hash them.
struct Queue<'q, 'a> {
    verifier: &'q BatchVerifier<'q>,
    read: &'q [Read<'a>],
    tasks: usize,
    /// The numbers of the frames to hash, the longest payload's first: whoever has a free lane takes the next.
    order: Vec<usize>,
    next: AtomicUsize,
    /// Few frames are dealt out beforehand instead, or the first task would fill its lanes and leave the others none.
    dealt: Option<Vec<Vec<usize>>>,
    stop: AtomicBool,
}

impl<'q, 'a> Queue<'q, 'a> {
    /// Up to so many frames a lane are few.
    const FEW: usize = 4;

    fn new(verifier: &'q BatchVerifier<'q>, read: &'q [Read<'a>], threads: usize) -> Self {
        let payload_len = |number: usize| read[number].as_ref().map_or(0, |(frame, _)| frame.payload().len());
        let order: Vec<_> = longest_first(read.len(), payload_len).filter(|number| read[*number].is_ok()).collect();
        let stop = verifier.stop_at_first_failure && order.len() < read.len();
        let tasks = threads.min(order.len()).max(1);
        let few = order.len() / verifier.kernel.lanes() / tasks < Self::FEW;
        let dealt = (tasks > 1 && few).then(|| deal(&order, tasks, payload_len));
        Self { verifier, read, tasks, order, next: AtomicUsize::new(0), dealt, stop: AtomicBool::new(stop) }
    }

    /// Hashes payloads until there are no more for this task; gives their numbers and digests.
    fn work(&self, task: usize) -> Vec<(usize, Digest)> {
        let mut digests = Vec::with_capacity(self.order.len().div_ceil(self.tasks));
        let mut own = self.dealt.as_ref().map(|dealt| dealt[task].iter());
        let next = || {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            let number = match &mut own {
                Some(own) => *own.next()?,
                None => *self.order.get(self.next.fetch_add(1, Ordering::Relaxed))?,
            };
            let (frame, _) = self.read[number].as_ref().ok()?;
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
        self.read[number].as_ref().is_ok_and(|(frame, _)| match frame.conclude(digest) {
            Ok(frame) => !self.verifier.verifier(number).findings(frame.identity(), digest).is_empty(),
            Err(_) => true,
        })
    }
}

/// Deals frames, the longest first, to the task that has least to hash so far.
fn deal(order: &[usize], tasks: usize, payload_len: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    let mut dealt = vec![Vec::new(); tasks];
    let mut load = vec![0_u128; tasks];
    for &number in order {
        let least = (0..tasks).min_by_key(|task| load[*task]).unwrap_or(0);
        dealt[least].push(number);
        // An empty payload has its padding to be hashed.
        load[least] += payload_len(number) as u128 + 1;
    }
    dealt
}
