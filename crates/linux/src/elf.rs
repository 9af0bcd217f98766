//! Executable files: what is accepted, and why the rest is not.
//!
//! Layout and names: System V gABI, "Object Files"; RISC-V ELF psABI, chapters "ELF Object Files"
//! and "Attributes". The `object` crate reads the structures; the checks are here.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use chasqui_dwarf::{REGISTERS, SourceFunction};
use chasqui_memory::FlatMemory;
use object::LittleEndian as LE;
use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader};

use crate::elf::debug::Debug;
use crate::elf::symbols::Symbols;

mod debug;
mod extensions;
mod library;
mod symbols;

/// First address that no segment may reach; above lie `mmap` areas and the stack.
pub const IMAGE_END: u64 = 0x38_0000_0000;
/// Lowest address that a segment may have: a null pointer must fault
/// (Linux: `vm.mmap_min_addr`, here one page).
pub const IMAGE_START: u64 = 0x1000;
/// Where a static position-independent executable goes: two thirds of the user address space, as
/// `ELF_ET_DYN_BASE` in Linux `arch/riscv/include/asm/elf.h`.
pub const PIE_BASE: u64 = 0x2a_aaaa_a000;

const HEADER_BYTES: usize = size_of::<FileHeader64<LE>>();
const WANTED: &str = "a statically linked 64-bit RISC-V Linux program is needed: compile with `chasqui cc`";

/// Why a file cannot be run: which file, what was found, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfError {
    /// The file.
    pub file: String,
    /// What was found.
    pub found: String,
    /// What is allowed, or what to do.
    pub allowed: String,
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.file, self.found, self.allowed)
    }
}

impl std::error::Error for ElfError {}

/// A part of the file that is mapped into memory (`PT_LOAD`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address of its first byte, load bias included.
    pub address: u64,
    /// Length in memory [bytes]; what the file does not give is zero.
    pub memory_bytes: u64,
    /// Where in the file it begins [bytes].
    pub file_offset: u64,
    /// Length in the file [bytes].
    pub file_bytes: u64,
    /// May be read.
    pub read: bool,
    /// May be written.
    pub write: bool,
    /// May be executed.
    pub execute: bool,
}

impl Segment {
    fn range(&self) -> Range<u64> {
        self.address..self.address + self.memory_bytes
    }
}

/// An executable that passed all checks. Ranks share one.
pub struct Elf {
    /// Base name of the file.
    name: String,
    bytes: Arc<[u8]>,
    segments: Vec<Segment>,
    entry: u64,
    header_address: u64,
    header_count: u64,
    executable_stack: bool,
    symbols: Symbols,
    missing_extensions: Vec<String>,
    /// What is added to the file's addresses.
    bias: u64,
    /// Where the file's headers end, if they are at its beginning [bytes].
    headers_end: usize,
    /// Read when it is first asked for: after a fault, or a deadlock.
    debug: OnceLock<Debug>,
}

impl Elf {
    /// Reads and checks the file at `path`, which must be marked executable.
    ///
    /// # Errors
    /// One message that names the file, what was found and what is allowed.
    pub fn load(path: &Path) -> Result<Elf, ElfError> {
        Elf::load_within(path, IMAGE_START..IMAGE_END)
    }

    /// The same of a file whose segments lie `within` these addresses.
    ///
    /// # Errors
    /// As for [`Elf::load`].
    pub fn load_within(path: &Path, within: Range<u64>) -> Result<Elf, ElfError> {
        let file = path.display().to_string();
        let error =
            |found: String, allowed: &str| ElfError { file: file.clone(), found, allowed: allowed.into() };
        let unreadable = |why: std::io::Error| match why.kind() {
            std::io::ErrorKind::NotFound => error("no such file".into(), "give the path of a program"),
            _ => error(format!("cannot be read: {why}"), "a readable program file is needed"),
        };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(error("is a directory".into(), "give the path of a program"));
        }
        let bytes = chasqui_files::read(path).map_err(unreadable)?;
        let elf = Elf::parse_within(&file, bytes, within)?;
        #[cfg(unix)]
        if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 == 0 {
            return Err(error("is not marked executable".into(), "run `chmod +x` on it"));
        }
        Ok(elf)
    }

    /// Checks `bytes`, the contents of `file`.
    ///
    /// # Errors
    /// As for [`Elf::load`].
    pub fn parse(file: &str, bytes: Vec<u8>) -> Result<Elf, ElfError> {
        Elf::parse_within(file, bytes, IMAGE_START..IMAGE_END)
    }

    /// Checks `bytes`, the contents of `file`, whose segments lie `within` these addresses.
    ///
    /// # Errors
    /// As for [`Elf::load`].
    pub fn parse_within(file: &str, bytes: Vec<u8>, within: Range<u64>) -> Result<Elf, ElfError> {
        let check = Check { file, bytes: &bytes, within };
        let header = check.header()?;
        let headers = header.program_headers(LE, &bytes[..]).map_err(|_| {
            check.truncated(&format!("the program headers at byte {}", header.e_phoff.get(LE)), bytes.len())
        })?;
        check.is_static(header, headers)?;
        let bias = if header.e_type.get(LE) == elf::ET_DYN { PIE_BASE } else { 0 };
        let segments = check.segments(headers, bias)?;
        let entry = check.entry(header, bias, &segments)?;
        // Linux `load_elf_binary`: the headers are where the segment that holds them puts them.
        let offset = header.e_phoff.get(LE);
        let header_address = segments
            .iter()
            .find(|s| offset >= s.file_offset && offset - s.file_offset < s.file_bytes)
            .map_or(0, |s| s.address + (offset - s.file_offset));
        let stack = headers.iter().find(|h| h.p_type(LE) == elf::PT_GNU_STACK);
        let name = Path::new(file).file_name().map_or(file.to_string(), |n| n.to_string_lossy().into_owned());
        Ok(Elf {
            name,
            entry,
            header_address,
            header_count: headers.len() as u64,
            executable_stack: stack.is_some_and(|h| h.p_flags.get(LE) & elf::PF_X == elf::PF_X),
            symbols: Symbols::read(header, &bytes, bias),
            missing_extensions: extensions::missing(header, &bytes),
            bias,
            headers_end: HEADER_BYTES + if offset == HEADER_BYTES as u64 { size_of_val(headers) } else { 0 },
            debug: OnceLock::new(),
            segments,
            bytes: bytes.into(),
        })
    }

    /// Base name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole file.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// The loadable segments by address; they do not overlap.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Address of the first instruction.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Address of the program headers in memory (`AT_PHDR`), 0 when they are not loaded.
    pub fn header_address(&self) -> u64 {
        self.header_address
    }

    /// Number of program headers (`AT_PHNUM`).
    pub fn header_count(&self) -> u64 {
        self.header_count
    }

    /// The addresses of the code that can't be written to: that of the first such segment.
    pub fn text(&self) -> Option<Range<u64>> {
        let text = self.segments.iter().find(|s| s.execute && !s.write)?;
        Some(text.address..text.address + text.file_bytes)
    }

    /// Whether the program asks for an executable stack (`PT_GNU_STACK`).
    pub fn executable_stack(&self) -> bool {
        self.executable_stack
    }

    /// First address after the last segment.
    pub fn end(&self) -> u64 {
        self.segments.iter().map(|s| s.range().end).max().unwrap_or(0)
    }

    /// Extensions which the file's attributes name and the hart lacks. The program may still run:
    /// attributes are the union over all functions, used or not.
    pub fn missing_extensions(&self) -> &[String] {
        &self.missing_extensions
    }

    /// Copies the segments into `memory`, of which `physical` is the program's: its virtual address `address` is the first
    /// of that.
    ///
    /// # Errors
    /// A segment does not lie there.
    pub fn place(&self, memory: &mut FlatMemory, address: u64, physical: Range<u64>) -> Result<(), String> {
        let end = address + (physical.end - physical.start);
        for segment in &self.segments {
            let range = segment.range();
            if range.start < address || range.end > end {
                return Err(format!(
                    "{} has a segment of {} bytes at {:#x}; its memory is {address:#x} to {end:#x}",
                    self.name, segment.memory_bytes, segment.address
                ));
            }
            let (from, bytes) = (segment.file_offset as usize, segment.file_bytes as usize);
            let to = physical.start + (range.start - address);
            let to = memory.slice_mut(to, bytes).expect("the program's memory");
            to.copy_from_slice(&self.bytes[from..from + bytes]);
        }
        Ok(())
    }

    /// The function or object that holds `address`, and the offset in it [bytes].
    pub fn symbolize(&self, address: u64) -> Option<(&str, u64)> {
        self.symbols.find(&self.bytes, address)
    }

    /// The addresses of the symbol that holds `address`.
    pub fn extent(&self, address: u64) -> Option<Range<u64>> {
        self.symbols.extent(address)
    }

    /// `file:line` of the instruction at `address`, if the program has debugging information of it.
    pub fn line(&self, address: u64) -> Option<String> {
        self.debug().lines.at(address.checked_sub(self.bias)?)
    }

    /// The functions whose code the instruction at `address` is, the innermost first, as [`Inlined::at`] has them.
    ///
    /// [`Inlined::at`]: chasqui_dwarf::Inlined::at
    pub fn functions(&self, address: u64) -> Vec<SourceFunction> {
        let Some(address) = address.checked_sub(self.bias) else { return vec![] };
        self.debug().functions(&self.bytes, address)
    }

    /// The registers of the caller of the function that holds `address` and has `x` in them: see [`Frames::caller`].
    ///
    /// [`Frames::caller`]: chasqui_dwarf::Frames::caller
    pub fn caller(
        &self,
        address: u64,
        x: &[u64; REGISTERS],
        read: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Option<[u64; REGISTERS]> {
        self.debug().frames.caller(address.checked_sub(self.bias)?, x, read)
    }

    fn debug(&self) -> &Debug {
        self.debug.get_or_init(|| Debug::read(&self.bytes))
    }

    /// Fills `to` with what the file puts at `address`. False: it puts nothing there.
    pub fn read(&self, address: u64, to: &mut [u8]) -> bool {
        let from = self.segments.iter().find_map(|segment| {
            let at = address.checked_sub(segment.address)?;
            let end = at.checked_add(to.len() as u64)?;
            (end <= segment.file_bytes).then_some((segment.file_offset + at) as usize)
        });
        let bytes = from.and_then(|from| self.bytes.get(from..from + to.len()));
        bytes.map(|bytes| to.copy_from_slice(bytes)).is_some()
    }

    /// A number that tells programs apart by what of them is loaded, and where it begins: symbols and debugging information
    /// make no difference (FNV-1a, 64 bits).
    pub fn fingerprint(&self) -> u64 {
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let mut hash = self.entry.to_le_bytes().into_iter().fold(0xcbf2_9ce4_8422_2325, fnv);
        for segment in &self.segments {
            let Segment { address, memory_bytes, file_offset, file_bytes, read, write, execute } = *segment;
            let head = [address, memory_bytes, file_bytes, read.into(), write.into(), execute.into()];
            hash = head.into_iter().flat_map(u64::to_le_bytes).fold(hash, fnv);
            // The file's headers say where its sections are, which makes no difference to the program.
            let (from, end) = (file_offset as usize, (file_offset + file_bytes) as usize);
            let contents = &self.bytes[from.max(self.headers_end).min(end)..end];
            hash = contents.iter().copied().fold(hash, fnv);
        }
        hash
    }

    /// What tells this file from every other: SHA-256 of all of it, as `sha256sum` prints it.
    pub fn sha256(&self) -> String {
        chasqui_files::Sha256::of(&self.bytes)
    }

    /// The same of the `libmpi.a` that it was linked with, which the linker noted in it; `None`: nothing is noted.
    pub fn linked_with(&self) -> Option<String> {
        library::noted(&self.bytes)
    }

    /// Address of the symbol called `name`.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.address(&self.bytes, name)
    }
}

struct Check<'a> {
    file: &'a str,
    bytes: &'a [u8],
    /// Where segments may lie.
    within: Range<u64>,
}

impl Check<'_> {
    fn error(&self, found: impl Into<String>, allowed: impl Into<String>) -> ElfError {
        ElfError { file: self.file.into(), found: found.into(), allowed: allowed.into() }
    }

    fn truncated(&self, what: &str, bytes: usize) -> ElfError {
        self.error(
            format!("is truncated or damaged: {what} do not lie within its {bytes} bytes"),
            "a complete file is needed",
        )
    }

    /// The header, when the file is one that could run at all.
    fn header(&self) -> Result<&FileHeader64<LE>, ElfError> {
        let bytes = self.bytes;
        let found = match bytes {
            [] => "is empty",
            [0x7f, b'E', b'L', b'F', ..] => "",
            [b'#', b'!', ..] => "is a script, not an ELF file",
            [b'!', b'<', b'a', b'r', b'c', b'h', ..] => "is a library archive, not an ELF file",
            [b'M', b'Z', ..] => "is a Windows program, not an ELF file",
            [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] => "is a macOS program, not an ELF file",
            _ => "is not an ELF file",
        };
        if !found.is_empty() {
            return Err(self.error(found, WANTED));
        }
        if bytes.len() < 20 {
            return Err(self.truncated("the ELF header's 64 bytes", bytes.len()));
        }
        // e_machine is at byte 18 in 32- and 64-bit files alike.
        let little = bytes[5] == elf::ELFDATA2LSB.0;
        let pair = [bytes[18], bytes[19]];
        let machine = if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
        let class = match elf::FileClass(bytes[4]) {
            elf::ELFCLASS32 => "32-bit",
            elf::ELFCLASS64 => "64-bit",
            _ => return Err(self.error(format!("has ELF class {}", bytes[4]), WANTED)),
        };
        let order = if little { "" } else { "big-endian " };
        let right = class == "64-bit" && little && elf::Machine(machine) == elf::EM_RISCV;
        if !right {
            return Err(self.error(format!("is a {class} {order}{} ELF file", machine_name(machine)), WANTED));
        }
        if bytes.len() < HEADER_BYTES {
            return Err(self.truncated("the ELF header's 64 bytes", bytes.len()));
        }
        FileHeader64::<LE>::parse(bytes)
            .map_err(|why| self.error(format!("has a bad ELF header: {why}"), WANTED))
    }

    /// Refuses what is not an executable, and executables that need others at run time.
    fn is_static(&self, header: &FileHeader64<LE>, headers: &[ProgramHeader64<LE>]) -> Result<(), ElfError> {
        let kind = header.e_type.get(LE);
        match kind {
            elf::ET_EXEC | elf::ET_DYN => (),
            elf::ET_REL => return Err(self.error("is an object file, not linked yet", WANTED)),
            elf::ET_CORE => return Err(self.error("is a core dump", WANTED)),
            _ => return Err(self.error(format!("has ELF type {}", kind.0), WANTED)),
        }
        let flags = header.e_flags.get(LE);
        if flags & elf::EF_RISCV_RVE == elf::EF_RISCV_RVE {
            return Err(self.error("uses the RVE register set", "RV64I with 32 registers is needed"));
        }
        if headers.is_empty() {
            return Err(self.error("has no program headers", WANTED));
        }
        for header in headers {
            if let Some(path) = header.interpreter(LE, self.bytes).map_err(|_| self.segment_beyond(header))? {
                let path = String::from_utf8_lossy(path);
                return Err(
                    self.error(format!("is dynamically linked (it asks for {path})"), "link with -static")
                );
            }
            let dynamic = header.dynamic(LE, self.bytes).map_err(|_| self.segment_beyond(header))?;
            if dynamic.is_some_and(|all| all.iter().any(|d| d.d_tag.get(LE) == elf::DT_NEEDED)) {
                return Err(self.error("needs shared libraries", "link with -static"));
            }
        }
        Ok(())
    }

    fn segment_beyond(&self, header: &ProgramHeader64<LE>) -> ElfError {
        let (offset, bytes) = header.file_range(LE);
        self.truncated(&format!("the {bytes} bytes of a segment at byte {offset}"), self.bytes.len())
    }

    fn segments(&self, headers: &[ProgramHeader64<LE>], bias: u64) -> Result<Vec<Segment>, ElfError> {
        let mut segments = Vec::new();
        for header in headers.iter().filter(|h| h.p_type(LE) == elf::PT_LOAD && h.p_memsz(LE) != 0) {
            segments.push(self.segment(header, bias)?);
        }
        segments.sort_by_key(|s| s.address);
        if segments.is_empty() {
            return Err(self.error("has no loadable segments", WANTED));
        }
        for pair in segments.windows(2) {
            let [a, b] = pair else { unreachable!("windows of 2") };
            let (from, to) = (a.range(), b.range());
            let found = if from.end > to.start {
                "overlap"
            } else if self.is_hidden(a, b) {
                "share a page with different contents"
            } else {
                continue;
            };
            return Err(self.error(
                format!(
                    "segments {:#x}..{:#x} and {:#x}..{:#x} {found}",
                    from.start, from.end, to.start, to.end
                ),
                "each segment needs pages of its own",
            ));
        }
        Ok(segments)
    }

    /// A page comes from one place in the file: where segment `b` begins in the last page of `a`, it hides what `a` has there,
    /// unless the file has the same at both places. (Between segments of which one is aligned to more than a page, a linker
    /// leaves zeros.)
    fn is_hidden(&self, a: &Segment, b: &Segment) -> bool {
        // One place in the file for both.
        let is_same = a.address.wrapping_sub(a.file_offset) == b.address.wrapping_sub(b.file_offset);
        if is_same && a.memory_bytes == a.file_bytes {
            return false;
        }
        let page = b.address / 4096 * 4096;
        let file_end = a.address + a.file_bytes;
        (a.address.max(page)..a.range().end).any(|address| {
            let of_a = if address < file_end { a.file_offset + (address - a.address) } else { u64::MAX };
            // A segment with nothing in the file has pages of zeros.
            let of_b = if b.file_bytes > 0 { b.file_offset - (b.address - address) } else { u64::MAX };
            let byte =
                |at: u64| usize::try_from(at).ok().and_then(|at| self.bytes.get(at)).copied().unwrap_or(0);
            of_a != of_b && byte(of_a) != byte(of_b)
        })
    }

    fn segment(&self, header: &ProgramHeader64<LE>, bias: u64) -> Result<Segment, ElfError> {
        let (file_offset, file_bytes) = header.file_range(LE);
        let (address, memory_bytes) = (header.p_vaddr(LE), header.p_memsz(LE));
        if file_offset.checked_add(file_bytes).is_none_or(|end| end > self.bytes.len() as u64) {
            return Err(self.segment_beyond(header));
        }
        if file_bytes > memory_bytes {
            return Err(self.error(
                format!("a segment has {file_bytes} bytes in the file and {memory_bytes} in memory"),
                "the memory size must not be smaller",
            ));
        }
        let start = address.checked_add(bias);
        let end = start.and_then(|start| start.checked_add(memory_bytes));
        let (Some(start), Some(end)) = (start, end) else {
            return Err(self.error(format!("a segment at {address:#x} wraps around"), self.bounds()));
        };
        if start < self.within.start || end > self.within.end {
            return Err(self.error(format!("a segment lies at {start:#x}..{end:#x}"), self.bounds()));
        }
        if file_offset % 4096 != address % 4096 {
            return Err(self.error(
                format!("a segment at {address:#x} begins at byte {file_offset:#x} of the file"),
                "both must agree modulo 4096",
            ));
        }
        let flags = header.p_flags.get(LE);
        let has = |flag: elf::ProgramFlags| flags & flag == flag;
        let (read, write, execute) = (has(elf::PF_R), has(elf::PF_W), has(elf::PF_X));
        Ok(Segment { address: start, memory_bytes, file_offset, file_bytes, read, write, execute })
    }

    fn bounds(&self) -> String {
        format!("segments lie between {:#x} and {:#x}", self.within.start, self.within.end)
    }

    fn entry(&self, header: &FileHeader64<LE>, bias: u64, segments: &[Segment]) -> Result<u64, ElfError> {
        let entry = header.e_entry.get(LE).wrapping_add(bias);
        let inside = segments.iter().any(|s| s.execute && s.range().contains(&entry));
        if !inside || !entry.is_multiple_of(2) {
            return Err(self.error(
                format!("begins at {entry:#x}"),
                "the entry must be an even address in an executable segment",
            ));
        }
        Ok(entry)
    }
}

/// Names of the machines that a user is likely to have compiled for.
fn machine_name(machine: u16) -> String {
    let name = match elf::Machine(machine) {
        elf::EM_386 => "x86",
        elf::EM_X86_64 => "x86-64",
        elf::EM_ARM => "Arm",
        elf::EM_AARCH64 => "AArch64",
        elf::EM_RISCV => "RISC-V",
        elf::EM_PPC => "PowerPC",
        elf::EM_PPC64 => "PowerPC 64",
        elf::EM_S390 => "s390",
        elf::EM_MIPS => "MIPS",
        elf::EM_SPARC | elf::EM_SPARCV9 => "SPARC",
        elf::EM_LOONGARCH => "LoongArch",
        elf::EM_IA_64 => "Itanium",
        _ => return format!("machine-{machine}"),
    };
    name.into()
}
