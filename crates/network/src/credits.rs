//! Credits: room in the buffer at the far end of a link.

use std::collections::VecDeque;

use chasqui_engine::Time;

/// Credits of one priority of one link, at its sending end. A credit stands for room for one packet
/// of maximum size. Those on their way back are kept with the time of their arrival, which is known
/// when they leave: they cost no event, unless a packet waits for one.
#[derive(Debug)]
pub(crate) struct Credits {
    available: u32,
    /// Arrival times, in order: a buffer is a FIFO, so its packets leave in order.
    returning: VecDeque<Time>,
    /// Packets were lost or late on the link: then their credits come out of order.
    is_faulty: bool,
}

impl Credits {
    pub(crate) fn new(available: u32) -> Credits {
        Credits { available, returning: VecDeque::new(), is_faulty: false }
    }

    /// At least one credit is here at `now`.
    #[inline]
    pub(crate) fn any(&mut self, now: Time) -> bool {
        while self.returning.front().is_some_and(|&at| at <= now) {
            self.returning.pop_front();
            self.available += 1;
        }
        self.available > 0
    }

    /// Uses one, which [`Credits::any`] has found.
    #[inline]
    pub(crate) fn take(&mut self) {
        assert!(self.available > 0, "a credit that is not there");
        self.available -= 1;
    }

    /// One arrives at `at`.
    #[inline]
    pub(crate) fn give(&mut self, at: Time) {
        if self.returning.back().is_none_or(|&last| last <= at) {
            return self.returning.push_back(at);
        }
        assert!(self.is_faulty, "credits out of order");
        self.give_back(at);
    }

    /// One arrives at `at`, for a packet that was lost on the link: it passes those of packets before it.
    pub(crate) fn give_back(&mut self, at: Time) {
        self.is_faulty = true;
        let place = self.returning.partition_point(|&other| other <= at);
        self.returning.insert(place, at);
    }

    /// When the next one arrives.
    pub(crate) fn next(&self) -> Option<Time> {
        self.returning.front().copied()
    }

    /// Credits here or on their way back.
    pub(crate) fn total(&self) -> usize {
        self.available as usize + self.returning.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returning_credit_is_absent_before_it_arrives_and_present_at_its_time() {
        let mut credits = Credits::new(1);
        assert!(credits.any(Time(0)));
        credits.take();
        credits.give(Time(10));
        assert!(!credits.any(Time(9)), "blocked at t-1");
        assert!(credits.any(Time(10)), "ready at t");
        assert_eq!(credits.total(), 1);
    }
}
