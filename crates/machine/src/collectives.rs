//! The collective algorithms of the guest's MPI library as parameters of every machine: which one a run
//! forces instead of the library's own choice.

use std::sync::LazyLock;

use chasqui_config::{Alternative, Declaration, Quantity, Resolved, Scalar, Schema, Text};

/// The list that the library is compiled from.
const LIST: &str = include_str!("../../../guest/mpi/coll/algorithms.h");

/// Where the parameters are: `mpi.coll.allreduce`.
const PREFIX: &str = "mpi.coll";

/// The value that leaves the choice to the library.
const SELECTED: &str = "auto";

/// A collective's name and the words its parameter may have.
struct Collective {
    name: &'static str,
    alternatives: &'static [Alternative],
}

/// The library's list, once parsed; it lives as long as the program, as declarations want it.
static COLLECTIVES: LazyLock<Vec<Collective>> = LazyLock::new(|| {
    let mut found: Vec<(&'static str, Vec<Alternative>)> = Vec::new();
    for (collective, algorithm) in entries(LIST) {
        if found.last().is_none_or(|(name, _)| *name != collective) {
            let selected = Alternative { word: SELECTED, doc: "What the library's table selects." };
            found.push((collective, vec![selected]));
        }
        let (_, alternatives) = found.last_mut().expect("there is one");
        alternatives.push(Alternative { word: algorithm, doc: "Always this algorithm." });
    }
    found.into_iter().map(|(name, words)| Collective { name, alternatives: words.leak() }).collect()
});

/// Collective and algorithm of every `ALGORITHM(collective, algorithm, …)` in a header.
fn entries(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.split("ALGORITHM(").filter_map(|entry| {
        let mut parts = entry.split(',');
        let (collective, algorithm) = (parts.next()?, parts.next()?.trim());
        let is_name =
            |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        (is_name(collective) && is_name(algorithm)).then_some((collective, algorithm))
    })
}

/// Adds the parameters to a machine's.
#[must_use]
pub fn with_collectives(schema: Schema) -> Schema {
    let declaration = |c: &Collective| Declaration {
        name: c.name,
        type_name: "choice",
        units: "",
        default: Scalar::from(SELECTED),
        range: None,
        doc: "Algorithm of this MPI collective; auto: what the library selects by size and ranks.",
        source: "guest/mpi/coll/select.h",
        alternatives: c.alternatives,
        check: |value, _| Text::parse(value).map(|text| text.scalar()),
    };
    let doc = "Collective algorithms of the MPI library. A case that a forced one can't do is an MPI error.";
    schema.with_group(PREFIX, doc, COLLECTIVES.iter().map(declaration).collect())
}

/// What is forced: collectives and algorithms.
pub fn forced(resolved: &Resolved) -> Vec<(&'static str, String)> {
    let algorithm = |c: &Collective| {
        let value = resolved.parameter(&format!("{PREFIX}.{}", c.name))?.value.plain();
        (value != SELECTED).then_some((c.name, value))
    };
    COLLECTIVES.iter().filter_map(algorithm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_the_librarys() {
        let allreduce = COLLECTIVES.iter().find(|c| c.name == "allreduce").expect("allreduce");
        let words: Vec<_> = allreduce.alternatives.iter().map(|a| a.word).collect();
        assert_eq!(words, ["auto", "recursive_doubling", "ring", "rabenseifner", "ni"]);
        // As many as the library's dispatch has: its macros are one a collective.
        assert_eq!(COLLECTIVES.len(), LIST.matches("#define CHQ_").count() - 2);
        assert_eq!(with_collectives(Schema::new()).mistakes(), Vec::<String>::new());
    }
}
