//! The node's interrupt controller: which of its devices' lines interrupt which harts.
//!
//! A subset of the PLIC, in its terms and with its memory map (RISC-V Platform-Level Interrupt Controller Specification
//! 1.0.0): *sources* with a priority each, of which 0 never interrupts; *contexts*, here two of each hart, supervisor level
//! and user level, with an enable bit for each source and a threshold; claim and complete. A context is interrupted while a
//! source is pending that is enabled there and whose priority is above the threshold. Of sources of one priority the lowest
//! id goes first. A handler that has claimed a source lets those of higher priority interrupt it if it sets the threshold to
//! the source's priority and enables interrupts.
//!
//! Unlike in the specification a request that was not claimed is withdrawn when its line falls, as AIA's APLIC does in direct
//! mode: so software that leaves the controller alone sees the lines themselves. After reset every source has priority 1, and
//! is enabled at supervisor level of the first hart alone: a kernel of a node with one line needs no controller.

use chasqui_abi::interrupts as register;
use chasqui_engine::Time;
use chasqui_memory::DEVICE_BASE;

use super::DEVICE_SPAN;

/// Sources of a controller, at most: bits of an enable register.
pub const SOURCES_MAX: u32 = 63;
/// Two contexts of each of 64 harts have room.
const _: () = assert!(register::THRESHOLD + 2 * 64 * register::CONTEXT_STRIDE <= register::BYTES);
/// Priorities are below this.
const PRIORITIES: u32 = 8;

/// Physical address of the interrupt controller of a node with so many devices: behind the last.
pub fn controller_address(devices: usize) -> u64 {
    DEVICE_BASE + devices as u64 * DEVICE_SPAN
}

/// A level of a hart that interrupts go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Supervisor,
    User,
}

const LEVELS: [Level; 2] = [Level::Supervisor, Level::User];

/// A line of a device.
#[derive(Clone, Copy, Debug)]
struct Source {
    asserted: bool,
    /// Claimed and not completed.
    claimed: bool,
    priority: u32,
}

/// A level of a hart.
#[derive(Clone, Copy, Debug)]
struct Context {
    enabled: u64,
    threshold: u32,
    /// What its hart sees.
    shown: bool,
}

/// What a register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Register {
    Priority(usize),
    /// 32 bits from this on.
    Pending(u32),
    Enable(usize, u32),
    Threshold(usize),
    Claim(usize),
}

/// The interrupt controller.
pub(crate) struct InterruptController {
    /// By id less 1.
    sources: Vec<Source>,
    /// Of each device the first of its lines among `sources`.
    first: Vec<usize>,
    contexts: Vec<Context>,
    /// From an access's arrival to the value of a register.
    pub latency: Time,
}

impl InterruptController {
    /// For devices with so many `lines` each, and so many harts.
    ///
    /// # Panics
    /// When there are more lines than [`SOURCES_MAX`].
    pub fn new(lines: impl Iterator<Item = u32>, harts: usize, latency: Time) -> InterruptController {
        let mut sources = vec![];
        let mut first = vec![];
        for count in lines {
            first.push(sources.len());
            let reset = Source { asserted: false, claimed: false, priority: 1 };
            sources.resize(sources.len() + count as usize, reset);
        }
        assert!(sources.len() <= SOURCES_MAX as usize, "{} interrupt lines of a node", sources.len());
        let contexts = vec![Context { enabled: 0, threshold: 0, shown: false }; harts * LEVELS.len()];
        let mut controller = InterruptController { sources, first, contexts, latency };
        controller.contexts[0].enabled = controller.existing();
        controller
    }

    /// Bits of the sources that there are, by id.
    fn existing(&self) -> u64 {
        u64::MAX >> (SOURCES_MAX as usize - self.sources.len()) & !1
    }

    /// `line` of `device` is asserted from now on, or not.
    ///
    /// # Panics
    /// When the device has no such line.
    pub fn set_line(&mut self, device: usize, line: u32, asserted: bool) {
        let source = self.first[device] + line as usize;
        let end = self.first.get(device + 1).copied().unwrap_or(self.sources.len());
        assert!(source < end, "device {device} has no interrupt line {line}");
        self.sources[source].asserted = asserted;
    }

    /// Bits of the sources that are pending, by id.
    fn pending(&self) -> u64 {
        let pending = |s: &Source| s.asserted && !s.claimed;
        self.sources.iter().enumerate().fold(0, |bits, (i, s)| bits | u64::from(pending(s)) << (i + 1))
    }

    /// Id and priority of the source that `context` would claim.
    fn first_pending(&self, context: usize) -> Option<(usize, u32)> {
        let pending = self.pending() & self.contexts[context].enabled;
        let of_context = self.sources.iter().enumerate().filter(|(i, _)| pending >> (i + 1) & 1 != 0);
        let each =
            of_context.map(|(i, source)| (i + 1, source.priority)).filter(|&(_, priority)| priority > 0);
        each.min_by_key(|&(id, priority)| (PRIORITIES - priority, id))
    }

    fn register(&self, address: u64) -> Option<Register> {
        use register::{CLAIM, CONTEXT_STRIDE, ENABLE, ENABLE_STRIDE, PENDING, THRESHOLD};
        const CLAIM_OFFSET: u64 = CLAIM - THRESHOLD;
        let word = |at: u64| (at / 4 * 32) as u32;
        let here = match address {
            0..PENDING => Register::Priority((address / 4).checked_sub(1)? as usize),
            PENDING..ENABLE => Register::Pending(word(address - PENDING)),
            ENABLE..THRESHOLD => {
                let at = address - ENABLE;
                Register::Enable((at / ENABLE_STRIDE) as usize, word(at % ENABLE_STRIDE))
            }
            _ => {
                let (context, at) = ((address - THRESHOLD) / CONTEXT_STRIDE, address % CONTEXT_STRIDE);
                match at {
                    0 => Register::Threshold(context as usize),
                    CLAIM_OFFSET => Register::Claim(context as usize),
                    _ => return None,
                }
            }
        };
        let exists = match here {
            Register::Priority(source) => source < self.sources.len(),
            Register::Pending(first) => first < u64::BITS,
            Register::Enable(context, first) => context < self.contexts.len() && first < u64::BITS,
            Register::Threshold(context) | Register::Claim(context) => context < self.contexts.len(),
        };
        (exists && address.is_multiple_of(4)).then_some(here)
    }

    /// A load of the 32-bit register at `address`: its value, and whether the load changes nothing. What is no register
    /// reads as 0.
    pub fn read(&mut self, address: u64) -> (u32, bool) {
        let value = match self.register(address) {
            None => 0,
            Some(Register::Priority(source)) => self.sources[source].priority,
            Some(Register::Pending(first)) => (self.pending() >> first) as u32,
            Some(Register::Enable(context, first)) => (self.contexts[context].enabled >> first) as u32,
            Some(Register::Threshold(context)) => self.contexts[context].threshold,
            Some(Register::Claim(context)) => match self.first_pending(context) {
                Some((id, _)) => {
                    self.sources[id - 1].claimed = true;
                    return (id as u32, false);
                }
                None => 0,
            },
        };
        (value, true)
    }

    /// A store of the 32-bit register at `address`. Stores of what is no register change nothing; a priority or threshold
    /// keeps the bits that it has (WARL); a source is completed where it is enabled.
    pub fn write(&mut self, address: u64, value: u32) {
        match self.register(address) {
            None | Some(Register::Pending(_)) => {}
            Some(Register::Priority(source)) => self.sources[source].priority = value % PRIORITIES,
            Some(Register::Enable(context, first)) => {
                let existing = self.existing();
                let enabled = &mut self.contexts[context].enabled;
                let others = *enabled & !(u64::from(u32::MAX) << first);
                *enabled = (others | u64::from(value) << first) & existing;
            }
            Some(Register::Threshold(context)) => self.contexts[context].threshold = value % PRIORITIES,
            Some(Register::Claim(context)) => {
                if value <= SOURCES_MAX && self.contexts[context].enabled >> value & 1 != 0 {
                    self.sources[value as usize - 1].claimed = false;
                }
            }
        }
    }

    /// Contexts whose interrupt is another than their harts see: hart, level, whether it is asserted. They have seen it then.
    pub fn changes(&mut self) -> Vec<(usize, Level, bool)> {
        let mut changes = vec![];
        for number in 0..self.contexts.len() {
            let first = self.first_pending(number);
            let context = &mut self.contexts[number];
            let asserted = first.is_some_and(|(_, priority)| priority > context.threshold);
            if std::mem::replace(&mut context.shown, asserted) != asserted {
                changes.push((number / LEVELS.len(), LEVELS[number % LEVELS.len()], asserted));
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use chasqui_random::Random;

    use chasqui_abi::interrupts::*;

    use super::*;

    fn controller() -> InterruptController {
        InterruptController::new([1, 0, 3].into_iter(), 2, Time::ZERO)
    }

    #[test]
    fn without_software_the_lines_are_the_first_harts() {
        let mut c = controller();
        assert_eq!(c.changes(), []);
        c.set_line(2, 1, true);
        assert_eq!(c.changes(), [(0, Level::Supervisor, true)]);
        c.set_line(0, 0, true);
        c.set_line(2, 1, false);
        assert_eq!(c.changes(), []);
        c.set_line(0, 0, false);
        assert_eq!(c.changes(), [(0, Level::Supervisor, false)]);
    }

    #[test]
    fn what_is_no_register_reads_as_zero_and_keeps_nothing() {
        let mut c = controller();
        for address in [0, 20, 4 * 1000, PENDING + 8, ENABLE + 4 * ENABLE_STRIDE, THRESHOLD + 8, BYTES - 4] {
            c.write(address, u32::MAX);
            assert_eq!(c.read(address), (0, true), "{address:#x}");
        }
        c.write(ENABLE + ENABLE_STRIDE, u32::MAX);
        assert_eq!(c.read(ENABLE + ENABLE_STRIDE), (0b11110, true), "of sources that there are");
        c.write(4, 77);
        assert_eq!(c.read(4), (77 % PRIORITIES, true));
        for id in [0, 5, 64, u32::MAX] {
            c.write(CLAIM, id);
        }
    }

    #[test]
    fn all_bits_of_an_enable_register_may_be_sources() {
        let mut c = InterruptController::new([SOURCES_MAX].into_iter(), 1, Time::ZERO);
        let all = u64::MAX - 1;
        assert_eq!((c.read(ENABLE).0, c.read(ENABLE + 4).0), (all as u32, u32::MAX));
        for at in [0, 4] {
            c.write(ENABLE + ENABLE_STRIDE + at, u32::MAX);
        }
        assert_eq!(c.contexts[1].enabled, all);
        c.set_line(0, SOURCES_MAX - 1, true);
        assert_eq!(c.read(CLAIM), (SOURCES_MAX, false));
        for id in [0, 64, 77, u32::MAX] {
            c.write(CLAIM, id);
            assert!(c.sources[SOURCES_MAX as usize - 1].claimed, "{id} is no source");
        }
        c.write(CLAIM, SOURCES_MAX);
        assert_eq!(c.read(CLAIM), (SOURCES_MAX, false));
    }

    /// A context by the specification's words: lists instead of bits.
    #[derive(Clone, Default)]
    struct Model {
        enabled: Vec<usize>,
        threshold: u32,
    }

    /// Of a model the source to claim.
    fn claimable(sources: &[Source], model: &Model) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (i, source) in sources.iter().enumerate() {
            let counts =
                source.asserted && !source.claimed && source.priority > 0 && model.enabled.contains(&i);
            if counts && best.is_none_or(|b| sources[b].priority < source.priority) {
                best = Some(i);
            }
        }
        best
    }

    #[test]
    fn random_accesses_do_what_the_specification_says() {
        let mut random = Random::for_test(0x911c);
        for _ in 0..200 {
            let mut c = controller();
            let mut sources = c.sources.clone();
            let mut models = vec![Model::default(); 4];
            models[0].enabled = (0..4).collect();
            let mut shown = [false; 4];
            for _ in 0..300 {
                let (source, context) = (random.below(4) as usize, random.below(4) as usize);
                let at = context as u64;
                match random.below(6) {
                    0 => {
                        let asserted = random.once_in(2);
                        let (device, line) = [(0, 0), (2, 0), (2, 1), (2, 2)][source];
                        c.set_line(device, line, asserted);
                        sources[source].asserted = asserted;
                    }
                    1 => {
                        sources[source].priority = random.below(8) as u32;
                        c.write(4 * (source as u64 + 1), sources[source].priority);
                    }
                    2 => {
                        let bits = random.below(32) as u32;
                        c.write(ENABLE + at * ENABLE_STRIDE, bits);
                        models[context].enabled = (0..4).filter(|i| bits >> (i + 1) & 1 != 0).collect();
                    }
                    3 => {
                        models[context].threshold = random.below(8) as u32;
                        c.write(THRESHOLD + at * CONTEXT_STRIDE, models[context].threshold);
                    }
                    4 => {
                        let expected = claimable(&sources, &models[context]);
                        let (id, repeatable) = c.read(CLAIM + at * CONTEXT_STRIDE);
                        assert_eq!(id as usize, expected.map_or(0, |source| source + 1));
                        assert_eq!(repeatable, expected.is_none());
                        expected.inspect(|&source| sources[source].claimed = true);
                    }
                    _ => {
                        c.write(CLAIM + at * CONTEXT_STRIDE, source as u32 + 1);
                        if models[context].enabled.contains(&source) {
                            sources[source].claimed = false;
                        }
                    }
                }
                for (hart, level, asserted) in c.changes() {
                    shown[2 * hart + level as usize] = asserted;
                }
                for (model, shown) in models.iter().zip(shown) {
                    let claimable = claimable(&sources, model);
                    assert_eq!(shown, claimable.is_some_and(|s| sources[s].priority > model.threshold));
                }
            }
        }
    }
}
