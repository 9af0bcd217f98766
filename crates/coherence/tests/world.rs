//! Caches, homes and messages on their way, executed step by step beside a memory that is one.

use chasqui_coherence::{
    CACHE, CacheEvent, CacheRule, CacheState, DIRECTORY, DirectoryRule, DirectoryState, Entry, Message, Node,
    cache_rule, directory_rule,
};

/// The tables, or mutations of them.
#[derive(Clone)]
pub struct Rules {
    pub directory: Vec<DirectoryRule>,
    pub cache: Vec<CacheRule>,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { directory: DIRECTORY.to_vec(), cache: CACHE.to_vec() }
    }
}

/// How many stores data have seen.
pub type Version = u16;

/// A message about `line`, with the version of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Travelling {
    pub line: u8,
    pub message: Message,
    pub data: Version,
}

/// What a processor does with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    Load,
    Store,
    Evict,
}

pub const OPERATIONS: [Operation; 3] = [Operation::Load, Operation::Store, Operation::Evict];

/// A line at a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Cached {
    state: CacheState,
    data: Version,
}

/// A load or store that waits: of which line, and the version that was the latest when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    line: u8,
    is_store: bool,
    since: Version,
}

/// A line at its home, and the version that the memory that is one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Line {
    entry: Entry,
    memory: Version,
    latest: Version,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    lines: Vec<Line>,
    caches: Vec<Vec<Cached>>,
    waiting: Vec<Option<Waiting>>,
    /// In any order: a message overtakes any other.
    pub network: Vec<Travelling>,
    /// What was refused, and is to be sent again.
    pub again: Vec<Travelling>,
}

/// What is wrong.
pub type Wrong = String;

impl World {
    pub fn new(nodes: usize, lines: usize) -> World {
        let line = Line { entry: Entry::default(), memory: 0, latest: 0 };
        let cached = Cached { state: CacheState::Invalid, data: 0 };
        World {
            lines: vec![line; lines],
            caches: vec![vec![cached; lines]; nodes],
            waiting: vec![None; nodes],
            network: vec![],
            again: vec![],
        }
    }

    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    fn home(&self, line: u8) -> Node {
        Node(line % self.caches.len() as u8)
    }

    /// Whether the processor of `node` may do something: it waits for one access at a time.
    pub fn is_free(&self, node: usize) -> bool {
        self.waiting[node].is_none()
    }

    /// The processor of `node` does something with `line`. False: it can't now.
    pub fn operate(
        &mut self,
        rules: &Rules,
        node: usize,
        line: u8,
        operation: Operation,
    ) -> Result<bool, Wrong> {
        let Cached { state, data } = self.caches[node][usize::from(line)];
        let latest = self.lines[usize::from(line)].latest;
        let event = match (operation, state) {
            (Operation::Load, CacheState::Shared | CacheState::Modified) => {
                self.loaded(node, line, data, latest)?;
                return Ok(true);
            }
            (Operation::Store, CacheState::Modified) => {
                self.store(node, line)?;
                return Ok(true);
            }
            (Operation::Load, _) => CacheEvent::Load,
            (Operation::Store, _) => CacheEvent::Store,
            (Operation::Evict, _) => CacheEvent::Evict,
        };
        let Some(&rule) = cache_rule(&rules.cache, state, event) else { return is_left(state, operation) };
        self.caches[node][usize::from(line)].state = rule.next;
        if operation == Operation::Evict
            && !matches!(rule.next, CacheState::Invalid | CacheState::WritingBack)
        {
            return Err(format!("a line that was to leave is {:?}", rule.next));
        }
        if operation != Operation::Evict {
            let is_store = operation == Operation::Store;
            self.waiting[node] = Some(Waiting { line, is_store, since: latest });
        }
        self.leave(&rule, node, line, data, None);
        Ok(true)
    }

    /// Message `number` of the network comes.
    pub fn deliver(&mut self, rules: &Rules, number: usize) -> Result<(), Wrong> {
        let Travelling { line, message, data } = self.network.swap_remove(number);
        if message.kind.is_for_home() {
            self.at_home(rules, line, message, data)
        } else {
            self.at_cache(rules, line, message, data)
        }
    }

    fn at_home(&mut self, rules: &Rules, line: u8, message: Message, data: Version) -> Result<(), Wrong> {
        let home = self.home(line);
        let Line { entry, memory, .. } = &mut self.lines[usize::from(line)];
        let rule = directory_rule(&rules.directory, entry, &message)
            .ok_or_else(|| format!("no rule for {message:?} with {entry:?}"))?;
        let mut sent = vec![];
        if entry.apply(rule, &message, home, &mut |message| sent.push(message)) {
            *memory = data;
        }
        let memory = *memory;
        self.network.extend(sent.into_iter().map(|message| Travelling { line, message, data: memory }));
        Ok(())
    }

    fn at_cache(&mut self, rules: &Rules, line: u8, message: Message, data: Version) -> Result<(), Wrong> {
        let node = usize::from(message.to.0);
        let cached = &mut self.caches[node][usize::from(line)];
        let rule = *cache_rule(&rules.cache, cached.state, CacheEvent::Message(message.kind))
            .ok_or_else(|| format!("no rule for {message:?} in {:?}", cached.state))?;
        cached.state = rule.next;
        if message.kind.has_data() {
            cached.data = data;
        }
        let own = cached.data;
        self.leave(&rule, node, line, own, Some(&message));
        if !rule.is_done() {
            return Ok(());
        }
        match self.waiting[node].take() {
            Some(waiting) if waiting.line == line && waiting.is_store => self.store(node, line),
            Some(waiting) if waiting.line == line => self.loaded(node, line, own, waiting.since),
            other => Err(format!("node {node} is done with line {line} and waits for {other:?}")),
        }
    }

    fn leave(&mut self, rule: &CacheRule, node: usize, line: u8, data: Version, cause: Option<&Message>) {
        let (here, home) = (Node(node as u8), self.home(line));
        let travelling = |message| Travelling { line, message, data };
        self.network.extend(rule.sends(here, home, cause).map(travelling));
        self.again.extend(rule.again(here, home).map(travelling));
    }

    /// A load that began when `since` was the latest gets `data`.
    fn loaded(&self, node: usize, line: u8, data: Version, since: Version) -> Result<(), Wrong> {
        let latest = self.lines[usize::from(line)].latest;
        let here = self.caches[node][usize::from(line)].state;
        // What stays here is what all would read.
        let is_right =
            if here == CacheState::Invalid { (since..=latest).contains(&data) } else { data == latest };
        if is_right {
            return Ok(());
        }
        Err(format!(
            "node {node} loads version {data} of line {line}, {since} to {latest} are right, in {here:?}"
        ))
    }

    fn store(&mut self, node: usize, line: u8) -> Result<(), Wrong> {
        let Line { latest, .. } = &mut self.lines[usize::from(line)];
        let Cached { state, data } = &mut self.caches[node][usize::from(line)];
        if *state != CacheState::Modified || *data != *latest {
            return Err(format!(
                "node {node} stores to version {data} of line {line} in {state:?}, {latest} is latest"
            ));
        }
        *latest += 1;
        *data = *latest;
        Ok(())
    }

    /// What must hold after every step.
    pub fn check(&self) -> Result<(), Wrong> {
        for (number, line) in self.lines.iter().enumerate() {
            let count = |states: &[CacheState]| {
                self.caches.iter().filter(|cache| states.contains(&cache[number].state)).count()
            };
            let writers = count(&[CacheState::Modified]);
            let readers = count(&[CacheState::Shared, CacheState::Upgrading]);
            if writers > 1 || writers > 0 && readers > 0 {
                return Err(format!("line {number}: {writers} may write, {readers} may read"));
            }
            let is_nobodys = matches!(line.entry.state, DirectoryState::Uncached | DirectoryState::Dirty);
            if is_nobodys && line.entry.sharers != 0 {
                return Err(format!("line {number} has sharers, in {:?}", line.entry.state));
            }
            let is_memorys = !matches!(line.entry.state, DirectoryState::Dirty | DirectoryState::Forwarding);
            if is_memorys && line.memory != line.latest {
                return Err(format!("line {number}: memory has {}, latest is {}", line.memory, line.latest));
            }
        }
        Ok(())
    }

    /// What must hold when nothing is under way.
    pub fn check_rest(&self) -> Result<(), Wrong> {
        if let Some(node) = self.waiting.iter().position(Option::is_some) {
            return Err(format!("node {node} waits for ever: {:?}", self.waiting[node]));
        }
        for (number, line) in self.lines.iter().enumerate() {
            for (node, cache) in self.caches.iter().enumerate() {
                let (state, entry) = (cache[number].state, line.entry);
                let is_known = match state {
                    CacheState::Invalid => true,
                    CacheState::Shared => {
                        entry.state == DirectoryState::Shared && entry.sharers >> node & 1 != 0
                    }
                    CacheState::Modified => {
                        entry.state == DirectoryState::Dirty && usize::from(entry.owner.0) == node
                    }
                    _ => false,
                };
                if !is_known {
                    return Err(format!("line {number} rests at node {node} in {state:?}, with {entry:?}"));
                }
            }
            let is_owned = line.entry.state != DirectoryState::Dirty
                || self.caches[usize::from(line.entry.owner.0)][number].state == CacheState::Modified;
            if matches!(line.entry.state, DirectoryState::Invalidating | DirectoryState::Forwarding)
                || !is_owned
            {
                return Err(format!("line {number} rests with {:?}", line.entry));
            }
        }
        Ok(())
    }
}

/// A processor can't do this now; it may be that it must wait.
fn is_left(state: CacheState, operation: Operation) -> Result<bool, Wrong> {
    match (state, operation) {
        (CacheState::Invalid, Operation::Load | Operation::Store)
        | (CacheState::Shared, Operation::Store | Operation::Evict)
        | (CacheState::Modified, Operation::Evict) => {
            Err(format!("{operation:?} in {state:?} leads to nothing"))
        }
        _ => Ok(false),
    }
}
