//! What tells contents from all others.

use std::io::{self, Read, Write};

use sha2::Digest;

/// SHA-256 (FIPS 180-4) of bytes that come one after the other.
#[derive(Clone, Default)]
pub struct Sha256(sha2::Sha256);

impl Sha256 {
    /// These come next.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// That of all so far, in hexadecimal digits, as `sha256sum` prints it.
    pub fn digits(&self) -> String {
        self.0.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// That of what `source` still holds.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn of_rest(mut source: impl Read) -> io::Result<String> {
        let mut hash = Sha256::default();
        io::copy(&mut source, &mut hash)?;
        Ok(hash.digits())
    }

    /// That of `bytes`.
    pub fn of(bytes: &[u8]) -> String {
        let mut hash = Sha256::default();
        hash.update(bytes);
        hash.digits()
    }
}

impl Write for Sha256 {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Sha256::update(self, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples that NIST publishes with the standard.
    #[test]
    fn a_hash_is_that_of_the_standard() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Sha256::of(b"abc"), abc);
        let mut parts = Sha256::default();
        parts.update(b"ab");
        parts.update(b"c");
        assert_eq!(parts.digits(), abc);
        assert_eq!(Sha256::of_rest(&b"abc"[..]).expect("memory can be read"), abc);
        assert_eq!(
            Sha256::of(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
    }
}
