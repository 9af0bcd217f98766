//! Names of addresses, of a process's program and of the kernel under it.

use std::fmt::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use chasqui_abi::kernel;
use chasqui_linux::{Elf, SourceFunction};

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

    /// The registers of the caller of the function that holds `address` and has `x` in them ([`Elf::caller`]).
    pub fn caller_of(
        &self,
        address: u64,
        x: &[u64; 32],
        read: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Option<[u64; 32]> {
        self.image(address).caller(address, x, read)
    }

    /// `address` with its symbol and, where the program has debugging information of it, its line.
    pub fn place(&self, address: u64) -> String {
        self.place_of(address, address)
    }

    /// The address that a call returns to, with symbol and line of the call: that of a function which never returns may be
    /// the last instruction of its own function.
    pub fn caller(&self, return_address: u64) -> String {
        self.place_of(return_address, return_address.saturating_sub(1))
    }

    /// `address`, with the symbol and the line of the instruction that holds `within`.
    fn place_of(&self, address: u64, within: u64) -> String {
        let Some((name, offset)) = self.symbolize(within) else { return format!("{address:#x}") };
        let named = Named((name, offset + (address - within)));
        // The last function is the one that has the symbol.
        let functions = self.image(within).functions(within);
        let [inner @ .., outer] = &functions[..] else {
            return match self.image(within).line(within) {
                Some(line) => format!("{address:#x} ({named}, {line})"),
                None => format!("{address:#x} ({named})"),
            };
        };
        let line = |function: &SourceFunction| {
            function.line.as_ref().map_or(String::new(), |line| format!(", {line}"))
        };
        let mut text = format!("{address:#x} (");
        for each in inner {
            let _ = write!(text, "{}{}, inlined in ", each.name, line(each));
        }
        text + &format!("{named}{})", line(outer))
    }
}

/// A symbol and the offset in it.
pub struct Named<'a>(pub (&'a str, u64));

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A program may have symbols of any characters, which come to a terminal.
        let (name, offset) = self.0;
        for c in name.chars() {
            f.write_char(if c.is_control() { '\u{fffd}' } else { c })?;
        }
        if offset == 0 { Ok(()) } else { write!(f, "+{offset:#x}") }
    }
}
