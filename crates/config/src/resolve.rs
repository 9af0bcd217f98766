//! From a machine's name to its parameters: the chain of files, the variant, the command line.
//!
//! The order, later ones winning: declared defaults; then for each file from the catalogue's machine
//! to the one asked for, the parts that it takes from others, its values and the chosen variant that it declares; then
//! every `--set`.

use std::path::PathBuf;

use crate::chain::{Catalogue, Chain, Link};
use crate::document;
use crate::documents::Base;
use crate::error::{ConfigError, Problem};
use crate::layer::{Assignment, Layer, Names, Walk};
use crate::resolved::{Origin, Resolved};

/// A machine of the catalogue, for lists.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct MachineSummary {
    /// Its name.
    pub name: String,
    /// What it is.
    pub summary: String,
    /// Its variants, chosen as `name/variant`.
    pub variants: Vec<VariantSummary>,
}

/// A variant of a machine, for lists.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct VariantSummary {
    /// Its name.
    pub name: String,
    /// What it changes.
    pub summary: String,
}

/// Lists the catalogue.
///
/// # Errors
/// When a machine's own file can't be read.
pub fn machines(catalogue: &dyn Catalogue) -> Result<Vec<MachineSummary>, ConfigError> {
    let mut list = Vec::new();
    for name in catalogue.names() {
        let mut problems = Vec::new();
        let layer = match catalogue.machine_file(name) {
            Some((text, label)) => Layer::parse(text, label, &mut problems),
            None => {
                problems.push(Problem::new("", "the catalogue names it but has no file of it"));
                None
            }
        };
        let Some(layer) = layer.filter(|_| problems.is_empty()) else {
            return Err(ConfigError { machine: name.to_string(), problems });
        };
        let variants =
            layer.variants.into_iter().map(|v| VariantSummary { name: v.name, summary: v.summary });
        list.push(MachineSummary {
            name: name.to_string(),
            summary: layer.summary,
            variants: variants.collect(),
        });
    }
    Ok(list)
}

/// Reads machine `name` (`voyager`, `voyager/reclaim`, `my.toml`, `my.toml/variant`; paths are
/// relative to the working directory) with the `key=value` settings `sets` on top.
///
/// # Errors
/// Everything that is wrong, with file and line.
pub fn resolve(catalogue: &dyn Catalogue, name: &str, sets: &[String]) -> Result<Resolved, ConfigError> {
    let Chain { links, base, mut problems, .. } = Chain::of(catalogue, name);
    let resolved = base.map(|base| {
        let schema = catalogue.schema(&base);
        let mut resolved = Resolved::defaults(&schema);
        let names = Names::new(&schema);
        for link in links.iter().rev() {
            apply_link(link, &names, &mut resolved, &mut problems);
        }
        for set in sets {
            apply_set(set, &names, &mut resolved, &mut problems);
        }
        name_machine(&mut resolved, base, name, &links);
        resolved
    });
    match resolved {
        Some(resolved) if problems.is_empty() => Ok(resolved),
        _ => Err(ConfigError { machine: name.to_string(), problems }),
    }
}

fn apply_link(link: &Link, names: &Names<'_>, resolved: &mut Resolved, problems: &mut Vec<Problem>) {
    let place = |line: usize| format!("{}:{line}", link.layer.label);
    let mut walk = Walk { names, place: &place, base: &link.base, problems, found: Vec::new() };
    walk.entries("", &link.layer.values);
    let mut assignments: Vec<(Assignment, String)> = Vec::new();
    assignments.extend(std::mem::take(&mut walk.found).into_iter().map(|a| (a, link.origin.clone())));
    // Variants that were not chosen are checked as well.
    for variant in &link.layer.variants {
        walk.entries("", &variant.values);
        let found = std::mem::take(&mut walk.found);
        if link.variant.as_ref() == Some(&variant.name) {
            let origin = format!("{}/{}", link.origin, variant.name);
            assignments.extend(found.into_iter().map(|a| (a, origin.clone())));
        }
    }
    for (assignment, origin) in assignments {
        assign(resolved, assignment, Origin::File(origin));
    }
}

fn apply_set(set: &str, names: &Names<'_>, resolved: &mut Resolved, problems: &mut Vec<Problem>) {
    let place = |_: usize| format!("--set {set}");
    let Some((path, value)) = set.split_once('=') else {
        return problems.push(Problem::new(place(0), "write --set key=value"));
    };
    let (path, value) = (path.trim(), value.trim());
    let base = Base::Directory(PathBuf::new());
    let mut walk = Walk { names, place: &place, base: &base, problems, found: Vec::new() };
    walk.entry(path, 0, &document::parse_value(value), Some(value));
    for assignment in std::mem::take(&mut walk.found) {
        assign(resolved, assignment, Origin::CommandLine);
    }
}

fn assign(resolved: &mut Resolved, assignment: Assignment, origin: Origin) {
    let parameter =
        resolved.parameter_mut(&assignment.path).expect("assignments name parameters of the schema");
    let origin = match assignment.from.as_deref().map(Origin::from_text) {
        // A resolved file that was edited since no longer holds the default.
        Some(Origin::Default) if assignment.value != parameter.default() => origin,
        Some(said) => said,
        None => origin,
    };
    parameter.value = assignment.value;
    parameter.plausible = assignment.plausible;
    parameter.place = assignment.place;
    parameter.source = assignment.source;
    parameter.origin = origin;
}

fn name_machine(resolved: &mut Resolved, base: String, asked: &str, links: &[Link]) {
    resolved.base = base;
    let first = links.first();
    let of_machine = || links.iter().filter(|l| l.scope.is_machine());
    let variant = of_machine().find_map(|l| l.variant.clone());
    resolved.name = match first.and_then(|l| l.layer.name.clone()) {
        Some(name) => name,
        None => {
            let file = first.map(|l| l.origin.clone());
            let file = file.unwrap_or_else(|| asked.to_string());
            match &variant {
                // A variant that an `extends` chose belongs to the machine extended.
                Some(variant) if asked.ends_with(&format!("/{variant}")) => format!("{file}/{variant}"),
                _ => file,
            }
        }
    };
    // The most particular description: the variant's, else that of the first file that has one.
    let of_link = |l: &Link| {
        let variant = l.layer.variants.iter().find(|v| Some(&v.name) == l.variant.as_ref());
        let summaries = [variant.map(|v| &v.summary), Some(&l.layer.summary)];
        summaries.into_iter().flatten().find(|s| !s.is_empty()).cloned()
    };
    resolved.summary = of_machine().find_map(of_link).unwrap_or_default();
}
