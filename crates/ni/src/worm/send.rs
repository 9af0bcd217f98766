//! The way out: blocks of the card's memory become flits.

use std::collections::VecDeque;

/// What a sender is made from.
#[derive(Clone, Copy, Debug)]
pub struct SendDmaSpec {
    /// Data of a flit, but for the last [bytes].
    pub flit_bytes: u32,
    /// Flits that its FIFO holds, at least one.
    pub fifo: usize,
}

/// A block of a worm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendBlock {
    /// Address in the card's memory.
    pub address: u64,
    /// Length [bytes], at least one.
    pub bytes: u32,
    /// The worm ends with it; else another block follows, and links stay held meanwhile.
    pub is_last: bool,
}

/// What leaves at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flit {
    /// Its data.
    pub data: Vec<u8>,
    /// A worm begins with it.
    pub is_first: bool,
    /// The worm ends with it.
    pub is_last: bool,
}

struct Sending {
    block: SendBlock,
    /// So many of its bytes are there to be sent.
    valid: u32,
    /// Bytes that have been asked for, and that have left.
    asked: u32,
    left: u32,
}

/// The sender. It has a block at a time.
pub struct SendDma {
    spec: SendDmaSpec,
    sending: Option<Sending>,
    /// Flits asked for that the memory has yet to give.
    awaited: usize,
    fifo: VecDeque<Vec<u8>>,
    /// The worm's first flit has left, and not its last.
    is_within: bool,
}

impl SendDma {
    /// One that has nothing to do.
    pub fn new(spec: SendDmaSpec) -> SendDma {
        assert!(spec.flit_bytes > 0 && spec.fifo > 0);
        SendDma { spec, sending: None, awaited: 0, fifo: [].into(), is_within: false }
    }

    /// A block is under way.
    pub fn is_busy(&self) -> bool {
        self.sending.is_some()
    }

    /// A worm has begun, and not ended: the next block is its, too.
    pub fn is_within(&self) -> bool {
        self.is_within
    }

    /// Begins with `block`, of which the first `valid` bytes are there.
    ///
    /// # Panics
    /// Another is under way.
    pub fn begin(&mut self, block: SendBlock, valid: u32) {
        assert!(self.sending.is_none() && block.bytes > 0, "a block at a time");
        self.sending = Some(Sending { block, valid: valid.min(block.bytes), asked: 0, left: 0 });
    }

    /// More of the block is there: its first `valid` bytes.
    pub fn raise(&mut self, valid: u32) {
        if let Some(sending) = &mut self.sending {
            sending.valid = sending.valid.max(valid.min(sending.block.bytes));
        }
    }

    /// The next bytes to be read from the card's memory, address and length, if there is room for them; then
    /// [`SendDma::read`] follows.
    pub fn ask(&mut self) -> Option<(u64, u32)> {
        let sending = self.sending.as_mut()?;
        let bytes = self.spec.flit_bytes.min(sending.block.bytes - sending.asked);
        // A flit is whole, or the block's last.
        if self.fifo.len() + self.awaited == self.spec.fifo
            || bytes == 0
            || sending.asked + bytes > sending.valid
        {
            return None;
        }
        let address = sending.block.address + u64::from(sending.asked);
        sending.asked += bytes;
        self.awaited += 1;
        Some((address, bytes))
    }

    /// What was asked for first has been read.
    pub fn read(&mut self, data: Vec<u8>) {
        self.awaited -= 1;
        self.fifo.push_back(data);
    }

    /// A flit can leave.
    pub fn is_ready(&self) -> bool {
        !self.fifo.is_empty()
    }

    /// Takes the flit that leaves.
    ///
    /// # Panics
    /// None can.
    pub fn take(&mut self) -> Flit {
        let data = self.fifo.pop_front().expect("a flit can leave");
        let sending = self.sending.as_mut().expect("it is of a block");
        sending.left += data.len() as u32;
        let is_end = sending.left == sending.block.bytes;
        let flit = Flit { data, is_first: !self.is_within, is_last: is_end && sending.block.is_last };
        self.is_within = !flit.is_last;
        if is_end {
            self.sending = None;
        }
        flit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender() -> SendDma {
        SendDma::new(SendDmaSpec { flit_bytes: 16, fifo: 2 })
    }

    #[test]
    fn a_block_leaves_in_flits_and_a_worm_may_have_several_blocks() {
        let mut dma = sender();
        dma.begin(SendBlock { address: 0x100, bytes: 20, is_last: false }, 20);
        assert_eq!([dma.ask(), dma.ask(), dma.ask()], [Some((0x100, 16)), Some((0x110, 4)), None]);
        assert!(!dma.is_ready());
        dma.read(vec![1; 16]);
        assert_eq!(dma.take(), Flit { data: vec![1; 16], is_first: true, is_last: false });
        dma.read(vec![2; 4]);
        assert_eq!(dma.take(), Flit { data: vec![2; 4], is_first: false, is_last: false });
        assert!(!dma.is_busy() && dma.is_within(), "links stay held");
        dma.begin(SendBlock { address: 0x400, bytes: 8, is_last: true }, 8);
        assert_eq!(dma.ask(), Some((0x400, 8)));
        dma.read(vec![3; 8]);
        assert_eq!(dma.take(), Flit { data: vec![3; 8], is_first: false, is_last: true });
        assert!(!dma.is_within());
    }

    #[test]
    fn what_is_not_there_yet_is_waited_for() {
        let mut dma = sender();
        dma.begin(SendBlock { address: 0, bytes: 40, is_last: true }, 20);
        assert_eq!([dma.ask(), dma.ask()], [Some((0, 16)), None], "only whole flits leave");
        dma.raise(10);
        assert_eq!(dma.ask(), None, "what was there stays there");
        dma.raise(100);
        assert_eq!([dma.ask(), dma.ask()], [Some((16, 16)), None], "the FIFO is full");
        dma.read(vec![0; 16]);
        dma.take();
        assert_eq!(dma.ask(), Some((32, 8)));
    }
}
