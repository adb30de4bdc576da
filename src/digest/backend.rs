//! Which library hashes one message. The only place that decides: sha2 unless the `ring` feature is on.
//!
//! Both use the SHA extensions of x86 and Arm where the processor has them and then run at the same rate. Where x86-64 has
//! none, ring needs a third fewer instructions. PERF.md has the figures.

#[cfg(not(feature = "ring"))]
pub(super) use self::with_sha2::Hasher;

#[cfg(feature = "ring")]
pub(super) use self::with_ring::Hasher;

#[cfg(not(feature = "ring"))]
mod with_sha2 {
    use sha2::Digest;

    #[derive(Clone)]
    pub(in crate::digest) struct Hasher(sha2::Sha256);

    impl Hasher {
        pub(in crate::digest) fn new() -> Self {
            Self(sha2::Sha256::new())
        }

        pub(in crate::digest) fn update(&mut self, data: &[u8]) {
            self.0.update(data);
        }

        pub(in crate::digest) fn finalize(self) -> [u8; 32] {
            self.0.finalize().into()
        }
    }
}

#[cfg(feature = "ring")]
mod with_ring {
    use ring::digest::{Context, SHA256};

    #[derive(Clone)]
    pub(in crate::digest) struct Hasher(Context);

    impl Hasher {
        pub(in crate::digest) fn new() -> Self {
            Self(Context::new(&SHA256))
        }

        pub(in crate::digest) fn update(&mut self, data: &[u8]) {
            self.0.update(data);
        }

        pub(in crate::digest) fn finalize(self) -> [u8; 32] {
            let mut bytes = [0; 32];
            bytes.copy_from_slice(self.0.finish().as_ref());
            bytes
        }
    }
}
