//! The files of a profile.

use super::{Cause, Profile, Profiled, Spent};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Version of `profile.json`.
const PROFILE_VERSION: u32 = 1;

/// Cycles by the name of their cause; causes without any are left out.
type Cycles = BTreeMap<&'static str, u64>;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    /// Cause: what it is.
    causes: BTreeMap<&'static str, &'static str>,
    /// All ranks together; sorted by cycles. Where they execute several programs, each name has its program's before it.
    functions: Vec<Function<'a>>,
    ranks: Vec<Rank<'a>>,
    /// Firmware processors, where the machine has such.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    firmware: Vec<Firmware<'a>>,
}

#[derive(Serialize)]
struct Firmware<'a> {
    processor: &'static str,
    node: u32,
    #[serde(flatten)]
    counted: Counted<'a>,
}

#[derive(Serialize)]
struct Rank<'a> {
    rank: u32,
    /// What it executes, where ranks execute several programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<&'a str>,
    #[serde(flatten)]
    counted: Counted<'a>,
}

#[derive(Serialize)]
struct Counted<'a> {
    instructions: u64,
    /// All cycles: the sum of `cycles` over `functions`.
    cycles: u64,
    by_cause: Cycles,
    functions: Vec<Function<'a>>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    instructions: u64,
    /// In the function itself.
    cycles: u64,
    by_cause: Cycles,
    /// In it and in what it called; recursion counts once.
    cycles_with_callees: u64,
}

/// What a function spent: itself, and with its callees.
#[derive(Clone, Copy, Default)]
struct Costs {
    own: Spent,
    inclusive: u64,
}

type Table<'a> = BTreeMap<&'a str, Costs>;

fn by_cause(spent: &Spent) -> Cycles {
    let all = Cause::ALL.iter().map(|&cause| (cause.name(), spent.cycles[cause as usize]));
    all.filter(|(_, cycles)| *cycles > 0).collect()
}

fn functions(profile: &Profile) -> Table<'_> {
    let mut table = Table::new();
    profile.visit(&mut |path, spent| {
        let name = |number: &u32| profile.functions[*number as usize].as_str();
        let Some(last) = path.last() else { return };
        table.entry(name(last)).or_default().own += spent;
        for (at, number) in path.iter().enumerate() {
            if !path[..at].contains(number) {
                table.entry(name(number)).or_default().inclusive += spent.total();
            }
        }
    });
    table
}

fn list<'a>(table: &Table<'a>) -> Vec<Function<'a>> {
    let mut functions: Vec<_> = table
        .iter()
        .map(|(&name, costs)| Function {
            name,
            instructions: costs.own.instructions,
            cycles: costs.own.total(),
            by_cause: by_cause(&costs.own),
            cycles_with_callees: costs.inclusive,
        })
        .collect();
    functions.sort_by_key(|f| (std::cmp::Reverse(f.cycles), f.name));
    functions
}

fn counted<'a>(profile: &Profile, table: &Table<'a>) -> Counted<'a> {
    let total = profile.total();
    Counted {
        instructions: total.instructions,
        cycles: total.total(),
        by_cause: by_cause(&total),
        functions: list(table),
    }
}

/// Writes `profile.json`: every function's instructions and cycles, of all ranks and of each; and of each firmware
/// processor.
///
/// # Errors
/// When `out` can't be written.
pub fn write_profile(out: &mut dyn Write, profiles: &[&Profile]) -> io::Result<()> {
    let tables: Vec<Table<'_>> = profiles.iter().map(|profile| functions(profile)).collect();
    let (mut all, mut ranks, mut firmware) = (BTreeMap::<String, Costs>::new(), vec![], vec![]);
    for (profile, table) in profiles.iter().zip(&tables) {
        let counted = counted(profile, table);
        match profile.whose {
            Profiled::Firmware { node, name } => firmware.push(Firmware { processor: name, node, counted }),
            Profiled::Rank(rank) => {
                let program = profile.program.as_deref();
                ranks.push(Rank { rank, program, counted });
                for (name, costs) in table {
                    let of_program = program.map_or(name.to_string(), |program| format!("{program}: {name}"));
                    let sum = all.entry(of_program).or_default();
                    sum.own += &costs.own;
                    sum.inclusive += costs.inclusive;
                }
            }
        }
    }
    let all: Table<'_> = all.iter().map(|(name, costs)| (name.as_str(), *costs)).collect();
    let document = Document {
        schema_version: PROFILE_VERSION,
        causes: Cause::ALL.iter().map(|cause| (cause.name(), cause.doc())).collect(),
        functions: list(&all),
        ranks,
        firmware,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}

/// Writes `profile.folded`: a line a call path with its cycles, as flame graph programs read them. Cycles
/// that are not spent executing end in a frame of their cause's name: `rank 0;main;copy;[data] 1234`.
///
/// # Errors
/// When `out` can't be written.
pub fn write_folded(out: &mut dyn Write, profiles: &[&Profile]) -> io::Result<()> {
    for profile in profiles {
        let mut lines = BTreeMap::new();
        samples(profile, &mut |frames, cycles| {
            *lines.entry(format!("{};{}", profile.whose, frames.join(";"))).or_insert(0) += cycles;
        });
        for (path, cycles) in lines {
            writeln!(out, "{path} {cycles}")?;
        }
    }
    Ok(())
}

/// Calls `visit` with the frames and cycles of each path and cause.
fn samples(profile: &Profile, visit: &mut dyn FnMut(&[&str], u64)) {
    let labels = Cause::ALL.map(|cause| format!("[{}]", cause.name()));
    profile.visit(&mut |path, spent| {
        let mut frames: Vec<&str> = path.iter().map(|&f| profile.functions[f as usize].as_str()).collect();
        for cause in Cause::ALL {
            let cycles = spent.cycles[cause as usize];
            if cycles == 0 {
                continue;
            }
            if cause == Cause::Issue {
                visit(&frames, cycles);
            } else {
                frames.push(&labels[cause as usize]);
                visit(&frames, cycles);
                frames.pop();
            }
        }
    });
}

#[derive(Serialize)]
struct Speedscope {
    #[serde(rename = "$schema")]
    schema: &'static str,
    shared: Shared,
    profiles: Vec<Sampled>,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// Writes `profile.speedscope.json`: the same as [`write_folded`], a profile a processor, in the file format of
/// speedscope ("type": "sampled"). Samples stand in the order of their paths, not of time.
///
/// # Errors
/// When `out` can't be written.
pub fn write_speedscope(out: &mut dyn Write, profiles: &[&Profile]) -> io::Result<()> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut frames = vec![];
    let profiles = profiles.iter().map(|profile| {
        let (mut stacks, mut weights) = (vec![], vec![]);
        samples(profile, &mut |path, cycles| {
            let stack = path.iter().map(|&name| {
                *numbers.entry(name.to_string()).or_insert_with(|| {
                    frames.push(Frame { name: name.to_string() });
                    frames.len() - 1
                })
            });
            stacks.push(stack.collect());
            weights.push(cycles);
        });
        Sampled {
            kind: "sampled",
            name: format!("{} [cycles]", profile.whose),
            unit: "none",
            start_value: 0,
            end_value: weights.iter().sum(),
            samples: stacks,
            weights,
        }
    });
    let profiles = profiles.collect();
    let document = Speedscope {
        schema: "https://www.speedscope.app/file-format-schema.json",
        shared: Shared { frames },
        profiles,
    };
    serde_json::to_writer(&mut *out, &document)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::CAUSES;

    /// `main` calls `copy`, which calls itself.
    fn profile() -> Profile {
        let mut profile = Profile::new(Profiled::Rank(3));
        let (main, copy) = (profile.function("main"), profile.function("copy"));
        let outer = profile.path(Profile::ROOT, main);
        let inner = profile.path(outer, copy);
        let innermost = profile.path(inner, copy);
        let mut cycles = [0; CAUSES];
        cycles[Cause::Issue as usize] = 10;
        profile.spend(outer, &Spent { instructions: 9, cycles });
        profile.spend(innermost, &Spent { instructions: 2, cycles });
        cycles[Cause::Data as usize] = 5;
        profile.spend(inner, &Spent { instructions: 4, cycles });
        profile
    }

    #[test]
    fn functions_add_up() {
        let mut out = vec![];
        write_profile(&mut out, &[&profile(), &profile()]).expect("memory can be written");
        let document: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
        let all = &document["functions"];
        assert_eq!(all[0]["name"], "copy");
        assert_eq!(all[0]["cycles"], 50);
        assert_eq!(all[0]["cycles_with_callees"], 50, "recursion counts once");
        assert_eq!(all[0]["by_cause"], serde_json::json!({"issue": 40, "data": 10}));
        assert_eq!(all[1]["cycles_with_callees"], 70);
        let rank = &document["ranks"][1];
        assert_eq!((&rank["cycles"], &rank["instructions"]), (&35.into(), &15.into()));
    }

    #[test]
    fn stacks_are_folded() {
        let mut out = vec![];
        write_folded(&mut out, &[&profile()]).expect("memory can be written");
        let lines = "rank 3;main 10\nrank 3;main;copy 10\nrank 3;main;copy;[data] 5\n\
                     rank 3;main;copy;copy 10\n";
        assert_eq!(String::from_utf8(out).expect("text"), lines);
    }

    #[test]
    fn speedscope_weighs_the_same_stacks() {
        let mut out = vec![];
        write_speedscope(&mut out, &[&profile()]).expect("memory can be written");
        let document: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
        let sampled = &document["profiles"][0];
        assert_eq!(sampled["weights"], serde_json::json!([10, 10, 5, 10]));
        assert_eq!(sampled["samples"], serde_json::json!([[0], [0, 1], [0, 1, 2], [0, 1, 1]]));
        assert_eq!(document["shared"]["frames"][2]["name"], "[data]");
        assert_eq!(sampled["endValue"], 35);
    }
}
