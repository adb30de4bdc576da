//! What a file is beside its bytes stays.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

use membrane_codec::migrate::FrameMigrator;

use crate::samples::frame_of;
use crate::support::{directory, migrate, read, v4_of, write};

#[test]
fn rights_owner_and_times() {
    let directory = directory();
    for (number, mode) in [0o600, 0o644, 0o444, 0o2640, 0o4755, 0o000].into_iter().enumerate() {
        let path = write(directory.path(), &format!("{number}.blob"), &v4_of(b"payload"));
        let is_root = std::os::unix::fs::chown(&path, Some(1234), Some(5678)).is_ok();
        let long_ago = SystemTime::UNIX_EPOCH + Duration::new(1_234_567_890, 123_456_789);
        let times = fs::FileTimes::new().set_accessed(long_ago + Duration::from_secs(1)).set_modified(long_ago);
        fs::File::options().write(true).open(&path).expect("it opens").set_times(times).expect("it is ours");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("it is ours");
        if mode == 0 && !is_root {
            continue;
        }
        let before = fs::metadata(&path).expect("it is there");
        migrate(&FrameMigrator::new().write(true), &path);
        let after = fs::metadata(&path).expect("it is there");
        assert_eq!(read(&path), frame_of(b"payload"));
        assert_ne!(after.ino(), before.ino());
        let kept =
            |of: &fs::Metadata| (of.mode(), of.uid(), of.gid(), of.mtime(), of.mtime_nsec(), of.atime(), of.len());
        assert_eq!(kept(&after), kept(&before));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn extended_attributes() {
    use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};

    let directory = directory();
    let path = write(directory.path(), "a.blob", &v4_of(b"payload"));
    let value = vec![7; 1000];
    if setxattr(&path, "user.checksum", &value, XattrFlags::empty()).is_err() {
        eprintln!("skipped: this file system has no extended attributes");
        return;
    }
    setxattr(&path, "user.empty", b"", XattrFlags::empty()).expect("it was possible before");
    let list = || {
        let mut names = vec![0; 4096];
        let len = listxattr(&path, &mut names[..]).expect("it is ours");
        names.truncate(len);
        names
    };
    let before = list();
    migrate(&FrameMigrator::new().write(true), directory.path());
    assert_eq!(read(&path), frame_of(b"payload"));
    let mut kept = vec![0; 4096];
    let len = getxattr(&path, "user.checksum", &mut kept[..]).expect("it is kept");
    assert_eq!((&kept[..len], list()), (&value[..], before));
}

/// A directory may give new files an access control list that the old one has not.
#[cfg(target_os = "linux")]
#[test]
fn what_a_directory_gives_to_new_files_does_not_come_in_addition() {
    use rustix::fs::{XattrFlags, listxattr, setxattr};

    // Owner, the user 1234, group, mask and others: all may read and write.
    let entry = |tag: u16, id: u32| {
        [tag.to_le_bytes(), 6_u16.to_le_bytes(), (id as u16).to_le_bytes(), ((id >> 16) as u16).to_le_bytes()].concat()
    };
    let none = u32::MAX;
    let acl =
        [vec![2, 0, 0, 0], entry(1, none), entry(2, 1234), entry(4, none), entry(16, none), entry(32, none)].concat();
    let directory = directory();
    let path = write(directory.path(), "a.blob", &v4_of(b"payload"));
    fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("it is ours");
    if setxattr(directory.path(), "system.posix_acl_default", &acl, XattrFlags::empty()).is_err() {
        eprintln!("skipped: this file system has no access control lists");
        return;
    }
    migrate(&FrameMigrator::new().write(true), directory.path());
    assert_eq!(read(&path), frame_of(b"payload"));
    let mut names = vec![0; 4096];
    assert_eq!(listxattr(&path, &mut names[..]), Ok(0));
    assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o7777, 0o640);
}
