//! The collective algorithms of the guest's MPI library as parameters of every machine: which one a run
//! forces instead of the library's own choice.

use std::iter;
use std::sync::LazyLock;

use chasqui_abi::collectives::{Algorithm, COLLECTIVES, Collective, Need};
use chasqui_config::{Alternative, Declaration, Quantity, Resolved, Scalar, Schema, Text};

/// Where the parameters are: `mpi.coll.allreduce`.
const PREFIX: &str = "mpi.coll";

/// The value that leaves the choice to the library.
const SELECTED: &str = "auto";

/// The words of each collective's parameter; they live as long as the program, as declarations want it.
static ALTERNATIVES: LazyLock<Vec<&'static [Alternative]>> = LazyLock::new(|| {
    let selected = Alternative { word: SELECTED, doc: "What the library's table selects." };
    let word = |algorithm: &Algorithm| Alternative { word: algorithm.name, doc: "Always this algorithm." };
    let words = |collective: &Collective| {
        let words: Vec<_> = iter::once(selected).chain(collective.algorithms.iter().map(word)).collect();
        &*words.leak()
    };
    COLLECTIVES.iter().map(words).collect()
});

/// What is said of each collective's parameter: also which algorithms do not do every case.
static DOCS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    COLLECTIVES
        .iter()
        .map(|collective| {
            let some = collective.algorithms.iter().filter(|algorithm| !algorithm.needs.is_empty());
            let limits: Vec<String> = some.map(limit).collect();
            let end = if limits.is_empty() { String::new() } else { format!(" {}.", limits.join("; ")) };
            &*format!(
                "Algorithm of this MPI collective; auto: what the library selects by size and ranks.{end}"
            )
            .leak()
        })
        .collect()
});

/// `ring only where the operator commutes`.
fn limit(algorithm: &Algorithm) -> String {
    let words = |need: &Need| {
        let sentence = need.doc().trim_end_matches('.');
        sentence[..1].to_lowercase() + &sentence[1..]
    };
    let needs: Vec<String> = algorithm.needs.iter().map(words).collect();
    format!("{} only where {}", algorithm.name, needs.join(" and "))
}

/// Adds the parameters to a machine's.
#[must_use]
pub fn with_collectives(schema: Schema) -> Schema {
    let declaration =
        |((c, alternatives), doc): ((&Collective, &&'static [Alternative]), &&'static str)| Declaration {
            name: c.name,
            type_name: "choice",
            units: "",
            default: Scalar::from(SELECTED),
            range: None,
            doc,
            source: "guest/mpi/coll/select.h",
            alternatives,
            check: |value, _| Text::parse(value).map(|text| text.scalar()),
        };
    let doc = "Collective algorithms of the MPI library. A case that a forced one can't do is an MPI error.";
    schema.with_group(
        PREFIX,
        doc,
        COLLECTIVES.iter().zip(&*ALTERNATIVES).zip(&*DOCS).map(declaration).collect(),
    )
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
    fn each_algorithm_may_be_forced() {
        let allreduce = COLLECTIVES.iter().position(|c| c.name == "allreduce").expect("allreduce");
        let words: Vec<_> = ALTERNATIVES[allreduce].iter().map(|a| a.word).collect();
        assert_eq!(words, ["auto", "recursive_doubling", "ring", "rabenseifner", "ni"]);
        assert_eq!(with_collectives(Schema::new()).mistakes(), Vec::<String>::new());
        let said = "by size and ranks. ring only where the operator commutes and there is at least one element a rank; \
                    rabenseifner only where";
        assert!(DOCS[allreduce].contains(said), "{}", DOCS[allreduce]);
    }
}
