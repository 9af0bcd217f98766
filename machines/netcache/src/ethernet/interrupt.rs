//! The interrupt line: what has happened, and what of that asserts it.

use chasqui_engine::Time;
use chasqui_ni::Context;

use super::events::EthernetEvent;

/// Causes, their mask, and the line.
pub(super) struct Interrupts {
    causes: u64,
    mask: u64,
    is_asserted: bool,
    /// Least time from one assertion to the next, and when that is over.
    gap: Time,
    not_before: Time,
    /// An event is scheduled for then.
    is_awaited: bool,
    /// Assertions so far.
    pub count: u64,
}

impl Interrupts {
    pub fn new(gap: Time) -> Interrupts {
        Interrupts {
            causes: 0,
            mask: 0,
            is_asserted: false,
            gap,
            not_before: Time::ZERO,
            is_awaited: false,
            count: 0,
        }
    }

    /// Something has happened.
    pub fn raise(&mut self, causes: u64, c: &mut Context<'_, '_>) {
        self.causes |= causes;
        self.update(c);
    }

    /// The driver looks at what has happened, which clears it.
    pub fn take(&mut self, c: &mut Context<'_, '_>) -> u64 {
        let causes = std::mem::take(&mut self.causes);
        self.update(c);
        causes
    }

    /// The causes that assert the line.
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// From now on these do.
    pub fn set_mask(&mut self, mask: u64, c: &mut Context<'_, '_>) {
        self.mask = mask;
        self.update(c);
    }

    /// The least time has passed.
    pub fn moderated(&mut self, c: &mut Context<'_, '_>) {
        self.is_awaited = false;
        self.update(c);
    }

    fn update(&mut self, c: &mut Context<'_, '_>) {
        let wanted = self.causes & self.mask != 0;
        if wanted == self.is_asserted {
            return;
        }
        if wanted && c.now < self.not_before {
            if !std::mem::replace(&mut self.is_awaited, true) {
                c.at(self.not_before, EthernetEvent::Moderated.into());
            }
            return;
        }
        self.is_asserted = wanted;
        c.interrupt(0, wanted);
        if wanted {
            self.count += 1;
            self.not_before = c.now + self.gap;
        }
    }
}
