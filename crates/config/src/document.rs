//! TOML text as a tree with line numbers.

use crate::error::Problem;
use crate::quantity::Scalar;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value, with the keys below it.
#[derive(Clone, Debug)]
pub enum Node {
    /// A value that a parameter may have.
    Scalar(Scalar),
    /// Entries in the order of the text.
    Table(Vec<Entry>),
    /// Values in square brackets.
    Array(Vec<Node>),
    /// A kind of value that no parameter has, by name.
    Other(&'static str),
}

/// A key of a table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub key: String,
    /// Line [1…] of the key.
    pub line: usize,
    /// Its value.
    pub node: Node,
}

/// Deepest nesting that is looked at; no schema is as deep.
const DEPTH_MAX: usize = 32;
/// Most dots in a line. The parser nests one table a dot and drops them recursively, so that a line
/// of a million dots would exhaust the stack.
const DOTS_MAX: usize = 100;
/// Most syntax errors reported of a file.
const ERRORS_MAX: usize = 10;

/// Parses a whole file, or says what is wrong with its syntax.
pub(crate) fn parse(text: &str, label: &str) -> Result<Vec<Entry>, Vec<Problem>> {
    for (index, line) in text.lines().enumerate() {
        if dots(line) > DOTS_MAX {
            let message = format!("more than {DOTS_MAX} dots in a line");
            return Err(vec![Problem::new(format!("{label}:{}", index + 1), message)]);
        }
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let problem = |error: &toml::de::Error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            Problem::new(
                format!("{label}:{line}"),
                format!("not TOML: {}", error.message().replace('\n', "; ")),
            )
        };
        return Err(errors.iter().take(ERRORS_MAX).map(problem).collect());
    }
    Ok(entries(table.get_ref(), text, 0))
}

/// A value given on the command line: TOML if it is that, else text.
pub(crate) fn parse_value(text: &str) -> Node {
    if text.lines().all(|line| dots(line) <= DOTS_MAX) {
        let (value, errors) = DeValue::parse_recoverable(text);
        if errors.is_empty() {
            return node(value.get_ref(), text, 0);
        }
    }
    Node::Scalar(Scalar::from(text))
}

fn dots(line: &str) -> usize {
    line.bytes().filter(|b| *b == b'.').count()
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|b| **b == b'\n').count()
}

fn entries(table: &DeTable<'_>, text: &str, depth: usize) -> Vec<Entry> {
    let mut pairs: Vec<(&Spanned<_>, &Spanned<DeValue<'_>>)> = table.iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| Entry {
        key: key.get_ref().to_string(),
        line: line_of(text, key.span().start),
        node: node(value.get_ref(), text, depth + 1),
    };
    pairs.into_iter().map(entry).collect()
}

fn node(value: &DeValue<'_>, text: &str, depth: usize) -> Node {
    match value {
        DeValue::String(string) => Node::Scalar(Scalar::Text(string.to_string())),
        DeValue::Boolean(flag) => Node::Scalar(Scalar::Flag(*flag)),
        DeValue::Float(float) => Node::Scalar(Scalar::Decimal(float.as_str().to_string())),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(value) => Node::Scalar(Scalar::Integer(value)),
            // Too large for TOML; the quantity's message says so.
            Err(_) => Node::Scalar(Scalar::Decimal(integer.as_str().to_string())),
        },
        DeValue::Datetime(_) => Node::Other("a date"),
        DeValue::Array(_) | DeValue::Table(_) if depth > DEPTH_MAX => {
            Node::Other("a table within too many others")
        }
        DeValue::Array(items) => {
            Node::Array(items.iter().map(|item| node(item.get_ref(), text, depth + 1)).collect())
        }
        DeValue::Table(table) => Node::Table(entries(table, text, depth)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_values() {
        let text =
            "a = 1\n[b.c]\nd = \"x\" # comment\ne = 1_0.50\n\nf = 0x10\ng = 99999999999999999999\nh=[1]\n";
        let found = format!("{:?}", parse(text, "f.toml").expect("parses"));
        for part in [
            "key: \"d\", line: 3, node: Scalar(Text(\"x\"))",
            "key: \"e\", line: 4, node: Scalar(Decimal(\"10.50\"))",
            "key: \"f\", line: 6, node: Scalar(Integer(16))",
            "key: \"g\", line: 7, node: Scalar(Decimal(\"99999999999999999999\"))",
            "key: \"h\", line: 8, node: Array([Scalar(Integer(1))])",
        ] {
            assert!(found.contains(part), "{part} is not in {found}");
        }
    }

    #[test]
    fn syntax_errors_name_their_lines() {
        let problems = parse("a = 1\nb = = 2\na = 3\n", "f.toml").expect_err("is not TOML");
        assert!(problems[0].place == "f.toml:2", "{problems:?}");
        assert!(
            problems.iter().any(|p| p.place == "f.toml:3" && p.message.contains("duplicate")),
            "{problems:?}"
        );
    }

    #[test]
    fn a_line_of_dots_does_not_exhaust_the_stack() {
        let deep = format!("a{} = 1", ".a".repeat(1_000_000));
        assert!(parse(&deep, "f.toml").expect_err("refused")[0].message.contains("dots"));
        assert!(matches!(parse_value(&format!("{{{deep}}}")), Node::Scalar(Scalar::Text(_))));
        let nested = "[".repeat(100_000);
        assert!(parse(&format!("a = {nested}"), "f.toml").is_err());
    }
}
