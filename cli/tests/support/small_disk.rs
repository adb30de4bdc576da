//! Disks that are soon full.

#![allow(dead_code)]

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// A file system of its own and of this size, which is gone when this is dropped.
pub(crate) struct SmallDisk {
    directory: TempDir,
}

impl SmallDisk {
    /// Nothing where this may not be done: only the superuser mounts.
    pub(crate) fn mount(bytes: u64) -> Option<Self> {
        Self::mount_with(&format!("size={bytes}"))
    }

    /// As [`SmallDisk::mount`], with these limits in the words of tmpfs.
    pub(crate) fn mount_with(limits: &str) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        #[cfg(unix)]
        fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("{limits},mode=755"), "tmpfs"]).arg(directory.path());
        let mounted = mount.stderr(std::process::Stdio::null()).status().is_ok_and(|status| status.success());
        if !mounted {
            eprintln!("skipped: nothing can be mounted here");
        }
        mounted.then_some(Self { directory })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Leaves room for this many bytes.
    pub(crate) fn fill_up_to(&self, room: u64) {
        use std::io::Write;

        let path = self.path().join("filler");
        let mut filler = fs::File::create(&path).expect("it can be created");
        while filler.write_all(&[0; 4096]).is_ok() {}
        let len = filler.metadata().expect("it is there").len();
        filler.set_len(len.saturating_sub(room)).expect("it can be cut");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").args(["--lazy"]).arg(self.path()).status();
    }
}
