//! A machine with every parameter decided.

use crate::declaration::{Declaration, Parameters, Schema, join};
use crate::documents::Document;
use crate::error::{ConfigError, Problem};
use crate::quantity::{Quantity, Scalar, quote};
use std::collections::HashMap;
use std::fmt::Write;

/// Where a parameter's value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The declaration.
    Default,
    /// A machine file, by the machine's name or the file's.
    File(String),
    /// `--set` on the command line.
    CommandLine,
}

impl Origin {
    /// The word in a resolved machine's file.
    pub fn text(&self) -> &str {
        match self {
            Origin::Default => "default",
            Origin::File(name) => name,
            Origin::CommandLine => "--set",
        }
    }

    pub(crate) fn from_text(text: &str) -> Origin {
        match text {
            "default" => Origin::Default,
            "--set" => Origin::CommandLine,
            name => Origin::File(name.to_string()),
        }
    }
}

/// A parameter with its value.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Path: `node.dram.first_chunk`.
    pub path: String,
    /// Value in canonical form.
    pub value: Scalar,
    /// Least and greatest plausible value, in canonical form, where the machine file gives them (`range`): what is known
    /// leaves the value open between them.
    pub plausible: Option<(Scalar, Scalar)>,
    /// Where the value is set.
    pub origin: Origin,
    /// The same for messages: `file:line`, `--set …`, or `default`.
    pub place: String,
    /// Why it is this value: a document and section, or an assumption; empty if none is given.
    pub source: String,
    /// Its declaration.
    pub declaration: Declaration,
}

impl Parameter {
    /// The declared default in canonical form.
    pub(crate) fn default(&self) -> Scalar {
        self.declaration.check(&self.declaration.default).unwrap_or_else(|_| self.declaration.default.clone())
    }
}

/// A machine with every parameter decided.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub(crate) name: String,
    pub(crate) base: String,
    pub(crate) summary: String,
    parameters: Vec<Parameter>,
    index: HashMap<String, usize>,
    /// Prefix, documentation and parameters of each group.
    groups: Vec<(String, String, Vec<usize>)>,
}

/// Equal when name, base, summary, values, plausible ranges, origins and sources are.
impl PartialEq for Resolved {
    fn eq(&self, other: &Resolved) -> bool {
        let head = |r: &Resolved| (r.name.clone(), r.base.clone(), r.summary.clone());
        let same = |(a, b): (&Parameter, &Parameter)| {
            (&a.path, &a.value, &a.plausible, &a.origin, &a.source)
                == (&b.path, &b.value, &b.plausible, &b.origin, &b.source)
        };
        head(self) == head(other)
            && self.parameters.len() == other.parameters.len()
            && self.parameters.iter().zip(&other.parameters).all(same)
    }
}

impl Resolved {
    /// The defaults of a schema, for tests of parts.
    ///
    /// # Panics
    /// When a default doesn't parse ([`Schema::mistakes`] tells which).
    pub fn defaults(schema: &Schema) -> Resolved {
        let mut resolved = Resolved {
            name: String::new(),
            base: String::new(),
            summary: String::new(),
            parameters: Vec::new(),
            index: HashMap::new(),
            groups: Vec::new(),
        };
        for group in &schema.groups {
            let at = resolved.groups.iter().position(|(prefix, ..)| *prefix == group.prefix).unwrap_or_else(
                || {
                    resolved.groups.push((group.prefix.clone(), group.doc.clone(), Vec::new()));
                    resolved.groups.len() - 1
                },
            );
            for declaration in &group.declarations {
                let path = join(&group.prefix, declaration.name);
                let value = declaration.check(&declaration.default);
                let value = value.unwrap_or_else(|message| panic!("the default of {path}: {message}"));
                let (origin, source) = (Origin::Default, declaration.source.to_string());
                let place = origin.text().to_string();
                resolved.groups[at].2.push(resolved.parameters.len());
                resolved.index.insert(path.clone(), resolved.parameters.len());
                resolved.parameters.push(Parameter {
                    path,
                    value,
                    plausible: None,
                    origin,
                    place,
                    source,
                    declaration: declaration.clone(),
                });
            }
        }
        resolved
    }

    /// The name under which the machine is reported: `voyager/reclaim`, `my.toml`. Never a directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The catalogue's machine that it is built from.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// What it is, in a sentence.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Every parameter, in the order of the schema.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// A parameter by its path.
    pub fn parameter(&self, path: &str) -> Option<&Parameter> {
        self.index.get(path).map(|i| &self.parameters[*i])
    }

    pub(crate) fn parameter_mut(&mut self, path: &str) -> Option<&mut Parameter> {
        self.index.get(path).map(|i| &mut self.parameters[*i])
    }

    /// Parameters that a machine file sets without saying why.
    pub fn without_source(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|p| p.source.is_empty() && matches!(p.origin, Origin::File(_)))
    }

    /// The value at `path`.
    ///
    /// # Panics
    /// When the schema has no such parameter, or one of another type: the caller is wrong.
    pub fn get<T: Quantity>(&self, path: &str) -> T {
        let parameter = self.parameter(path).unwrap_or_else(|| panic!("the schema has no parameter {path}"));
        T::parse(&parameter.value)
            .unwrap_or_else(|message| panic!("{path} is declared with another type: {message}"))
    }

    /// What does not fit together, for the user, who asked for `machine`: `mistakes` are sentences. The parameters that one
    /// names are shown with their values and where these are set.
    pub fn contradictions(&self, machine: &str, mistakes: &[String]) -> ConfigError {
        let problems = mistakes.iter().map(|mistake| {
            let named = self.parameters.iter().filter(|p| is_named(mistake, &p.path));
            let values: Vec<_> = named.map(shown).collect();
            let shown = if values.is_empty() { String::new() } else { format!(" ({})", values.join("; ")) };
            Problem::new("", format!("{mistake}{shown}"))
        });
        ConfigError { machine: machine.to_string(), problems: problems.collect() }
    }

    /// The group `P` at `prefix`; panics as [`Resolved::get`] does.
    pub fn read<P: Parameters>(&self, prefix: &str) -> P {
        P::read(self, prefix)
    }

    /// The machine as a machine file that [`crate::resolve`] reads back to an equal one: every
    /// parameter with its value, its plausible values (`range`), where that is set (`from`) and why (`source`).
    pub fn to_toml(&self) -> String {
        let mut text = String::from(
            "# A machine, fully resolved: every parameter, where it is set (from) and why (source).\n\
             # It is a machine file: `chasqui run --machine resolved.toml` runs the same machine.\n",
        );
        writeln!(text, "schema_version = {}", crate::SCHEMA_VERSION).unwrap();
        writeln!(text, "extends = {}", quote(&self.base)).unwrap();
        // Parameters without a group precede the first table, as TOML wants.
        for (prefix, _, parameters) in self.groups.iter().filter(|(prefix, ..)| prefix.is_empty()) {
            self.write_group(&mut text, prefix, parameters);
        }
        writeln!(text, "\n[about]\nname = {}\nsummary = {}", quote(&self.name), quote(&self.summary))
            .unwrap();
        for (prefix, doc, parameters) in self.groups.iter().filter(|(prefix, ..)| !prefix.is_empty()) {
            if parameters.is_empty() {
                continue;
            }
            text.push('\n');
            write_comment(&mut text, doc);
            writeln!(text, "[{prefix}]").unwrap();
            self.write_group(&mut text, prefix, parameters);
        }
        text
    }

    fn write_group(&self, text: &mut String, prefix: &str, parameters: &[usize]) {
        for parameter in parameters.iter().map(|i| &self.parameters[*i]) {
            let declaration = &parameter.declaration;
            let name = parameter.path.strip_prefix(prefix).unwrap_or(&parameter.path).trim_start_matches('.');
            write_comment(text, &format!("{} ({})", declaration.doc, declaration.describe_type()));
            let (value, origin) = (&parameter.value, quote(parameter.origin.text()));
            let range = match &parameter.plausible {
                Some((least, greatest)) => format!(", range = [{least}, {greatest}]"),
                None => String::new(),
            };
            let source = quote(&parameter.source);
            writeln!(text, "{name} = {{ value = {value}{range}, from = {origin}, source = {source} }}")
                .unwrap();
        }
    }
}

/// A parameter's value and where it is set; of a document only the latter, for it is long.
fn shown(parameter: &Parameter) -> String {
    let Parameter { path, value, place, declaration, .. } = parameter;
    match declaration.type_name {
        Document::TYPE => format!("{path}: {place}"),
        _ => format!("{path} = {value}: {place}"),
    }
}

/// The text has the path as a word of its own.
fn is_named(text: &str, path: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(path).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + path.len()..]);
        // A full stop ends a sentence; a path goes on behind it.
        let goes_on = after.strip_prefix('.').unwrap_or(after).starts_with(is_inside);
        !goes_on && !before.ends_with(|c: char| is_inside(c) || c == '.')
    })
}

fn write_comment(text: &mut String, comment: &str) {
    writeln!(text, "# {}", comment.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap();
}
