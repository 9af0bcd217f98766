//! OnePoll (sections 4.3 and 5.3): one load of a phantom queue looks at up to 64 queues, in an order that software
//! has set, and gets the message of the first that has one.
//!
//! The hardware knows of resident queues alone. It goes along the order up to the first queue that the firmware
//! serves; when it has found nothing by then, the load waits for the firmware, which looks at all.

use chasqui_ni::{Context, SlotQueue};
use chasqui_placement::ProcessId;

use super::inbox::{EMPTY, Found, composed};
use super::queues::{QueueName, QueueNames};
use super::{Nes, ONEPOLLS, ORDERS};
use crate::registers as r;

const QUEUES: usize = r::ONEPOLL_QUEUES as usize;
/// Names in a word of the registers.
const WORD: usize = 4;
const NONE: QueueName = r::ONEPOLL_NONE as QueueName;
const _: () = assert!(r::ONEPOLL_STRIDE == 2 * r::ONEPOLL_QUEUES && QUEUES.is_multiple_of(WORD));
const _: () = assert!(r::QUEUES <= r::ONEPOLL_NONE);

/// The orders of all processes' phantom queues, one after the other: the site's names of queues; the first NONE ends an
/// order.
pub(super) struct Orders {
    stored: Vec<QueueName>,
    /// The same, each queue once: what is looked at. A look at no queue takes the firmware longer than one at each.
    looked: Vec<QueueName>,
}

impl Orders {
    /// All are empty.
    pub fn new(names: QueueNames) -> Orders {
        let all = vec![NONE; names.processes * ONEPOLLS * QUEUES];
        Orders { stored: all.clone(), looked: all }
    }

    /// Words that there are.
    pub fn words(&self) -> usize {
        self.looked.len() / WORD
    }

    fn order(&self, phantom: usize) -> impl Iterator<Item = QueueName> {
        self.looked[phantom * QUEUES..][..QUEUES].iter().copied().take_while(|&name| name != NONE)
    }

    /// Four names that are looked at, packed as they are stored.
    pub fn word(&self, index: usize) -> u64 {
        self.looked[index * WORD..][..WORD].iter().rev().fold(0, |word, &name| word << 16 | u64::from(name))
    }

    /// Stores four names, as the process calls its queues.
    ///
    /// # Errors
    /// The process has no such queue: nothing has changed.
    fn set_word(&mut self, index: usize, value: u64, names: QueueNames) -> Result<(), String> {
        let own: [QueueName; WORD] = std::array::from_fn(|i| (value >> (16 * i)) as QueueName);
        let queues = names.own_count();
        if let Some(stranger) = own.iter().find(|&&own| own != NONE && usize::from(own) >= queues) {
            return Err(format!(
                "protection: OnePoll is to look at queue {stranger}, but the process has queues 0 to {}",
                queues - 1
            ));
        }
        let process = ProcessId((index / ORDERS) as u32);
        let site = own.map(|own| if own == NONE { NONE } else { names.of(process, own) });
        self.stored[index * WORD..][..WORD].copy_from_slice(&site);
        self.look_once(index * WORD / QUEUES);
        Ok(())
    }

    /// What is looked at by the phantom queue is what is stored.
    fn look_once(&mut self, phantom: usize) {
        let place = phantom * QUEUES..(phantom + 1) * QUEUES;
        let (stored, looked) = (&self.stored[place.clone()], &mut self.looked[place]);
        looked.fill(NONE);
        let mut count = 0;
        for &name in stored.iter().take_while(|&&name| name != NONE) {
            if !looked[..count].contains(&name) {
                looked[count] = name;
                count += 1;
            }
        }
    }
}

/// What the hardware finds along an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// A queue in a slot of the hardware, which has a message.
    Resident(QueueName, usize),
    /// A queue that the firmware serves, before any that has a message.
    Served,
    /// All queues are resident and empty.
    None,
}

/// What OnePoll tells of a Basic queue: its process's name for it, and its pointers. The message stays in its ring.
fn announced(own: QueueName, slot: &SlotQueue) -> u64 {
    let pointers = u64::from(slot.producer as u16) | u64::from(slot.consumer as u16) << 16;
    composed(pointers, own, r::EXPRESS_QUEUES as QueueName, r::CAME_ALONE, 0)
}

impl Nes {
    fn first(&self, phantom: usize) -> First {
        for name in self.orders.order(phantom) {
            let slot = self.shared.homes.slot(name).filter(|_| !self.serves(name));
            let Some(slot) = slot else { return First::Served };
            if self.receiver.has_message(name, slot, &self.shared.homes) {
                return First::Resident(name, slot);
            }
        }
        First::None
    }

    /// The hardware can't answer a load of the phantom queue.
    pub(super) fn one_poll_is_served(&self, phantom: usize) -> bool {
        self.first(phantom) == First::Served
    }

    /// What a load of the phantom queue finds.
    pub(super) fn one_poll(&mut self, phantom: usize) -> Found {
        let names = self.shared.homes.names;
        match self.first(phantom) {
            First::Resident(name, slot) if names.is_basic(name) => {
                Found { value: announced(names.own(name), self.receiver.slot_mut(slot)), ..EMPTY }
            }
            First::Resident(name, slot) => self.receiver.inbox.take(name, slot),
            First::Served | First::None => EMPTY,
        }
    }

    /// Software stores four names of an order.
    pub(super) fn set_order(&mut self, c: &mut Context<'_, '_>, word: usize, value: u64) {
        if let Err(text) = self.orders.set_word(word, value, self.shared.homes.names) {
            c.fault(ProcessId((word / ORDERS) as u32), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_ends_at_the_first_place_without_a_queue() {
        let names = QueueNames { processes: 1, basic: 62 };
        let mut orders = Orders::new(names);
        assert_eq!(orders.order(1).count(), 0);
        for word in 0..16 {
            let first = 4 * (15 - word);
            let value = (0..4).fold(0, |value, i| value << 16 | (first + i));
            orders.set_word(16 + word as usize, value, names).unwrap();
        }
        assert_eq!(orders.word(16), 0x003c_003d_003e_003f);
        assert!(orders.order(1).eq((0..64).rev()), "all 64, the last first");
        orders.set_word(17, 0x003f_0001_003e_0002, names).unwrap();
        assert!(
            orders.order(1).eq([63, 62, 61, 60, 2, 1]
                .into_iter()
                .chain((0..56).rev().filter(|&name| name > 2))
                .chain([0]))
        );
        orders.set_word(17, 0xffff_0001_ffff_0002, names).unwrap();
        assert!(orders.order(1).eq([63, 62, 61, 60, 2]));
        assert_eq!((orders.order(0).count(), orders.order(2).count()), (0, 0));
    }

    #[test]
    fn a_queue_is_looked_at_once() {
        let names = QueueNames { processes: 1, basic: 1 };
        let mut orders = Orders::new(names);
        for word in 0..16 {
            orders.set_word(word, 0x0001_0001_0002_0001, names).unwrap();
        }
        assert!(orders.order(0).eq([1, 2]));
        assert_eq!((orders.word(0), orders.word(1)), (0xffff_ffff_0002_0001, u64::MAX));
    }

    #[test]
    fn a_queue_that_the_process_has_not_is_refused() {
        let names = QueueNames { processes: 1, basic: 1 };
        let mut orders = Orders::new(names);
        let refused = orders.set_word(0, 0xffff_ffff_0003_0001, names).unwrap_err();
        assert_eq!(refused, "protection: OnePoll is to look at queue 3, but the process has queues 0 to 2");
        assert_eq!(orders.word(0), u64::MAX, "nothing has changed");
    }

    #[test]
    fn a_process_names_its_own_queues() {
        let names = QueueNames { processes: 2, basic: 3 };
        let mut orders = Orders::new(names);
        // The second process's first word: its Basic queue 2, its Express queue 1.
        orders.set_word(ORDERS, 0xffff_ffff_0001_0004, names).unwrap();
        assert!(orders.order(ONEPOLLS).eq([names.basic(5), names.express(ProcessId(1), 1)]));
        assert_eq!(orders.words(), 2 * ORDERS);
        assert_eq!(orders.word(ORDERS), 0xffff_ffff_0003_0009);
    }
}
