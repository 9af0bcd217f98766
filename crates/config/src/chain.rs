//! The files that a machine is made of: the one asked for, what it extends, and the parts that it takes from others.

use std::path::{Path, PathBuf};

use crate::declaration::Schema;
use crate::documents::Base;
use crate::error::Problem;
use crate::layer::{Layer, PARTS};
use crate::suggest::did_you_mean;

/// The machines of the catalogue.
pub trait Catalogue {
    /// Text of a machine's file and the path that messages call it by.
    fn machine_file<'a>(&'a self, name: &str) -> Option<(&'a str, &'a str)>;
    /// The machines' names, in the order in which they are shown.
    fn names(&self) -> Vec<&str>;
    /// Text of the file of a part that machines have in common (a node, a network), and the path that messages call it by.
    fn part_file<'a>(&'a self, _name: &str) -> Option<(&'a str, &'a str)> {
        None
    }
    /// The parts' names.
    fn part_names(&self) -> Vec<&str> {
        Vec::new()
    }
    /// The parameters of a machine.
    fn schema(&self, name: &str) -> Schema;
}

/// Which of [`PARTS`] a file gives values to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope([bool; PARTS.len()]);

/// The first part: what makes the machine the one that it is, and all that the other parts leave.
const NI: usize = 0;

impl Scope {
    pub(crate) const ALL: Scope = Scope([true; PARTS.len()]);

    fn only(part: usize) -> Scope {
        Scope(std::array::from_fn(|i| i == part))
    }

    fn without(mut self, part: usize) -> Scope {
        self.0[part] = false;
        self
    }

    fn is_empty(self) -> bool {
        self.0.iter().all(|has| !has)
    }

    /// The part of key `key` of a machine file.
    fn of(key: &str) -> usize {
        PARTS.iter().position(|part| key == *part).unwrap_or(NI)
    }

    /// The part that it is, if it is one alone and not the machine.
    fn part(self) -> Option<usize> {
        (NI + 1..PARTS.len()).find(|&part| self == Scope::only(part))
    }

    /// Of the machine itself, not of a part that another gives.
    pub(crate) fn is_machine(self) -> bool {
        self.0[NI]
    }
}

/// What a machine's name means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Catalogue(String),
    /// A part of the catalogue, no machine.
    Part(String),
    File(PathBuf),
}

impl Place {
    /// The directory in which it lies, if it is no file of the catalogue.
    fn directory(&self) -> Option<PathBuf> {
        match self {
            Place::Catalogue(_) | Place::Part(_) => None,
            Place::File(path) => Some(path.parent().map(Path::to_path_buf).unwrap_or_default()),
        }
    }
}

/// A file of the chain.
pub(crate) struct Link {
    /// What it says within its scope.
    pub layer: Layer,
    /// How the resolved machine names it: no directory, because that belongs to the host.
    pub origin: String,
    /// The variant chosen among the file's own.
    pub variant: Option<String>,
    /// What it gives values to.
    pub scope: Scope,
    /// Where files lie that its values name.
    pub base: Base,
}

/// All files of a machine.
pub(crate) struct Chain<'a> {
    catalogue: &'a dyn Catalogue,
    /// From the machine asked for to the catalogue's: the earlier win.
    pub links: Vec<Link>,
    /// The catalogue's machine, which gives the schema.
    pub base: Option<String>,
    /// The parts that are taken from others, and the `file:line` that says so.
    taken: Vec<(usize, String)>,
    pub problems: Vec<Problem>,
}

/// A machine that is referred to.
struct Reference {
    name: String,
    /// A requested variant that no link so far has declared.
    variant: Option<String>,
    scope: Scope,
    /// Directory of the file that refers to it (`None`: a file of the catalogue, which lies in no directory), and its
    /// `file:line`. None: the command line does.
    from: Option<(Option<PathBuf>, String)>,
}

/// The files from the one asked for to the one that is loaded, and the variants that these declare.
#[derive(Clone, Default)]
struct Way {
    places: Vec<Place>,
    variants: Vec<String>,
}

impl<'a> Chain<'a> {
    /// The files of machine `name`.
    pub(crate) fn of(catalogue: &'a dyn Catalogue, name: &str) -> Chain<'a> {
        let mut chain =
            Chain { catalogue, links: Vec::new(), base: None, taken: Vec::new(), problems: Vec::new() };
        let reference = Reference { name: name.to_string(), variant: None, scope: Scope::ALL, from: None };
        if let Err(problem) = chain.follow(reference, Way::default()) {
            chain.problems.extend(problem);
        }
        chain.refuse_parts_without_place();
        chain
    }

    /// Parts for which the machine has no place: said once, instead of once for each of their values.
    fn refuse_parts_without_place(&mut self) {
        let Some(base) = &self.base else { return };
        let schema = self.catalogue.schema(base);
        for part in (NI + 1..PARTS.len()).filter(|&part| !has(&schema, part)) {
            let name = PARTS[part];
            for (_, place) in self.taken.iter().filter(|(taken, _)| *taken == part) {
                let message = format!("parts.{name}: {base:?} has no {name} that could be replaced");
                self.problems.push(Problem::new(place, message));
            }
            self.links.retain(|link| link.scope != Scope::only(part));
        }
    }

    /// The machines and parts of the catalogue that have this part, for messages.
    fn that_have(&self, part: usize) -> String {
        let catalogue = self.catalogue;
        let mut names = catalogue.names();
        names.retain(|name| has(&catalogue.schema(name), part));
        let gives = |name: &&str| {
            let file = catalogue.part_file(name);
            let layer = file.and_then(|(text, label)| Layer::parse(text, label, &mut Vec::new()));
            layer.is_some_and(|layer| layer.values.iter().any(|entry| Scope::of(&entry.key) == part))
        };
        names.extend(catalogue.part_names().into_iter().filter(gives));
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    }

    /// Loads what `reference` means, the parts that it takes from others, what it extends, and so on to a machine of the
    /// catalogue.
    ///
    /// # Errors
    /// What ends the chain, if that is not among the problems yet.
    fn follow(&mut self, reference: Reference, mut path: Way) -> Result<(), Option<Problem>> {
        let Reference { name, variant: wanted, scope, from } = reference;
        let said = from.as_ref().map(|(_, said)| said.clone()).unwrap_or_default();
        let problem = |message: String| Some(Problem::new(said.clone(), message));
        let directory = from.as_ref().map(|(directory, _)| directory.as_deref());
        let (place, own) = locate(self.catalogue, &name, directory, scope).map_err(problem)?;
        if let (Some(wanted), Some(own)) = (&wanted, &own) {
            return Err(problem(format!(
                "variant {wanted:?} is not declared here, and {name:?} already chooses {own:?}"
            )));
        }
        // The same machine twice is a cycle whatever variant is chosen of it.
        if path.places.contains(&place) {
            return Err(problem(format!("{name:?} comes back to itself")));
        }
        let mut link = self.load(&place, &name, &said, scope)?;
        if let (Place::Catalogue(name), None, true) = (&place, &self.base, scope.is_machine()) {
            self.base = Some(name.clone());
        }
        path.variants.extend(link.layer.variants.iter().map(|v| v.name.clone()));
        let [ni, parts @ ..] = link.layer.parts.clone();
        let extends = link.layer.extends.clone().or(ni);
        let first_part = link.layer.first_part();
        let declared = |v: &String| link.layer.variants.iter().any(|table| table.name == *v);
        let inherited = match wanted.or(own) {
            Some(variant) if declared(&variant) => {
                link.variant = Some(variant);
                None
            }
            Some(variant) if extends.is_none() => {
                self.links.push(link);
                return Err(Some(no_variant(&said, &variant, &path.variants)));
            }
            inherited => inherited,
        };
        let label = link.layer.label.clone();
        self.links.push(link);
        let directory = place.directory();
        path.places.push(place);
        let from = |line: usize| Some((directory.clone(), format!("{label}:{line}")));
        let mut rest = scope;
        for (part, given) in (NI + 1..).zip(parts) {
            let Some((name, line)) = given.filter(|_| scope.0[part]) else { continue };
            rest = rest.without(part);
            self.taken.push((part, format!("{label}:{line}")));
            let scope = Scope::only(part);
            self.follow(Reference { name, variant: None, scope, from: from(line) }, path.clone())?;
        }
        match extends {
            Some((name, line)) if !rest.is_empty() => {
                self.follow(Reference { name, variant: inherited, scope: rest, from: from(line) }, path)
            }
            None if scope.is_machine() && self.base.is_none() => {
                Err(Some(self.no_machine(label, first_part)))
            }
            _ => Ok(()),
        }
    }

    /// The chain ends at file `label`, which is no machine of the catalogue; `part`: the first that it takes from another.
    fn no_machine(&self, label: String, part: Option<(&str, usize)>) -> Problem {
        let Some((part, line)) = part else {
            let names = self.catalogue.names().join(", ");
            return Problem::new(
                label,
                format!("extends is missing; write extends = \"…\" with one of {names}, or a path"),
            );
        };
        let place = format!("{label}:{line}");
        let message =
            format!("parts.{part} without parts.ni: write the NI's machine, or extends for a whole machine");
        Problem::new(place, message)
    }

    fn load(&mut self, place: &Place, name: &str, said: &str, scope: Scope) -> Result<Link, Option<Problem>> {
        let of_catalogue = |file: Option<(&str, &str)>, name: &String| {
            file.map(|(text, label)| (text.to_string(), label.to_string(), name.clone()))
        };
        let (text, label, origin) = match place {
            Place::Catalogue(name) => of_catalogue(self.catalogue.machine_file(name), name).ok_or(None)?,
            Place::Part(name) => of_catalogue(self.catalogue.part_file(name), name).ok_or(None)?,
            Place::File(path) => match chasqui_files::read_to_string(path) {
                Ok(text) => (text, path.display().to_string(), file_name(path)),
                Err(error) => {
                    let file =
                        if said.is_empty() { "its file".into() } else { format!("machine file {name:?}") };
                    let message = format!("{file} can't be read: {error}");
                    return Err(Some(Problem::new(said, message)));
                }
            },
        };
        let mut layer = Layer::parse(&text, &label, &mut self.problems).ok_or(None)?;
        let whole =
            matches!(place, Place::Catalogue(_)) || layer.extends.is_some() || layer.parts[NI].is_some();
        self.restrict(&mut layer, scope, whole);
        if let Some(part) = scope.part() {
            let has_it = match place {
                Place::Catalogue(name) => has(&self.catalogue.schema(name), part),
                _ => whole || !layer.is_empty(),
            };
            if !has_it {
                let (part, names) = (PARTS[part], self.that_have(part));
                let message = format!("{name:?} has no {part}; these have one: {names}");
                return Err(Some(Problem::new(said, message)));
            }
        }
        let base = place.directory().map_or(Base::Catalogue, Base::Directory);
        Ok(Link { layer, origin, variant: None, scope, base })
    }

    /// Leaves of `layer` what `scope` has. What else a whole machine says is another machine's matter; a file that is
    /// nothing but a part has nothing else.
    fn restrict(&mut self, layer: &mut Layer, scope: Scope, whole: bool) {
        let belongs = |key: &str| scope.0[Scope::of(key)];
        if !whole && !scope.is_machine() {
            for entry in layer.values.iter().filter(|entry| Scope::of(&entry.key) == NI) {
                let allowed = PARTS[NI + 1..].join(", ");
                let message = format!("{} is no part that a machine takes; allowed: {allowed}", entry.key);
                self.problems.push(Problem::new(format!("{}:{}", layer.label, entry.line), message));
            }
        }
        layer.values.retain(|entry| belongs(&entry.key));
        layer.variants.iter_mut().for_each(|v| v.values.retain(|entry| belongs(&entry.key)));
    }
}

fn no_variant(said: &str, variant: &str, names: &[String]) -> Problem {
    let allowed = if names.is_empty() { "none".to_string() } else { names.join(", ") };
    let hint = did_you_mean(variant, names.iter().map(String::as_str));
    Problem::new(said, format!("there is no variant {variant:?}; there are {allowed}{hint}"))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Whether machines of this schema have the part.
fn has(schema: &Schema, part: usize) -> bool {
    let mut parameters = schema.parameters();
    parameters.any(|(path, _)| path.split_once('.').is_some_and(|(first, _)| first == PARTS[part]))
}

/// What a part of the catalogue is, where a machine is wanted.
const PART_ALONE: &str = "a part of machines (parts.node, parts.network), no machine";

/// What `name` means, which is to give `scope`; `directory` is that of the file which says so (`Some(None)`: a file of the
/// catalogue, which lies in no directory).
fn locate(
    catalogue: &dyn Catalogue,
    name: &str,
    directory: Option<Option<&Path>>,
    scope: Scope,
) -> Result<(Place, Option<String>), String> {
    if catalogue.machine_file(name).is_some() {
        return Ok((Place::Catalogue(name.to_string()), None));
    }
    if catalogue.part_file(name).is_some() {
        return match (scope.is_machine(), directory) {
            (false, _) => Ok((Place::Part(name.to_string()), None)),
            (true, Some(_)) => Err(format!("{name:?} is {PART_ALONE}")),
            (true, None) => Err(format!("it is {PART_ALONE}")),
        };
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
        let mut names = catalogue.names();
        if !scope.is_machine() {
            names.extend(catalogue.part_names());
        }
        let what = if scope.is_machine() { "machine" } else { "machine or part" };
        let hint = did_you_mean(name.split('/').next().unwrap_or_default(), names.iter().copied());
        let names = names.join(", ");
        // What the command line asks for is named before the problem.
        let none = match directory {
            None => format!("there is no such {what}"),
            Some(_) => format!("there is no {what} {name:?}"),
        };
        return Err(format!("{none}; there are {names}, or a path that ends in .toml{hint}"));
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
