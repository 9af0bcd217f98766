//! Up*/down* routes (M. Schroeder et al., "Autonet: a high-speed, self-configuring local area network using
//! point-to-point links", IEEE J. Selected Areas in Communications 9(8), 1991, section 4.2): a breadth-first tree from a
//! root gives each switch a level; of the ends of a link the one of lower level, or of equal levels the one of lower
//! number, is its upper end. A packet goes up zero links or more, and then only down.

use std::collections::VecDeque;

use super::super::{Neighbour, RouterPort};

/// No legal way.
const NONE: u16 = u16::MAX;

/// The routes between all switches of a graph.
pub(super) struct UpDown {
    /// By switch: links between it and the root.
    levels: Vec<u16>,
    /// By destination, then switch, then whether the packet has gone down: the port by which it leaves, or [`NONE`].
    ports: Vec<[u16; 2]>,
    /// By destination, then switch: links on the way of a packet that begins there.
    links: Vec<u16>,
}

/// The switches that `switch` is joined to, and by which of its ports, rising.
pub(super) fn beside(ports: &[Vec<Neighbour>], switch: u32) -> impl Iterator<Item = (u16, u32)> {
    (0..).zip(&ports[switch as usize]).filter_map(|(port, far_end)| match far_end {
        Neighbour::Router(RouterPort { router, .. }) => Some((port, *router)),
        Neighbour::Node(_) | Neighbour::Unconnected => None,
    })
}

impl UpDown {
    /// The routes from and to all switches; `ports`: what is connected to each port of each. `root`: that of the tree.
    ///
    /// # Errors
    /// That there is no switch of that number; which switch has no way to it.
    pub fn new(ports: &[Vec<Neighbour>], root: u32) -> Result<UpDown, String> {
        let count = ports.len();
        if root as usize >= count {
            return Err(format!(
                "network.graph_root: there is no switch {root}; allowed is 0 to {}",
                count - 1
            ));
        }
        let levels = levels(ports, root)?;
        let mut routes = UpDown { levels, ports: vec![], links: vec![] };
        for destination in 0..count as u32 {
            routes.add(ports, destination);
        }
        Ok(routes)
    }

    /// The link from one switch to the other beside it goes up.
    #[inline]
    pub fn is_up(&self, from: u32, to: u32) -> bool {
        let place = |switch: u32| (self.levels[switch as usize], switch);
        place(to) < place(from)
    }

    /// The port by which a packet to another switch leaves `switch`, to which it came down a link or not.
    ///
    /// # Panics
    /// When it has come by a way that is not legal.
    #[inline]
    pub fn port(&self, switch: u32, destination: u32, came_down: bool) -> u16 {
        let port = self.ports[self.index(switch, destination)][usize::from(came_down)];
        assert_ne!(port, NONE, "no legal way goes down to switch {switch} and on to {destination}");
        port
    }

    /// Links on the way from one switch to another.
    pub fn links(&self, from: u32, to: u32) -> u32 {
        self.links[self.index(from, to)].into()
    }

    fn index(&self, switch: u32, destination: u32) -> usize {
        destination as usize * self.levels.len() + switch as usize
    }

    /// Adds the routes to `destination`, which are found from their ends.
    fn add(&mut self, ports: &[Vec<Neighbour>], destination: u32) {
        // By switch and whether the packet has gone down.
        let mut lengths = vec![[NONE; 2]; ports.len()];
        lengths[destination as usize] = [0; 2];
        let mut reached = VecDeque::from([(destination, false), (destination, true)]);
        while let Some((switch, went_down)) = reached.pop_front() {
            let length = lengths[switch as usize][usize::from(went_down)] + 1;
            for (_, before) in beside(ports, switch) {
                let is_up = self.is_up(before, switch);
                // From a switch by a link up to where a packet may go up still; by a link down, whether it went down before or
                // not, to where it has gone down.
                let befores: &[bool] =
                    if is_up == went_down { &[] } else { &[false, true][..1 + usize::from(went_down)] };
                for &went_down in befores {
                    let known = &mut lengths[before as usize][usize::from(went_down)];
                    if *known == NONE {
                        *known = length;
                        reached.push_back((before, went_down));
                    }
                }
            }
        }
        for switch in 0..ports.len() as u32 {
            let port = |went_down: bool| self.lowest(ports, &lengths, switch, went_down).unwrap_or(NONE);
            self.ports.push([port(false), port(true)]);
            self.links.push(lengths[switch as usize][0]);
        }
    }

    /// The lowest port of `switch` that begins a shortest legal way of a packet that has gone down or not.
    fn lowest(
        &self,
        ports: &[Vec<Neighbour>],
        lengths: &[[u16; 2]],
        switch: u32,
        went_down: bool,
    ) -> Option<u16> {
        let rest = lengths[switch as usize][usize::from(went_down)].checked_sub(1)?;
        let begins = |&(_, next): &(u16, u32)| {
            let goes_down = !self.is_up(switch, next);
            (goes_down || !went_down) && lengths[next as usize][usize::from(goes_down)] == rest
        };
        beside(ports, switch).find(begins).map(|(port, _)| port)
    }
}

/// By switch: links between it and the root, at least.
fn levels(ports: &[Vec<Neighbour>], root: u32) -> Result<Vec<u16>, String> {
    let mut levels = vec![NONE; ports.len()];
    levels[root as usize] = 0;
    let mut reached = VecDeque::from([root]);
    while let Some(switch) = reached.pop_front() {
        for (_, next) in beside(ports, switch) {
            if levels[next as usize] == NONE {
                levels[next as usize] = levels[switch as usize] + 1;
                reached.push_back(next);
            }
        }
    }
    match levels.iter().position(|&level| level == NONE) {
        Some(lost) => Err(format!(
            "network.graph: no links lead from switch {root} to switch {lost}; all must be joined"
        )),
        None => Ok(levels),
    }
}
