//! Names of the MPI calls, as the guest's library numbers them.

use std::sync::LazyLock;

/// The list that the library is compiled from.
const LIST: &str = include_str!("../../../guest/mpi/runtime/calls.h");

/// Name of the MPI call with this number.
pub(crate) fn name(number: u32) -> &'static str {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(names);
    NAMES.get(number as usize).copied().filter(|name| !name.is_empty()).unwrap_or("unknown call")
}

/// The names by their numbers; of a number that is none, nothing.
fn names() -> Vec<&'static str> {
    let mut names = vec![];
    for entry in LIST.split("CALL(").skip(1) {
        let mut parts = entry.split(')').next().unwrap_or_default().split(',').map(str::trim);
        let (Some(Ok(number)), Some(name)) = (parts.next().map(str::parse::<usize>), parts.nth(1)) else {
            continue;
        };
        names.resize(names.len().max(number + 1), "");
        names[number] = name.trim_matches('"');
    }
    names
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_come_from_the_library() {
        assert_eq!(super::name(1), "MPI_Init");
        assert_eq!(super::name(8), "MPI_Recv");
        assert_eq!(super::name(0), "unknown call");
    }
}
