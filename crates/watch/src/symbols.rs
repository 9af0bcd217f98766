//! Names of addresses, of a process's program and of the kernel under it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use chasqui_abi::kernel;
use chasqui_linux::Elf;

/// The images whose code a hart may execute.
#[derive(Clone)]
pub struct Symbols {
    program: Arc<Elf>,
    kernel: Option<Arc<Elf>>,
}

impl Symbols {
    /// Those of a process of `program`, with `kernel` under it.
    pub fn new(program: Arc<Elf>, kernel: Option<Arc<Elf>>) -> Symbols {
        Symbols { program, kernel }
    }

    /// The image that `address` belongs to: the kernel has the upper half.
    fn image(&self, address: u64) -> &Elf {
        self.kernel.as_ref().filter(|_| address >= kernel::DIRECT).unwrap_or(&self.program)
    }

    /// Address of the program's first instruction.
    pub fn entry(&self) -> u64 {
        self.program.entry()
    }

    /// The function or object that holds `address`, and the offset in it [bytes].
    pub fn symbolize(&self, address: u64) -> Option<(&str, u64)> {
        self.image(address).symbolize(address)
    }

    /// The addresses of the symbol that holds `address`.
    pub fn extent(&self, address: u64) -> Option<Range<u64>> {
        self.image(address).extent(address)
    }

    /// `address` with its symbol.
    pub fn place(&self, address: u64) -> String {
        match self.symbolize(address) {
            Some(symbol) => format!("{address:#x} ({})", Named(symbol)),
            None => format!("{address:#x}"),
        }
    }

    /// The address that a call returns to, with the symbol of the call: that of a function which never returns may be
    /// the last instruction of its own function.
    pub fn caller(&self, return_address: u64) -> String {
        match return_address.checked_sub(1).and_then(|call| self.symbolize(call)) {
            Some((name, offset)) => format!("{return_address:#x} ({})", Named((name, offset + 1))),
            None => format!("{return_address:#x}"),
        }
    }
}

/// A symbol and the offset in it.
pub struct Named<'a>(pub (&'a str, u64));

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            (name, 0) => write!(f, "{name}"),
            (name, offset) => write!(f, "{name}+{offset:#x}"),
        }
    }
}
