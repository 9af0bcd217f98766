//! Pipelines: an NI's events as a graph of what leads to what, and the least time that each takes. What an NI promises to
//! its node and to the engine follows from that: how soon anything can have an effect on another partition, how soon the
//! processor can notice what comes from outside, and which events it can't notice at all.
//!
//! The times are declared once: [`Pipeline::begin`] schedules an event by them. A step that is missing in the declaration
//! makes a promise that is too long, which the engine or the node finds in the run in which it is broken. A missing `Seen` or
//! `Bus` also has the node believe that an event can't be noticed. In builds with debug assertions it finds the register that
//! changed if a hart that repeats itself loaded that last; see the crate's README.

use std::marker::PhantomData;

use chasqui_engine::{Clock, Event, Payload, Time};
use chasqui_network::{Effects, NodeEvent};

use crate::{Cause, Context, LinkEnd};

/// Where a pipeline ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlet {
    /// A packet goes to the link.
    Send,
    /// Room of a packet in the receive buffer goes back.
    Release,
    /// A bus transaction is asked for: memory changes, or is read.
    Bus,
    /// A register or the interrupt line changes.
    Seen,
}

/// Number of a step: a cause from outside, an outlet, or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step(usize);

impl Step {
    /// The processor accesses the NI.
    pub const ACCESS: Step = Step(0);
    /// A bus transaction is granted, or over.
    pub const BUS: Step = Step(1);
    /// The head of a packet is here.
    pub const PACKET: Step = Step(2);
    /// The router has room again.
    pub const CREDIT: Step = Step(3);
    const OUTLETS: usize = 4;
    const EVENTS: usize = 8;

    /// An event, by its number.
    pub const fn event(number: usize) -> Step {
        Step(Step::EVENTS + number)
    }
}

impl From<Outlet> for Step {
    fn from(outlet: Outlet) -> Step {
        Step(Step::OUTLETS + outlet as usize)
    }
}

/// An NI's events with what they lead to ([`crate::pipeline`]).
pub trait Flow: Copy + Into<Payload> + Into<Step> {
    /// All events.
    const COUNT: usize;
    /// What each step may lead to, at once or after the time of the event that it leads to.
    fn leads() -> Vec<(Step, Vec<Step>)>;
}

/// What follows from a declaration. All times are the least that there may be.
pub struct Pipeline<E> {
    clock: Clock,
    /// By event: what it takes [clocks].
    cycles: Vec<u64>,
    /// By step: to the first effects on other partitions.
    effects: Vec<Effects>,
    /// By step: the processor may notice it.
    visible: Vec<bool>,
    /// From another partition's event to what the processor may notice.
    input: Time,
    events: PhantomData<E>,
}

impl<E: Flow> Pipeline<E> {
    /// The pipeline of an NI with `clock` at `link`. `takes`: the least time of an event from its beginning [clocks]; those
    /// that are not named take none, but for a packet's `landing`, which comes after its head as its length says.
    pub fn new(link: &LinkEnd, clock: Clock, takes: &[(E, u64)], landing: Option<E>) -> Pipeline<E> {
        let landing = landing.map(|event| (event, link.landing()));
        Pipeline::with_effects(link.effects(), clock, takes, landing)
    }

    /// The same with the effects of a packet that is sent and of room that goes back, and the least time from head to tail.
    fn with_effects(
        (sent, released): &(Effects, Effects),
        clock: Clock,
        takes: &[(E, u64)],
        landing: Option<(E, Time)>,
    ) -> Pipeline<E> {
        let mut cycles = vec![0; E::COUNT];
        for &(event, clocks) in takes {
            cycles[number(event)] = clocks;
        }
        let mut times: Vec<Time> = cycles.iter().map(|&clocks| clock.edge(clocks)).collect();
        if let Some((event, landing)) = landing {
            times[number(event)] += landing;
        }
        let leads = E::leads();
        let after = |step: Step| step.0.checked_sub(Step::EVENTS).map_or(Time::ZERO, |event| times[event]);
        let steps = Step::EVENTS + E::COUNT;
        let visible = visible(steps, &leads);
        let mut effects = vec![[Time::NEVER; size_of::<Effects>() / size_of::<Time>()]; steps];
        effects[Step::from(Outlet::Send).0] = *sent;
        effects[Step::from(Outlet::Release).0] = *released;
        // What the processor sees it may answer at once; what the bus moves it may see.
        let answers = [
            (Outlet::Seen.into(), vec![Step::ACCESS]),
            (Outlet::Bus.into(), vec![Step::BUS]),
            (Step::BUS, vec![Step::ACCESS]),
        ];
        let mut noticed: Vec<Time> =
            visible.iter().map(|&is_seen| if is_seen { Time::ZERO } else { Time::NEVER }).collect();
        // Each round finds paths that are a step longer.
        for _ in 0..steps {
            for (from, to) in leads.iter().chain(&answers) {
                for &to in to {
                    let beyond = effects[to.0];
                    for (least, beyond) in effects[from.0].iter_mut().zip(beyond) {
                        *least = (*least).min(beyond + after(to));
                    }
                    noticed[from.0] = noticed[from.0].min(noticed[to.0] + after(to));
                }
            }
        }
        let input = noticed[Step::PACKET.0].min(noticed[Step::CREDIT.0]);
        Pipeline { clock, cycles, effects, visible, input, events: PhantomData }
    }

    /// `event` comes when its time from now is over, and `more` clocks.
    pub fn begin_with(&self, event: E, more: u64, c: &mut Context<'_, '_>) {
        c.at(self.clock.after(c.now, self.cycles[number(event)] + more), event.into());
    }

    /// `event` comes when its time from now is over.
    pub fn begin(&self, event: E, c: &mut Context<'_, '_>) {
        self.begin_with(event, 0, c);
    }
}

fn number<E: Flow>(event: E) -> usize {
    Into::<Step>::into(event).0 - Step::EVENTS
}

/// Which steps the processor may notice.
fn visible(steps: usize, leads: &[(Step, Vec<Step>)]) -> Vec<bool> {
    let mut visible = vec![false; steps];
    for (step, to) in leads {
        visible[step.0] = to.contains(&Outlet::Bus.into()) || to.contains(&Outlet::Seen.into());
    }
    visible
}

/// What an NI answers to its node and to the engine, as far as it follows from a declaration.
pub trait Promises: Send {
    /// [`NetworkInterface::output_latency`](crate::NetworkInterface::output_latency).
    fn output_latency(&self, cause: Cause<'_>) -> &[Time];
    /// [`NetworkInterface::input_latency`](crate::NetworkInterface::input_latency).
    fn input_latency(&self) -> Time;
    /// [`NetworkInterface::is_visible`](crate::NetworkInterface::is_visible).
    fn is_visible(&self, payload: Payload) -> bool;
    /// [`NetworkInterface::network_is_visible`](crate::NetworkInterface::network_is_visible).
    fn network_is_visible(&self, event: &Event) -> bool;
}

fn step_of(event: &Event) -> Step {
    match event.payload.into() {
        NodeEvent::Packet { .. } => Step::PACKET,
        NodeEvent::Credit { .. } => Step::CREDIT,
    }
}

impl<E: Flow + Send> Promises for Pipeline<E> {
    fn output_latency(&self, cause: Cause<'_>) -> &[Time] {
        let step = match cause {
            Cause::Access => Step::ACCESS,
            Cause::Event([number, _]) => Step::event(number as usize),
            Cause::Network(event) => step_of(event),
            Cause::Bus(_) => Step::BUS,
        };
        &self.effects[step.0]
    }

    fn input_latency(&self) -> Time {
        self.input
    }

    fn is_visible(&self, [number, _]: Payload) -> bool {
        self.visible[Step::event(number as usize).0]
    }

    fn network_is_visible(&self, event: &Event) -> bool {
        self.visible[step_of(event).0]
    }
}

/// Declares an NI's own events as [`crate::events`] does, with what each may lead to: other events, whose times begin then,
/// and [`Outlet`]s. Behind them stands what an access of the processor, a bus transaction of the NI's, a packet and a credit
/// lead to. What the processor can't notice need not be named: it is what leads to neither `Bus` nor `Seen`.
///
/// ```
/// chasqui_ni::pipeline! {
///     /// Events of an NI that sends what is stored to it, and writes what comes.
///     enum NiEvent {
///         /// The link is free.
///         Start => [Send],
///         /// Control of a message is over.
///         Prepared => [Send, Prepared, Seen],
///         /// A packet's tail is here.
///         Landed => [Received],
///         /// Control of a packet is over.
///         Received => [Bus],
///     }
///     access => [Prepared];
///     bus => [Release, Received];
///     packet => [Landed];
///     credit => [Send, Prepared];
/// }
/// ```
#[macro_export]
macro_rules! pipeline {
    (
        $(#[$outer:meta])* $visibility:vis enum $Name:ident {
            $($(#[$inner:meta])* $Variant:ident => [$($next:ident),* $(,)?],)+
        }
        access => [$($access:ident),* $(,)?];
        bus => [$($bus:ident),* $(,)?];
        packet => [$($packet:ident),* $(,)?];
        credit => [$($credit:ident),* $(,)?];
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $Name {
            $($(#[$inner])* $Variant,)+
        }

        impl From<$Name> for ::chasqui_engine::Payload {
            fn from(event: $Name) -> Self {
                [event as u64, 0]
            }
        }

        impl From<::chasqui_engine::Payload> for $Name {
            fn from([number, _]: ::chasqui_engine::Payload) -> Self {
                const ALL: &[$Name] = &[$($Name::$Variant),+];
                ALL[number as usize]
            }
        }

        impl From<$Name> for $crate::Step {
            fn from(event: $Name) -> Self {
                $crate::Step::event(event as usize)
            }
        }

        impl $crate::Flow for $Name {
            const COUNT: usize = [$($Name::$Variant),+].len();

            fn leads() -> Vec<($crate::Step, Vec<$crate::Step>)> {
                #[allow(unused_imports, reason = "not every pipeline has each outlet")]
                use $crate::Outlet::*;
                use $Name::*;
                vec![
                    $(($Variant.into(), vec![$($next.into()),*]),)+
                    ($crate::Step::ACCESS, vec![$($access.into()),*]),
                    ($crate::Step::BUS, vec![$($bus.into()),*]),
                    ($crate::Step::PACKET, vec![$($packet.into()),*]),
                    ($crate::Step::CREDIT, vec![$($credit.into()),*]),
                ]
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::pipeline! {
        /// An NI that sends what is stored to it, and writes what comes.
        enum NiEvent {
            /// The link is free.
            Start => [Send, Prepared],
            /// Control of a message is over.
            Prepared => [Send, Prepared, Seen],
            /// A packet's tail is here.
            Landed => [Received],
            /// Control of a packet is over.
            Received => [Bus],
            /// Nothing comes of it.
            Idle => [],
        }
        access => [Prepared];
        bus => [Release, Received];
        packet => [Landed];
        credit => [Send, Prepared];
    }

    /// At 1 GHz a message takes 5 clocks, a packet 7 behind a tail that comes 30 ns after its head at the soonest. A packet is
    /// noticed elsewhere after 100 ns, room after 40.
    fn pipeline() -> Pipeline<NiEvent> {
        let effects = ([Time(100_000); 4], [Time(40_000); 4]);
        let takes = [(NiEvent::Prepared, 5), (NiEvent::Received, 7)];
        let landing = Some((NiEvent::Landed, Time(30_000)));
        Pipeline::with_effects(&effects, Clock::new(1_000_000_000), &takes, landing)
    }

    #[test]
    fn promises_are_the_shortest_paths() {
        let p = pipeline();
        let after = |step: Step| p.effects[step.0][0];
        let event = |event: NiEvent| after(event.into());
        // A store has a packet sent after control. What the processor sees it may answer by one.
        assert_eq!(after(Step::ACCESS), Time(105_000));
        assert_eq!((event(NiEvent::Start), event(NiEvent::Prepared)), (Time(100_000), Time(100_000)));
        // Room goes back when a packet is written, which its transaction's grant may be.
        assert_eq!((after(Step::BUS), event(NiEvent::Received)), (Time(40_000), Time(40_000)));
        assert_eq!(event(NiEvent::Landed), Time(47_000));
        assert_eq!(after(Step::PACKET), Time(77_000));
        assert_eq!((after(Step::CREDIT), event(NiEvent::Idle)), (Time(100_000), Time::NEVER));
    }

    #[test]
    fn the_processor_notices_the_first_register_or_transaction() {
        let p = pipeline();
        // A credit by the register of what it lets leave, after 5 ns; a packet not before 37.
        assert_eq!(p.input_latency(), Time(5_000));
        let visible = |event: NiEvent| p.is_visible(event.into());
        assert!(visible(NiEvent::Prepared) && visible(NiEvent::Received));
        assert!(!visible(NiEvent::Start) && !visible(NiEvent::Landed) && !visible(NiEvent::Idle));
        assert!(!p.visible[Step::PACKET.0] && !p.visible[Step::CREDIT.0]);
    }

    #[test]
    fn events_convert_as_payloads() {
        for event in [NiEvent::Start, NiEvent::Prepared, NiEvent::Landed, NiEvent::Received, NiEvent::Idle] {
            assert_eq!(NiEvent::from(Payload::from(event)), event);
        }
    }
}
