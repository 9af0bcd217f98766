//! From a machine's name to its parameters: the chain of files, the variant, the command line.
//!
//! The order, later ones winning: declared defaults; then for each file from the catalogue's machine
//! to the one asked for, its values and the chosen variant that it declares; then every `--set`.

use crate::declaration::Schema;
use crate::document;
use crate::error::{ConfigError, Problem};
use crate::layer::{Assignment, Layer, Names, Walk};
use crate::resolved::{Origin, Resolved};
use crate::suggest::did_you_mean;
use std::path::{Path, PathBuf};

/// Version of the layout of machine files.
pub const SCHEMA_VERSION: i64 = 1;

/// The machines that the simulator knows.
pub trait Catalogue {
    /// Text of a machine's file and the path that messages call it by.
    fn machine_file<'a>(&'a self, name: &str) -> Option<(&'a str, &'a str)>;
    /// The machines' names, in the order in which they are shown.
    fn names(&self) -> Vec<&str>;
    /// The parameters of a machine.
    fn schema(&self, name: &str) -> Schema;
}

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

/// What a machine's name means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Catalogue(String),
    File(PathBuf),
}

/// A file of the chain.
struct Link {
    layer: Layer,
    /// How the resolved machine names it: no directory, because that belongs to the host.
    origin: String,
    /// The variant chosen among the file's own.
    variant: Option<String>,
}

struct Chain<'a> {
    catalogue: &'a dyn Catalogue,
    /// From the machine asked for to the catalogue's.
    links: Vec<Link>,
    /// The catalogue's machine, which gives the schema.
    base: Option<String>,
    problems: Vec<Problem>,
}

/// Reads machine `name` (`voyager`, `voyager/reclaim`, `my.toml`, `my.toml/variant`; paths are
/// relative to the working directory) with the `key=value` settings `sets` on top.
///
/// # Errors
/// Everything that is wrong, with file and line.
pub fn resolve(catalogue: &dyn Catalogue, name: &str, sets: &[String]) -> Result<Resolved, ConfigError> {
    let mut chain = Chain { catalogue, links: Vec::new(), base: None, problems: Vec::new() };
    chain.follow(name);
    let Chain { links, base, mut problems, .. } = chain;
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

impl Chain<'_> {
    /// Loads `name`, what it extends, and so on to a machine of the catalogue.
    fn follow(&mut self, name: &str) {
        let mut visited: Vec<Place> = Vec::new();
        let mut from = None; // The directory and the `file:line` of the `extends` that is followed.
        let mut next = (name.to_string(), None);
        loop {
            let (name, wanted): (String, Option<String>) = next;
            let said =
                from.as_ref().map(|(_, said): &(Option<PathBuf>, String)| said.clone()).unwrap_or_default();
            let directory = from.as_ref().map(|(directory, _)| directory.as_deref());
            let (place, variant) = match locate(self.catalogue, &name, directory) {
                Ok(found) => found,
                Err(message) => return self.problems.push(Problem::new(said, message)),
            };
            let variant = match (wanted, variant) {
                (Some(wanted), Some(variant)) => {
                    let message = format!(
                        "variant {wanted:?} is not declared here, and {name:?} already chooses {variant:?}"
                    );
                    return self.problems.push(Problem::new(said, message));
                }
                (wanted, variant) => wanted.or(variant),
            };
            // The same machine twice is a cycle whatever variant is chosen of it.
            if visited.contains(&place) {
                return self
                    .problems
                    .push(Problem::new(said, format!("extends {name:?} comes back to itself")));
            }
            visited.push(place.clone());
            let Some(mut link) = self.load(&place, &name, &said) else { return };
            if let (Place::Catalogue(name), None) = (&place, &self.base) {
                self.base = Some(name.clone());
            }
            let extends = link.layer.extends.clone();
            let declared = |v: &String| link.layer.variants.iter().any(|table| table.name == *v);
            let inherited = match variant {
                Some(variant) if declared(&variant) => {
                    link.variant = Some(variant);
                    None
                }
                Some(variant) if extends.is_none() => return self.no_variant(link, &variant),
                inherited => inherited,
            };
            let label = link.layer.label.clone();
            self.links.push(link);
            let Some((extended, line)) = extends else {
                if self.base.is_none() {
                    let names = self.catalogue.names().join(", ");
                    let message =
                        format!("extends is missing; write extends = \"…\" with one of {names}, or a path");
                    self.problems.push(Problem::new(label, message));
                }
                return;
            };
            let directory = match place {
                Place::Catalogue(_) => None,
                Place::File(path) => Some(path.parent().map(Path::to_path_buf).unwrap_or_default()),
            };
            from = Some((directory, format!("{label}:{line}")));
            next = (extended, inherited);
        }
    }

    fn no_variant(&mut self, link: Link, variant: &str) {
        let mut names: Vec<String> = Vec::new();
        for layer in self.links.iter().map(|l| &l.layer).chain([&link.layer]) {
            names.extend(layer.variants.iter().map(|v| v.name.clone()));
        }
        let allowed = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        let hint = did_you_mean(variant, names.iter().map(String::as_str));
        self.problems
            .push(Problem::new("", format!("there is no variant {variant:?}; there are {allowed}{hint}")));
        self.links.push(link);
    }

    fn load(&mut self, place: &Place, name: &str, said: &str) -> Option<Link> {
        let (text, label, origin) = match place {
            Place::Catalogue(name) => {
                let (text, label) = self.catalogue.machine_file(name)?;
                (text.to_string(), label.to_string(), name.clone())
            }
            Place::File(path) => match std::fs::read_to_string(path) {
                Ok(text) => (text, path.display().to_string(), file_name(path)),
                Err(error) => {
                    self.problems
                        .push(Problem::new(said, format!("machine file {name:?} can't be read: {error}")));
                    return None;
                }
            },
        };
        let layer = Layer::parse(&text, &label, &mut self.problems)?;
        Some(Link { layer, origin, variant: None })
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// What `name` means; `directory` is that of the file which says so (`Some(None)`: a file of the
/// catalogue, which lies in no directory).
fn locate(
    catalogue: &dyn Catalogue,
    name: &str,
    directory: Option<Option<&Path>>,
) -> Result<(Place, Option<String>), String> {
    if catalogue.machine_file(name).is_some() {
        return Ok((Place::Catalogue(name.to_string()), None));
    }
    let (path, variant) = match name.rfind(".toml/") {
        Some(at) => (&name[..at + 5], Some(name[at + 6..].to_string())),
        None => (name, None),
    };
    if !path.ends_with(".toml") {
        if let Some((machine, variant)) = name.split_once('/')
            && catalogue.machine_file(machine).is_some()
        {
            return Ok((Place::Catalogue(machine.to_string()), Some(variant.to_string())));
        }
        let names = catalogue.names();
        let hint = did_you_mean(name.split('/').next().unwrap_or_default(), names.iter().copied());
        let names = names.join(", ");
        return Err(format!(
            "there is no machine {name:?}; there are {names}, or a path that ends in .toml{hint}"
        ));
    }
    match directory {
        None => Ok((Place::File(PathBuf::from(path)), variant)),
        Some(Some(directory)) => Ok((Place::File(tidy(&directory.join(path))), variant)),
        Some(None) => Err(format!("a machine of the catalogue can't extend the file {path:?}")),
    }
}

/// Without `x/..` and `.`, so that a cycle of relative paths is seen as one.
fn tidy(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut tidied = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(tidied.components().next_back(), Some(Component::Normal(_))) => {
                tidied.pop();
            }
            other => tidied.push(other),
        }
    }
    tidied
}

fn apply_link(link: &Link, names: &Names<'_>, resolved: &mut Resolved, problems: &mut Vec<Problem>) {
    let place = |line: usize| format!("{}:{line}", link.layer.label);
    let mut walk = Walk { names, place: &place, problems, found: Vec::new() };
    walk.entries("", &link.layer.values);
    let mut assignments: Vec<(Assignment, String)> = Vec::new();
    assignments.extend(std::mem::take(&mut walk.found).into_iter().map(|a| (a, link.origin.clone())));
    // Variants that nobody chose are checked all the same.
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
    let mut walk = Walk { names, place: &place, problems, found: Vec::new() };
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
    parameter.source = assignment.source;
    parameter.origin = origin;
}

fn name_machine(resolved: &mut Resolved, base: String, asked: &str, links: &[Link]) {
    resolved.base = base;
    let first = links.first();
    let variant = links.iter().find_map(|l| l.variant.clone());
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
    resolved.summary = links.iter().find_map(of_link).unwrap_or_default();
}
