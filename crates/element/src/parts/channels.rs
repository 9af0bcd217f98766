//! The core's side: its channels.

use chasqui_engine::Time;
use chasqui_ni::Mailbox;

use super::tags::Condition;
use super::{Element, Staged};
use crate::registers::{channel, event, hypervisor};
use crate::{Command, Source};

/// What a read of a channel gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelRead {
    /// The value; reading may have taken it.
    Value(u32),
    /// There is nothing yet: the core waits.
    Empty,
    /// There is no such channel to read.
    Invalid,
}

/// What came of a write to a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelWrite {
    /// It is done.
    Done,
    /// There is no room yet: the core waits, and nothing has happened.
    Full,
    /// There is no such channel to write, or it takes no such value.
    Invalid,
}

impl From<Option<u32>> for ChannelRead {
    fn from(value: Option<u32>) -> ChannelRead {
        value.map_or(ChannelRead::Empty, ChannelRead::Value)
    }
}

impl Element {
    /// The core reads channel `number` ([`channel`]).
    pub fn read_channel(&mut self, number: u64, now: Time) -> ChannelRead {
        self.look(now);
        match number {
            channel::RD_EVENT_STAT => {
                let come = self.events & self.event_mask;
                (come != 0).then_some(come).into()
            }
            channel::RD_EVENT_MASK => ChannelRead::Value(self.event_mask),
            channel::RD_SIG_NOTIFY_1 | channel::RD_SIG_NOTIFY_2 => {
                self.signals[(number - channel::RD_SIG_NOTIFY_1) as usize].take().into()
            }
            channel::RD_DEC => ChannelRead::Value(self.decrementer.value(now)),
            channel::RD_TAG_MASK => ChannelRead::Value(self.queries[0].mask),
            channel::RD_TAG_STAT => self.queries[0].take().into(),
            channel::RD_LIST_STALL_STAT => {
                let stalled = self.mfc.take_stalled();
                (stalled != 0).then_some(stalled).into()
            }
            channel::RD_ATOMIC_STAT => self.mfc.take_atomic_status().map(|status| status.value()).into(),
            channel::RD_IN_MBOX => {
                let value = self.inbound.take();
                if value.is_some() {
                    self.interrupt(2, hypervisor::THRESHOLD);
                }
                value.into()
            }
            _ => ChannelRead::Invalid,
        }
    }

    /// The core writes `value` to channel `number` ([`channel`]). A command that is entered goes on with [`Element::step`].
    pub fn write_channel(&mut self, number: u64, value: u32, now: Time) -> ChannelWrite {
        // One that waits is made again until there is room: it is counted once.
        let again = self.refused.take() == Some(number);
        let written = self.write_now(number, value, again, now);
        if written == ChannelWrite::Full {
            self.refused = Some(number);
        }
        written
    }

    fn write_now(&mut self, number: u64, value: u32, again: bool, now: Time) -> ChannelWrite {
        let staged = &mut self.staged[0];
        match number {
            channel::WR_EVENT_MASK => self.event_mask = value,
            channel::WR_EVENT_ACK => self.events &= !value,
            channel::WR_DEC => self.decrementer.set(value, now),
            channel::MFC_LSA => staged.local = value,
            channel::MFC_EAH => staged.effective = staged.effective & 0xffff_ffff | u64::from(value) << 32,
            channel::MFC_EAL => staged.effective = staged.effective >> 32 << 32 | u64::from(value),
            channel::MFC_SIZE => staged.bytes = value,
            channel::MFC_TAG_ID => staged.tag = value,
            channel::MFC_CMD => {
                let command = staged.command(value);
                if again && !self.mfc.takes(command, Source::Core)
                    || !self.mfc.enter(command, Source::Core, now)
                {
                    return ChannelWrite::Full;
                }
                self.was_full = self.mfc.room(Source::Core) == 0;
            }
            channel::WR_TAG_MASK => self.queries[0].mask = value,
            channel::WR_TAG_UPDATE => match Condition::of(value) {
                Some(condition) => self.queries[0].ask(condition),
                None => return ChannelWrite::Invalid,
            },
            channel::WR_LIST_STALL_ACK => self.mfc.resume(value, now),
            channel::WR_OUT_MBOX => return put(&mut self.outbound, value, again),
            channel::WR_OUT_INTR_MBOX => {
                let put = put(&mut self.outbound_interrupt, value, again);
                if put == ChannelWrite::Done {
                    self.interrupt(2, hypervisor::MAILBOX);
                }
                return put;
            }
            _ => return ChannelWrite::Invalid,
        }
        self.look(now);
        ChannelWrite::Done
    }

    /// How many accesses to channel `number` would not wait. None: there is no such channel.
    pub fn channel_count(&mut self, number: u64, now: Time) -> Option<u32> {
        self.look(now);
        Some(match number {
            channel::RD_EVENT_STAT => u32::from(self.events & self.event_mask != 0),
            channel::RD_SIG_NOTIFY_1 | channel::RD_SIG_NOTIFY_2 => {
                u32::from(self.signals[(number - channel::RD_SIG_NOTIFY_1) as usize].is_new())
            }
            channel::MFC_CMD => self.mfc.room(Source::Core) as u32,
            channel::RD_TAG_STAT => u32::from(self.queries[0].is_answered()),
            channel::WR_TAG_UPDATE => u32::from(self.queries[0].condition.is_none()),
            channel::RD_LIST_STALL_STAT => u32::from(self.mfc.stalled() != 0),
            channel::RD_ATOMIC_STAT => u32::from(self.mfc.atomic_status().is_some()),
            channel::WR_OUT_MBOX => self.outbound.room() as u32,
            channel::RD_IN_MBOX => self.inbound.count() as u32,
            channel::WR_OUT_INTR_MBOX => self.outbound_interrupt.room() as u32,
            channel::WR_EVENT_MASK
            | channel::WR_EVENT_ACK
            | channel::RD_EVENT_MASK
            | channel::WR_DEC
            | channel::RD_DEC
            | channel::RD_TAG_MASK
            | channel::MFC_LSA..=channel::MFC_TAG_ID
            | channel::WR_TAG_MASK
            | channel::WR_LIST_STALL_ACK => 1,
            _ => return None,
        })
    }

    /// The host has put something into the inbound mailbox, or a signal register.
    pub(super) fn put_inbound(&mut self, value: u32) {
        self.inbound.put_over(value);
        self.event(event::IN_MBOX);
    }
}

fn put(mailbox: &mut Mailbox<u32>, value: u32, again: bool) -> ChannelWrite {
    let is_done = !(again && mailbox.is_full()) && mailbox.put(value).is_ok();
    if is_done { ChannelWrite::Done } else { ChannelWrite::Full }
}

impl Staged {
    /// The command that it becomes with what is written last: what it is, in 16 bits, below classes, which are not modelled.
    pub(super) fn command(&self, class_and_opcode: u32) -> Command {
        let Staged { local, effective, bytes, tag } = *self;
        Command { opcode: class_and_opcode & 0xffff, local, effective, bytes, tag }
    }
}
