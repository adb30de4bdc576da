//! On which devices a directory lies, down to the disks: what is written there could be over what is looked for.
//!
//! As Linux tells it in `/sys/dev/block`: a partition lies on its disk, a mapped or joined device on its slaves, a loop
//! device on the file behind it.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, makedev, minor};

/// What is known of whether a directory lies on what is searched.
#[derive(Debug, PartialEq)]
pub(super) enum LiesOn {
    Yes,
    No,
    /// The directory's file system is none of a device, or several devices at once (overlay, btrfs, a network).
    Unknown,
}

/// Whether writing to `directory` could write to `image`: a block device, or a file that is mounted through a loop device.
pub(super) fn lies_on(directory: &Path, image: &fs::Metadata) -> io::Result<LiesOn> {
    Devices { root: Path::new("/sys/dev/block") }.lies_on(fs::metadata(directory)?.dev(), image)
}

struct Devices<'r> {
    root: &'r Path,
}

impl Devices<'_> {
    fn lies_on(&self, device: u64, image: &fs::Metadata) -> io::Result<LiesOn> {
        let searched = image.file_type().is_block_device().then(|| image.rdev());
        if searched == Some(device) {
            return Ok(LiesOn::Yes);
        }
        if !self.place(device).exists() {
            // To a file that is no device's, another file system than its own does nothing that can be known.
            return Ok(if searched.is_some() { LiesOn::Unknown } else { LiesOn::No });
        }
        let (mut seen, mut left) = (HashSet::new(), vec![device]);
        while let Some(device) = left.pop() {
            if searched == Some(device) {
                return Ok(LiesOn::Yes);
            }
            if !seen.insert(device) {
                continue;
            }
            if let Some(backing) = self.backing_file(device).and_then(|file| fs::metadata(file).ok()) {
                if (backing.dev(), backing.ino()) == (image.dev(), image.ino()) {
                    return Ok(LiesOn::Yes);
                }
                left.push(if backing.file_type().is_block_device() { backing.rdev() } else { backing.dev() });
            }
            left.extend(self.below(device)?);
        }
        Ok(LiesOn::No)
    }

    fn place(&self, device: u64) -> PathBuf {
        self.root.join(format!("{}:{}", major(device), minor(device)))
    }

    /// The file behind a loop device.
    fn backing_file(&self, device: u64) -> Option<PathBuf> {
        let path = fs::read_to_string(self.place(device).join("loop/backing_file")).ok()?;
        Some(PathBuf::from(path.strip_suffix('\n').unwrap_or(&path)))
    }

    /// The devices that one lies on: the disk of a partition, the slaves of any other.
    fn below(&self, device: u64) -> io::Result<Vec<u64>> {
        let place = match fs::canonicalize(self.place(device)) {
            // Something without a place there, behind a loop device.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            place => place?,
        };
        let disk = place.join("partition").exists().then(|| place.parent()).flatten().map(Path::to_owned);
        let slaves = match fs::read_dir(place.join("slaves")) {
            Ok(slaves) => slaves.map(|slave| slave.map(|slave| slave.path())).collect::<io::Result<_>>()?,
            Err(_) => Vec::new(),
        };
        disk.into_iter().chain(slaves).map(|device| number(&device)).collect()
    }
}

/// The number of a device, by its directory.
fn number(device: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(device.join("dev"))?;
    let numbers =
        text.trim().split_once(':').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) = numbers.ok_or_else(|| io::Error::other(format!("{}: {text:?}", device.display())))?;
    Ok(makedev(major, minor))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A machine: sda with two partitions, an encrypted volume on the second, a volume over that and sdb, and a loop device
    /// over a file.
    fn machine(backing: &Path) -> tempfile::TempDir {
        let machine = tempfile::tempdir().expect("a temporary directory");
        let device = |place: &str, number: &str| {
            let place = machine.path().join("devices").join(place);
            fs::create_dir_all(place.join("slaves")).expect("it is ours");
            fs::write(place.join("dev"), format!("{number}\n")).expect("it is ours");
            fs::create_dir_all(machine.path().join("block")).expect("it is ours");
            symlink(&place, machine.path().join("block").join(number)).expect("it is ours");
            place
        };
        let [sda, sdb] = [device("sda", "8:0"), device("sdb", "8:16")];
        for (name, number) in [("sda/sda1", "8:1"), ("sda/sda2", "8:2")] {
            fs::write(device(name, number).join("partition"), "1\n").expect("it is ours");
        }
        let on = |upper: &Path, lower: &Path| {
            symlink(lower, upper.join("slaves").join(lower.file_name().expect("a name"))).expect("it is ours");
        };
        let [crypt, volume] = [device("dm-0", "253:0"), device("dm-1", "253:1")];
        on(&crypt, &sda.join("sda2"));
        on(&volume, &crypt);
        on(&volume, &sdb);
        let file = device("loop0", "7:0").join("loop");
        fs::create_dir(&file).expect("it is ours");
        fs::write(file.join("backing_file"), format!("{}\n", backing.display())).expect("it is ours");
        machine
    }

    #[test]
    fn partitions_volumes_and_loops_lie_on_what_is_below_them() {
        let image = tempfile::NamedTempFile::new().expect("a file");
        let machine = machine(image.path());
        let root = machine.path().join("block");
        let devices = Devices { root: &root };
        let below = |device: (u32, u32)| {
            let mut numbers: Vec<_> =
                devices.below(makedev(device.0, device.1)).expect("it is told").into_iter().map(minor).collect();
            numbers.sort_unstable();
            numbers
        };
        assert_eq!(below((8, 0)), [0; 0]);
        assert_eq!(below((8, 2)), [0]);
        assert_eq!(below((253, 0)), [2]);
        assert_eq!(below((253, 1)), [0, 16]);
        assert_eq!(below((9, 9)), [0; 0]);

        // A file that is searched, while its loop device is mounted.
        let searched = image.as_file().metadata().expect("it is there");
        let other = tempfile::tempfile().and_then(|file| file.metadata()).expect("it is there");
        let lies_on = |device, image| devices.lies_on(device, image).expect("it is told");
        assert_eq!(lies_on(makedev(7, 0), &searched), LiesOn::Yes);
        assert_eq!(lies_on(makedev(7, 0), &other), LiesOn::No);
        assert_eq!(lies_on(makedev(253, 1), &searched), LiesOn::No);
        assert_eq!(lies_on(makedev(0, 40), &searched), LiesOn::No);
    }
}
