//! Damaged input: what tests give to whatever reads files, packets and texts. Nothing that is read may make the reader
//! panic, take for ever, or be believed where it contradicts itself.

use std::ops::Range;

use crate::{Random, seed_of_test};

/// Changes of one input, at most.
const CHANGES_MAX: u64 = 6;
/// Bytes that are moved, repeated or left out at a time, at most.
const RUN_MAX: u64 = 40;

/// Calls `case` `cases` times, with numbers of its own each time; `CHASQUI_CASES` says how often instead (`1`), or how many
/// times more often (`50x`). When it panics the seed of this case is printed. Whether these were as many as by default, so
/// that something can be said of all of them.
///
/// # Panics
/// If `CHASQUI_SEED` or `CHASQUI_CASES` are not decimal numbers, or `case` panics.
pub fn repeat(default: u64, cases: u64, mut case: impl FnMut(&mut Random)) -> bool {
    let first = seed_of_test(default);
    let text = std::env::var("CHASQUI_CASES").unwrap_or("1x".into());
    let number = |text: &str| -> u64 { text.parse().expect("CHASQUI_CASES: a decimal number") };
    let wanted = text.strip_suffix('x').map_or_else(|| number(&text), |factor| cases * number(factor));
    for number in 0..wanted {
        let named = Named(first.wrapping_add(number));
        case(&mut Random::new(named.0));
    }
    wanted >= cases
}

/// The seed of a case that is under way.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("CHASQUI_SEED={} CHASQUI_CASES=1 repeats it", self.0);
        }
    }
}

/// A number that readers stumble over: an end of a range, one beside it, a small one, any bits.
pub fn number(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => random.below(20),
        1 => random.bits() >> random.below(64),
        // 2^n, and the numbers beside it; so ends of all widths, with and without sign.
        2 => (1 << random.below(64)) - 1 + random.below(3),
        _ => random.below(20).wrapping_neg(),
    }
}

/// `original` with a few changes: bits flipped, numbers of one to eight bytes replaced or made one more or less, runs of
/// bytes left out, repeated, overwritten by others, the end cut off. Half of them are where `places` are, if there are any:
/// headers, of what is mostly something else.
pub fn bytes(random: &mut Random, original: &[u8], places: &[Range<usize>]) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(CHANGES_MAX) {
        let within = match places.is_empty() || random.once_in(2) {
            true => 0..bytes.len(),
            false => places[random.below(places.len() as u64) as usize].clone(),
        };
        change(random, &mut bytes, within);
    }
    bytes
}

fn change(random: &mut Random, bytes: &mut Vec<u8>, within: Range<usize>) {
    let within = within.start.min(bytes.len())..within.end.min(bytes.len());
    if within.is_empty() {
        return bytes.extend(random.bits().to_le_bytes());
    }
    let at = within.start + random.below(within.len() as u64) as usize;
    let run = at..(at + 1 + random.below(RUN_MAX) as usize).min(bytes.len());
    let width = (1_usize << random.below(4)).min(bytes.len() - at);
    match random.below(16) {
        0..4 => bytes[at] ^= 1 << random.below(8),
        4..8 => bytes[at..at + width].copy_from_slice(&number(random).to_le_bytes()[..width]),
        8..11 => {
            let mut word = [0; 8];
            word[..width].copy_from_slice(&bytes[at..at + width]);
            let step = if random.once_in(2) { 1 } else { u64::MAX };
            let word = u64::from_le_bytes(word).wrapping_add(step).to_le_bytes();
            bytes[at..at + width].copy_from_slice(&word[..width]);
        }
        11 => random.fill(&mut bytes[run]),
        12 => {
            let from = random.below(bytes.len() as u64) as usize;
            let length = run.len().min(bytes.len() - from);
            let to = at.min(bytes.len() - length);
            bytes.copy_within(from..from + length, to);
        }
        13 => drop(bytes.drain(run)),
        14 => {
            let copy = bytes[run].to_vec();
            drop(bytes.splice(at..at, copy));
        }
        _ => bytes.truncate(at),
    }
}

/// `original` with a few changes: `words` put in or in the place of others, numbers replaced, lines repeated or left out, and
/// what [`bytes`] does.
pub fn text(random: &mut Random, original: &str, words: &[&str]) -> String {
    let mut text = original.to_string();
    for _ in 0..=random.below(CHANGES_MAX) {
        let mut bytes = text.into_bytes();
        match random.below(4) {
            0 => put_word(random, &mut bytes, words),
            1 => replace_number(random, &mut bytes),
            2 => change_line(random, &mut bytes),
            _ => {
                let all = 0..bytes.len();
                change(random, &mut bytes, all);
            }
        }
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    text
}

fn put_word(random: &mut Random, bytes: &mut Vec<u8>, words: &[&str]) {
    let at = random.below(bytes.len() as u64 + 1) as usize;
    let length = if random.once_in(2) { 0 } else { random.below(RUN_MAX) as usize };
    let end = (at + length).min(bytes.len());
    if !words.is_empty() {
        drop(bytes.splice(at..end, random.pick(words).bytes()));
    }
}

/// Of the numbers in decimal one becomes another.
fn replace_number(random: &mut Random, bytes: &mut Vec<u8>) {
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let begins: Vec<usize> =
        (0..bytes.len()).filter(|&at| is_digit(at) && (at == 0 || !is_digit(at - 1))).collect();
    if begins.is_empty() {
        return;
    }
    let begin = random.pick(&begins);
    let end = (begin..).find(|&at| !is_digit(at)).expect("no digit is behind the end");
    drop(bytes.splice(begin..end, number(random).to_string().into_bytes()));
}

/// A line is left out, or comes again elsewhere.
fn change_line(random: &mut Random, bytes: &mut Vec<u8>) {
    let mut begins = vec![0];
    begins.extend((0..bytes.len()).filter(|&at| bytes[at] == b'\n').map(|at| at + 1));
    let begin = random.pick(&begins);
    let end = begins.iter().copied().find(|&at| at > begin).unwrap_or(bytes.len());
    if random.once_in(2) {
        drop(bytes.drain(begin..end));
    } else {
        let (line, to) = (bytes[begin..end].to_vec(), random.pick(&begins));
        drop(bytes.splice(to..to, line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_that_of_its_seed_and_hits_every_place() {
        let original: Vec<u8> = (0..200).collect();
        let damaged = |seed| bytes(&mut Random::new(seed), &original, &[]);
        assert_eq!(damaged(5), damaged(5));
        let all: Vec<Vec<u8>> = (0..2000).map(damaged).collect();
        assert!(all.iter().any(|d| d.len() < 100) && all.iter().any(|d| d.len() > 200));
        assert!((0..200).all(|at| all.iter().any(|d| d.get(at) != original.get(at))));
        let headers = |seed| bytes(&mut Random::new(seed), &original, &[10..12, 500..600]);
        assert!(
            (0..100).filter(|&seed| headers(seed)[..10.min(headers(seed).len())] == original[..10]).count()
                > 20
        );
        assert!(!bytes(&mut Random::new(1), &[], &[]).is_empty());
    }

    #[test]
    fn texts_stay_texts() {
        let original = "[a]\nkey = 12 # é\nother = \"5 us\"\n";
        let mut found = std::collections::BTreeSet::new();
        let all = repeat(1, 500, |random| {
            found.insert(text(random, original, &["[", "nan"]));
            assert!(!text(random, "", &["["]).contains("key"));
        });
        assert!(!all || (found.len() > 50 && found.iter().any(|text| text.contains("nan"))));
    }

    #[test]
    fn numbers_reach_both_ends() {
        let mut random = Random::for_test(3);
        let numbers: Vec<u64> = (0..20_000).map(|_| number(&mut random)).collect();
        for wanted in [0, 1, u64::MAX, 1 << 31, (1 << 32) - 1, 1 << 63] {
            assert!(numbers.contains(&wanted), "{wanted}");
        }
    }
}
