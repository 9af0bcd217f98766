//! Running ahead: what concerns a port that does, and what is taken back.

use crate::rig::{LOW, Rig, bus, parameters};
use chasqui_config::Bytes;
use chasqui_memory::{L2Parameters, Snoop};

/// A rig with lines of 64 bytes, or 128 of them in the L2 or the data cache, that runs ahead and has stored 5 to `LOW` + 8.
fn ahead(l1d: u64, l2: Option<u64>) -> Rig {
    let mut parameters = parameters();
    parameters.l1d.line = Bytes::from_bytes(l1d);
    if let Some(line) = l2 {
        parameters.l2 = L2Parameters::new(16384, 4, line);
    }
    let mut rig = Rig::new(parameters, bus());
    rig.port.join_peers();
    rig.store(LOW + 8, 3);
    rig.run_to_idle();
    // The line is known where accesses look first.
    rig.store(LOW + 8, 4);
    assert!(rig.port.may_run_ahead());
    rig.port.begin_ahead();
    rig.port.set_ahead(true);
    rig.store(LOW + 8, 5);
    rig.port.set_ahead(false);
    rig
}

/// A transaction shares or takes whole lines of the cache that is asked, also where it is for fewer bytes.
#[test]
fn a_read_concerns_the_lines_that_were_stored_to() {
    for (l1d, l2, length) in [(64, None, 64), (128, None, 128), (64, Some(64), 64), (64, Some(128), 128)] {
        let rig = ahead(l1d, l2);
        let line = LOW;
        for at in (0..2 * length).step_by(32) {
            let is_concerned = rig.port.is_concerned(Snoop::Read, line + at, 32);
            assert_eq!(is_concerned, at < length, "lines of {l1d} and {l2:?} bytes, 32 bytes at {at}");
        }
    }
}

#[test]
fn what_was_stored_is_taken_back() {
    let mut rig = ahead(64, None);
    assert_eq!(rig.load(LOW + 8), 5);
    rig.port.take_back();
    assert_eq!(rig.load(LOW + 8), 4);
    assert!(!rig.port.is_concerned(Snoop::Read, LOW, 64));
}
