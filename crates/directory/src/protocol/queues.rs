//! A controller's queues: what waits there, and what is next.
//!
//! It serves one message at a time. Acknowledgements come first, then interventions; messages of the own processor and requests
//! to the home take turns. A message is taken only if what it may lead to finds its way out empty: so what waits for room in
//! one virtual network holds up only what would go there, and earlier networks. Since consuming a message leads to later
//! networks alone, and a reply always has its place, something can go on at any time.

use std::collections::VecDeque;

use chasqui_engine::Time;

use super::networks::{ACKNOWLEDGEMENT, INTERVENTION, REQUEST, WAITING};

/// A controller and its memory.
pub(super) struct Controller {
    /// Messages of the own processor's.
    pub(super) own: VecDeque<u32>,
    /// What has come, by virtual network, and when.
    pub(super) inputs: [VecDeque<(u32, Time)>; WAITING],
    /// Room for more, by virtual network: what is on its way here counts.
    pub(super) room: [usize; WAITING],
    /// Nodes that have something for here and found no room, in their order.
    pub(super) waiting: [VecDeque<u8>; WAITING],
    /// Bit i: node i is among them.
    pub(super) is_waiting: [u64; WAITING],
    /// What is to leave, by virtual network.
    pub(super) outputs: [VecDeque<u32>; WAITING],
    /// Events to come until which it serves nothing else.
    pub(super) taken: u32,
    /// The memory does nothing else before.
    pub(super) memory_free_at: Time,
    /// An event of its own is to come.
    pub(super) has_event: bool,
    /// An intervention is at the cache.
    pub(super) is_at_cache: bool,
    /// The own processor's turn, of its messages and requests.
    pub(super) is_own_turn: bool,
}

impl Controller {
    pub fn new(nodes: usize, buffer: usize) -> Controller {
        debug_assert!(nodes <= 64);
        Controller {
            own: VecDeque::new(),
            inputs: Default::default(),
            room: [buffer; WAITING],
            waiting: Default::default(),
            is_waiting: [0; WAITING],
            outputs: Default::default(),
            taken: 0,
            memory_free_at: Time::ZERO,
            has_event: false,
            is_at_cache: false,
            is_own_turn: false,
        }
    }

    pub fn take_own(&mut self, id: u32) {
        self.own.push_back(id);
    }

    /// What is served next.
    pub fn next(&self) -> Option<Next> {
        if !self.inputs[ACKNOWLEDGEMENT].is_empty() {
            return Some(Next::Input(ACKNOWLEDGEMENT));
        }
        if !self.inputs[INTERVENTION].is_empty()
            && !self.is_at_cache
            && self.outputs[ACKNOWLEDGEMENT].is_empty()
        {
            return Some(Next::Input(INTERVENTION));
        }
        let own = !self.own.is_empty() && self.outputs[REQUEST].is_empty();
        let request = !self.inputs[REQUEST].is_empty() && self.outputs[INTERVENTION].is_empty();
        match (own, request) {
            (true, true) if self.is_own_turn => Some(Next::Own),
            (_, true) => Some(Next::Input(REQUEST)),
            (true, false) => Some(Next::Own),
            (false, false) => None,
        }
    }
}

/// From where the next message is taken.
#[derive(Clone, Copy)]
pub(super) enum Next {
    Own,
    Input(usize),
}
