//! A checksum of a whole file, CRC-32 (IEEE 802.3), that is in the file itself: a value of its metadata, which counts
//! as zeros.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use crc32fast::Hasher;

use crate::Out;

/// Name of the value.
pub(crate) const KEY: &str = "chasqui.crc32";
/// The value while the sum is not known; it is that many hexadecimal digits.
pub(crate) const BLANK: &str = "00000000";
/// What is between a name and its value in a footer (Thrift's compact protocol): the next field, a binary, its length.
const BETWEEN: [u8; 2] = [0x18, BLANK.len() as u8];
/// At a Parquet file's end: the footer's length, and `PAR1`.
const TAIL_BYTES: u64 = 8;

/// Where the value is in a footer. It is the last of the metadata, so that it is found whatever the others hold.
fn place(footer: &[u8]) -> Option<usize> {
    let mark = [KEY.as_bytes(), &BETWEEN].concat();
    let begin = footer.windows(mark.len()).rposition(|bytes| bytes == mark)? + mark.len();
    (begin + BLANK.len() <= footer.len()).then_some(begin)
}

fn digits(sum: Hasher) -> String {
    format!("{:08x}", sum.finalize())
}

/// Whether the checksum in `file` is that of its bytes; `None`: it has none.
///
/// # Errors
/// When it can't be read.
pub fn is_whole(mut file: &File) -> io::Result<Option<bool>> {
    let bytes = file.metadata()?.len();
    if bytes < TAIL_BYTES {
        return Ok(None);
    }
    file.seek(SeekFrom::End(-(TAIL_BYTES as i64)))?;
    let mut length = [0; 4];
    file.read_exact(&mut length)?;
    let Some(begin) = (bytes - TAIL_BYTES).checked_sub(u64::from(u32::from_le_bytes(length))) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(begin))?;
    let mut end = vec![];
    file.read_to_end(&mut end)?;
    let Some(at) = place(&end) else { return Ok(None) };
    let value = end[at..at + BLANK.len()].to_vec();
    end[at..at + BLANK.len()].copy_from_slice(BLANK.as_bytes());
    file.seek(SeekFrom::Start(0))?;
    let mut sum = Hasher::new();
    io::copy(&mut file.take(begin), &mut Summing(&mut sum))?;
    sum.update(&end);
    file.seek(SeekFrom::Start(0))?;
    Ok(Some(value == digits(sum).as_bytes()))
}

struct Summing<'a>(&'a mut Hasher);

impl Write for Summing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is being written, and summed up.
pub(crate) struct Sealed<'a> {
    out: Out<'a>,
    sum: Hasher,
    /// The end of the file, in which the sum has its place; `None` before that.
    end: Option<Vec<u8>>,
}

impl<'a> Sealed<'a> {
    pub fn new(out: Out<'a>) -> Sealed<'a> {
        Sealed { out, sum: Hasher::new(), end: None }
    }

    /// What is written from now on is the end.
    pub fn begin_end(&mut self) {
        self.end = Some(vec![]);
    }

    /// Writes the end, with the sum if there is a place for it.
    pub fn finish(&mut self) -> io::Result<()> {
        let mut end = self.end.take().unwrap_or_default();
        if let Some(at) = place(&end) {
            self.sum.update(&end);
            end[at..at + BLANK.len()].copy_from_slice(digits(self.sum.clone()).as_bytes());
        }
        self.out.write_all(&end)?;
        self.out.flush()
    }
}

impl Write for Sealed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(end) = &mut self.end {
            end.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
