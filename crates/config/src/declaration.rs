//! What a parameter is: the one declaration from which parser, manual and resolved file come.

use crate::quantity::{Alternative, Quantity, Scalar, parse_choice};
use crate::resolved::Resolved;
use serde::Serialize;
use std::collections::BTreeMap;

/// Keys of a machine file that are not parameters.
pub(crate) const RESERVED: [&str; 5] = ["schema_version", "extends", "parts", "about", "variant"];

/// Reads a value and checks it against the range; gives its canonical form.
pub type Check = fn(&Scalar, Option<&(Scalar, Scalar)>) -> Result<Scalar, String>;

/// A declared parameter.
#[derive(Clone, Debug, Serialize)]
pub struct Declaration {
    /// Name within its group.
    pub name: &'static str,
    /// Type: `duration`, `choice`, ….
    #[serde(rename = "type")]
    pub type_name: &'static str,
    /// Units a value may be written in; empty: none.
    pub units: &'static str,
    /// Default, in canonical form.
    pub default: Scalar,
    /// Least and greatest allowed value.
    pub range: Option<(Scalar, Scalar)>,
    /// What it is.
    pub doc: &'static str,
    /// Where the default comes from: a document and section, or an assumption.
    pub source: &'static str,
    /// The allowed words of a choice.
    pub alternatives: &'static [Alternative],
    /// Reads and checks a value.
    #[serde(skip)]
    pub check: Check,
}

impl Declaration {
    /// Reads a value and checks it against the range; gives its canonical form.
    ///
    /// # Errors
    /// What was found and what is allowed.
    pub fn check(&self, value: &Scalar) -> Result<Scalar, String> {
        if self.alternatives.is_empty() {
            return (self.check)(value, self.range.as_ref());
        }
        let words: Vec<_> = self.alternatives.iter().map(|a| a.word).collect();
        parse_choice(value, self.alternatives, &words).map(Scalar::from)
    }

    /// Of two values one is less: a quantity, no choice, flag, text or document.
    pub fn is_ordered(&self) -> bool {
        let unordered =
            [<crate::Flag as Quantity>::TYPE, <crate::Text as Quantity>::TYPE, crate::Document::TYPE];
        self.alternatives.is_empty() && !unordered.contains(&self.type_name)
    }

    /// Type and range for people: `duration, "0 ns" to "10 us"`.
    pub fn describe_type(&self) -> String {
        let mut text = self.type_name.to_string();
        if !self.alternatives.is_empty() {
            text += " of ";
            text += &self.alternatives.iter().map(|a| a.word).collect::<Vec<_>>().join(", ");
        }
        if let Some((least, greatest)) = &self.range {
            text += &format!(", {least} to {greatest}");
        }
        text
    }
}

/// [`Declaration::check`] for a type.
#[doc(hidden)]
pub fn check<T: Quantity>(value: &Scalar, range: Option<&(Scalar, Scalar)>) -> Result<Scalar, String> {
    let parsed = T::parse(value)?;
    if let Some((least, greatest)) = range {
        let inside = T::parse(least)? <= parsed && parsed <= T::parse(greatest)?;
        if !inside {
            return Err(format!("{value} is out of range; allowed: {least} to {greatest}"));
        }
    }
    Ok(parsed.scalar())
}

/// A group of parameters, declared by [`crate::parameters!`].
pub trait Parameters: Sized {
    /// What the group is.
    const DOC: &'static str;

    /// The parameters in the order of the declaration, without those of groups within the group.
    fn declarations() -> Vec<Declaration>;

    /// The groups within the group, each with its name as prefix.
    fn inner() -> Schema;

    /// The values under `prefix`.
    ///
    /// # Panics
    /// When the machine's schema lacks the group at `prefix`: the machine's code is wrong.
    fn read(resolved: &Resolved, prefix: &str) -> Self;
}

/// `prefix.name`, or `name` when the prefix is empty.
pub fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") }
}

/// Declarations at a place in a machine.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Path of the group: `node.dram`.
    pub prefix: String,
    /// What the group is.
    pub doc: String,
    /// Its parameters.
    pub declarations: Vec<Declaration>,
}

/// All the parameters of a machine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Schema {
    /// The groups, in the order in which they are shown.
    pub groups: Vec<Group>,
}

impl Schema {
    /// Without parameters.
    pub fn new() -> Schema {
        Schema::default()
    }

    /// Adds the group `P` at `prefix`.
    #[must_use]
    pub fn with<P: Parameters>(self, prefix: &str) -> Schema {
        self.with_group(prefix, P::DOC, P::declarations()).with_part(prefix, P::inner())
    }

    /// Adds declarations at `prefix`.
    #[must_use]
    pub fn with_group(mut self, prefix: &str, doc: &str, declarations: Vec<Declaration>) -> Schema {
        self.groups.push(Group { prefix: prefix.to_string(), doc: doc.to_string(), declarations });
        self
    }

    /// Adds all groups of a part's schema below `prefix`.
    #[must_use]
    pub fn with_part(mut self, prefix: &str, part: Schema) -> Schema {
        for mut group in part.groups {
            group.prefix =
                if group.prefix.is_empty() { prefix.to_string() } else { join(prefix, &group.prefix) };
            self.groups.push(group);
        }
        self
    }

    /// Every parameter with its path.
    pub fn parameters(&self) -> impl Iterator<Item = (String, &Declaration)> {
        self.groups.iter().flat_map(|g| g.declarations.iter().map(|d| (join(&g.prefix, d.name), d)))
    }

    /// Parameters whose path, or a part of it, or documentation holds `text`; for `chasqui info`.
    pub fn search(&self, text: &str) -> Vec<(String, &Declaration)> {
        let wanted = text.to_lowercase();
        self.parameters()
            .filter(|(path, d)| path.contains(&wanted) || d.doc.to_lowercase().contains(&wanted))
            .collect()
    }

    /// What is wrong with the declarations themselves; a test of every machine asks for an empty list.
    pub fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (path, declaration) in self.parameters() {
            *seen.entry(path.clone()).or_default() += 1;
            mistakes.extend(mistakes_of(&path, declaration));
        }
        for (path, count) in &seen {
            if *count > 1 {
                mistakes.push(format!("{path} is declared {count} times"));
            }
            let inner = format!("{path}.");
            if seen.keys().any(|other| other.starts_with(&inner)) {
                mistakes.push(format!("{path} is both a parameter and a group"));
            }
            let first = path.split('.').next().unwrap_or_default();
            if RESERVED.contains(&first) {
                mistakes.push(format!("{path}: {first} has another meaning in machine files"));
            }
        }
        mistakes
    }
}

fn mistakes_of(path: &str, declaration: &Declaration) -> Vec<String> {
    let mut mistakes = Vec::new();
    if let Err(message) = declaration.check(&declaration.default) {
        mistakes.push(format!("{path}: the default: {message}"));
    }
    if let Some((least, greatest)) = &declaration.range {
        for bound in [least, greatest] {
            if let Err(message) = (declaration.check)(bound, None) {
                mistakes.push(format!("{path}: the range: {message}"));
            }
        }
    }
    for (what, text) in [("documentation", declaration.doc), ("source", declaration.source)] {
        if text.is_empty() {
            mistakes.push(format!("{path}: no {what}"));
        }
    }
    mistakes
}

/// Declares a group of parameters: a struct, its declarations and how it is read.
///
/// A field is `name: Type = default, range least ..= greatest, source "…";`, the range being
/// optional. Types: [`crate::Duration`], [`crate::Frequency`], [`crate::Bytes`],
/// [`crate::Bandwidth`], [`crate::Cycles`], [`crate::Count`], [`crate::Flag`], [`crate::Text`],
/// [`crate::Document`], [`crate::Ratio`], or a [`crate::choice!`]. Groups may follow that are a part of this one: they are
/// read with it, at its prefix and their name.
///
/// ```
/// use chasqui_config::{Duration, Parameters, Resolved, Schema};
/// chasqui_config::parameters! {
///     /// DRAM timing.
///     pub struct Dram {
///         /// Time from the address tenure to the first chunk of a read.
///         first_chunk: Duration = "200 ns", range "0 ns" ..= "10 us", source "assumption: 10 bus clocks";
///     }
/// }
/// let schema = Schema::new().with::<Dram>("node.dram");
/// assert!(schema.mistakes().is_empty());
/// let dram = Dram::read(&Resolved::defaults(&schema), "node.dram");
/// assert_eq!(dram.first_chunk.ps(), 200_000);
/// assert_eq!(dram, Dram::default());
///
/// chasqui_config::parameters! {
///     /// What a node has.
///     pub struct Node {
///         /// Its harts.
///         harts: chasqui_config::Count = 1, source "assumption";
///     } and groups {
///         /// Its memory.
///         dram: Dram;
///     }
/// }
/// let schema = Schema::new().with::<Node>("node");
/// let paths: Vec<_> = schema.parameters().map(|(path, _)| path).collect();
/// assert_eq!(paths, ["node.harts", "node.dram.first_chunk"]);
/// assert_eq!(Node::read(&Resolved::defaults(&schema), "node").dram, dram);
/// ```
#[macro_export]
macro_rules! parameters {
    ($(#[doc = $doc:literal])+ pub struct $name:ident {
        $(
            $(#[doc = $fdoc:literal])+
            $field:ident : $type:ty = $default:expr $(, range $least:literal ..= $greatest:literal)? , source $source:expr ;
        )*
    } $(and groups { $( $(#[doc = $gdoc:literal])+ $group:ident : $gtype:ty ; )+ })?) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $( $(#[doc = $fdoc])+ pub $field: $type, )*
            $($( $(#[doc = $gdoc])+ pub $group: $gtype, )+)?
        }

        impl $crate::Parameters for $name {
            const DOC: &'static str = concat!($($doc),+).trim_ascii();

            fn declarations() -> Vec<$crate::Declaration> {
                vec![$( $crate::Declaration {
                    name: stringify!($field).trim_start_matches("r#"),
                    type_name: <$type as $crate::Quantity>::TYPE,
                    units: <$type as $crate::Quantity>::UNITS,
                    default: $crate::Scalar::from($default),
                    range: None $(.or(Some(($crate::Scalar::from($least), $crate::Scalar::from($greatest)))))?,
                    doc: const { concat!($($fdoc),+).trim_ascii() },
                    source: $source,
                    alternatives: <$type as $crate::Quantity>::alternatives(),
                    check: $crate::__private::check::<$type>,
                } ),*]
            }

            fn inner() -> $crate::Schema {
                $crate::Schema::new() $($( .with::<$gtype>(stringify!($group)) )+)?
            }

            fn read(resolved: &$crate::Resolved, prefix: &str) -> Self {
                let _ = (resolved, prefix);
                Self {
                    $( $field: resolved.get(&$crate::join(prefix, stringify!($field).trim_start_matches("r#"))), )*
                    $($( $group: resolved.read(&$crate::join(prefix, stringify!($group))), )+)?
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $( $field: <$type as $crate::Quantity>::parse(&$crate::Scalar::from($default))
                        .expect(concat!("the declared default of ", stringify!($field), " parses")), )*
                    $($( $group: Default::default(), )+)?
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Count, Duration};

    crate::parameters! {
        /// Wrong on purpose.
        pub struct Wrong {
            /// Out of its range.
            late: Duration = "20 us", range "0 ns" ..= "10 us", source "test";
            /// In the wrong unit.
            r#type: Duration = "20 MHz", source "test";
            /// Has a range of another type.
            queues: Count = 4, range "few" ..= "many", source "test";
            /// Comes from nowhere.
            ways: Count = 4, source "";
        }
    }

    #[test]
    fn mistakes_in_declarations_are_found() {
        let schema = Schema::new().with::<Wrong>("part").with::<Wrong>("part.late").with_part(
            "",
            Schema::new().with_group("variant", "reserved", Wrong::declarations().split_off(3)),
        );
        let mistakes = schema.mistakes().join("\n");
        let expected = [
            "part.late: the default: \"20 us\" is out of range; allowed: \"0 ns\" to \"10 us\"",
            "part.type: the default: \"MHz\" is not a unit of duration",
            "part.queues: the range: \"few\" is not a whole number",
            "part.ways: no source",
            "part.late is both a parameter and a group",
            "variant.ways: variant has another meaning",
        ];
        for text in expected {
            assert!(mistakes.contains(text), "{text:?} is not in\n{mistakes}");
        }
        let twice = Schema::new().with::<Wrong>("a").with::<Wrong>("a");
        assert!(twice.mistakes().contains(&"a.ways is declared 2 times".to_string()));
    }

    #[test]
    fn a_declaration_says_what_it_is() {
        let declarations = Wrong::declarations();
        let late = &declarations[0];
        assert_eq!((late.name, late.doc, late.source), ("late", "Out of its range.", "test"));
        assert_eq!(late.describe_type(), "duration, \"0 ns\" to \"10 us\"");
        assert_eq!(Wrong::DOC, "Wrong on purpose.");
        let json = serde_json::to_value(late).expect("serializes");
        assert_eq!(json["type"], "duration");
        assert_eq!(json["range"][1], "10 us");
        assert_eq!(json["units"], Duration::UNITS);
    }
}
