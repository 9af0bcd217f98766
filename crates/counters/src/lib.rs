//! Counters of models, declared once: in the file of the model that has them, with unit and documentation.
//!
//! [`counters!`] declares a group, [`counters_by!`] one that has a counter for each reason of an enum. Both are structs
//! of plain `u64`, which the model increments; [`Counters`] is what can be done with any group. A model that has several
//! groups shows each [`below`] a name.

mod declaration;

/// Takes one counter: its name, or the path to it, with unit, documentation and value.
pub type Visitor<'a> = dyn FnMut(&str, &'static str, &'static str, u64) + 'a;

/// A group of counters, declared by [`counters!`] or [`counters_by!`].
pub trait Counters: Sized {
    /// What the group is.
    const DOC: &'static str;

    /// Shows each counter to `visit`, in the order of their declaration.
    fn visit(&self, visit: &mut Visitor<'_>);

    /// Adds the counters of `other`.
    fn add(&mut self, other: &Self);

    /// These, and `times` what was added from `before` to `after`.
    fn repeated(&self, before: &Self, after: &Self, times: u64) -> Self;
}

/// Shows what it takes to `visit`, below `group`: counter `packets` as `links.packets`.
///
/// ```
/// use chasqui_counters::below;
///
/// let mut paths = vec![];
/// let mut visit = |path: &str, _: &'static str, _: &'static str, _: u64| paths.push(path.to_string());
/// below("links", &mut visit)("packets", "packets", "Packets that started on the link.", 7);
/// assert_eq!(paths, ["links.packets"]);
/// ```
pub fn below(group: &str, visit: &mut Visitor<'_>) -> impl FnMut(&str, &'static str, &'static str, u64) {
    move |path, unit, doc, value| visit(&format!("{group}.{path}"), unit, doc, value)
}

/// The text of a doc comment, as users read it in `stats.json`.
///
/// # Panics
/// When it does not end with a full stop, or has marks of rustdoc's in it. The macros have the compiler find that.
#[doc(hidden)]
pub const fn sentence(comment: &'static str) -> &'static str {
    let text = comment.trim_ascii();
    let bytes = text.as_bytes();
    assert!(matches!(bytes, [.., b'.']), "documentation of counters ends with a full stop");
    let mut at = 0;
    while at < bytes.len() {
        let is_mark = matches!(bytes[at], b'[' | b']' | b'`');
        assert!(!is_mark, "documentation of counters is plain text: no links, no code; the unit is apart");
        at += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    counters_by! {
        /// Why it waits.
        enum Reason {
            /// Waiting for a line.
            Line: "wait_line";
            /// Waiting for
            /// room.
            Room: "wait_room";
        }
        /// Cycles, by reason.
        struct Reasons: "cycles";
    }

    counters! {
        /// A cache.
        struct Cache {
            /// Loads that "hit".
            hits: "accesses";
            /// Loads that
            /// miss.
            misses: "accesses";
            ..waits: Reasons;
        }
    }

    fn cache(hits: u64, misses: u64, line: u64, room: u64) -> Cache {
        let mut cache = Cache { hits, misses, ..Cache::default() };
        cache.waits[Reason::Line] += line;
        cache.waits[Reason::Room] += room;
        cache
    }

    #[test]
    fn counters_are_visited_in_order_with_unit_and_documentation() {
        let mut seen = vec![];
        cache(1, 2, 3, 4)
            .visit(&mut |name, unit, doc, value| seen.push((name.to_string(), unit, doc, value)));
        let expected = [
            ("hits", "accesses", "Loads that \"hit\".", 1),
            ("misses", "accesses", "Loads that miss.", 2),
            ("wait_line", "cycles", "Waiting for a line.", 3),
            ("wait_room", "cycles", "Waiting for room.", 4),
        ];
        assert_eq!(seen, expected.map(|(name, unit, doc, value)| (name.to_string(), unit, doc, value)));
        assert_eq!((Cache::DOC, Reasons::DOC), ("A cache.", "Cycles, by reason."));
    }

    #[test]
    fn each_counter_is_added_and_repeated_by_itself() {
        let mut total = cache(1, 2, 3, 4);
        total.add(&cache(10, 20, 30, 40));
        assert_eq!(total, cache(11, 22, 33, 44));
        let repeated = total.repeated(&cache(1, 1, 1, 1), &cache(1, 2, 3, 4), 100);
        assert_eq!(repeated, cache(11, 122, 233, 344));
    }

    #[test]
    fn reasons_are_counted_apart() {
        assert_eq!(Reason::ALL, [Reason::Line, Reason::Room]);
        let waits = cache(0, 0, 5, 6).waits;
        assert_eq!(Reason::ALL.map(|reason| waits[reason]), [5, 6]);
    }

    #[test]
    fn groups_lie_below_each_other() {
        let mut seen = vec![];
        let mut visit =
            |path: &str, _: &'static str, _: &'static str, value| seen.push((path.to_string(), value));
        cache(7, 0, 0, 0).visit(&mut below("l1", &mut below("node3", &mut visit)));
        assert_eq!((seen.len(), &seen[0]), (4, &("node3.l1.hits".to_string(), 7)));
    }

    #[test]
    fn documentation_is_plain_sentences() {
        assert_eq!(sentence(" Loads."), "Loads.");
        for wrong in ["", " ", "Loads", "Time for which it waited [ps].", "Waits for `x`."] {
            assert!(std::panic::catch_unwind(|| sentence(wrong)).is_err(), "{wrong:?}");
        }
    }
}
