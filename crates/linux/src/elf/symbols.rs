//! From an address to the function that holds it.

use std::ops::Range;

use object::LittleEndian as LE;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, Sym};

struct Symbol {
    address: u64,
    /// Length [bytes]; 0: up to the next symbol.
    bytes: u64,
    /// Where in the file its name is.
    name: Range<usize>,
    /// Which of two at one address is the better name (higher).
    rank: u8,
}

/// Functions, objects and labels, sorted by address; names stay in the file's bytes.
#[derive(Default)]
pub struct Symbols(Vec<Symbol>);

impl Symbols {
    /// The symbols of the file; none when it is stripped or its tables are damaged.
    pub fn read(header: &FileHeader64<LE>, bytes: &[u8], bias: u64) -> Symbols {
        let mut symbols = Vec::new();
        let Ok(sections) = header.sections(LE, bytes) else { return Symbols::default() };
        let table = match sections.symbols(LE, bytes, elf::SHT_SYMTAB) {
            Ok(table) if !table.is_empty() => table,
            _ => match sections.symbols(LE, bytes, elf::SHT_DYNSYM) {
                Ok(table) => table,
                Err(_) => return Symbols::default(),
            },
        };
        for symbol in table.iter() {
            let Ok(name) = table.symbol_name(LE, symbol) else { continue };
            let kind = symbol.st_type();
            let named =
                matches!(kind, elf::STT_FUNC | elf::STT_OBJECT | elf::STT_NOTYPE | elf::STT_GNU_IFUNC);
            // `$x`, `$d` are mapping symbols (psABI), `.L` local labels.
            let mapping = name.is_empty() || name.starts_with(b"$") || name.starts_with(b".L");
            if !named || mapping || symbol.is_undefined(LE) || symbol.is_absolute(LE) {
                continue;
            }
            let start = name.as_ptr() as usize - bytes.as_ptr() as usize;
            let rank = u8::from(kind != elf::STT_NOTYPE) * 4
                + u8::from(symbol.st_bind() == elf::STB_GLOBAL) * 2
                + u8::from(symbol.st_bind() == elf::STB_WEAK);
            let address = symbol.st_value(LE).wrapping_add(bias);
            symbols.push(Symbol {
                address,
                bytes: symbol.st_size(LE),
                name: start..start + name.len(),
                rank,
            });
        }
        symbols.sort_by_key(|s| (s.address, s.rank, std::cmp::Reverse(s.name.start)));
        Symbols(symbols)
    }

    /// The symbol that holds `address`, and the offset in it.
    pub fn find<'a>(&self, file: &'a [u8], address: u64) -> Option<(&'a str, u64)> {
        let symbol = self.around(address)?;
        Some((name(file, symbol)?, address - symbol.address))
    }

    /// The addresses of the symbol that holds `address`.
    pub fn extent(&self, address: u64) -> Option<Range<u64>> {
        let symbol = self.around(address)?;
        let end = match symbol.bytes {
            0 => self.0.get(self.0.partition_point(|s| s.address <= address)).map_or(u64::MAX, |s| s.address),
            bytes => symbol.address + bytes,
        };
        Some(symbol.address..end)
    }

    fn around(&self, address: u64) -> Option<&Symbol> {
        let after = self.0.partition_point(|s| s.address <= address);
        // A label or a smaller function inside a larger one may come between: look a few back.
        let mut near = self.0[..after].iter().rev().take(8);
        let around = near.find(|s| address - s.address < s.bytes);
        around.or_else(|| self.0[..after].last().filter(|s| s.bytes == 0))
    }

    /// Address of the symbol called `wanted`.
    pub fn address(&self, file: &[u8], wanted: &str) -> Option<u64> {
        self.0.iter().find(|s| name(file, s) == Some(wanted)).map(|s| s.address)
    }
}

fn name<'a>(file: &'a [u8], symbol: &Symbol) -> Option<&'a str> {
    std::str::from_utf8(file.get(symbol.name.clone())?).ok()
}
