//! Counters declared once, and the tree of them that becomes `stats.json`.

use std::collections::BTreeMap;
use std::io::{self, Write};

/// A group of counters, declared by [`crate::statistics!`].
pub trait Statistics {
    /// What the group is.
    const DOC: &'static str;

    /// Calls `visit` with name, unit, documentation and value of each counter, in the order of the declaration.
    fn visit(&self, visit: &mut dyn FnMut(&'static str, &'static str, &'static str, u64));

    /// Adds the counters of `other`.
    fn add(&mut self, other: &Self);
}

/// Declares a struct of `u64` counters with their units and documentation.
///
/// ```
/// use chasqui_record::Statistics;
/// chasqui_record::statistics! {
///     /// A cache.
///     pub struct CacheStatistics {
///         /// Loads that hit.
///         load_hits: "accesses";
///         /// Lines written back.
///         write_backs: "lines";
///     }
/// }
/// let mut total = CacheStatistics::default();
/// total.add(&CacheStatistics { load_hits: 2, ..Default::default() });
/// assert_eq!(total.load_hits, 2);
/// ```
#[macro_export]
macro_rules! statistics {
    ($(#[doc = $doc:literal])+ pub struct $name:ident {
        $( $(#[doc = $fdoc:literal])+ $field:ident : $unit:literal ; )*
    }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $( $(#[doc = $fdoc])+ pub $field: u64, )* }

        impl $crate::Statistics for $name {
            const DOC: &'static str = concat!($($doc),+).trim_ascii();

            fn visit(&self, visit: &mut dyn FnMut(&'static str, &'static str, &'static str, u64)) {
                $( visit(stringify!($field), $unit, const { concat!($($fdoc),+).trim_ascii() }, self.$field); )*
            }

            fn add(&mut self, other: &Self) {
                $( self.$field += other.$field; )*
            }
        }
    };
}

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

    /// Enters a group of counters below `path`.
    ///
    /// # Panics
    /// As [`StatisticsTree::set`] does.
    pub fn group<S: Statistics>(&mut self, path: &str, group: &S) {
        group.visit(&mut |name, unit, doc, value| self.set(&format!("{path}.{name}"), unit, doc, value));
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
    use super::*;

    crate::statistics! {
        /// A cache.
        pub struct Cache {
            /// Loads that "hit".
            hits: "accesses";
            /// Loads that
            /// miss.
            misses: "accesses";
        }
    }

    #[test]
    fn counters_add_and_are_visited_in_order() {
        let mut total = Cache { hits: 1, misses: 2 };
        total.add(&Cache { hits: 10, misses: 20 });
        let mut seen = Vec::new();
        total.visit(&mut |name, unit, doc, value| seen.push((name, unit, doc, value)));
        assert_eq!(
            seen,
            [("hits", "accesses", "Loads that \"hit\".", 11), ("misses", "accesses", "Loads that miss.", 22)]
        );
        assert_eq!(Cache::DOC, "A cache.");
    }

    #[test]
    fn the_tree_is_the_same_whatever_the_order() {
        let json = |order: &[u32]| {
            let mut tree = StatisticsTree::new();
            for node in order {
                tree.group(&format!("node.{node}.l1d"), &Cache { hits: u64::from(*node), misses: 0 });
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
