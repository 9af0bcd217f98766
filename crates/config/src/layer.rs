//! One machine file: its head, its values and its variants.

use crate::declaration::{Declaration, RESERVED, Schema, join};
use crate::document::{self, Entry, Node};
use crate::documents::{self, Base, Document};
use crate::error::Problem;
use crate::quantity::{Quantity, Scalar};
use crate::suggest::did_you_mean;
use std::collections::HashMap;

/// Version of the layout of machine files.
pub const SCHEMA_VERSION: i64 = 1;
/// The parts that a machine is put together from, in a file's table `parts`; the first is all that the others leave.
pub(crate) const PARTS: [&str; 3] = ["ni", "node", "network"];

/// A parsed machine file.
#[derive(Debug)]
pub(crate) struct Layer {
    /// Name for messages: a path.
    pub label: String,
    /// The machine it extends, and the line that says so.
    pub extends: Option<(String, usize)>,
    /// What gives each of [`PARTS`], and the line that says so.
    pub parts: [Option<(String, usize)>; PARTS.len()],
    /// `about.name`: the name under which a resolved machine was run.
    pub name: Option<String>,
    /// `about.summary`.
    pub summary: String,
    /// The parameters.
    pub values: Vec<Entry>,
    /// The variants.
    pub variants: Vec<VariantTable>,
}

/// `[variant.<name>]` of a file.
#[derive(Debug)]
pub(crate) struct VariantTable {
    pub name: String,
    pub summary: String,
    pub values: Vec<Entry>,
}

/// A value that a file or the command line gives to a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub path: String,
    /// In canonical form.
    pub value: Scalar,
    /// Least and greatest plausible value, in canonical form.
    pub plausible: Option<(Scalar, Scalar)>,
    /// `file:line`, or `--set …`.
    pub place: String,
    pub source: String,
    /// The `from` of a resolved machine's file.
    pub from: Option<String>,
}

impl Layer {
    /// Reads the head of a file. Its values wait for [`Walk`], which needs the schema.
    pub(crate) fn parse(text: &str, label: &str, problems: &mut Vec<Problem>) -> Option<Layer> {
        let entries = match document::parse(text, label) {
            Ok(entries) => entries,
            Err(errors) => {
                problems.extend(errors);
                return None;
            }
        };
        let mut layer = Layer {
            label: label.to_string(),
            extends: None,
            parts: Default::default(),
            name: None,
            summary: String::new(),
            values: Vec::new(),
            variants: Vec::new(),
        };
        let mut versioned = false;
        for entry in entries {
            match entry.key.as_str() {
                "schema_version" => {
                    versioned = true;
                    layer.check_version(&entry, problems);
                }
                "extends" => {
                    layer.extends = layer.text(&entry, "extends", problems).map(|name| (name, entry.line));
                }
                "parts" => layer.read_parts(&entry, problems),
                "about" => layer.read_about(&entry, problems),
                "variant" => layer.read_variants(entry, problems),
                _ => layer.values.push(entry),
            }
        }
        layer.check_parts(problems);
        if !versioned {
            problems.push(Problem::new(
                label,
                format!("schema_version is missing; write schema_version = {SCHEMA_VERSION}"),
            ));
        }
        Some(layer)
    }

    /// It gives no value to anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.variants.iter().all(|variant| variant.values.is_empty())
    }

    /// The first part that it takes from another, with the line that says so.
    pub(crate) fn first_part(&self) -> Option<(&'static str, usize)> {
        PARTS.into_iter().zip(&self.parts).find_map(|(part, given)| Some((part, given.as_ref()?.1)))
    }

    fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.label)
    }

    fn check_version(&self, entry: &Entry, problems: &mut Vec<Problem>) {
        if !matches!(&entry.node, Node::Scalar(Scalar::Integer(SCHEMA_VERSION))) {
            let message =
                format!("schema_version {} is not known; allowed: {SCHEMA_VERSION}", show(&entry.node));
            problems.push(Problem::new(self.place(entry.line), message));
        }
    }

    fn text(&self, entry: &Entry, path: &str, problems: &mut Vec<Problem>) -> Option<String> {
        if let Node::Scalar(Scalar::Text(text)) = &entry.node {
            return Some(text.clone());
        }
        problems.push(Problem::new(
            self.place(entry.line),
            format!("{path} is a text, not {}", show(&entry.node)),
        ));
        None
    }

    fn read_parts(&mut self, entry: &Entry, problems: &mut Vec<Problem>) {
        let allowed = PARTS.map(|part| format!("parts.{part}")).join(", ");
        let Node::Table(entries) = &entry.node else {
            let message = format!("parts is a table with the keys {}", PARTS.join(", "));
            return problems.push(Problem::new(self.place(entry.line), message));
        };
        for entry in entries {
            match PARTS.iter().position(|part| entry.key == *part) {
                Some(part) => {
                    let name = self.text(entry, &format!("parts.{}", entry.key), problems);
                    self.parts[part] = name.map(|name| (name, entry.line));
                }
                None => {
                    let message = format!("parts.{} is not known; allowed: {allowed}", entry.key);
                    problems.push(Problem::new(self.place(entry.line), message));
                }
            }
        }
    }

    /// A file extends a machine, or takes its NI from one and its node from another.
    fn check_parts(&self, problems: &mut Vec<Problem>) {
        let [ni, node, _] = &self.parts;
        let Some((_, line)) = ni else { return };
        if self.extends.is_some() {
            let message = "parts.ni beside extends: write one of them";
            problems.push(Problem::new(self.place(*line), message));
        } else if node.is_none() {
            let message =
                "parts.ni without parts.node: write the node's machine, or extends for a whole machine";
            problems.push(Problem::new(self.place(*line), message));
        }
    }

    fn read_about(&mut self, entry: &Entry, problems: &mut Vec<Problem>) {
        let Node::Table(entries) = &entry.node else {
            problems
                .push(Problem::new(self.place(entry.line), "about is a table with the keys summary, name"));
            return;
        };
        for entry in entries {
            match entry.key.as_str() {
                "summary" => self.summary = self.text(entry, "about.summary", problems).unwrap_or_default(),
                "name" => self.name = self.text(entry, "about.name", problems),
                key => {
                    let message = format!("about.{key} is not known; allowed: about.summary, about.name");
                    problems.push(Problem::new(self.place(entry.line), message));
                }
            }
        }
    }

    fn read_variants(&mut self, entry: Entry, problems: &mut Vec<Problem>) {
        let Node::Table(variants) = entry.node else {
            problems
                .push(Problem::new(self.place(entry.line), "variant is a table of variants: [variant.name]"));
            return;
        };
        for variant in variants {
            let Node::Table(entries) = variant.node else {
                let message = format!("variant.{} is a table of parameters", variant.key);
                problems.push(Problem::new(self.place(variant.line), message));
                continue;
            };
            let mut table = VariantTable { name: variant.key, summary: String::new(), values: Vec::new() };
            for entry in entries {
                if entry.key == "summary" {
                    let path = format!("variant.{}.summary", table.name);
                    table.summary = self.text(&entry, &path, problems).unwrap_or_default();
                } else {
                    table.values.push(entry);
                }
            }
            self.variants.push(table);
        }
    }
}

/// The schema, ready for look-ups.
pub(crate) struct Names<'a> {
    by_path: HashMap<String, &'a Declaration>,
    /// Paths in the order of the schema.
    paths: Vec<String>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(schema: &'a Schema) -> Names<'a> {
        let by_path: HashMap<String, &Declaration> = schema.parameters().collect();
        Names { by_path, paths: schema.parameters().map(|(path, _)| path).collect() }
    }

    fn is_group(&self, path: &str) -> bool {
        self.paths.iter().any(|p| p.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
    }

    /// `no parameter x; did you mean y?`, or what the nearest group holds.
    fn unknown(&self, path: &str) -> String {
        match path.split('.').next().unwrap_or_default() {
            "variant" => {
                return format!("{path} is not a parameter; a variant is chosen as MACHINE/VARIANT");
            }
            "parts" => {
                let parts = PARTS.join(", ");
                return format!(
                    "{path} is not a parameter; [parts] at the top of a machine file chooses {parts}"
                );
            }
            first if RESERVED.contains(&first) => {
                return format!("{path} is not a parameter; it belongs at the top of a machine file");
            }
            _ => {}
        }
        let hint = did_you_mean(path, self.paths.iter().map(String::as_str));
        if !hint.is_empty() {
            return format!("{path} is not a parameter{hint}");
        }
        let mut group = path;
        while let Some((outer, _)) = group.rsplit_once('.') {
            group = outer;
            if self.is_group(group) {
                return format!("{path} is not a parameter; {group} has {}", self.members(group));
            }
        }
        format!("{path} is not a parameter; the machine has {}", self.members(""))
    }

    /// What lies directly in a group: parameters, and groups with `.…`.
    fn members(&self, group: &str) -> String {
        let prefix = if group.is_empty() { String::new() } else { format!("{group}.") };
        let mut names: Vec<String> = Vec::new();
        for rest in self.paths.iter().filter_map(|p| p.strip_prefix(&prefix)) {
            let name = match rest.split_once('.') {
                Some((inner, _)) => format!("{inner}.…"),
                None => rest.to_string(),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    }
}

/// Turns the entries of a file or of the command line into assignments.
pub(crate) struct Walk<'a> {
    pub names: &'a Names<'a>,
    /// Where a line lies: `file:line`, or `--set …`.
    pub place: &'a dyn Fn(usize) -> String,
    /// Where files lie that values name.
    pub base: &'a Base,
    pub problems: &'a mut Vec<Problem>,
    pub found: Vec<Assignment>,
}

impl Walk<'_> {
    fn problem(&mut self, line: usize, message: String) {
        self.problems.push(Problem::new((self.place)(line), message));
    }

    pub(crate) fn entries(&mut self, prefix: &str, entries: &[Entry]) {
        for entry in entries {
            // A quoted key with a dot in it would otherwise name what it is not.
            if entry.key.contains('.') {
                self.problem(entry.line, format!("{}: a dot within quotes", join(prefix, &entry.key)));
            } else {
                self.entry(&join(prefix, &entry.key), entry.line, &entry.node, None);
            }
        }
    }

    /// `raw` is the text on the command line, for parameters that want a text which looks like a number.
    pub(crate) fn entry(&mut self, path: &str, line: usize, node: &Node, raw: Option<&str>) {
        if let Some(&declaration) = self.names.by_path.get(path) {
            self.parameter(path, line, node, declaration, raw);
        } else if self.names.is_group(path) {
            match node {
                Node::Table(entries) => self.entries(path, entries),
                other => {
                    let members = self.names.members(path);
                    self.problem(line, format!("{path} is a group, not {}; it has {members}", show(other)));
                }
            }
        } else {
            self.problem(line, self.names.unknown(path));
        }
    }

    fn parameter(
        &mut self,
        path: &str,
        line: usize,
        node: &Node,
        declaration: &Declaration,
        raw: Option<&str>,
    ) {
        let mut assignment = Assignment {
            path: path.to_string(),
            value: Scalar::Flag(false),
            plausible: None,
            place: (self.place)(line),
            source: String::new(),
            from: None,
        };
        let mut given: Option<(usize, &Node)> = None;
        let mut range: Option<(usize, &Node)> = None;
        match node {
            Node::Table(entries) => {
                for entry in entries {
                    let text = match &entry.node {
                        Node::Scalar(Scalar::Text(text)) => Some(text.clone()),
                        _ => None,
                    };
                    match (entry.key.as_str(), text) {
                        ("value", _) => given = Some((entry.line, &entry.node)),
                        ("range", _) => range = Some((entry.line, &entry.node)),
                        ("source", Some(text)) => assignment.source = text,
                        ("from", Some(text)) => assignment.from = Some(text),
                        ("source" | "from", None) => {
                            self.problem(
                                entry.line,
                                format!("{path}.{} is a text, not {}", entry.key, show(&entry.node)),
                            );
                        }
                        (key, _) => {
                            let message = format!(
                                "{path} is a parameter: {path}.{key} is not known; allowed: value, range, source"
                            );
                            self.problem(entry.line, message);
                        }
                    }
                }
                if given.is_none() {
                    self.problem(
                        line,
                        format!("{path} has no value; write {path} = {}", declaration.default),
                    );
                }
            }
            other => given = Some((line, other)),
        }
        let Some((line, node)) = given else { return };
        let read = |value| match declaration.type_name {
            Document::TYPE => documents::read(value, self.base),
            _ => Ok(value),
        };
        let value = match checked(node, declaration, raw).and_then(read) {
            Ok(value) => value,
            Err(message) => return self.problem(line, format!("{path}: {message}")),
        };
        match range.map(|(line, node)| plausible(node, &value, declaration).map_err(|e| (line, e))) {
            None => self.found.push(Assignment { value, ..assignment }),
            Some(Ok(range)) => self.found.push(Assignment { value, plausible: Some(range), ..assignment }),
            Some(Err((line, message))) => self.problem(line, format!("{path}.range: {message}")),
        }
    }
}

/// The value that `node` gives, in canonical form; `raw` as in [`Walk::entry`].
fn checked(node: &Node, declaration: &Declaration, raw: Option<&str>) -> Result<Scalar, String> {
    match node {
        Node::Scalar(value) => declaration.check(value).or_else(|message| match raw {
            Some(raw) => declaration.check(&Scalar::from(raw)).map_err(|_| message),
            None => Err(message),
        }),
        other => Err(format!("{} is not a {}", show(other), declaration.type_name)),
    }
}

/// The least and greatest plausible value that `range = [least, greatest]` gives beside `value`.
fn plausible(node: &Node, value: &Scalar, declaration: &Declaration) -> Result<(Scalar, Scalar), String> {
    let Node::Array(ends) = node else {
        return Err(format!("write [least, greatest], not {}", show(node)));
    };
    let [Node::Scalar(least), Node::Scalar(greatest)] = ends.as_slice() else {
        return Err("write [least, greatest], two values".to_string());
    };
    if !declaration.is_ordered() {
        return Err(format!("a {} has none: its values have no order", declaration.type_name));
    }
    let range = (declaration.check(least)?, declaration.check(greatest)?);
    if (declaration.check)(&range.1, Some(&(range.0.clone(), range.1.clone()))).is_err() {
        return Err(format!("{least} is more than {greatest}"));
    }
    match (declaration.check)(value, Some(&range)) {
        Ok(_) => Ok(range),
        Err(_) => Err(format!("the value, {value}, is not between {least} and {greatest}")),
    }
}

/// What was found, for messages.
fn show(node: &Node) -> String {
    match node {
        Node::Scalar(scalar) => scalar.to_string(),
        Node::Table(_) => "a table".to_string(),
        Node::Array(_) => "an array".to_string(),
        Node::Other(kind) => (*kind).to_string(),
    }
}
