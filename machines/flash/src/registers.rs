//! What the MPI device and programs know of the machine: that it is this one, and the registers of its controllers
//! ([`chasqui_directory::registers`]).

use chasqui_abi::header::{DeviceHeader, INCLUDE_ABI, defines};

chasqui_abi::guest_constants! {
    /// Number by which MPI_Init picks this device.
    pub const DEVICE: u64 = 12;
    /// Number by which MPI_Init picks the device of long messages by block transfer.
    pub const TRANSFER_DEVICE: u64 = 14;
    /// Region of the controllers' registers.
    pub const REGION_REGISTERS: u64 = 0;
}

/// `registers.h`.
pub static HEADER: DeviceHeader = DeviceHeader::new("FLASH", "machines/flash/src/registers.rs", body);

fn body() -> String {
    let transfers = defines("FLASH_", chasqui_directory::registers::CONSTANTS);
    [INCLUDE_ABI.into(), defines("FLASH_", CONSTANTS), transfers].join("\n")
}
