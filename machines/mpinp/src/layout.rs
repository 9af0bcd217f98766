//! Where what processes share with the card lies: in the card's memory a window for each, between the firmware's image and
//! buffers below and its stack above; in the host's memory what the card writes, and nobody else does.

use chasqui_memory::{DEVICE_BASE, PAGE_BYTES};
use chasqui_ni::Region;
use chasqui_placement::ProcessId;

use crate::registers::DOORBELL;

/// The firmware's stack, at the end of the card's memory.
const STACK_BYTES: u64 = 2 * PAGE_BYTES;

/// The layout of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Processes of the node.
    pub processes: u32,
    /// Address in the card's memory of the first window, and length of each [bytes].
    pub windows: u64,
    pub window_bytes: u64,
    /// Physical address of the first process's memory on the host, and length of each [bytes].
    pub host: u64,
    pub host_bytes: u64,
}

impl Layout {
    /// That of `processes` on a card of `sram` bytes, of which firmware has the first `firmware`, and [`STACK_BYTES`] at the end,
    /// and a host that has what it shares behind `host`.
    ///
    /// # Errors
    /// It does not fit: in words.
    pub fn new(
        processes: u32,
        (sram, firmware): (u64, u64),
        window_bytes: u64,
        (host, host_bytes): (u64, u64),
    ) -> Result<Layout, String> {
        let all = u64::from(processes) * window_bytes;
        let windows = sram.checked_sub(all + STACK_BYTES).filter(|&windows| windows >= firmware).ok_or_else(|| {
            format!(
                "mpinp.card.sram = {sram} B: {processes} processes have windows of {window_bytes} B each, and firmware takes \
                 {firmware} B; at least {} B are needed",
                all + firmware + STACK_BYTES
            )
        })?;
        Ok(Layout { processes, windows, window_bytes, host, host_bytes })
    }

    /// What `process` maps, in the order of `REGION_`.
    pub fn regions(&self, process: ProcessId) -> Vec<Region> {
        let number = u64::from(process.0);
        vec![
            Region {
                physical: DEVICE_BASE + self.windows + number * self.window_bytes,
                bytes: self.window_bytes,
            },
            Region { physical: self.host + number * self.host_bytes, bytes: self.host_bytes },
        ]
    }

    /// Memory on the host, of all processes [bytes].
    pub fn host_memory(&self) -> u64 {
        u64::from(self.processes) * self.host_bytes
    }

    /// The process whose doorbell is among the `bytes` from `address` on in the card's memory.
    pub fn doorbell_within(&self, address: u64, bytes: u64) -> Option<u32> {
        let offset = address.checked_sub(self.windows)?;
        let (number, within) = (offset / self.window_bytes, offset % self.window_bytes);
        let rings = within < DOORBELL + size_of::<u64>() as u64 && within + bytes > DOORBELL;
        (rings && number < u64::from(self.processes)).then_some(number as u32)
    }
}

const _: () = assert!(DOORBELL + size_of::<u64>() as u64 == PAGE_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_lie_behind_the_firmware_and_have_doorbells() {
        let layout = Layout::new(2, (1 << 20, 0x10000), 0x4000, (0x1000_0000, 0x8000)).unwrap();
        assert_eq!(layout.windows, 0xf6000);
        let [window, host] = layout.regions(ProcessId(1))[..] else { panic!("two regions") };
        assert_eq!((window.physical, window.bytes), (DEVICE_BASE + 0xfa000, 0x4000));
        assert_eq!((host.physical, host.bytes), (0x1000_8000, 0x8000));
        for (address, bytes, rings) in [
            (0xf6ff8, 4, Some(0)),
            (0xfaff0, 16, Some(1)),
            (0xfaff0, 8, None),
            (0xf7000, 8, None),
            (0x100, 8, None),
        ] {
            assert_eq!(layout.doorbell_within(address, bytes), rings, "{address:#x}");
        }
        let text = Layout::new(70, (1 << 20, 0x10000), 0x4000, (0, 0)).unwrap_err();
        assert!(text.ends_with("at least 1220608 B are needed"), "{text}");
    }
}
