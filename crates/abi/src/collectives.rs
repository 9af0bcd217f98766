//! The collective algorithms of the MPI library: the one list. From here come `guest/mpi/coll/algorithms.h`, with the
//! library's dispatch tables and the numbers in the rows of `select.h`, and the parameters `mpi.coll` of every machine.

use std::fmt::Write;

use crate::header;

/// A collective of the library.
#[derive(Debug)]
pub struct Collective {
    /// Name, in parameters and in C.
    pub name: &'static str,
    /// Its algorithms, in the order of their numbers.
    pub algorithms: &'static [Algorithm],
}

/// A way to do a collective.
#[derive(Debug)]
pub struct Algorithm {
    /// Name, in parameters and in C.
    pub name: &'static str,
    /// The C function that does it.
    pub function: &'static str,
    /// What a case must have for it.
    pub needs: &'static [Need],
}

macro_rules! needs {
    ($( $(#[doc = $doc:literal])+ $name:ident = $c:literal, )+) => {
        /// What a case must have for an algorithm to do it: a bit each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Need { $( $(#[doc = $doc])+ $name, )+ }

        /// Names in C and meaning, in the order of the bits.
        const NEEDS: &[(&str, &str)] = &[$( ($c, concat!($($doc),+).trim_ascii()) ),+];
    };
}

needs! {
    /// The operator commutes.
    Commutes = "NEED_COMMUTES",
    /// The data is one run of bytes.
    Dense = "NEED_DENSE",
    /// The number of ranks is a power of two.
    PowerOfTwo = "NEED_POWER_OF_TWO",
    /// There is at least one element a rank.
    Count = "NEED_COUNT",
    /// The network interface takes the case.
    Ni = "NEED_NI",
}

impl Need {
    /// What it is that a case must have, a sentence.
    pub fn doc(self) -> &'static str {
        NEEDS[self as usize].1
    }
}

/// `collective { algorithm, …; }`: the function is `chq_<collective>_<algorithm>`, or `= function` without its `chq_`;
/// in brackets what it needs.
macro_rules! collectives {
    ($( $collective:ident { $( $algorithm:ident $(= $function:ident)? $([$($need:ident),+])? ; )+ } )+) => {
        /// Every collective with its algorithms.
        pub const COLLECTIVES: &[Collective] = &[$( Collective {
            name: stringify!($collective),
            algorithms: &[$( Algorithm {
                name: stringify!($algorithm),
                function: [
                    $( concat!("chq_", stringify!($function)), )?
                    concat!("chq_", stringify!($collective), "_", stringify!($algorithm)),
                ][0],
                needs: &[$( $(Need::$need),+ )?],
            } ),+],
        } ),+];
    };
}

collectives! {
    barrier {
        dissemination;
        tree;
        ni [Ni];
    }
    bcast {
        binomial;
        scatter_allgather [Dense];
        chain [Dense];
        ni [Ni, Dense];
    }
    reduce {
        binomial;
        rabenseifner [Commutes, Count];
        ni [Ni, Dense];
    }
    allreduce {
        recursive_doubling;
        ring [Commutes, Count];
        rabenseifner [Commutes, Count];
        ni [Ni, Dense];
    }
    gather {
        binomial;
        linear;
        ni [Ni];
    }
    scatter {
        binomial;
        linear;
        ni [Ni];
    }
    gatherv {
        linear = gather_linear;
        binomial;
    }
    scatterv {
        linear = scatter_linear;
        binomial;
    }
    allgather {
        ring;
        recursive_doubling [PowerOfTwo];
        bruck;
    }
    allgatherv {
        ring = allgather_ring;
        bruck;
    }
    alltoall {
        bruck;
        pairwise;
        linear;
    }
    alltoallw {
        pairwise = alltoall_pairwise;
        linear = alltoall_linear;
    }
    reduce_scatter {
        pairwise [Commutes];
        halving [Commutes, PowerOfTwo];
        by_reduce;
    }
    scan {
        recursive_doubling;
        linear;
    }
    exscan {
        recursive_doubling;
        linear;
    }
}

/// Text of `guest/mpi/coll/algorithms.h`.
pub fn header_text() -> String {
    let mut text = String::from("/* What a case must have for an algorithm to do it. */\nenum {\n");
    for (bit, (name, doc)) in NEEDS.iter().enumerate() {
        writeln!(text, "    {name} = {}, /* {doc} */", 1 << bit).unwrap();
    }
    text += "};\n\n/* The collectives. A tag within the collective context each: collectives of one communicator happen in the\n \
             * same order everywhere and messages don't overtake, so that one is enough. */\nenum coll_kind {\n";
    for collective in COLLECTIVES {
        writeln!(text, "    COLL_{},", collective.name.to_uppercase()).unwrap();
    }
    text += "    COLL_KINDS\n};\n\n/* An entry of a list is the collective, the algorithm's name, its function and what it needs. */\n";
    COLLECTIVES.iter().for_each(|collective| text += &collective.list());
    text += "\n/* The number of an algorithm among its collective's: bcast_is_binomial. */\n";
    text += "#define CHQ_ALGORITHM_NUMBER(collective, name, function, needs) collective##_is_##name,\n";
    for collective in COLLECTIVES {
        let name = collective.name.to_uppercase();
        writeln!(text, "enum {{ CHQ_{name}(CHQ_ALGORITHM_NUMBER) {name}_ALGORITHMS }};").unwrap();
    }
    text += "\n/* An entry of a dispatch table. */\n";
    text += "#define CHQ_ALGORITHM_FUNCTION(collective, name, function, needs) function,\n";
    header::file("CHASQUI_ALGORITHMS_H", "crates/abi/src/collectives.rs", &text)
}

impl Collective {
    /// Its list as a macro in C.
    fn list(&self) -> String {
        let entries = self.algorithms.iter().map(|algorithm| {
            let needs: Vec<&str> = algorithm.needs.iter().map(|&need| NEEDS[need as usize].0).collect();
            let needs = if needs.is_empty() { "0".into() } else { needs.join(" | ") };
            format!(" \\\n    ALGORITHM({}, {}, {}, {needs})", self.name, algorithm.name, algorithm.function)
        });
        format!("#define CHQ_{}(ALGORITHM){}\n", self.name.to_uppercase(), entries.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn guest_header_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest/mpi/coll/algorithms.h");
        super::header::check(path, &super::header_text());
    }
}
