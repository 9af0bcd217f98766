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

const PSELECT6: u64 = 72;
const PPOLL: u64 = 73;

/// Descriptors of one word of an `fd_set` (Linux include/uapi/linux/posix_types.h).
const SET_WORD_BITS: u64 = 64;

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
        if ready > 0 { Ok(ready) } else { self.wait_in_vain(PPOLL, timeout) }
    }

    /// The same for sets of descriptors to be read, to be written, and in other conditions, which none is in. Each holds the
    /// numbers below `count`.
    pub(super) fn pselect(&mut self, count: u64, sets: [u64; 3]) -> Result<i64> {
        let [.., timeout, _] = self.args;
        // No more than there may be (Linux fs/select.c, core_sys_select).
        let Ok(count) = u32::try_from(count as i32) else { return Err(Errno::EINVAL.into()) };
        let count = u64::from(count).min(self.process.limits.files());
        let mut ready = 0;
        let words = |set: u64| (0..count.div_ceil(SET_WORD_BITS)).map(move |i| (i, set.wrapping_add(i * 8)));
        let sets_and_kinds = || sets.into_iter().zip([true, true, false]).filter(|&(set, _)| set != 0);
        for (i, at) in sets_and_kinds().flat_map(|(set, _)| words(set)) {
            let [word] = self.read_words(at)?;
            let within = |bit: &u64| i * SET_WORD_BITS + bit < count && word >> bit & 1 != 0;
            for bit in (0..SET_WORD_BITS).filter(within) {
                self.process.descriptors.get(i * SET_WORD_BITS + bit)?;
            }
        }
        for ((i, at), stays) in sets_and_kinds().flat_map(|(set, stays)| words(set).map(move |w| (w, stays)))
        {
            let [word] = self.read_words(at)?;
            let below = count - i * SET_WORD_BITS;
            let mask = if below < SET_WORD_BITS { (1 << below) - 1 } else { u64::MAX };
            let there = if stays { word & mask } else { 0 };
            self.write_words(at, &[there])?;
            ready += i64::from(there.count_ones());
        }
        if ready > 0 { Ok(ready) } else { self.wait_in_vain(PSELECT6, timeout) }
    }

    /// Nothing is ready, and nothing will be: call `number` returns 0 after its timeout.
    fn wait_in_vain(&mut self, number: u64, timeout: u64) -> Result<i64> {
        if timeout == 0 {
            // Only a signal's handler could end it, and none is ever run.
            return self.unknown(number).map_err(Stop::from);
        }
        let nanoseconds = self.timespec(timeout)?;
        self.sleep(self.after(nanoseconds), 0)
    }
}
