//! A signal register: 32 bits that others write and the core takes.

/// How a signal register takes what comes before the core has taken what was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignalMode {
    /// The new value replaces the old.
    #[default]
    Overwrite,
    /// Bits are added: many may signal.
    Collect,
}

/// A signal register (CBEA 1.02, signal notification; Linux, spufs/hw_ops.c: a bit of the configuration chooses the mode).
///
/// ```
/// use chasqui_element::{Signal, SignalMode};
/// let mut signal = Signal::default();
/// signal.mode = SignalMode::Collect;
/// signal.write(1);
/// signal.write(4);
/// assert_eq!((signal.take(), signal.take()), (Some(5), None));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Signal {
    value: u32,
    is_new: bool,
    /// How it takes what comes.
    pub mode: SignalMode,
}

impl Signal {
    /// Something comes.
    pub fn write(&mut self, value: u32) {
        self.value = match self.mode {
            SignalMode::Collect => self.value | value,
            SignalMode::Overwrite => value,
        };
        self.is_new = true;
    }

    /// The core takes what has come since it took the last: nothing is left. None: nothing has come.
    pub fn take(&mut self) -> Option<u32> {
        let value = std::mem::take(&mut self.value);
        std::mem::take(&mut self.is_new).then_some(value)
    }

    /// What is there.
    pub fn value(&self) -> u32 {
        self.value
    }

    /// Something has come that the core has not taken.
    pub fn is_new(&self) -> bool {
        self.is_new
    }
}
