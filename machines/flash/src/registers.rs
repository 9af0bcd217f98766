//! What the MPI device knows of the machine: that it is this one. There are no registers.

use chasqui_abi::header::{DeviceHeader, INCLUDE_ABI, defines};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks this device.
    pub const DEVICE: u64 = 12;
}

/// `registers.h`.
pub static HEADER: DeviceHeader = DeviceHeader::new("FLASH", "machines/flash/src/registers.rs", body);

fn body() -> String {
    [INCLUDE_ABI.into(), defines("FLASH_", CONSTANTS)].join("\n")
}
