//! The machines, in the order in which they are shown.

use chasqui_config::{ConfigError, Resolved, Schema};
use chasqui_machine::{Machine, with_library};
use machine_cell::{CELL, CELL_MODERN};
use machine_flash::FlashMachine;
use machine_loggp::LoggpMachine;
use machine_mpinp::{MPINP, MPINP_MODERN};
use machine_netcache::{NETCACHE, NETCACHE_MODERN};
use machine_voyager::{VOYAGER, VOYAGER_MODERN};
use serde::Serialize;

/// All machines.
pub const CATALOGUE: Catalogue = Catalogue(&[
    &LoggpMachine,
    // Presets of a machine come behind it.
    &VOYAGER,
    &VOYAGER_MODERN,
    &NETCACHE,
    &NETCACHE_MODERN,
    &MPINP,
    &MPINP_MODERN,
    &CELL,
    &CELL_MODERN,
    &FlashMachine,
]);

/// Parts that machines take (`parts` of a machine file): name and text.
const PARTS: [(&str, &str); 2] = [
    ("sapphire-rapids", include_str!("../../../machines/parts/sapphire-rapids.toml")),
    ("infiniband-ndr", include_str!("../../../machines/parts/infiniband-ndr.toml")),
];

/// A list of machines.
pub struct Catalogue(&'static [&'static dyn Machine]);

impl Catalogue {
    /// The machine called `name`.
    pub fn find(&self, name: &str) -> Option<&'static dyn Machine> {
        self.0.iter().copied().find(|m| m.name() == name)
    }
}

impl chasqui_config::Catalogue for Catalogue {
    fn machine_file<'a>(&'a self, name: &str) -> Option<(&'a str, &'a str)> {
        self.find(name).map(|m| (m.file(), m.name()))
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|m| m.name()).collect()
    }

    fn part_file<'a>(&'a self, name: &str) -> Option<(&'a str, &'a str)> {
        PARTS.iter().find(|(part, _)| *part == name).map(|(part, text)| (*text, *part))
    }

    fn part_names(&self) -> Vec<&str> {
        PARTS.iter().map(|(part, _)| *part).collect()
    }

    fn schema(&self, name: &str) -> Schema {
        with_library(self.find(name).expect("a machine of the catalogue").schema())
    }
}

/// A machine, for lists.
#[derive(Serialize)]
pub struct MachineText {
    name: String,
    summary: String,
    variants: Vec<VariantText>,
    nodes_max: u32,
    ranks_per_node_max: u32,
}

/// A variant of a machine, for lists.
#[derive(Serialize)]
pub struct VariantText {
    name: String,
    summary: String,
}

/// The catalogue, for people.
///
/// # Errors
/// When a machine's own file can't be read.
pub fn machines() -> Result<Vec<MachineText>, ConfigError> {
    let list = chasqui_config::machines(&CATALOGUE)?;
    list.into_iter()
        .map(|m| {
            let resolved = chasqui_config::resolve(&CATALOGUE, &m.name, &[])?;
            let machine = CATALOGUE.find(&m.name).expect("a machine of the catalogue");
            let variants = m.variants.into_iter().map(|v| VariantText { name: v.name, summary: v.summary });
            Ok(MachineText {
                name: m.name,
                summary: m.summary,
                variants: variants.collect(),
                nodes_max: machine.nodes_max(&resolved),
                ranks_per_node_max: machine.ranks_per_node_max(&resolved),
            })
        })
        .collect()
}

/// Names of the machines whose nodes several jobs may share.
pub(crate) fn machines_with_several_jobs() -> Vec<&'static str> {
    CATALOGUE.0.iter().filter(|machine| machine.jobs_max() > 1).map(|machine| machine.name()).collect()
}

/// For each of `sizes` [bytes]: after how many such messages a measurement of `machine` may begin ([`Machine::warm_up`]).
///
/// # Errors
/// When the machine or its settings can't be used.
pub fn warm_up(machine: &str, sets: &[String], sizes: &[u64]) -> Result<Vec<u64>, ConfigError> {
    let resolved = chasqui_config::resolve(&CATALOGUE, machine, sets)?;
    let machine = CATALOGUE.find(resolved.base()).expect("a resolved machine is of the catalogue");
    Ok(sizes.iter().map(|bytes| machine.warm_up(&resolved, *bytes)).collect())
}

/// What may happen to packets on the links of `machine` so that its protocol copes with it ([`Machine::copes_with`]).
/// `None`: it has no such links.
///
/// # Errors
/// When the machine or its settings can't be used.
pub fn faults(machine: &str, sets: &[String]) -> Result<Option<Vec<String>>, ConfigError> {
    let resolved = chasqui_config::resolve(&CATALOGUE, machine, sets)?;
    let machine = CATALOGUE.find(resolved.base()).expect("a resolved machine is of the catalogue");
    let has_links = describe(&resolved).iter().any(|parameter| parameter.name == "network.fault.kind");
    let kinds = || machine.copes_with(&resolved).iter().map(ToString::to_string).collect();
    Ok(has_links.then(kinds))
}

/// A parameter, for people: values as `--set` takes them.
#[derive(Serialize)]
pub struct ParameterText {
    name: String,
    r#type: String,
    unit: String,
    default: String,
    value: String,
    /// What is allowed.
    range: Option<(String, String)>,
    /// What is plausible: the machine file's `range`.
    plausible: Option<(String, String)>,
    choices: Vec<String>,
    doc: String,
    source: String,
}

/// All parameters of a resolved machine.
pub fn describe(resolved: &Resolved) -> Vec<ParameterText> {
    let parameters = resolved.parameters().iter();
    parameters
        .map(|p| {
            let d = &p.declaration;
            ParameterText {
                name: p.path.clone(),
                r#type: d.describe_type(),
                unit: d.units.to_string(),
                default: d.default.plain(),
                value: p.value.plain(),
                range: d.range.as_ref().map(|(a, b)| (a.plain(), b.plain())),
                plausible: p.plausible.as_ref().map(|(a, b)| (a.plain(), b.plain())),
                choices: d.alternatives.iter().map(|a| a.word.to_string()).collect(),
                doc: d.doc.to_string(),
                source: p.source.clone(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chasqui_config::{Origin, Parameter};

    /// Every machine: declarations without mistakes, a file that resolves, a source for every value.
    #[test]
    fn machines_are_well_declared() {
        for name in chasqui_config::Catalogue::names(&CATALOGUE) {
            let machine = CATALOGUE.find(name).unwrap();
            assert_eq!(machine.schema().mistakes(), Vec::<String>::new(), "{name}");
            let resolved = chasqui_config::resolve(&CATALOGUE, name, &[]).unwrap_or_else(|e| panic!("{e}"));
            let unsourced: Vec<_> = resolved.without_source().map(|p| &p.path).collect();
            assert!(unsourced.is_empty(), "{name}: no source for {unsourced:?}");
            assert_eq!(machine.mistakes(&resolved), Vec::<String>::new(), "{name}");
        }
    }

    /// Machines of today: each value that their files and parts set has a source, or a range that experiments vary.
    #[test]
    fn values_of_modern_machines_have_a_source_or_a_range() {
        for name in ["voyager-modern", "netcache-modern", "mpinp-modern", "cell-modern"] {
            let resolved = chasqui_config::resolve(&CATALOGUE, name, &[]).unwrap_or_else(|e| panic!("{e}"));
            let files = [name, "sapphire-rapids", "infiniband-ndr"];
            let own =
                |p: &&Parameter| matches!(&p.origin, Origin::File(file) if files.contains(&file.as_str()));
            let set: Vec<_> = resolved.parameters().iter().filter(own).collect();
            assert!(set.len() > 60, "{name}: {}", set.len());
            let open = set.iter().filter(|p| p.source.starts_with("assumption") && p.plausible.is_none());
            assert_eq!(open.map(|p| &p.path).collect::<Vec<_>>(), Vec::<&String>::new(), "{name}");
        }
    }

    #[test]
    fn values_are_described_without_quotes() {
        let sets = [String::from("loggp.latency=2 us")];
        let resolved = chasqui_config::resolve(&CATALOGUE, "loggp", &sets).unwrap_or_else(|e| panic!("{e}"));
        let all = describe(&resolved);
        let latency = all.iter().find(|p| p.name == "loggp.latency").expect("a parameter of loggp");
        assert_eq!(latency.value, "2 us");
        let ends = all.iter().filter_map(|p| p.range.clone()).flat_map(|(a, b)| [a, b]);
        assert!(all.iter().map(|p| p.value.clone()).chain(ends).all(|text| !text.contains('"')));
    }
}
