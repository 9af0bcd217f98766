//! Nearest names, for messages about misspelt ones.

/// The allowed names nearest to `found`, best first, at most three; none when nothing is near.
///
/// A name is also near when its last component (after the last `.`) is: `clock` finds `node.clock`.
pub(crate) fn nearest<'a>(found: &str, allowed: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
    let mut scored: Vec<(usize, &str)> = allowed
        .filter_map(|name| {
            let whole = within(found, name);
            // The same name elsewhere is a likelier mistake than a near name elsewhere.
            let component = within(&last(found), &last(name)).map(|d| d + 1);
            whole.into_iter().chain(component).min().map(|score| (score, name))
        })
        .collect();
    scored.sort();
    scored.truncate(3);
    scored.into_iter().map(|(_, name)| name).collect()
}

/// `; did you mean …?` for the names of [`nearest`], empty when there are none.
pub(crate) fn did_you_mean<'a>(found: &str, allowed: impl Iterator<Item = &'a str>) -> String {
    let near = nearest(found, allowed);
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}

/// Edit distance when it is small enough to be a misspelling: a third of the length, at least one.
fn within(a: &str, b: &str) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let limit = (a.len().max(b.len()) / 3).clamp(1, 4);
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let distance = edit_distance(&a, &b);
    (distance <= limit).then_some(distance)
}

/// Edits (insert, delete, replace, swap of neighbours) from `a` to `b`.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            let mut best = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let cases = [
            ("", "", 0),
            ("clock", "clock", 0),
            ("clokc", "clock", 1),
            ("clock", "lock", 1),
            ("ab", "cd", 2),
        ];
        for (a, b, expected) in cases {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            assert_eq!(edit_distance(&a, &b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn nearest_names() {
        let allowed = ["node.clock", "node.dram.first_chunk", "node.dram.next_chunk", "ni.queue"];
        let near = |found| nearest(found, allowed.into_iter());
        assert_eq!(near("node.clokc"), ["node.clock"]);
        assert_eq!(near("clock"), ["node.clock"], "the last component alone");
        assert_eq!(near("dram.first_chnk"), ["node.dram.first_chunk"]);
        assert!(near("zzzzzzzz").is_empty());
    }
}
