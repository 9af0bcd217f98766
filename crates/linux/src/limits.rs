//! Resource limits of a process.

// Linux include/uapi/asm-generic/resource.h.
const STACK: usize = 3;
const NOFILE: usize = 7;
const LIMITS: usize = 16;
const INFINITY: u64 = u64::MAX;

/// The soft and hard limits of a process.
pub(crate) struct Limits(pub [[u64; 2]; LIMITS]);

impl Limits {
    /// What a process begins with.
    pub fn new(stack_bytes: u64) -> Limits {
        let mut limits = [[INFINITY; 2]; LIMITS];
        limits[STACK][0] = stack_bytes;
        limits[NOFILE] = [1024, 4096];
        Limits(limits)
    }

    /// Descriptors that may be open.
    pub fn files(&self) -> u64 {
        self.0[NOFILE][0]
    }
}
