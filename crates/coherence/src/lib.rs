//! A directory protocol, as one table of states ([`DIRECTORY`], [`CACHE`]): invalidation-based, with a home for each line.
//!
//! The home of a line is the node whose memory has it. Its directory says who has copies. A cache that misses asks the home, which
//! answers from memory, or has the cache that has modified the line answer (three messages one after the other, as in the
//! Stanford DASH: Lenoski et al., "The Directory-Based Cache Coherence Protocol for the DASH Multiprocessor", ISCA 1990). While
//! a transaction of a line is under way its home refuses others, which ask again.
//!
//! The home itself waits for invalidated copies before it gives the right to write (in DASH who asked waits; ours): so a line
//! may be written nowhere before it can be read nowhere else.
//!
//! Rules are data. What stores a line and what each step costs belongs to engines that carry rules out: every transaction is
//! the same by all of them. Network [`Network`] of each kind of message: consuming one leads only to messages of later networks,
//! so none waits for itself.

mod cache;
mod directory;
mod message;

pub use cache::{CACHE, CacheAction, CacheEvent, CacheRule, CacheState, cache_rule};
pub use directory::{
    DIRECTORY, DirectoryAction, DirectoryRule, DirectoryState, Entry, Guard, Wanted, directory_rule,
};
pub use message::{Kind, Message, Network, Node};
