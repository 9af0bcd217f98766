//! Memory at several nodes: where pages come from.

use chasqui_linux::{Access, FaultCause, Options, Outcome, Policy};

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

/// Mode and nodes of the area that holds `address`.
fn policy(m: &mut Machine, address: u64) -> (u32, u64) {
    let s = m.scratch;
    assert_eq!(m.call(GET_MEMPOLICY, &[s, s + 8, 65, address, 2]), 0);
    (word(m, s) as u32, word(m, s + 8))
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
    let mut m = with(|options| options.policy = Policy::Interleave(15.into()));
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
    assert_eq!(fault.cause, FaultCause::NodesFull { nodes: 0b0010, limit_bytes: EACH });
    let said = format!(
        "write to {bound:#x}: out of memory: the page may be at node 1 alone (MPOL_BIND), of which all 4 MiB of the rank are \
         in use"
    );
    assert_eq!(fault.to_string(), said);
}

#[test]
fn a_thread_that_is_bound_to_nodes_without_memory_is_told_their_names() {
    let mut m = machine();
    let mask = put_mask(&mut m, 0b0110);
    assert_eq!(m.call(SET_MEMPOLICY, &[2, mask, 65]), 0);
    let pages = 2 * EACH / PAGE;
    let at = map(&mut m, pages + 1);
    m.process.touched_by(0);
    let touched = |page| m.process.space.fault(&mut m.memory, at + page * PAGE, Access::Write);
    let fault = (0..=pages).map(touched).find_map(Result::err).unwrap();
    assert!(fault.to_string().contains("at nodes 1, 2 alone (MPOL_BIND), of which all 8 MiB"), "{fault}");
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
    assert_eq!(policy(&mut m, at), (2, 0b100));
    assert_eq!(bind(&mut m, 2, 0b1, 1), EIO);
    assert_eq!(policy(&mut m, at), (2, 0b100), "nothing has changed");
    assert_eq!(bind(&mut m, 4, 0, 1), EIO, "MPOL_LOCAL names no node");
    assert_eq!(bind(&mut m, 0, 0, 1), 0, "MPOL_DEFAULT does not look");
    assert_eq!(bind(&mut m, 2, 0b1000, 2), 0, "MPOL_MF_MOVE alone is a wish");
    assert_eq!(bind(&mut m, 2, 0b1, 3), EIO);
    assert_eq!(policy(&mut m, at), (2, 0b1), "changed all the same");
    let mask = put_mask(&mut m, 1);
    assert_eq!(m.call(MBIND, &[at + 1, PAGE, 2, mask, 65, 0]), EINVAL, "not a page");
    assert_eq!(m.call(MBIND, &[at, u64::MAX, 2, mask, 65, 0]), EINVAL, "beyond all addresses");
    assert_eq!(m.call(MBIND, &[at, 0, 2, mask, 65, 0]), 0);
    assert_eq!(m.call(MBIND, &[at, 0, 2, mask, 1, 0]), 0, "of nothing it is not looked at");
    assert_eq!(m.call(MBIND, &[at, PAGE, 2, mask, 1, 0]), EINVAL, "a mask of no bits");
    assert_eq!(m.call(MBIND, &[at, PAGE, 0, mask, 0, 0]), EINVAL, "a mask of one bit less than none");
    assert_eq!(m.call(MBIND, &[at, PAGE, 0, 0, 0, 0]), 0, "no mask");
    assert_eq!(m.call(MBIND, &[at, PAGE, 6, !7, 65, 0]), EINVAL, "the mode comes before the mask");
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
    assert_eq!(policy(&mut m, at), (0, 0), "an area without a policy, whatever the thread's is");
    assert_eq!(m.call(GET_MEMPOLICY, &[s, s + 8, 3, 0, 0]), EINVAL, "a mask that is too short");
}

#[test]
fn a_mask_that_is_asked_for_has_as_many_words_as_a_page() {
    let mut m = machine();
    let s = m.scratch;
    let get = |m: &mut Machine, at, bits| m.call(GET_MEMPOLICY, &[s, at, bits, 0, 4]);
    m.put_words(s + 8, &[7; 4]);
    assert_eq!(get(&mut m, s + 8, 64), 0);
    assert_eq!(m.words(s + 8, 2), [0b1111, 7]);
    assert_eq!(get(&mut m, s + 8, 66), 0);
    assert_eq!(m.words(s + 8, 3), [0b1111, 0, 7]);
    let longest = PAGE * 8 + 1;
    assert_eq!(get(&mut m, s, longest), 0);
    assert_eq!(get(&mut m, s + 8, longest), EFAULT, "a word is behind the page");
    m.put_words(s, &[7]);
    for bits in [longest + 1, 1 << 40, u64::MAX - 63] {
        assert_eq!(get(&mut m, s, bits), EINVAL, "{bits}");
    }
    assert_eq!(get(&mut m, s + 8, u64::MAX), 0, "rounded up this is none");
    assert_eq!(m.words(s, 2), [0, 0], "the mode alone was written");
}

#[test]
fn what_was_meant_by_nodes_is_kept() {
    const STATIC: u64 = 1 << 15;
    const RELATIVE: u64 = 1 << 14;
    let mut m = machine();
    let (s, at) = (m.scratch, map(&mut m, 4));
    for (mode, asked, shown) in [
        (2, 0b1_0010, (2, 0b0010)),
        (2 | STATIC, 0b1_0010, (2 | STATIC as u32, 0b1_0010)),
        (3 | RELATIVE, 0b10_0000, (3 | RELATIVE as u32, 0b10_0000)),
        (1, 0b1100, (1, 0b0100)),
        (1 | STATIC, 0b1100, (1 | STATIC as u32, 0b1100)),
    ] {
        assert_eq!(mbind(&mut m, (at, 1), mode, asked, 0), 0);
        assert_eq!(policy(&mut m, at), shown);
    }
    assert_eq!(mbind(&mut m, (at + PAGE, 1), 2 | RELATIVE, 0b10_0000, 0), 0);
    assert_eq!(touch(&mut m, 0, at + PAGE), 1, "5 modulo 4");
    assert_eq!(mbind(&mut m, (at, 1), 1 | STATIC, 0, 0), EINVAL, "no node");
    assert_eq!(mbind(&mut m, (at, 1), STATIC, 0, 0), 0, "MPOL_DEFAULT");
    assert_eq!(policy(&mut m, at), (0, 0));
    let mask = put_mask(&mut m, 0b1_1010);
    assert_eq!(m.call(SET_MEMPOLICY, &[3 | STATIC, mask, 65]), 0);
    assert_eq!(m.call(GET_MEMPOLICY, &[s, s + 8, 65, 0, 1]), 0, "MPOL_F_NODE");
    assert_eq!((word(&mut m, s) as u32, word(&mut m, s + 8)), (1, 0b1_1010), "the first node");
}

#[test]
fn a_policy_is_of_mapped_pages() {
    let mut m = machine();
    let at = map(&mut m, 5);
    assert_eq!(m.call(215, &[at + 2 * PAGE, PAGE]), 0);
    let bound = (2, 0b0010);
    for (first, pages) in [(0, 5), (0, 3), (2, 1), (2, 3)] {
        assert_eq!(mbind(&mut m, (at + first * PAGE, pages), 2, 0b0010, 0), EFAULT, "{first} {pages}");
        assert_eq!(policy(&mut m, at), (0, 0));
    }
    assert_eq!(mbind(&mut m, (at, 2), 2, 0b0010, 0), 0);
    assert_eq!(mbind(&mut m, (at + 3 * PAGE, 2), 2, 0b0010, 0), 0);
    assert_eq!([0, 1, 3, 4].map(|page| policy(&mut m, at + page * PAGE)), [bound; 4]);
    // MPOL_DEFAULT goes over holes.
    assert_eq!(mbind(&mut m, (at + 2 * PAGE, 1), 0, 0, 0), EFAULT, "nothing there");
    assert_eq!(mbind(&mut m, (at + PAGE, 3), 0, 0, 0), 0);
    let kept = [bound, (0, 0), (0, 0), bound];
    assert_eq!([0, 1, 3, 4].map(|page| policy(&mut m, at + page * PAGE)), kept);
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
