//! Effective to physical addresses: the MFC's TLB, and what happens where it has nothing. The walk is the one of a hart's MMU
//! ([`Walk`]); its loads are transfers of the MFC's.

use chasqui_engine::Time;
use chasqui_memory::{Access, PAGE_BYTES, Privilege, Tlb, Translation, Walk, WalkStep};

use super::command::Source;
use super::reason::Reason;

chasqui_config::choice! {
    /// What finds a translation that the TLB lacks.
    pub enum TableSearch {
        /// The MFC walks the page table in memory; the kernel hears of what is not there.
        Hardware = "hardware",
        /// The kernel, each time.
        Kernel = "kernel",
    }
}

/// A walk that is under way.
struct Walking {
    walk: Walk,
    access: Access,
    /// For whom.
    source: Source,
    /// The next entry may be asked for from then on. None: it is asked for.
    asks: Option<Time>,
    /// The transfer that reads an entry.
    slot: Option<usize>,
}

pub(super) struct Translator {
    tlb: Tlb,
    /// Physical address of the root page table.
    root: u64,
    search: TableSearch,
    walking: Option<Walking>,
}

/// What is known of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Translated {
    /// The physical address.
    To(u64),
    /// The TLB lacks it.
    Missing,
    /// The page may not be used so.
    Denied,
}

/// What a walk has come to.
pub(super) enum Walked {
    /// It goes on.
    On,
    /// The TLB has the translation, for whom it was.
    Found(Source),
    /// There is none at this address, for whom it was.
    Lacking(Source, u64, Access),
}

impl Translator {
    pub fn new(entries: u32, ways: u32, search: TableSearch) -> Translator {
        Translator { tlb: Tlb::new(entries, ways), root: 0, search, walking: None }
    }

    /// Physical address of `address`, as the TLB has it.
    pub fn find(&mut self, address: u64, access: Access) -> Translated {
        let offset = address % PAGE_BYTES;
        match self.tlb.find(address - offset) {
            None => Translated::Missing,
            // The process's rights are the command's.
            Some(page) if Privilege::User.allows(page.permissions, access) => {
                Translated::To(page.physical_page + offset)
            }
            Some(_) => Translated::Denied,
        }
    }

    /// The TLB lacks `address`: a walk begins, if there is none. Its first entry may be asked for from `from` on.
    pub fn miss(&mut self, source: Source, address: u64, access: Access, from: Time) -> Result<(), Reason> {
        if self.search == TableSearch::Kernel {
            return Err(Reason::Miss);
        }
        if self.walking.is_none() {
            let page = address & !(PAGE_BYTES - 1);
            let walk = Walk::begin(self.root, page).ok_or(Reason::NoTranslation)?;
            self.walking = Some(Walking { walk, access, source, asks: Some(from), slot: None });
        }
        Ok(())
    }

    /// A walk is under way.
    pub fn is_busy(&self) -> bool {
        self.walking.is_some()
    }

    /// From when on the walk's next entry may be asked for, if that is what comes next.
    pub fn asks(&self) -> Option<Time> {
        self.walking.as_ref()?.asks
    }

    /// The walk's next entry is asked for by the transfer in `slot`: its physical address.
    pub fn ask(&mut self, slot: usize) -> u64 {
        let walking = self.walking.as_mut().expect("a walk is under way");
        (walking.asks, walking.slot) = (None, Some(slot));
        walking.walk.entry()
    }

    /// The transfer in `slot` has read `entry`; none: there is no memory. The next may be asked for from `next` on. `None`:
    /// the walk has been given up.
    pub fn read(&mut self, slot: usize, entry: Option<u64>, next: Time) -> Option<Walked> {
        let walking = self.walking.as_mut().filter(|walking| walking.slot == Some(slot))?;
        let (walk, source, access) = (walking.walk, walking.source, walking.access);
        match entry.and_then(|entry| walk.follow(entry)) {
            Some(WalkStep::Next(walk)) => {
                *walking = Walking { walk, asks: Some(next), slot: None, ..*walking };
                Some(Walked::On)
            }
            Some(WalkStep::Leaf(translation)) => {
                self.walking = None;
                self.tlb.insert(translation);
                Some(Walked::Found(source))
            }
            None => {
                self.walking = None;
                Some(Walked::Lacking(source, walk.page(), access))
            }
        }
    }

    /// Whoever waited for a walk does so no more.
    pub fn give_up(&mut self, source: Source) {
        self.walking.take_if(|walking| walking.source == source);
    }

    pub fn set_root(&mut self, root: u64) {
        self.root = root;
        self.flush();
    }

    pub fn root(&self) -> u64 {
        self.root
    }

    /// The TLB takes a translation, from the kernel.
    pub fn insert(&mut self, translation: Translation) {
        self.tlb.forget(translation.virtual_page);
        self.tlb.insert(translation);
    }

    /// A walk that is under way may have read what is no more: it begins anew.
    pub fn forget(&mut self, page: u64) {
        self.tlb.forget(page);
        self.walking = None;
    }

    pub fn flush(&mut self) {
        self.tlb.flush();
        self.walking = None;
    }
}
