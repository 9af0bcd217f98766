//! DMA between memory on a card and a link with wormhole switching: a packet of any length, a *worm*, travels in flits, which
//! follow each other and hold the links that they are on. The sender ([`SendDma`]) needs no more than the flits that are to
//! leave next, the receiver ([`ReceiveDma`]) takes those that have come: so both work on one worm at the same time, and on it
//! while the host's DMA does. What has come and is not taken stops the link.
//!
//! What is here says what moves; it schedules nothing itself. The card's NI has its memory and its link.

mod receive;
mod send;

pub use receive::{Filled, ReceiveDma, ReceiveStep};
pub use send::{Flit, SendBlock, SendDma, SendDmaSpec};
