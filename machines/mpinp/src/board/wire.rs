//! The link's side: the sender and the receiver.

use chasqui_config::Duration;
use chasqui_engine::Packet;
use chasqui_ni::{Context, Filled, ReceiveStep, SendBlock, SramData};
use chasqui_record::Stage;

use super::events::BoardEvent;
use super::local::{Purpose, RECEIVE, SEND};
use super::receiver::Unserviced;
use super::{Board, PROCESS};
use crate::np_registers as np;

/// Worms are of one priority.
const PRIORITY: u8 = 0;

impl Board {
    // --- out ----------------------------------------------------------------------------------------

    /// The firmware starts the sender.
    ///
    /// # Errors
    /// It can't be: in words.
    pub(super) fn start_send(&mut self, value: u64, c: &mut Context<'_, '_>) -> Result<(), String> {
        let bytes = value as u32;
        if self.send.is_busy() || bytes == 0 {
            return Err(format!("SEND_START of {bytes} bytes while the sender is busy, or of none"));
        }
        if self.send_to >= u64::from(self.link.nodes()) {
            return Err(format!("SEND_START to node {}, which is not there", self.send_to));
        }
        if !self.send.is_within() {
            self.records.sends = self.records.take_named(&mut self.local.processor, c);
            c.stamp(PROCESS, self.records.sends, Stage::Accept, c.now);
        }
        let is_last = value & np::SEND_LAST != 0;
        let valid = if value & np::SEND_AHEAD != 0 { 0 } else { bytes };
        self.send.begin(SendBlock { address: self.send_local, bytes, is_last }, valid);
        self.go_on_sending(c);
        Ok(())
    }

    /// Flits that are ready leave, and the next are read.
    pub(super) fn go_on_sending(&mut self, c: &mut Context<'_, '_>) {
        while self.send.is_ready() && self.link.takes(PRIORITY, c) {
            let flit = self.send.take();
            if flit.is_first {
                self.destination = self.send_to as u32;
            }
            let header = if flit.is_first { self.packet_bytes.0 } else { 0 };
            let tail = if flit.is_last { self.packet_bytes.1 } else { 0 };
            let packet = Box::new(Packet {
                source: self.link.node(),
                destination: self.destination,
                wire_bytes: flit.data.len() as u32 + header + tail,
                more: !flit.is_last,
                bytes: flit.data,
                message: self.records.sends,
                ..Packet::default()
            });
            self.link.send(packet, PROCESS, c);
            self.counters.flits_sent += 1;
            self.counters.worms_sent += u64::from(flit.is_last);
            if !self.send.is_busy() {
                self.happened(np::EVENT_SENT, c);
            }
        }
        while let Some((address, bytes)) = self.send.ask() {
            self.ask_local((SEND, Purpose::Send), (address, SramData::Read(bytes), None), c);
        }
    }

    // --- in -----------------------------------------------------------------------------------------

    /// The firmware gives the receiver a place.
    ///
    /// # Errors
    /// It can't be: in words.
    pub(super) fn start_receive(&mut self, value: u64, c: &mut Context<'_, '_>) -> Result<(), String> {
        let bytes = value as u32;
        if self.receive.dma.is_busy() || bytes == 0 {
            return Err(format!("RECEIVE_START of {bytes} bytes while the receiver is busy, or of none"));
        }
        self.receive.dma.begin(self.receive.local, bytes);
        self.receive.unserviced.since = None;
        self.go_on_receiving(c);
        Ok(())
    }

    /// A flit's tail is here.
    pub(super) fn landed(&mut self, c: &mut Context<'_, '_>) {
        let packet = self.link.landed();
        self.counters.flits_received += 1;
        self.receive.dma.arrive(packet.bytes, !packet.more);
        self.go_on_receiving(c);
        self.unserviced(c);
    }

    pub(super) fn go_on_receiving(&mut self, c: &mut Context<'_, '_>) {
        if let Some(ReceiveStep::Write { address, data }) = self.receive.dma.step() {
            self.ask_local((RECEIVE, Purpose::Receive), (address, SramData::Write(data), None), c);
        }
    }

    /// A flit is in the card's memory.
    pub(super) fn received(&mut self, c: &mut Context<'_, '_>) {
        let (release, filled) = self.receive.dma.written();
        if release.is_some() {
            self.link.release(PRIORITY, c);
        }
        if let Some(Filled { bytes, is_last }) = filled {
            self.counters.worms_received += u64::from(is_last);
            self.receive.filled = u64::from(bytes) | if is_last { np::RECEIVED_LAST } else { 0 };
            self.happened(np::EVENT_RECEIVED, c);
        }
        self.go_on_receiving(c);
        self.unserviced(c);
    }

    /// What has come may have to wait from now on.
    fn unserviced(&mut self, c: &mut Context<'_, '_>) {
        let Unserviced { longest: Some(longest), since, is_watched } = &mut self.receive.unserviced else {
            return;
        };
        if self.receive.dma.waits() && since.is_none() {
            *since = Some(c.now);
            if !std::mem::replace(is_watched, true) {
                c.at(c.now + *longest, BoardEvent::Unserviced.into());
            }
        }
    }

    /// It is found whether a message has waited for too long: then the card resets itself, and all that was in it is lost,
    /// its program too (MPI-NP, section 2.3.3).
    pub(super) fn look_at_wire(&mut self, c: &mut Context<'_, '_>) {
        let Unserviced { longest: Some(longest), since, is_watched } = &mut self.receive.unserviced else {
            return;
        };
        *is_watched = false;
        match *since {
            Some(since) if since + *longest <= c.now => {
                let text = format!(
                    "the card has reset itself, for a message was left on the wire for {} (mpinp.card.unserviced)",
                    Duration::from_ps(longest.0)
                );
                self.broken(&text, c);
            }
            Some(since) => {
                *is_watched = true;
                c.at(since + *longest, BoardEvent::Unserviced.into());
            }
            None => {}
        }
    }
}
