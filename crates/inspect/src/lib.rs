//! What a compiled file asks of the MPI library and of Linux, found without running it: ELF objects,
//! archives, executables and shared libraries, of RISC-V and of other processors.
//!
//! Reading order: this file (what is reported), `uses.rs` (objects, by their relocations), `code.rs`
//! (linked RISC-V programs, by their instructions), `system_calls.rs`.

use std::collections::BTreeSet;
use std::path::Path;

use object::read::archive::ArchiveFile;
use object::{Architecture, Object, ObjectKind, ObjectSymbol};
use serde::Serialize;

mod code;
#[cfg(test)]
mod damaged;
mod flow;
mod system_calls;
mod uses;

pub use system_calls::SystemCall;

/// What is said of one file.
#[derive(Debug, Serialize)]
pub struct Report {
    /// `object`, `archive`, `executable` or `shared library`.
    pub kind: &'static str,
    /// One for every member of an archive, else one.
    pub parts: Vec<Part>,
}

/// What is said of one object, or of a linked program.
#[derive(Debug, Serialize)]
pub struct Part {
    /// Name of the archive's member.
    pub member: Option<String>,
    /// The processor: `riscv64`, `x86_64`, …
    pub machine: String,
    /// Names of MPI that are used and, in what is not linked yet, not defined here.
    pub uses: Vec<Use>,
    /// Names of MPI that are defined here.
    pub defined: Vec<String>,
    /// What the program asks of Linux; none where it is not known: all but static RISC-V programs.
    pub system_calls: Option<Vec<SystemCall>>,
}

/// A name that is used.
#[derive(Debug, Serialize)]
pub struct Use {
    /// As the linker sees it: `MPI_Send`, `mpi_send_`.
    pub name: String,
    /// Where; empty if the file does not say.
    pub places: Vec<Place>,
}

/// Where something is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The function.
    pub function: String,
    /// Distance from its beginning [bytes].
    pub offset: u64,
    /// `file:line`, where the file has debugging information.
    pub line: Option<String>,
    /// Whether the function may be called at all; true where that is not known.
    pub reached: bool,
}

/// Reads the file at `path`.
///
/// # Errors
/// A sentence that says what the file is, where that is nothing of use.
pub fn inspect(path: &Path) -> Result<Report, String> {
    let fail = |why: String| format!("{}: {why}", path.display());
    let bytes = chasqui_files::read(path).map_err(|why| fail(format!("cannot be read: {why}")))?;
    report(&bytes).map_err(fail)
}

/// All names of the functions that a linked RISC-V program calls by name, or jumps to, from another function. That others
/// are functions at all it does not say: their addresses may be taken.
///
/// # Errors
/// Why the program can't be read.
pub fn called(path: &Path) -> Result<Vec<String>, String> {
    let fail = |why: String| format!("{}: {why}", path.display());
    let bytes = chasqui_files::read(path).map_err(|why| fail(format!("cannot be read: {why}")))?;
    let program = parse(&bytes).and_then(|file| code::Program::read(&file)).map_err(fail)?;
    let gone = program.edges().filter(|(from, edge)| edge.goes && edge.to != *from).map(|(_, edge)| edge.to);
    let gone: BTreeSet<usize> = gone.collect();
    Ok(gone.into_iter().flat_map(|function| program.functions[function].names.iter().cloned()).collect())
}

fn report(bytes: &[u8]) -> Result<Report, String> {
    if bytes.starts_with(b"!<thin>\n") {
        return Err("is a thin archive, which only names its objects: give those".into());
    }
    if bytes.starts_with(b"!<arch>\n") {
        return Ok(Report { kind: "archive", parts: members(bytes)? });
    }
    let file = parse(bytes)?;
    let kind = match file.kind() {
        ObjectKind::Relocatable => "object",
        ObjectKind::Executable => "executable",
        // Position-independent executables are `ET_DYN` too; an entry tells them apart.
        ObjectKind::Dynamic if file.entry() != 0 => "executable",
        ObjectKind::Dynamic => "shared library",
        _ => return Err("is neither a program nor an object".into()),
    };
    Ok(Report { kind, parts: vec![part(&file, None)?] })
}

fn members(bytes: &[u8]) -> Result<Vec<Part>, String> {
    let damaged = |why: object::Error| format!("is a damaged archive: {why}");
    let mut parts = Vec::new();
    for member in ArchiveFile::parse(bytes).map_err(damaged)?.members() {
        let member = member.map_err(damaged)?;
        let content = member.data(bytes).map_err(damaged)?;
        // Archives may hold anything; what is no object asks for nothing.
        let Ok(file) = parse(content) else { continue };
        parts.push(part(&file, Some(String::from_utf8_lossy(member.name()).into_owned()))?);
    }
    Ok(parts)
}

fn parse(bytes: &[u8]) -> Result<object::File<'_>, String> {
    if bytes.starts_with(b"BC\xc0\xde") {
        return Err("is LLVM bitcode: compile without -flto".into());
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Err("is not an ELF file".into());
    }
    object::File::parse(bytes).map_err(|why| format!("is a damaged ELF file: {why}"))
}

fn part(file: &object::File, member: Option<String>) -> Result<Part, String> {
    let machine = format!("{:?}", file.architecture()).to_lowercase();
    let defined = defined(file);
    let linked = file.kind() != ObjectKind::Relocatable;
    let (uses, system_calls) = if !linked {
        (uses::of_object(file), None)
    } else if is_dynamic(file) {
        (uses::of_dynamic(file), None)
    } else if file.architecture() == Architecture::Riscv64 {
        let program = code::Program::read(file)?;
        (uses::of_program(file, &program), Some(system_calls::of(&program)))
    } else {
        // Which of the linked functions are called, only a disassembler for it could tell.
        (defined.iter().map(|name| Use { name: name.clone(), places: vec![] }).collect(), None)
    };
    Ok(Part { member, machine, uses, defined, system_calls })
}

/// Whether something is left to the run-time linker.
fn is_dynamic(file: &object::File) -> bool {
    file.dynamic_symbols().any(|symbol| symbol.is_undefined())
}

/// The public names that are defined.
fn defined(file: &object::File) -> Vec<String> {
    let table = file.symbol_table().is_some();
    let symbols = if table { file.symbols() } else { file.dynamic_symbols() };
    let mut names: Vec<String> = symbols
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| is_mpi(name))
        .map(String::from)
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Whether a linker's name belongs to MPI: `MPI_Send`, `PMPI_Send`, Fortran's `mpi_send_`, and what C++
/// makes of `MPI::`.
fn is_mpi(name: &str) -> bool {
    if name.starts_with("_ZN3MPI") || name.starts_with("_ZNK3MPI") {
        return true;
    }
    let plain = name.strip_prefix(['P', 'p']).unwrap_or(name);
    let c = plain.strip_prefix("MPI_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    let fortran = plain.starts_with("mpi_") && plain.ends_with('_');
    c || fortran
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mpi_are_told_from_others() {
        for name in
            ["MPI_Send", "PMPI_Send", "mpi_send_", "pmpi_send__", "_ZN3MPI4InitEv", "_ZNK3MPI4Comm3DupEv"]
        {
            assert!(is_mpi(name), "{name}");
        }
        for name in ["MPI_", "mpi_arrived", "MPID_Init", "chq_progress", "printf", "MPIX_Query", "P", ""] {
            assert!(!is_mpi(name), "{name}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused_by_name() {
        for (bytes, found) in [
            (&b""[..], "not an ELF file"),
            (b"#!/bin/sh\n", "not an ELF file"),
            (b"\x7fELF", "damaged ELF file"),
            (b"!<thin>\n", "thin archive"),
            (b"BC\xc0\xde1234", "bitcode"),
        ] {
            let error = report(bytes).unwrap_err();
            assert!(error.contains(found), "{error}");
        }
    }
}
