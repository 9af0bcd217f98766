//! Waiting for descriptors.

use super::{Call, Result, Stop};
use crate::errno::Errno;

/// Length of `struct pollfd`: descriptor, events, events that are there (Linux
/// include/uapi/asm-generic/poll.h).
const ENTRY_BYTES: u64 = 8;
const POLLIN: u16 = 0x1;
const POLLOUT: u16 = 0x4;
const POLLRDNORM: u16 = 0x40;
const POLLWRNORM: u16 = 0x100;
const POLLNVAL: u16 = 0x20;

const PPOLL: u64 = 73;

impl Call<'_> {
    /// Every descriptor is ready at once: what there is, files and the rank's streams, never blocks.
    pub(super) fn ppoll(&mut self, entries: u64, count: u64, timeout: u64) -> Result<i64> {
        if count > self.process.limits.files() {
            return Err(Errno::EINVAL.into());
        }
        let mut ready = 0;
        for at in (0..count).map(|i| entries.wrapping_add(i * ENTRY_BYTES)) {
            let mut entry = [0; ENTRY_BYTES as usize];
            self.read(at, &mut entry)?;
            let descriptor = i32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
            let wanted = u16::from_le_bytes([entry[4], entry[5]]);
            let events = if descriptor < 0 {
                0
            } else if self.process.descriptors.get(descriptor as u64).is_err() {
                POLLNVAL
            } else {
                wanted & (POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM)
            };
            self.write(at.wrapping_add(6), &events.to_le_bytes())?;
            ready += i64::from(events != 0);
        }
        if ready > 0 {
            return Ok(ready);
        }
        if timeout == 0 {
            // Only a signal's handler could end it, and none is ever run.
            return self.unknown(PPOLL).map_err(Stop::from);
        }
        let nanoseconds = self.timespec(timeout)?;
        self.sleep(self.after(nanoseconds), 0)
    }
}
