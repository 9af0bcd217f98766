//! Where a hart finds its blocks: its own, and those of a text that it shares.

use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chasqui_memory::Port;
use rustc_hash::FxHashMap;

use crate::Timing;
use crate::block::{Block, build};
use crate::executor::Translations;
use crate::host_code::{Code, Room};

/// Blocks by address.
#[derive(Default)]
struct Store {
    /// Boxed, so that addresses stay.
    blocks: FxHashMap<u64, Box<Block>>,
    /// Direct-mapped, in front of the map.
    recent: Vec<(u64, *const Block)>,
    /// Translations of blocks.
    translations: Vec<Code>,
    translated: Translations,
    /// Entries that may be translated for what has been executed.
    credit: usize,
}

/// What is executed until a block is to be translated pays for so many entries: to translate one takes as long as some
/// thousand blocks, and what is translated with the block need not be hot.
const ENTRIES_PAID: usize = 16;

const RECENT: usize = 2048;

impl Store {
    #[inline]
    fn find(&mut self, pc: u64) -> Option<*const Block> {
        if self.recent.is_empty() {
            self.recent = vec![(u64::MAX, std::ptr::null()); RECENT];
        }
        let slot = &mut self.recent[(pc >> 1) as usize & (RECENT - 1)];
        if slot.0 == pc {
            return Some(slot.1);
        }
        let block: *const Block = &**self.blocks.get(&pc)?;
        *slot = (pc, block);
        Some(block)
    }

    fn insert(&mut self, pc: u64, block: Block) -> Option<*const Block> {
        self.blocks.insert(pc, Box::new(block));
        self.find(pc)
    }
}

/// The text of a program, decoded once by each host thread for all harts that it runs: the host's caches hold
/// it once, however many ranks there are.
///
/// The harts must have the same [`Timing`] and the same length of instruction lines; the text must be
/// mapped for each from its first instruction on, with the same bytes, and may never be written to.
#[derive(Clone)]
pub struct Text(Arc<SharedText>);

struct SharedText {
    range: Range<u64>,
    /// By number of the host thread.
    decoded: Vec<Decoded>,
}

/// What one host thread has decoded.
#[derive(Default)]
struct Decoded {
    store: UnsafeCell<Store>,
    /// The host thread that owns it; 0: none yet.
    owner: AtomicUsize,
}

// SAFETY: the store is used by the owning thread alone, see `Decoded::claim`.
unsafe impl Send for Decoded {}
// SAFETY: as above.
unsafe impl Sync for Decoded {}

impl Text {
    /// The text at the virtual addresses `range`, for harts that up to `threads` host threads run.
    pub fn new(range: Range<u64>, threads: usize) -> Text {
        Text(Arc::new(SharedText { range, decoded: (0..threads).map(|_| Decoded::default()).collect() }))
    }

    /// Its virtual addresses.
    pub fn range(&self) -> &Range<u64> {
        &self.0.range
    }
}

impl Decoded {
    /// The calling thread is about to use the blocks.
    ///
    /// # Panics
    /// When another thread has done so.
    #[inline]
    fn claim(&self) {
        thread_local!(static HERE: u8 = const { 0 });
        let here = HERE.with(|here| std::ptr::from_ref(here) as usize);
        if self.owner.load(Ordering::Relaxed) != here {
            let first = self.owner.compare_exchange(0, here, Ordering::Acquire, Ordering::Relaxed);
            assert!(first.is_ok(), "harts of two host threads share a decoded text");
        }
    }
}

/// A place in a block.
#[derive(Clone, Copy)]
pub(crate) struct Resume {
    pub block: *const Block,
    pub index: usize,
    pub pc: u64,
}

/// All blocks of a hart.
#[derive(Default)]
pub(crate) struct Blocks {
    own: Store,
    text: Option<Text>,
    /// Number of the host thread that runs the hart.
    thread: usize,
    /// Where the hart goes on, if its pc is still there.
    pub resume: Option<Resume>,
    /// Blocks dropped while the loop may hold one.
    #[allow(clippy::vec_box, reason = "blocks must not move")]
    dropped: Vec<Box<Block>>,
    /// Their translations.
    dropped_translations: Vec<Code>,
}

// SAFETY: the pointers lead to boxes that the same struct owns, or the text that it shares.
unsafe impl Send for Blocks {}

impl Blocks {
    /// From now on the hart shares `text`, or nothing.
    pub fn share(&mut self, text: Option<Text>) {
        self.clear();
        self.text = text;
    }

    /// From now on host thread number `thread` runs the hart.
    pub fn hosted_by(&mut self, thread: usize) {
        // Own blocks remember what follows them in the text that the thread before has decoded.
        if self.text.is_some() {
            self.clear();
        }
        self.thread = thread;
    }

    /// What the host thread has decoded of the shared text.
    #[inline]
    fn decoded(&self) -> Option<&Decoded> {
        self.text.as_ref().map(|text| &text.0.decoded[self.thread])
    }

    /// `pc` lies in the shared text.
    #[inline]
    pub fn is_shared(&self, pc: u64) -> bool {
        self.text.as_ref().is_some_and(|t| t.0.range.contains(&pc))
    }

    /// The store for the block at `pc`, and where its code ends at the latest.
    #[inline]
    fn store(&mut self, pc: u64) -> (&mut Store, u64) {
        match &self.text {
            Some(t) if t.0.range.contains(&pc) => {
                // SAFETY: the hart runs, so this is the thread's own (`begin`), and no reference into the
                // store is held while another is made.
                (unsafe { &mut *t.0.decoded[self.thread].store.get() }, t.0.range.end)
            }
            _ => (&mut self.own, u64::MAX),
        }
    }

    /// The block at `pc`, if it was built.
    #[inline]
    pub fn find(&mut self, pc: u64) -> Option<*const Block> {
        self.store(pc).0.find(pc)
    }

    /// Decodes the block at `pc`, which ends at `end` at the latest. `None`: the first instruction can't be read.
    pub fn build(&mut self, pc: u64, end: u64, port: &mut Port, timing: &Timing) -> Option<*const Block> {
        let (store, last) = self.store(pc);
        store.insert(pc, build(pc, end.min(last), port, timing)?)
    }

    /// A block at `from` may remember that the block at `to` follows: all harts that have it have that one
    /// too.
    pub fn may_link(&self, from: u64, to: u64) -> bool {
        self.is_shared(to) || !self.is_shared(from)
    }

    /// The blocks at `a` and at `b` live equally long.
    pub fn are_together(&self, a: u64, b: u64) -> bool {
        self.is_shared(a) == self.is_shared(b)
    }

    /// The block at `pc` is to be translated, in a region of so many `entries`. False: too little has been executed for that.
    pub fn pays(&mut self, pc: u64, entries: usize) -> bool {
        let store = self.store(pc).0;
        store.credit += ENTRIES_PAID;
        let pays = store.credit >= entries;
        store.credit -= if pays { entries } else { 0 };
        pays
    }

    /// Room for the translation of the block at `pc`. Where it would be kept, all translations are dropped if they take
    /// `bytes_max` or more, or if there is no room beside them: none of them may be in use.
    pub fn make_room(&mut self, pc: u64, bytes_max: usize) -> Option<Room> {
        let store = self.store(pc).0;
        if store.translated.bytes < bytes_max
            && let Some(room) = Room::take()
        {
            return Some(room);
        }
        if store.translations.is_empty() {
            return None;
        }
        for block in store.blocks.values() {
            block.untranslate();
        }
        store.translations.clear();
        store.translated.bytes = 0;
        store.translated.drops += 1;
        Room::take()
    }

    /// Keeps the translation of the block at `pc`.
    pub fn keep(&mut self, pc: u64, code: Code) {
        let store = self.store(pc).0;
        store.translated.bytes += code.bytes();
        store.translated.made += 1;
        store.translations.push(code);
    }

    /// What has been translated of the hart's own blocks.
    pub fn translations(&self) -> Translations {
        self.own.translated
    }

    /// Forgets the hart's own blocks. They live on until [`Blocks::begin`], since the loop may stand in
    /// one.
    pub fn clear(&mut self) {
        self.dropped.extend(self.own.blocks.drain().map(|(_, b)| b));
        self.dropped_translations.append(&mut self.own.translations);
        self.own.translated.bytes = 0;
        self.own.recent.fill((u64::MAX, std::ptr::null()));
        self.resume = None;
    }

    /// The hart is about to run; no block is in use.
    pub fn begin(&mut self) {
        if let Some(decoded) = self.decoded() {
            decoded.claim();
        }
        self.dropped.clear();
        self.dropped_translations.clear();
    }
}
