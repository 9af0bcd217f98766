//! The functions of a linked RISC-V program, and which of them can be called.

use std::collections::{BTreeMap, VecDeque};

use chasqui_dwarf::has_code;
use chasqui_hart::{Insn, Op, decode};
use object::elf::STT_GNU_IFUNC;
use object::{Object, ObjectSection, ObjectSymbol, SymbolFlags, SymbolKind};

use crate::flow::{self, Value};

/// A program by its functions.
pub(crate) struct Program {
    /// By address; they do not overlap.
    pub functions: Vec<Function>,
    edges: Vec<Vec<Edge>>,
    /// For each function the first caller that was found; none if there is no caller.
    parents: Vec<Option<Parent>>,
    /// Whether a function is reached from where the program begins without `main`.
    start_up: Vec<bool>,
    /// The functions whose addresses lie in data.
    pub in_data: Vec<usize>,
}

/// A function.
pub(crate) struct Function {
    /// All names of its address, the plainest first.
    pub names: Vec<String>,
    /// Address of its first instruction.
    pub start: u64,
    /// Its instructions and their addresses.
    pub code: Vec<(u64, Insn)>,
}

impl Function {
    /// Its plainest name.
    pub fn name(&self) -> &str {
        &self.names[0]
    }

    /// Whether it makes a system call itself.
    pub fn has_ecall(&self) -> bool {
        self.code.iter().any(|(_, insn)| insn.op == Op::Ecall)
    }
}

/// One function leads to another: it calls it, jumps to it or takes its address.
pub(crate) struct Edge {
    /// Address of the instruction.
    pub at: u64,
    /// Index of the other function.
    pub to: usize,
    /// It goes there; else it takes the address.
    pub goes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parent {
    /// It is where the program begins, or data hold its address.
    Root,
    Function(usize),
}

impl Program {
    /// Decodes the program.
    ///
    /// # Errors
    /// A stripped program has no functions to speak of.
    pub(crate) fn read(file: &object::File) -> Result<Program, String> {
        let functions = functions(file);
        if functions.is_empty() {
            return Err("is stripped: nothing can be said without symbols (link without -s)".into());
        }
        let mut program = Program {
            functions,
            edges: Vec::new(),
            parents: Vec::new(),
            start_up: Vec::new(),
            in_data: Vec::new(),
        };
        program.edges = program.functions.iter().map(|function| program.edges_of(function)).collect();
        program.reach(file);
        Ok(program)
    }

    /// Every edge, with the function that it starts from.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (usize, &Edge)> {
        self.edges.iter().enumerate().flat_map(|(from, edges)| edges.iter().map(move |edge| (from, edge)))
    }

    /// Whether a function may be called at all.
    pub(crate) fn reached(&self, function: usize) -> bool {
        self.parents[function].is_some()
    }

    /// Whether the C library leads to a function before it calls `main`: then all programs have it.
    pub(crate) fn is_of_start_up(&self, function: usize) -> bool {
        self.start_up[function]
    }

    /// One way to a function, from where the program begins.
    pub(crate) fn path(&self, function: usize) -> Vec<String> {
        let mut names = vec![self.functions[function].name().to_string()];
        let mut at = function;
        while let Some(Parent::Function(parent)) = self.parents[at] {
            names.push(self.functions[parent].name().to_string());
            at = parent;
        }
        names.reverse();
        names
    }

    /// The function at whose first instruction `address` is.
    fn starting(&self, address: u64) -> Option<usize> {
        self.functions.binary_search_by_key(&address, |function| function.start).ok()
    }

    fn edges_of(&self, function: &Function) -> Vec<Edge> {
        let mut edges = Vec::new();
        let mut state = flow::BLANK;
        for (address, insn) in &function.code {
            let target = match insn.op {
                Op::Jal => Some(address.wrapping_add_signed(insn.imm)),
                _ if flow::is_branch(insn) => Some(address.wrapping_add_signed(insn.imm)),
                Op::Jalr => match flow::get(&state, insn.rs1) {
                    Value::Constant(base) => Some(base.wrapping_add(insn.imm) as u64),
                    _ => None,
                },
                _ => None,
            };
            flow::apply(&mut state, *address, insn);
            // A register that now holds a function's address: it may be called.
            let taken = match (insn.op, flow::get(&state, insn.rd)) {
                (Op::Addi | Op::Addiw | Op::Auipc, Value::Constant(value)) => Some(value as u64),
                _ => None,
            };
            if let Some(to) = target.or(taken).and_then(|address| self.starting(address)) {
                edges.push(Edge { at: *address, to, goes: target.is_some() });
            }
            if !flow::goes_on(insn) {
                state = flow::BLANK;
            }
        }
        if let Some((address, insn)) = function.code.last() {
            let next = address.wrapping_add(insn.length.into());
            if flow::goes_on(insn) && !flow::is_call(insn) {
                edges.extend(self.starting(next).map(|to| Edge { at: *address, to, goes: true }));
            }
        }
        edges
    }

    /// Finds what can be called: from the beginning without `main`, from `main`, and from data, which
    /// hold addresses of functions.
    fn reach(&mut self, file: &object::File) {
        let entry: Vec<usize> = self.starting(file.entry()).into_iter().collect();
        let is_main = |function: &Function| function.names.iter().any(|name| name == "main");
        let main = self.functions.iter().position(is_main);
        self.parents = vec![None; self.functions.len()];
        self.follow(&entry, main);
        self.start_up = self.parents.iter().map(Option::is_some).collect();
        let main: Vec<usize> = main.into_iter().collect();
        self.follow(&main, None);
        self.in_data = self.find_in_data(file);
        self.follow(&self.in_data.clone(), None);
    }

    /// Adds what `roots` lead to, but for `barrier`.
    fn follow(&mut self, roots: &[usize], barrier: Option<usize>) {
        for root in roots {
            self.parents[*root].get_or_insert(Parent::Root);
        }
        let mut open = VecDeque::from_iter(roots.iter().copied());
        while let Some(from) = open.pop_front() {
            for edge in &self.edges[from] {
                if self.parents[edge.to].is_none() && Some(edge.to) != barrier {
                    self.parents[edge.to] = Some(Parent::Function(from));
                    open.push_back(edge.to);
                }
            }
        }
    }

    /// The functions whose addresses lie in data, and those that choose an implementation at the start.
    fn find_in_data(&self, file: &object::File) -> Vec<usize> {
        let mut found = Vec::new();
        for section in file.sections().filter(|section| section.address() != 0 && !has_code(section)) {
            let Ok(data) = section.data() else { continue };
            // Words lie at multiples of their length in memory.
            let skip = section.address().wrapping_neg() % 8;
            let words = data.get(skip as usize..).unwrap_or(&[]).as_chunks::<8>().0;
            found.extend(words.iter().filter_map(|word| self.starting(u64::from_le_bytes(*word))));
        }
        let choosers = file.symbols().filter(is_chooser).map(|symbol| symbol.address());
        found.extend(choosers.filter_map(|address| self.starting(address)));
        found
    }
}

fn is_chooser(symbol: &object::Symbol) -> bool {
    matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info.st_type() == STT_GNU_IFUNC)
}

/// `$x` and `$d` are mapping symbols (RISC-V psABI), `.L` local labels; sections have names like `.text`.
pub(crate) fn is_label(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('$') && !name.starts_with('.')
}

fn functions(file: &object::File) -> Vec<Function> {
    let mut functions = Vec::new();
    for section in file.sections().filter(has_code) {
        let Ok(data) = section.data() else { continue };
        let end = section.address().saturating_add(data.len() as u64);
        let mut starts: BTreeMap<u64, (u64, Vec<String>)> = BTreeMap::new();
        for symbol in file.symbols().filter(|symbol| symbol.section_index() == Some(section.index())) {
            let Ok(name) = symbol.name() else { continue };
            // Labels without a type are functions in assembly, where they are global.
            let is_function = symbol.kind() == SymbolKind::Text || is_chooser(&symbol) || symbol.is_global();
            if is_function && is_label(name) {
                let (bytes, names) = starts.entry(symbol.address()).or_default();
                *bytes = symbol.size().max(*bytes);
                names.push(name.into());
            }
        }
        let limits: Vec<u64> = starts.keys().copied().skip(1).chain([end]).collect();
        for ((start, (bytes, mut names)), next) in starts.into_iter().zip(limits) {
            let stop = if bytes == 0 { next } else { start.saturating_add(bytes).min(next) };
            names.sort_by_key(|name| plainness(name));
            let code = (start.checked_sub(section.address()))
                .and_then(|from| data.get(from as usize..(stop - section.address()) as usize))
                .map_or(Vec::new(), |bytes| instructions(start, bytes));
            functions.push(Function { names, start, code });
        }
    }
    functions.sort_by_key(|function| function.start);
    functions
}

/// `MPI_Send` before `PMPI_Send`, `write` before `__libc_write`.
fn plainness(name: &str) -> (usize, usize) {
    (name.len() - name.trim_start_matches('_').len(), name.len())
}

fn instructions(start: u64, bytes: &[u8]) -> Vec<(u64, Insn)> {
    let mut code = Vec::new();
    let mut at = 0;
    while at + 2 <= bytes.len() {
        let mut word = [0; 4];
        let there = (bytes.len() - at).min(4);
        word[..there].copy_from_slice(&bytes[at..at + there]);
        let insn = decode(u32::from_le_bytes(word));
        code.push((start + at as u64, insn));
        at += usize::from(insn.length);
    }
    code
}
