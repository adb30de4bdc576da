//! A storage backend: frames in files, an index in redb, verified reads, a scrub in the background.
//!
//! `store.rs` writes, reads and verifies, `index.rs` remembers, `scrub.rs` reads what nobody asks for. This file shows it
//! all in a temporary directory:
//!
//! ```sh
//! cargo run --example storage_backend --features scrub
//! ```

mod index;
mod scrub;
mod store;

use std::fs;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use membrane_codec::{Digest, Dtype, HeadRange, InclusiveRange, PayloadIdentity, canonicalize, sha256};

use scrub::{BackgroundScrub, Portion, ScrubOptions};
use store::{Answer, Store};

/// What went wrong with the machine, not with a frame.
type Fault = Box<dyn std::error::Error + Send + Sync>;

const FRAMES: u8 = 40;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn main() -> Result<(), Fault> {
    let directory = tempfile::tempdir()?;
    let store = Arc::new(Store::open(directory.path())?);

    let keys = (0..FRAMES).map(|layer| store.put(&frame(layer)?)).collect::<Result<Vec<_>, Fault>>()?;
    println!("stored {} frames", keys.len());
    print_read(keys[0], store.get(keys[0])?);
    println!("read all at once: {} served", served(&store, &keys));

    println!("\nnow a bit flips in one file, two others change places, one is gone");
    let paths: Vec<_> = keys.iter().map(|key| store.path(*key)).collect();
    let mut bytes = fs::read(&paths[0])?;
    bytes[1000] ^= 1;
    fs::write(&paths[0], bytes)?;
    let aside = directory.path().join("aside");
    fs::rename(&paths[1], &aside)?;
    fs::rename(&paths[2], &paths[1])?;
    fs::rename(&aside, &paths[2])?;
    fs::remove_file(&paths[3])?;

    for key in [keys[0], keys[0]] {
        print_read(key, store.get(key)?);
    }
    let some = [keys[1], keys[4], keys[5]];
    for (key, frame) in some.into_iter().zip(store.get_many(&some)) {
        print_read(key, frame?);
    }

    // A slow scrub, stopped in the middle. The next one, after a restart, comes to the rest and to nothing else: the index
    // knows.
    let (tell, told) = mpsc::channel();
    let scrub = start_scrub(&store, 1 << 20, tell.clone())?;
    thread::sleep(Duration::from_millis(200));
    scrub.stop()?;
    drop(store);

    let store = Arc::new(Store::open(directory.path())?);
    let scrub = start_scrub(&store, 1 << 30, tell)?;
    let (mut sound, mut failed) = (0, Vec::new());
    for portion in told {
        sound += portion.sound;
        failed.extend(portion.failed);
        if portion.last {
            break;
        }
    }
    scrub.stop()?;
    println!("\nscrubbed, with a restart between: {sound} sound, {} not", failed.len());
    failed.sort();
    failed.iter().for_each(|(key, why)| println!("{key:.8}: {why}"));

    println!("\nread all at once: {} served", served(&store, &keys));
    // Another replica still has it.
    store.put(&frame(0)?)?;
    println!("stored anew");
    print_read(keys[0], store.get(keys[0])?);
    Ok(())
}

fn start_scrub(store: &Arc<Store>, rate: u64, tell: Sender<Portion>) -> Result<BackgroundScrub, Fault> {
    let bytes_per_second = NonZeroU64::new(rate).ok_or("a scrub that reads nothing")?;
    let options = ScrubOptions { bytes_per_second, max_age: 30 * DAY, pause: DAY / 24 };
    // Nobody may listen any more.
    Ok(BackgroundScrub::start(Arc::clone(store), options, move |portion| _ = tell.send(portion))?)
}

fn served(store: &Store, keys: &[Digest]) -> usize {
    store.get_many(keys).iter().filter(|answer| matches!(answer, Ok(Answer::Frame(_)))).count()
}

fn print_read(key: Digest, answer: Answer) {
    match answer {
        Answer::Frame(frame) => println!("{key:.8}: {} bytes", frame.payload().len()),
        Answer::Unknown => println!("{key:.8}: unknown"),
        Answer::Refused(why) => println!("{key:.8}: refused, {why}"),
    }
}

/// Some layer's values, as an engine would write them.
fn frame(layer: u8) -> Result<Vec<u8>, Fault> {
    let payload: Vec<u8> =
        (0..2 * 8 * 32 * 128_u32).map(|at| (at.wrapping_mul(0x9E37_79B1) >> 24) as u8 ^ layer).collect();
    let identity = PayloadIdentity {
        payload_hash: sha256(&payload).into(),
        model_id: "llama-3-8b".into(),
        model_revision: String::new(),
        tokenizer_name: "llama-3-8b".into(),
        tokenizer_revision: String::new(),
        layer_range: InclusiveRange::new(layer.into(), layer.into())?,
        head_range: HeadRange::All,
        token_span: InclusiveRange::new(0, 31)?,
        dtype: Dtype::Float16,
        shape: [1, 1, 8, 32, 128].try_into()?,
    };
    Ok(canonicalize(&identity, &payload)?)
}
