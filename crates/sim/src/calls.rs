//! Names of the MPI calls, as the guest's library numbers them.

/// The list that the library is compiled from.
const LIST: &str = include_str!("../../../guest/mpi/calls.h");

/// Name of the MPI call with this number.
pub(crate) fn name(number: u32) -> String {
    let entry = LIST.split("CALL(").skip(1).find_map(|entry| {
        let mut parts = entry.split(')').next()?.split(',');
        let found: u32 = parts.next()?.trim().parse().ok()?;
        (found == number).then(|| parts.nth(1).map(|n| n.trim().trim_matches('"').to_string()))?
    });
    entry.unwrap_or_else(|| format!("call {number}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_come_from_the_library() {
        assert_eq!(super::name(1), "MPI_Init");
        assert_eq!(super::name(8), "MPI_Recv");
        assert_eq!(super::name(0), "call 0");
    }
}
