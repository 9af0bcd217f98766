//! What is asked of tag groups.

/// When an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Immediate,
    Any,
    All,
}

impl Condition {
    /// As [`crate::channel`] numbers them.
    pub fn of(number: u32) -> Option<Condition> {
        [Condition::Immediate, Condition::Any, Condition::All].get(number as usize).copied()
    }
}

/// A question about tag groups.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TagQuery {
    /// The groups that are asked about, a bit each.
    pub mask: u32,
    pub condition: Option<Condition>,
    answer: Option<u32>,
}

impl TagQuery {
    /// Asks; what was asked before is asked no more.
    pub fn ask(&mut self, condition: Condition) {
        (self.condition, self.answer) = (Some(condition), None);
    }

    /// The groups of `status` have no command left. True: an answer has come.
    pub fn look(&mut self, status: u32) -> bool {
        let done = self.mask & status;
        let comes = self.condition.is_some_and(|condition| match condition {
            Condition::Immediate => true,
            Condition::Any => done != 0,
            Condition::All => done == self.mask,
        });
        if comes {
            (self.condition, self.answer) = (None, Some(done));
        }
        comes
    }

    pub fn take(&mut self) -> Option<u32> {
        self.answer.take()
    }

    pub fn is_answered(&self) -> bool {
        self.answer.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_when_the_condition_is_met() {
        let mut query = TagQuery { mask: 0b110, ..TagQuery::default() };
        for (condition, status, answer) in [
            (Condition::Immediate, 0b001, Some(0)),
            (Condition::Any, 0b001, None),
            (Condition::Any, 0b011, Some(0b010)),
            (Condition::All, 0b011, None),
            (Condition::All, 0b111, Some(0b110)),
        ] {
            query.ask(condition);
            assert_eq!(query.look(status), answer.is_some(), "{condition:?} {status:b}");
            assert_eq!((query.is_answered(), query.take()), (answer.is_some(), answer));
            assert!(!query.look(status) || answer.is_none());
        }
        query.ask(Condition::All);
        query.mask = 0;
        assert!(query.look(0), "of none all are done");
    }
}
