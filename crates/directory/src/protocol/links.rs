//! Links of the mesh, where messages wait for each other there (`mesh.contention`).
//!
//! A message takes the way out of its node, the links along its row and then along its column, and the way into the other node, each
//! for as long as it takes to go by. Its beginning goes on as soon as the next link is free (virtual cut-through; routers have room
//! for whole messages). A message takes its links when it leaves: a later one goes before it where there is time enough.

use std::collections::VecDeque;

use chasqui_engine::Time;

use super::Protocol;
use crate::times::Times;

/// What leads from a node: to its neighbours, and to its own controller.
const PORTS: usize = 6;
/// The way out of the controller, and the way in.
const OUT: usize = 4;
const IN: usize = 5;
/// No message leaves so long before the latest that left, counting from when its data are there.
const HORIZON: Time = Time(1_000_000_000);

/// When each link is taken.
pub(super) struct Links {
    taken: Vec<VecDeque<(Time, Time)>>,
}

impl Links {
    pub fn new(nodes: usize) -> Links {
        Links { taken: vec![VecDeque::new(); nodes * PORTS] }
    }

    /// Takes a link for `time`, from `at` on or as soon as it is free for so long: when that is.
    fn take(&mut self, node: usize, port: usize, at: Time, time: Time) -> Time {
        let taken = &mut self.taken[node * PORTS + port];
        while taken.front().is_some_and(|&(_, end)| end + HORIZON < at) {
            taken.pop_front();
        }
        let mut place = taken.partition_point(|&(_, end)| end <= at);
        let mut start = at;
        while let Some(&(from, end)) = taken.get(place) {
            if start + time <= from {
                break;
            }
            (start, place) = (start.max(end), place + 1);
        }
        taken.insert(place, (start, start + time));
        start
    }
}

/// The links from one node to another: each with the node that it leads from, and its port.
fn path(times: &Times, from: usize, to: usize) -> Vec<(usize, usize)> {
    let mut links = vec![];
    let mut node = from;
    while let Some((port, next)) = times.step(node, to) {
        links.push((node, port));
        node = next;
    }
    links
}

/// A message with so many bytes of data leaves one controller for another at `at`: how long it travels.
pub(super) fn way(protocol: &mut Protocol, (from, to): (usize, usize), bytes: u64, at: Time) -> Time {
    if from == to {
        return Time::ZERO;
    }
    let times = protocol.times;
    let alone = times.between_with(from, to, bytes);
    let Some(links) = &mut protocol.links else { return alone };
    let (wire, began) = (times.wire(bytes), at + times.queue);
    let mut head = links.take(from, OUT, began, wire);
    for (node, port) in path(&times, from, to) {
        head = links.take(node, port, head, wire) + times.hop();
    }
    head = links.take(to, IN, head, wire);
    let way = head + wire + times.queue - at;
    protocol.statistics[from].network_waits_ps += (way - alone).0;
    way
}

/// The same, of a message with a line or without data.
pub(super) fn way_of(protocol: &mut Protocol, ends: (usize, usize), has_data: bool, at: Time) -> Time {
    let bytes = if has_data { protocol.times.line_bytes } else { 0 };
    way(protocol, ends, bytes, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_taken_once_at_a_time() {
        let mut links = Links::new(1);
        let mut take = |at, time| links.take(0, OUT, Time(at), Time(time)).0;
        assert_eq!(take(100, 10), 100);
        assert_eq!(take(105, 10), 110, "behind");
        assert_eq!(take(80, 20), 80, "it just fits before");
        assert_eq!(take(95, 10), 120, "not between");
        assert_eq!(take(200, 10), 200);
        assert_eq!(take(130, 70), 130, "between");
        assert_eq!(take(50, 40), 210, "there is no room before");
    }

    #[test]
    fn a_way_goes_along_the_row_first() {
        let times = Times::new(&crate::parameters::DirectoryParameters::default(), 16, 64);
        let nodes = |from, to| path(&times, from, to).iter().map(|link| link.0).collect::<Vec<_>>();
        assert_eq!(nodes(0, 10), [0, 1, 2, 6]);
        assert_eq!(nodes(10, 0), [10, 9, 8, 4]);
        assert!(nodes(3, 3).is_empty());
        for (from, to) in [(0, 15), (12, 3), (5, 6)] {
            assert_eq!(nodes(from, to).len() as u64, times.hops(from, to));
        }
    }
}
