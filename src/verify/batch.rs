//! The verifier of batches: hands frames to the lanes of one or several threads, the longest first, and puts the verdicts
//! back in order.

use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{Batch, BatchReport, Verdict};
use crate::digest::{Digest, Kernel, longest_first, sha256_from};
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

    /// Whether to stop at the first failure, a damaged frame or a finding. Nothing more is started then; what is in a lane
    /// is finished, and may fail as well. Frames that were not started are [`Verdict::Skipped`]. The longest are started
    /// first.
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
        let queue = Queue::new(self, frames, 1);
        let mut verdicts = vec![Verdict::Skipped; frames.len()];
        let report = queue.work(0, |number, verdict| verdicts[number] = verdict);
        Batch { verdicts, report: report.in_order(frames.len()) }
    }

    #[cfg(feature = "rayon")]
    fn verify_on<'a, B: AsRef<[u8]> + Sync>(&self, threads: usize, frames: &'a [B]) -> Batch<'a> {
        use rayon::prelude::*;

        let threads = threads.min(rayon::current_num_threads());
        let queue = Queue::new(self, frames, threads);
        if queue.tasks == 1 {
            return self.verify_in_this_thread(frames);
        }
        self.check_keys(frames.len());
        let work = |task| {
            let mut verdicts = Vec::with_capacity(frames.len().div_ceil(queue.tasks));
            let report = queue.work(task, |number, verdict| verdicts.push((number, verdict)));
            (verdicts, report)
        };
        let done: Vec<_> = (0..queue.tasks).into_par_iter().with_max_len(1).map(work).collect();

        let mut batch = Batch { verdicts: vec![Verdict::Skipped; frames.len()], report: BatchReport::default() };
        for (verdicts, report) in done {
            verdicts.into_iter().for_each(|(number, verdict)| batch.verdicts[number] = verdict);
            batch.report.merge(report);
        }
        batch.report = batch.report.in_order(frames.len());
        batch
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
}

/// The frames of a batch, for the tasks that verify them.
struct Queue<'q, 'a, B> {
    verifier: &'q BatchVerifier<'q>,
    frames: &'a [B],
    #[cfg(feature = "rayon")]
    tasks: usize,
    /// The numbers of the frames, the longest first: whoever has a free lane takes the next.
    order: Vec<usize>,
    next: AtomicUsize,
    /// Few frames are dealt out beforehand instead, or the first task would fill its lanes and leave the others none.
    dealt: Option<Vec<Vec<usize>>>,
    stop: AtomicBool,
}

impl<'q, 'a, B: AsRef<[u8]>> Queue<'q, 'a, B> {
    /// Up to so many frames a lane are few.
    const FEW: usize = 4;

    fn new(verifier: &'q BatchVerifier<'q>, frames: &'a [B], threads: usize) -> Self {
        // All but a few hundred bytes of a frame are payload.
        let len = |number: usize| frames[number].as_ref().len();
        let order: Vec<_> = longest_first(frames.len(), len).collect();
        let tasks = threads.min(frames.len()).max(1);
        let few = frames.len() / verifier.kernel.lanes() / tasks < Self::FEW;
        let dealt = (tasks > 1 && few).then(|| deal(&order, tasks, len));
        Self {
            verifier,
            frames,
            #[cfg(feature = "rayon")]
            tasks,
            order,
            next: AtomicUsize::new(0),
            dealt,
            stop: AtomicBool::new(false),
        }
    }

    /// Verifies frames until there are no more for this task; hands each verdict to `give`.
    ///
    /// A frame is read when its payload is about to be hashed, and its trailer compared right after: each comes into the
    /// cache once.
    fn work(&self, task: usize, give: impl FnMut(usize, Verdict<'a>)) -> BatchReport {
        let mut own = self.dealt.as_ref().map(|dealt| dealt[task].iter());
        let mut take = || match &mut own {
            Some(own) => own.next().copied(),
            None => self.order.get(self.next.fetch_add(1, Ordering::Relaxed)).copied(),
        };
        let verdicts = RefCell::new(Verdicts { give, report: BatchReport::default() });
        let in_lanes = RefCell::new(Vec::with_capacity(self.verifier.kernel.lanes()));
        let next = || {
            while !self.stop.load(Ordering::Relaxed) {
                let number = take()?;
                match UnverifiedFrame::parse(self.frames[number].as_ref()) {
                    Ok(frame) => {
                        in_lanes.borrow_mut().push((number, frame));
                        return Some((number, frame.payload()));
                    }
                    Err(error) => self.settle(&verdicts, number, Verdict::Damaged(error)),
                }
            }
            None
        };
        sha256_from(self.verifier.kernel, next, |number, digest| {
            let mut in_lanes = in_lanes.borrow_mut();
            if let Some(at) = in_lanes.iter().position(|(in_lane, _)| *in_lane == number) {
                let (_, frame) = in_lanes.swap_remove(at);
                let verdict = match frame.conclude(digest) {
                    Ok(frame) => Verdict::Sound(frame),
                    Err(error) => Verdict::Damaged(error),
                };
                self.settle(&verdicts, number, verdict);
            }
        });
        verdicts.into_inner().report
    }

    /// Counts a verdict and gives it on; a failure stops the batch, where that was asked for.
    fn settle<G: FnMut(usize, Verdict<'a>)>(
        &self,
        verdicts: &RefCell<Verdicts<G>>,
        number: usize,
        verdict: Verdict<'a>,
    ) {
        let verifier = self.verifier.verifier(number);
        let findings = verdict.sound().map(|frame| verifier.findings(frame.identity(), frame.payload_digest()));
        let findings = findings.unwrap_or_default();
        if self.verifier.stop_at_first_failure && (verdict.error().is_some() || !findings.is_empty()) {
            self.stop.store(true, Ordering::Relaxed);
        }
        let Verdicts { give, report } = &mut *verdicts.borrow_mut();
        report.count(number, self.frames[number].as_ref().len(), &verdict, findings);
        give(number, verdict);
    }
}

/// Where one task's verdicts go.
struct Verdicts<G> {
    give: G,
    report: BatchReport,
}

/// Deals frames, the longest first, to the task that has least to hash so far.
fn deal(order: &[usize], tasks: usize, len: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    let mut dealt = vec![Vec::new(); tasks];
    let mut load = vec![0_u128; tasks];
    for &number in order {
        let least = (0..tasks).min_by_key(|task| load[*task]).unwrap_or(0);
        dealt[least].push(number);
        load[least] += len(number) as u128;
    }
    dealt
}
