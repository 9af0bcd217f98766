//! Every part of every rule is needed: without it a search finds something wrong.

use chasqui_coherence::{CacheRule, CacheState, DirectoryRule, DirectoryState};
use chasqui_random::share;

use crate::exhaustive::search;
use crate::world::Rules;

const CACHE_STATES: [CacheState; 9] = [
    CacheState::Invalid,
    CacheState::Shared,
    CacheState::Modified,
    CacheState::Reading,
    CacheState::ReadingOnce,
    CacheState::Writing,
    CacheState::Upgrading,
    CacheState::WritingBack,
    CacheState::GivenAway,
];
const DIRECTORY_STATES: [DirectoryState; 5] = [
    DirectoryState::Uncached,
    DirectoryState::Shared,
    DirectoryState::Dirty,
    DirectoryState::Invalidating,
    DirectoryState::Forwarding,
];

/// The actions without one of them, each in turn.
fn without_one<A: Copy>(actions: &[A]) -> Vec<&'static [A]> {
    let all_but = |left_out: usize| {
        let others = actions.iter().enumerate().filter(|&(i, _)| i != left_out);
        others.map(|(_, &action)| action).collect::<Vec<_>>()
    };
    // A test's, and few.
    (0..actions.len()).map(|i| &*Box::leak(all_but(i).into_boxed_slice())).collect()
}

/// Rules with one changed: without it, without one of its actions, with another state after it.
fn mutations() -> Vec<(String, Rules)> {
    let mut all = vec![];
    let mut add = |what: String, change: &dyn Fn(&mut Rules)| {
        let mut rules = Rules::default();
        change(&mut rules);
        all.push((what, rules));
    };
    for (i, rule) in Rules::default().directory.into_iter().enumerate() {
        let name = format!("directory: {:?}, {:?}, {:?}", rule.state, rule.message, rule.guard);
        add(format!("{name}: removed"), &|rules| _ = rules.directory.remove(i));
        for actions in without_one(rule.actions) {
            add(format!("{name}: only {actions:?}"), &|rules| {
                rules.directory[i] = DirectoryRule { actions, ..rule };
            });
        }
        for next in DIRECTORY_STATES.into_iter().filter(|&next| next != rule.next) {
            add(format!("{name}: {next:?} after it"), &|rules| {
                rules.directory[i] = DirectoryRule { next, ..rule }
            });
        }
    }
    for (i, rule) in Rules::default().cache.into_iter().enumerate() {
        let name = format!("cache: {:?}, {:?}", rule.state, rule.event);
        add(format!("{name}: removed"), &|rules| _ = rules.cache.remove(i));
        for actions in without_one(rule.actions) {
            add(format!("{name}: only {actions:?}"), &|rules| rules.cache[i] = CacheRule { actions, ..rule });
        }
        for next in CACHE_STATES.into_iter().filter(|&next| next != rule.next) {
            add(format!("{name}: {next:?} after it"), &|rules| rules.cache[i] = CacheRule { next, ..rule });
        }
    }
    all
}

/// What costs time alone: a copy is dropped sooner than it need be, or a write-back that is of no use any more is sent once more.
const SLOWER: [&str; 7] = [
    "cache: Invalid, Load: ReadingOnce after it",
    "cache: Reading, Message(Data): Invalid after it",
    "cache: Reading, Message(Refused): ReadingOnce after it",
    "cache: ReadingOnce, Message(Refused): ReadingOnce after it",
    "cache: Modified, Message(ForwardRead): Invalid after it",
    "cache: WritingBack, Message(ForwardReadExclusive): WritingBack after it",
    "cache: GivenAway, Message(Invalidate): WritingBack after it",
];

const FIFTHS: u64 = 5;

#[test]
fn every_part_of_every_rule_is_needed() {
    let searches: [&[u8]; 3] = [&[2, 2], &[3, 3], &[2, 1, 1]];
    // A fifth of them, or in a sweep all.
    let step = (FIFTHS / share(FIFTHS)) as usize;
    let all: Vec<_> = mutations().into_iter().step_by(step).collect();
    let unseen: Vec<_> = (all.iter())
        .filter(|(_, rules)| searches.iter().all(|operations| search(rules, operations).is_ok()))
        .map(|(what, _)| what)
        .collect();
    println!("{} mutations", all.len());
    let slower: Vec<_> = SLOWER.iter().filter(|name| all.iter().any(|(what, _)| what == *name)).collect();
    assert_eq!(unseen, slower);
    assert!(all.len() > 100);
}
