//! The tree of all counters, which becomes `stats.json`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use chasqui_counters::{Visitor, below};

/// A component of a path; numbers in it sort as numbers: `node2` before `node10`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Component {
    stem: String,
    number: Option<u64>,
    text: String,
}

impl Component {
    fn new(text: &str) -> Component {
        let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
        Component { stem: stem.to_string(), number: text[stem.len()..].parse().ok(), text: text.to_string() }
    }
}

#[derive(Clone, Debug)]
enum Node {
    Inner(BTreeMap<Component, Node>),
    Leaf { value: u64, unit: &'static str, doc: &'static str },
}

/// Statistics of a whole machine: paths such as `node.0.l1d.load_hits`, each with value, unit and documentation.
#[derive(Clone, Debug, Default)]
pub struct StatisticsTree {
    root: BTreeMap<Component, Node>,
}

impl StatisticsTree {
    /// Without statistics.
    pub fn new() -> StatisticsTree {
        StatisticsTree::default()
    }

    /// Enters below `path` what `visit` shows: a group of counters, or all of a part of the machine.
    ///
    /// # Panics
    /// As [`StatisticsTree::set`] does.
    pub fn group(&mut self, path: &str, visit: impl FnOnce(&mut Visitor<'_>)) {
        visit(&mut below(path, &mut |path, unit, doc, value| self.set(path, unit, doc, value)));
    }

    /// Enters one value.
    ///
    /// # Panics
    /// When the path is taken: two parts of the simulator claim one name.
    pub fn set(&mut self, path: &str, unit: &'static str, doc: &'static str, value: u64) {
        let (groups, name) = path.rsplit_once('.').unwrap_or(("", path));
        let mut at = &mut self.root;
        for component in groups.split('.').filter(|c| !c.is_empty()) {
            let inner = || Node::Inner(BTreeMap::new());
            at = match at.entry(Component::new(component)).or_insert_with(inner) {
                Node::Inner(inner) => inner,
                Node::Leaf { .. } => panic!("statistics {path}: {component} is a value, not a group"),
            };
        }
        let before = at.insert(Component::new(name), Node::Leaf { value, unit, doc });
        assert!(before.is_none(), "statistics {path} is entered twice");
    }

    /// The value at a path.
    pub fn get(&self, path: &str) -> Option<u64> {
        let mut at = &self.root;
        let mut components = path.split('.').peekable();
        while let Some(component) = components.next() {
            match at.get(&Component::new(component))? {
                Node::Inner(inner) => at = inner,
                Node::Leaf { value, .. } => return components.peek().is_none().then_some(*value),
            }
        }
        None
    }

    /// Writes the tree as nested JSON objects, one value a line; a value is `{"value", "unit", "doc"}`.
    ///
    /// # Errors
    /// When `out` can't be written.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_inner(&self.root, 1, out)?;
        out.write_all(b"\n")
    }
}

fn write_inner(inner: &BTreeMap<Component, Node>, depth: usize, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{")?;
    for (index, (component, node)) in inner.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}\n{:1$}", "", depth * 2)?;
        serde_json::to_writer(&mut *out, &component.text)?;
        out.write_all(b": ")?;
        match node {
            Node::Inner(inner) => write_inner(inner, depth + 1, out)?,
            Node::Leaf { value, unit, doc } => {
                write!(out, "{{\"value\": {value}, \"unit\": ")?;
                serde_json::to_writer(&mut *out, unit)?;
                out.write_all(b", \"doc\": ")?;
                serde_json::to_writer(&mut *out, doc)?;
                out.write_all(b"}")?;
            }
        }
    }
    write!(out, "\n{:1$}}}", "", (depth - 1) * 2)
}

#[cfg(test)]
mod tests {
    use chasqui_counters::{Counters, counters};

    use super::*;

    counters! {
        /// A cache.
        struct Cache {
            /// Loads that "hit".
            hits: "accesses";
        }
    }

    #[test]
    fn the_tree_is_the_same_whatever_the_order() {
        let json = |order: &[u32]| {
            let mut tree = StatisticsTree::new();
            for node in order {
                let cache = Cache { hits: u64::from(*node) };
                tree.group(&format!("node.{node}"), |visit| cache.visit(&mut below("l1d", visit)));
            }
            tree.set("time", "ps", "Simulated time.", u64::MAX);
            assert_eq!(tree.get("node.10.l1d.hits"), Some(10));
            assert_eq!(
                (tree.get("node.10"), tree.get("node.10.l1d.hits.x"), tree.get("no")),
                (None, None, None)
            );
            let mut out = Vec::new();
            tree.write_json(&mut out).expect("memory can be written");
            String::from_utf8(out).expect("UTF-8")
        };
        let text = json(&[10, 9]);
        assert_eq!(text, json(&[9, 10]));
        let nine = text.find("\"9\"").expect("is there");
        assert!(nine < text.find("\"10\"").expect("is there"), "numbers sort as numbers:\n{text}");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let hits = &value["node"]["9"]["l1d"]["hits"];
        assert_eq!(hits.to_string(), r#"{"doc":"Loads that \"hit\".","unit":"accesses","value":9}"#);
        assert_eq!(value["time"]["value"], u64::MAX);
        let mut empty = Vec::new();
        StatisticsTree::new().write_json(&mut empty).expect("memory can be written");
        assert!(serde_json::from_slice::<serde_json::Value>(&empty).is_ok());
    }

    #[test]
    #[should_panic(expected = "statistics a.b is entered twice")]
    fn a_name_has_one_owner() {
        let mut tree = StatisticsTree::new();
        tree.set("a.b", "", "", 1);
        tree.set("a.b", "", "", 1);
    }
}
