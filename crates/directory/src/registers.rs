//! Registers by which a processor tells its controller of block transfers. Each process has a page of them; a store there
//! goes to the controller of the processor that makes it. All have 64 bits and are stored and loaded whole.

chasqui_abi::guest_constants! {
    /// Virtual address from which data are taken. A store to TRANSFER_START leaves this and all others as they are at first.
    pub const TRANSFER_SOURCE: u64 = 0x00;
    /// Virtual address to which they go.
    pub const TRANSFER_DESTINATION: u64 = 0x08;
    /// Bytes at each stride point; of a transpose: of an element.
    pub const TRANSFER_BYTES: u64 = 0x10;
    /// Stride points; of a transpose: rows of the source. At first 1.
    pub const TRANSFER_COUNT: u64 = 0x18;
    /// From a stride point to the next at the source [bytes]; of a transpose: from a row to the next there.
    pub const TRANSFER_SOURCE_STRIDE: u64 = 0x20;
    /// The same at the destination.
    pub const TRANSFER_DESTINATION_STRIDE: u64 = 0x28;
    /// Of a transpose: columns of the source.
    pub const TRANSFER_COLUMNS: u64 = 0x30;
    /// Virtual address of a word of 64 bits, aligned to 8, that is set when all data are at the destination. At first 0: none.
    pub const TRANSFER_FLAG: u64 = 0x38;
    /// What it is set to. At first 1.
    pub const TRANSFER_FLAG_VALUE: u64 = 0x40;
    /// Of a broadcast: its number, below TRANSFER_GROUPS.
    pub const TRANSFER_GROUP: u64 = 0x48;
    /// Number of the right by which TRANSFER_DESTINATION is another process's address, or which is taken back. At first 0: none.
    pub const TRANSFER_RIGHT: u64 = 0x50;
    /// Stored: the command begins; the value is one of the kinds below, with options.
    pub const TRANSFER_START: u64 = 0x58;
    /// Loaded: what became of the latest command. Of TRANSFER_GRANT the right's number, 0: no room; with TRANSFER_TRY 1, 0: no.
    pub const TRANSFER_ANSWER: u64 = 0x60;
    /// Length of the registers [bytes].
    pub const TRANSFER_REGISTERS: u64 = 0x68;

    /// A kind: data go from this node to another.
    pub const TRANSFER_SEND: u64 = 1;
    /// A kind: data come from another node to this one.
    pub const TRANSFER_RECEIVE: u64 = 2;
    /// A kind: data of the broadcast TRANSFER_GROUP that come here go to TRANSFER_DESTINATION, and on to the next node.
    pub const TRANSFER_JOIN: u64 = 3;
    /// A kind: other processes of the job may send into TRANSFER_BYTES bytes from TRANSFER_DESTINATION on, by TRANSFER_ANSWER.
    pub const TRANSFER_GRANT: u64 = 4;
    /// A kind: TRANSFER_RIGHT, which this process has given, is taken back; transfers that have begun end.
    pub const TRANSFER_REVOKE: u64 = 5;
    /// Bits of a kind.
    pub const TRANSFER_KIND: u64 = 0xf;
    /// Option: the flag is not set to TRANSFER_FLAG_VALUE, this is added to it.
    pub const TRANSFER_ADD: u64 = 0x10;
    /// Option: the element in row r and column c of the source goes to row c and column r of the destination.
    pub const TRANSFER_TRANSPOSE: u64 = 0x20;
    /// Option: to all other nodes of the source's row of the mesh.
    pub const TRANSFER_ROW: u64 = 0x40;
    /// Option: to all other nodes of its column. With TRANSFER_ROW to both.
    pub const TRANSFER_COLUMN: u64 = 0x80;
    /// Option: if the command can't be carried out, that is no fault; nothing is moved, no flag set, and TRANSFER_ANSWER is 0.
    pub const TRANSFER_TRY: u64 = 0x100;
    /// Rights that a controller has room for.
    pub const TRANSFER_GRANTS: u64 = 64;
    /// Numbers of rights are from 1 on, below this.
    pub const TRANSFER_RIGHTS: u64 = 1 << 24;
    /// Numbers of broadcasts.
    pub const TRANSFER_GROUPS: u64 = 1024;
}
