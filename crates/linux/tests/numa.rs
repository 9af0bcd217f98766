//! Memory at several nodes: where pages come from.

use chasqui_linux::{Access, Options, Outcome, Policy};

use crate::support::machine::{BYTES, LOW, Machine, PAGE};

const MBIND: u64 = 235;
const GET_MEMPOLICY: u64 = 236;
const SET_MEMPOLICY: u64 = 237;
const GETCPU: u64 = 168;
// As the C libraries make threads.
const THREAD_FLAGS: u64 = 0x7d_0f00;
const EPERM: i64 = -1;
const EIO: i64 = -5;
const EFAULT: i64 = -14;
const EINVAL: i64 = -22;

const NODES: u64 = 4;
const EACH: u64 = BYTES / NODES;

fn with(change: impl FnOnce(&mut Options)) -> Machine {
    Machine::new(|options| {
        options.nodes = (0..NODES).map(|node| node * EACH).collect();
        options.harts = 8;
        // Two harts a node.
        options.hart_nodes = (0..8).map(|hart| hart / 2).collect();
        change(options);
    })
}

fn machine() -> Machine {
    with(|_| ())
}

/// `pages` pages of anonymous memory.
fn map(m: &mut Machine, pages: u64) -> u64 {
    m.call(222, &[0, pages * PAGE, 3, 0x22, u64::MAX, 0]) as u64
}

/// The node of the page at `address` when hart `hart` touches it.
fn touch(m: &mut Machine, hart: usize, address: u64) -> u64 {
    m.process.touched_by(hart);
    m.process.space.fault(&mut m.memory, address, Access::Write).unwrap();
    m.process.space.translate(&m.memory, address).unwrap() / EACH
}

/// So many threads begin, on the next harts.
fn threads(m: &mut Machine, count: usize) {
    let s = m.scratch;
    for hart in 1..=count {
        let outcome = m.outcome(220, &[THREAD_FLAGS, 0x7000, s, 0, s + 4]);
        assert!(matches!(outcome, Outcome::Clone { hart: on, .. } if on == hart), "{outcome:?}");
    }
}

/// The word at `address`.
fn word(m: &mut Machine, address: u64) -> u64 {
    m.words(address, 1)[0]
}

fn put_mask(m: &mut Machine, mask: u64) -> u64 {
    let at = m.scratch + 512;
    m.put_words(at, &[mask]);
    at
}

fn mbind(m: &mut Machine, (at, pages): (u64, u64), mode: u64, mask: u64, flags: u64) -> i64 {
    let mask = put_mask(m, mask);
    m.call(MBIND, &[at, pages * PAGE, mode, mask, 65, flags])
}

#[test]
fn whoever_touches_a_page_first_has_it() {
    let mut m = machine();
    let at = map(&mut m, 8);
    for hart in 0..8 {
        assert_eq!(touch(&mut m, hart, at + hart as u64 * PAGE), hart as u64 / 2);
    }
    // A call on behalf of a thread touches for it, too.
    threads(&mut m, 4);
    m.hart = 4;
    let at = map(&mut m, 1);
    assert_eq!(m.call(113, &[0, at]), 0);
    assert_eq!(m.process.space.translate(&m.memory, at).unwrap() / EACH, 2);
    let s = m.scratch;
    assert_eq!(m.call(GETCPU, &[s, s + 4]), 0);
    assert_eq!(word(&mut m, s), 4 | 2 << 32, "hart 4 of node 2");
}

#[test]
fn a_machine_may_deal_pages_out_in_turn() {
    let mut m = with(|options| options.policy = Policy::Interleave(15));
    let at = map(&mut m, 8);
    let nodes: Vec<_> = (0..8).map(|page| touch(&mut m, 0, at + page * PAGE)).collect();
    let first = at / PAGE % NODES;
    assert_eq!(nodes, (0..8).map(|page| (first + page) % NODES).collect::<Vec<_>>());
}

#[test]
fn mbind_says_where_the_pages_of_an_area_come_from() {
    let mut m = machine();
    let at = map(&mut m, 16);
    let page = |number| at + number * PAGE;
    assert_eq!(mbind(&mut m, (page(0), 4), 2, 0b1000, 0), 0, "MPOL_BIND");
    assert_eq!(mbind(&mut m, (page(4), 4), 1, 0b0010, 0), 0, "MPOL_PREFERRED");
    assert_eq!(mbind(&mut m, (page(8), 4), 3, 0b0101, 0), 0, "MPOL_INTERLEAVE");
    let nodes: Vec<_> = (0..16).map(|number| touch(&mut m, 4, page(number))).collect();
    assert_eq!(nodes[..8], [3, 3, 3, 3, 1, 1, 1, 1]);
    let (even, odd) = if (page(8) / PAGE).is_multiple_of(2) { (0, 2) } else { (2, 0) };
    assert_eq!(nodes[8..], [even, odd, even, odd, 2, 2, 2, 2]);
    // An area whose middle has another policy has fallen into parts, and its pages may be moved with it.
    let moved = m.call(216, &[page(4), 4 * PAGE, 8 * PAGE, 1, 0, 0]) as u64;
    assert_eq!(touch(&mut m, 0, moved + 7 * PAGE), 1);
}

#[test]
fn a_node_that_has_no_more_memory_is_helped_by_others_unless_it_is_bound() {
    let mut m = machine();
    let pages = EACH / PAGE;
    let at = map(&mut m, 2 * pages);
    let nodes: Vec<_> = (0..pages + 8).map(|page| touch(&mut m, 2, at + page * PAGE)).collect();
    assert_eq!((nodes[0], nodes[nodes.len() - 1]), (1, 2));
    let bound = map(&mut m, 1);
    assert_eq!(mbind(&mut m, (bound, 1), 2, 0b0010, 0), 0);
    m.process.touched_by(0);
    let fault = m.process.space.fault(&mut m.memory, bound, Access::Write).unwrap_err();
    assert!(fault.is_out_of_memory(), "{fault}");
}

#[test]
fn what_is_wrong_with_a_policy_is_said_as_linux_does() {
    let mut m = machine();
    let at = map(&mut m, 4);
    let bind = |m: &mut Machine, mode, mask, flags| mbind(m, (at, 2), mode, mask, flags);
    assert_eq!(bind(&mut m, 6, 1, 0), EINVAL, "a mode that is not known");
    assert_eq!(bind(&mut m, 2, 0, 0), EINVAL, "no node");
    assert_eq!(bind(&mut m, 2, 1 << 4, 0), EINVAL, "a node that is not there");
    assert_eq!(bind(&mut m, 2, 0b1_0001, 0), 0, "one that is there beside it");
    assert_eq!(bind(&mut m, 0, 1, 0), EINVAL, "MPOL_DEFAULT with nodes");
    assert_eq!(bind(&mut m, 4, 1, 0), EINVAL, "MPOL_LOCAL with nodes");
    assert_eq!(bind(&mut m, 4 | 1 << 15, 0, 0), EINVAL, "MPOL_LOCAL with static nodes");
    assert_eq!(bind(&mut m, 2 | 3 << 14, 1, 0), EINVAL, "static and relative nodes");
    assert_eq!(bind(&mut m, 2 | 1 << 14, 1 << 6, 0), 0, "relative nodes are counted in a circle");
    assert_eq!(touch(&mut m, 0, at), 2);
    assert_eq!(bind(&mut m, 2, 1, 8), EINVAL, "a flag that is not known");
    assert_eq!(bind(&mut m, 2, 1, 4), EPERM, "MPOL_MF_MOVE_ALL");
    assert_eq!(bind(&mut m, 2, 0b100, 1), 0, "MPOL_MF_STRICT: the page is there");
    assert_eq!(bind(&mut m, 2, 0b1, 1), EIO);
    assert_eq!(bind(&mut m, 2, 0b1, 2), 0, "MPOL_MF_MOVE alone is a wish");
    assert_eq!(bind(&mut m, 2, 0b1, 3), EIO);
    let mask = put_mask(&mut m, 1);
    assert_eq!(m.call(MBIND, &[at + 1, PAGE, 2, mask, 65, 0]), EINVAL, "not a page");
    assert_eq!(m.call(MBIND, &[at, u64::MAX, 2, mask, 65, 0]), EINVAL, "beyond all addresses");
    assert_eq!(m.call(MBIND, &[at, 0, 2, mask, 65, 0]), 0);
    assert_eq!(m.call(MBIND, &[at, PAGE, 2, mask, 1, 0]), EINVAL, "a mask of no bits");
    assert_eq!(m.call(MBIND, &[at, PAGE, 2, mask, 1 << 20, 0]), EINVAL, "a mask that is too long");
    assert_eq!(m.call(MBIND, &[at, PAGE, 2, !7, 65, 0]), EFAULT);
    assert_eq!(m.call(MBIND, &[m.scratch + PAGE, PAGE, 2, mask, 65, 0]), EFAULT, "nothing is mapped there");
    m.put_words(m.scratch + 512, &[1, 1]);
    assert_eq!(m.call(MBIND, &[at, PAGE, 2, mask, 129, 0]), EINVAL, "a node beyond 64");
    assert_eq!(m.call(MBIND, &[at, PAGE, 2, mask, 65, 0]), 0);
}

#[test]
fn a_threads_policy_is_its_own_and_its_childrens() {
    let mut m = machine();
    let (s, at) = (m.scratch, map(&mut m, 4));
    let mask = put_mask(&mut m, 0b0100);
    assert_eq!(m.call(SET_MEMPOLICY, &[2, mask, 65]), 0);
    assert_eq!(touch(&mut m, 0, at), 2);
    threads(&mut m, 3);
    assert_eq!(touch(&mut m, 3, at + PAGE), 2, "inherited");
    let get = |m: &mut Machine, address, flags| m.call(GET_MEMPOLICY, &[s, s + 8, 65, address, flags]);
    assert_eq!(get(&mut m, 0, 0), 0);
    assert_eq!((word(&mut m, s) as u32, word(&mut m, s + 8)), (2, 0b0100));
    assert_eq!(mbind(&mut m, (at + 2 * PAGE, 1), 1, 0b1000, 0), 0);
    assert_eq!(get(&mut m, at + 2 * PAGE, 2), 0, "MPOL_F_ADDR");
    assert_eq!((word(&mut m, s) as u32, word(&mut m, s + 8)), (1, 0b1000));
    assert_eq!(get(&mut m, at + 2 * PAGE, 3), 0, "the page's node; it appears");
    assert_eq!(word(&mut m, s) as u32, 3);
    assert_eq!(get(&mut m, 0, 4), 0, "MPOL_F_MEMS_ALLOWED");
    assert_eq!(word(&mut m, s + 8), 0b1111);
    assert_eq!(get(&mut m, at, 0), EINVAL, "an address, and no flag");
    assert_eq!(get(&mut m, 0, 1), EINVAL, "MPOL_F_NODE without an address");
    assert_eq!(get(&mut m, 0, 6), EINVAL);
    assert_eq!(get(&mut m, 0, 8), EINVAL);
    assert_eq!(get(&mut m, s + PAGE, 2), EFAULT);
    assert_eq!(m.call(GET_MEMPOLICY, &[s, s + 8, 3, 0, 0]), EINVAL, "a mask that is too short");
}

/// One node: all policies are accepted that Linux would accept, and change nothing.
#[test]
fn a_machine_of_one_node_has_policies_too() {
    let mut m = Machine::new(|_| ());
    let at = map(&mut m, 1);
    assert_eq!(mbind(&mut m, (at, 1), 2, 1, 0), 0);
    assert_eq!(mbind(&mut m, (at, 1), 2, 2, 0), EINVAL);
    assert!(m.process.space.fault(&mut m.memory, at, Access::Write).is_ok());
    assert!((LOW..BYTES).contains(&m.process.space.translate(&m.memory, at).unwrap()));
}
