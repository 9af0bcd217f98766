//! What `lr` reserves and `sc` asks for.

/// The line that a load-reserved holds. It outlives the line in the cache: a loop whose code and data replace each other
/// must succeed, too (unprivileged ISA, "Eventual Success of Store-Conditional Instructions").
#[derive(Default)]
pub(super) struct Reserved {
    /// Physical line address.
    line: Option<u64>,
    /// The cycle at which it was made.
    since: u64,
}

impl Reserved {
    /// `line` is held from `cycle` on, in place of what was. If it is held already, it is so since then: a loop that polls by
    /// `lr` alone would else keep it from others for ever.
    pub fn set(&mut self, line: u64, cycle: u64) {
        if !self.holds(line) {
            (self.line, self.since) = (Some(line), cycle);
        }
    }

    /// Nothing is held any more.
    pub fn drop_line(&mut self) {
        self.line = None;
    }

    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// `line` is held.
    pub fn holds(&self, line: u64) -> bool {
        self.line == Some(line)
    }

    /// A line from `first` to `end` is held.
    pub fn is_within(&self, first: u64, end: u64) -> bool {
        self.line.is_some_and(|line| (first..end).contains(&line))
    }

    /// The cycle at which a line from `first` to `end` was reserved, if it still is.
    pub fn since(&self, first: u64, end: u64) -> Option<u64> {
        self.is_within(first, end).then_some(self.since)
    }
}
