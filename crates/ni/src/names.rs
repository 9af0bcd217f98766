//! Names that pass through the engine, the memory system and records as numbers: an NI's own events, its units, which ask
//! for bus transactions, and the mechanisms by which messages travel.

/// Declares an NI's own events, one after the other, as an enum that converts into an engine's
/// [`Payload`](chasqui_engine::Payload) and back. Its method `is_visible` is what
/// [`NetworkInterface::is_visible`](crate::NetworkInterface::is_visible) asks: false of events that are declared `unseen`,
/// which change no register, ask for no bus transaction, and leave the interrupt line alone.
///
/// ```
/// chasqui_ni::events! {
///     /// Events of an NI that sends.
///     enum NiEvent {
///         /// The link is free.
///         Start: unseen,
///         /// Control of a message is over.
///         Prepared,
///     }
/// }
/// let payload: chasqui_engine::Payload = NiEvent::Prepared.into();
/// assert_eq!(NiEvent::from(payload), NiEvent::Prepared);
/// assert!(NiEvent::Prepared.is_visible() && !NiEvent::Start.is_visible());
/// ```
#[macro_export]
macro_rules! events {
    ($(#[$outer:meta])* $visibility:vis enum $Name:ident {
        $($(#[$inner:meta])* $Variant:ident $(: $unseen:ident)?,)+
    }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $Name {
            $($(#[$inner])* $Variant,)+
        }

        impl $Name {
            const ALL: &[$Name] = &[$($Name::$Variant),+];

            /// The processor may notice it.
            $visibility fn is_visible(self) -> bool {
                match self {
                    $($Name::$Variant => true $(&& $crate::events!(@$unseen))?,)+
                }
            }
        }

        impl From<$Name> for ::chasqui_engine::Payload {
            fn from(event: $Name) -> Self {
                [event as u64, 0]
            }
        }

        impl From<::chasqui_engine::Payload> for $Name {
            fn from([number, _]: ::chasqui_engine::Payload) -> Self {
                $Name::ALL[number as usize]
            }
        }
    };
    (@unseen) => { false };
}

/// Declares the units of an NI that ask for bus transactions, as an enum. A transaction's tag ([`crate::BusRequest::tag`])
/// is its unit and a number of the unit's: `tag` composes it, `of` takes it apart.
///
/// ```
/// chasqui_ni::units! {
///     /// Units of an NI that writes what comes.
///     enum Unit {
///         /// What has come is written.
///         Receive,
///     }
/// }
/// assert_eq!(Unit::of(Unit::Receive.tag(3)), (Unit::Receive, 3));
/// ```
#[macro_export]
macro_rules! units {
    ($(#[$outer:meta])* $visibility:vis enum $Name:ident { $($(#[$inner:meta])* $Variant:ident,)+ }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $Name {
            $($(#[$inner])* $Variant,)+
        }

        impl $Name {
            const ALL: &[$Name] = &[$($Name::$Variant),+];

            /// Tag of its bus transaction `number`.
            $visibility fn tag(self, number: usize) -> u64 {
                (number as u64) << 8 | self as u64
            }

            /// Unit and number of a tag.
            $visibility fn of(tag: u64) -> (Self, usize) {
                ($Name::ALL[(tag & 0xff) as usize], (tag >> 8) as usize)
            }
        }
    };
}

/// Declares the mechanisms by which a machine's messages travel, as an enum, with the word that a record has for each.
/// They are numbered from 1 on ([`Context::travels_by`](crate::Context::travels_by)).
///
/// ```
/// chasqui_ni::mechanisms! {
///     /// By what a message travels.
///     enum Mechanism {
///         /// In a packet of its own.
///         Basic = "basic",
///         /// In pieces that DMA engines move.
///         Dma = "dma",
///     }
/// }
/// assert_eq!(Mechanism::NAMES[u32::from(Mechanism::Dma) as usize - 1], "dma");
/// ```
#[macro_export]
macro_rules! mechanisms {
    ($(#[$outer:meta])* $visibility:vis enum $Name:ident {
        $($(#[$inner:meta])* $Variant:ident = $word:literal,)+
    }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $Name {
            $($(#[$inner])* $Variant,)+
        }

        impl $Name {
            /// Their words, in the order of their numbers.
            $visibility const NAMES: &[&str] = &[$($word),+];
        }

        impl From<$Name> for u32 {
            fn from(mechanism: $Name) -> u32 {
                mechanism as u32 + 1
            }
        }
    };
}
