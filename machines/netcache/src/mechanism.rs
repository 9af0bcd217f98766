//! By what messages travel.

chasqui_ni::mechanisms! {
    /// By what a message travels.
    pub(crate) enum Mechanism {
        Deposit = "network-cache",
        Put = "put",
        Slot = "slot",
        RdmaWrite = "rdma-write",
        Vi = "vi",
        Stream = "stream",
    }
}
