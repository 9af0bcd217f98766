//! A session, from the debugger's first packet until it leaves.

use std::net::TcpStream;

use gdbstub::conn::Connection as _;
use gdbstub::stub::state_machine::GdbStubStateMachine;
use gdbstub::stub::{DisconnectReason, GdbStubBuilder, MultiThreadStopReason};

use crate::target::{Session, signal};
use crate::wire::{Incoming, Next, Sender};
use crate::{Debuggee, End, Stop};

/// Length of the longest packet that is taken [bytes]; gdb is told so.
const PACKET_BYTES: usize = 1 << 14;

/// How the debugger has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// The run goes on without it.
    Detached,
    /// It has gone without a word, or has sent what is no packet: the same, and why.
    Lost(String),
    /// The run is to end.
    Killed,
    /// The run has ended.
    Ended,
    /// The run is to end for another reason.
    Stopped,
}

/// What is said of a connection that is closed without a word.
const CLOSED: &str = "it has closed the connection";

/// Serves the debugger that is connected by `stream`, for as long as it stays and `is_to_end` does not say that the run is to
/// end, whatever the debugger wants or does. The run stands until it says otherwise.
pub fn serve(stream: TcpStream, debuggee: &mut dyn Debuggee, is_to_end: &dyn Fn() -> bool) -> Left {
    let sender = stream.try_clone().and_then(|stream| Sender::new(stream, is_to_end));
    let served = sender.and_then(|sender| Ok((sender, Incoming::new(&stream, debuggee.interrupter())?)));
    match served {
        Ok((sender, incoming)) => match serve_by(sender, incoming, debuggee, is_to_end) {
            Ok(left) => left,
            // Before the debugger could be told so.
            Err(_) if is_to_end() => Left::Stopped,
            Err(why) => Left::Lost(why),
        },
        Err(error) => Left::Lost(error.to_string()),
    }
}

fn serve_by(
    sender: Sender<'_>,
    mut incoming: Incoming,
    debuggee: &mut dyn Debuggee,
    is_to_end: &dyn Fn() -> bool,
) -> Result<Left, String> {
    let mut session = Session::new(debuggee);
    let stub = GdbStubBuilder::new(sender).packet_buffer_size(PACKET_BYTES).build();
    let stub = stub.map_err(|error| error.to_string())?;
    let mut machine = stub.run_state_machine(&mut session).map_err(|error| error.to_string())?;
    loop {
        machine = match machine {
            // Whatever has come: of a debugger that does not read many questions may wait for answers.
            GdbStubStateMachine::Idle(_) if is_to_end() => return Ok(Left::Stopped),
            GdbStubStateMachine::Idle(idle) => match incoming.next() {
                Next::Byte(byte) => idle.incoming_data(&mut session, byte),
                Next::None => Ok(idle.into()),
                Next::Closed => return Err(CLOSED.into()),
            },
            GdbStubStateMachine::Running(mut running) => {
                // What comes from here on interrupts the run; what has come before is dealt with first.
                incoming.set_runs(true);
                let next = incoming.try_next();
                let stop = matches!(next, Next::None).then(|| session.run());
                incoming.set_runs(false);
                match (next, stop) {
                    (Next::Byte(byte), _) => running.incoming_data(&mut session, byte),
                    (Next::Closed, _) => return Err(CLOSED.into()),
                    (Next::None, Some(Stop::Ended(end, text))) => {
                        show(running.borrow_conn(), &text).map_err(|error| error.to_string())?;
                        running.report_stop(&mut session, ended(end))
                    }
                    (Next::None, stop) => match stop.and_then(|stop| session.reason(stop)) {
                        Some(reason) => running.report_stop(&mut session, reason),
                        None => Ok(running.into()),
                    },
                }
            }
            GdbStubStateMachine::CtrlCInterrupt(interrupt) => {
                let reason = session.interrupted();
                interrupt.interrupt_handled(&mut session, Some(reason))
            }
            GdbStubStateMachine::Disconnected(over) => return Ok(left(over.get_reason())),
        }
        .map_err(|error| error.to_string())?;
    }
}

fn ended(end: End) -> MultiThreadStopReason<u64> {
    match end {
        End::Exited(status) => MultiThreadStopReason::Exited(status),
        End::Signal(number) => MultiThreadStopReason::Terminated(signal(number)),
    }
}

fn left(why: DisconnectReason) -> Left {
    match why {
        DisconnectReason::Disconnect => Left::Detached,
        DisconnectReason::Kill => Left::Killed,
        DisconnectReason::TargetExited(_) | DisconnectReason::TargetTerminated(_) => Left::Ended,
    }
}

/// Shows `text` at the debugger's (GDB's manual, *Stop Reply Packets*, `O`).
fn show(sender: &mut Sender<'_>, text: &str) -> std::io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let body = text.bytes().fold("O".to_string(), |body, byte| body + &format!("{byte:02x}"));
    let sum = body.bytes().fold(0u8, u8::wrapping_add);
    sender.write_all(format!("${body}#{sum:02x}").as_bytes())?;
    sender.flush()
}
