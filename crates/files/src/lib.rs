//! Files that a user names, and what tells one from all others.
//!
//! A pipe or a device may never end, and to open a pipe may wait for ever: neither is opened.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

mod hash;

pub use hash::Sha256;

/// Opens the file `path` to be read.
///
/// # Errors
/// When it can't be read, or is neither a file nor a directory, which says itself that it can't be read.
pub fn open(path: &Path) -> io::Result<File> {
    let found = fs::metadata(path)?;
    if found.is_file() || found.is_dir() {
        File::open(path)
    } else {
        Err(io::Error::other("not a regular file"))
    }
}

/// What the file `path` holds.
///
/// # Errors
/// Those of [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text that the file `path` holds.
///
/// # Errors
/// Those of [`open`]; when it is no UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_not_opened() {
        let place = std::env::temp_dir().join(format!("chasqui-files-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir(&place).expect("made");
        let (file, pipe) = (place.join("file"), place.join("pipe"));
        fs::write(&file, "text").expect("written");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
        assert!(made.success());
        assert_eq!(read(&file).expect("a file"), b"text");
        assert_eq!(read_to_string(&file).expect("a file"), "text");
        for path in [&pipe, Path::new("/dev/zero")] {
            assert_eq!(read(path).expect_err("no file").to_string(), "not a regular file");
        }
        assert_eq!(read(&place).expect_err("no file").kind(), io::ErrorKind::IsADirectory);
        assert_eq!(read(&place.join("none")).expect_err("no file").kind(), io::ErrorKind::NotFound);
        fs::remove_dir_all(&place).expect("removed");
    }
}
