//! Which system calls a linked RISC-V program may make: the numbers in `a7` at every `ecall` of what can
//! be called. A function that gets the number as an argument (`syscall`) is looked at where it is called.

use std::collections::{BTreeMap, HashMap};

use chasqui_abi::kernel;
use chasqui_hart::Op;
use serde::Serialize;

use crate::code::{Edge, Program};
use crate::flow::{self, A7, State, Value};

/// A system call that a program may make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SystemCall {
    /// Its number; none where the program computes it.
    pub number: Option<u64>,
    /// The functions that make it, each with one way to it.
    pub paths: Vec<Vec<String>>,
    /// Whether only the C library's start-up leads there: every program of this C library has it, and
    /// hardly any makes it.
    pub start_up: bool,
}

/// All calls, by number; the unknown ones first.
pub(crate) fn of(program: &Program) -> Vec<SystemCall> {
    let mut search = Search { program, callers: callers(program), states: HashMap::new() };
    let mut found: BTreeMap<Option<u64>, Vec<usize>> = BTreeMap::new();
    for function in 0..program.functions.len() {
        if !program.reached(function) || !program.functions[function].has_ecall() {
            continue;
        }
        for (number, maker) in search.calls_of(function) {
            let makers = found.entry(number).or_default();
            if !makers.contains(&maker) {
                makers.push(maker);
            }
        }
    }
    // The library makes it under a kernel whose driver serves it, and under no other.
    found.remove(&Some(kernel::FAST_CALL));
    found.into_iter().map(|(number, makers)| search.report(number, &makers)).collect()
}

/// For each function the edges to it.
fn callers(program: &Program) -> Vec<Vec<(usize, &Edge)>> {
    let mut callers: Vec<Vec<(usize, &Edge)>> = (0..program.functions.len()).map(|_| Vec::new()).collect();
    for (from, edge) in program.edges().filter(|(from, _)| program.reached(*from)) {
        callers[edge.to].push((from, edge));
    }
    callers
}

struct Search<'a> {
    program: &'a Program,
    callers: Vec<Vec<(usize, &'a Edge)>>,
    states: HashMap<usize, BTreeMap<u64, State>>,
}

impl Search<'_> {
    /// (number, function that says it) of each `ecall` in a function.
    fn calls_of(&mut self, function: usize) -> Vec<(Option<u64>, usize)> {
        let code = &self.program.functions[function].code;
        let places: Vec<u64> =
            code.iter().filter(|(_, insn)| insn.op == Op::Ecall).map(|(address, _)| *address).collect();
        let mut found = Vec::new();
        for place in places {
            self.resolve(function, place, A7, &mut Vec::new(), &mut found);
        }
        found
    }

    /// What `register` may hold at `address` in `function`; `via` are the functions that pass it on.
    fn resolve(
        &mut self,
        function: usize,
        address: u64,
        register: u8,
        via: &mut Vec<usize>,
        found: &mut Vec<(Option<u64>, usize)>,
    ) {
        let program = self.program;
        let states =
            self.states.entry(function).or_insert_with(|| flow::states(&program.functions[function].code));
        match states.get(&address).map_or(Value::Unknown, |state| flow::get(state, register)) {
            Value::Constant(number) => found.push((Some(number as u64), function)),
            Value::Unknown => found.push((None, function)),
            Value::Argument(argument) => {
                if via.contains(&function) {
                    return;
                }
                via.push(function);
                for (caller, at) in self.call_sites(function) {
                    self.resolve(caller, at, argument, via, found);
                }
                via.pop();
            }
        }
    }

    /// What start-up leads to is the program's all the same if the program calls it itself.
    fn report(&self, number: Option<u64>, makers: &[usize]) -> SystemCall {
        let program = self.program;
        let mut own = Vec::new();
        for &maker in makers {
            let name = || program.functions[maker].name().to_string();
            if !program.is_of_start_up(maker) {
                own.push(program.path(maker));
            } else if let Some((caller, _)) =
                self.callers[maker].iter().find(|(caller, _)| !program.is_of_start_up(*caller))
            {
                own.push(program.path(*caller).into_iter().chain([name()]).collect());
            }
        }
        let start_up = own.is_empty();
        let paths = if start_up { makers.iter().map(|&maker| program.path(maker)).collect() } else { own };
        SystemCall { number, paths, start_up }
    }

    fn call_sites(&self, function: usize) -> Vec<(usize, u64)> {
        self.callers[function].iter().map(|(caller, edge)| (*caller, edge.at)).collect()
    }
}
