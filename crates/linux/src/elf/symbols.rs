//! From an address to the function that holds it.

use std::ops::Range;

use object::LittleEndian as LE;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader, Sym};

struct Symbol {
    address: u64,
    /// Length [bytes]; 0: up to the next symbol, or the end of its section.
    bytes: u64,
    /// End of its section.
    limit: u64,
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
        for (index, symbol) in table.enumerate() {
            let Ok(name) = table.symbol_name(LE, symbol) else { continue };
            let kind = symbol.st_type();
            let named =
                matches!(kind, elf::STT_FUNC | elf::STT_OBJECT | elf::STT_NOTYPE | elf::STT_GNU_IFUNC);
            // `$x`, `$d` are mapping symbols (psABI), `.L` local labels.
            let mapping = name.is_empty() || name.starts_with(b"$") || name.starts_with(b".L");
            // None: it is undefined, or a number.
            let Ok(Some(section)) = table.symbol_section(LE, symbol, index) else { continue };
            let Ok(section) = sections.section(section) else { continue };
            if !named || mapping {
                continue;
            }
            let start = name.as_ptr() as usize - bytes.as_ptr() as usize;
            let rank = u8::from(kind != elf::STT_NOTYPE) * 4
                + u8::from(symbol.st_bind() == elf::STB_GLOBAL) * 2
                + u8::from(symbol.st_bind() == elf::STB_WEAK);
            let limit = section.sh_addr(LE).wrapping_add(section.sh_size(LE)).wrapping_add(bias);
            symbols.push(Symbol {
                address: symbol.st_value(LE).wrapping_add(bias),
                bytes: symbol.st_size(LE),
                limit,
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
            0 => {
                let next = self.0.get(self.0.partition_point(|s| s.address <= address));
                next.map_or(symbol.limit, |s| s.address.min(symbol.limit))
            }
            // Of a damaged file it may go beyond all addresses.
            bytes => symbol.address.saturating_add(bytes),
        };
        Some(symbol.address..end)
    }

    fn around(&self, address: u64) -> Option<&Symbol> {
        let after = self.0.partition_point(|s| s.address <= address);
        // A label or a smaller function inside a larger one may come between: look a few back.
        let mut near = self.0[..after].iter().rev().take(8);
        let around = near.find(|s| address - s.address < s.bytes);
        around.or_else(|| self.0[..after].last().filter(|s| s.bytes == 0 && address < s.limit))
    }

    /// Address of the symbol called `wanted`.
    pub fn address(&self, file: &[u8], wanted: &str) -> Option<u64> {
        self.0.iter().find(|s| name(file, s) == Some(wanted)).map(|s| s.address)
    }
}

fn name<'a>(file: &'a [u8], symbol: &Symbol) -> Option<&'a str> {
    std::str::from_utf8(file.get(symbol.name.clone())?).ok()
}
