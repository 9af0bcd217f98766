//! What the host's software and the card agree on.

use chasqui_abi::header::{DeviceHeader, INCLUDE_ABI, defines};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks this device.
    pub const DEVICE: u64 = 7;

    /// Region: the process's window of the card's memory, uncached.
    pub const REGION_WINDOW: u64 = 0;
    /// Region: the process's memory on the host that the card writes.
    pub const REGION_HOST: u64 = 1;

    /// Offset in the window of its doorbell: a store to it, of whatever, is an event of the network processor's.
    pub const DOORBELL: u64 = 4088;

    /// Setting: bytes of the window.
    pub const SETTING_WINDOW_BYTES: u64 = 0;
    /// Setting: bytes of the memory on the host.
    pub const SETTING_HOST_BYTES: u64 = 1;
}

/// `registers.h`.
pub static HEADER: DeviceHeader = DeviceHeader::new("MPINP", "machines/mpinp/src/registers.rs", body);

fn body() -> String {
    [INCLUDE_ABI.into(), defines("MPINP_", CONSTANTS)].join("\n")
}
