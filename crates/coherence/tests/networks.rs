//! Virtual networks: none waits for itself.

use chasqui_coherence::{CACHE, CacheAction, CacheEvent, DIRECTORY, DirectoryAction, Kind, Network, Wanted};

/// What the home may send when it consumes a message.
fn sent(action: DirectoryAction) -> Vec<Kind> {
    match action {
        DirectoryAction::InvalidateOthers => vec![Kind::Invalidate],
        DirectoryAction::Forward(kind)
        | DirectoryAction::Reply(kind)
        | DirectoryAction::ReplyRequester(kind) => vec![kind],
        DirectoryAction::ReplyWanted => {
            [Wanted::Copy, Wanted::Line, Wanted::Right].map(Wanted::reply).to_vec()
        }
        _ => vec![],
    }
}

/// Of each message that is consumed, those that must leave for it.
fn dependences() -> Vec<(Kind, Kind)> {
    let home = DIRECTORY.iter().flat_map(|rule| {
        let kinds = rule.actions.iter().flat_map(|&action| sent(action));
        kinds.map(|kind| (rule.message, kind))
    });
    let caches = CACHE.iter().filter_map(|rule| match rule.event {
        CacheEvent::Message(message) => Some((message, rule)),
        _ => None,
    });
    let caches = caches.flat_map(|(message, rule)| {
        let kinds = rule.actions.iter().filter_map(|action| match *action {
            CacheAction::Send(kind) | CacheAction::Give(kind) => Some(kind),
            CacheAction::SendAgain(_) | CacheAction::Done => None,
        });
        kinds.map(move |kind| (message, kind))
    });
    home.chain(caches).collect()
}

#[test]
fn consuming_a_message_leads_to_later_networks_alone() {
    let all = dependences();
    for (consumed, sent) in &all {
        assert!(consumed.network() < sent.network(), "{consumed:?} leads to {sent:?}");
    }
    for network in Network::ALL {
        let leads = all.iter().any(|(consumed, _)| consumed.network() == network);
        assert_eq!(leads, network != Network::Reply, "{network:?}");
    }
}

#[test]
fn every_message_is_sent_and_received() {
    for kind in Kind::ALL {
        let by_home =
            DIRECTORY.iter().flat_map(|rule| rule.actions).any(|&action| sent(action).contains(&kind));
        let by_caches = CACHE.iter().flat_map(|rule| rule.actions).any(|action| {
            matches!(*action, CacheAction::Send(k) | CacheAction::SendAgain(k) | CacheAction::Give(k) if k == kind)
        });
        let received = DIRECTORY.iter().any(|rule| rule.message == kind)
            || CACHE.iter().any(|rule| rule.event == CacheEvent::Message(kind));
        assert!((by_home || by_caches) && received, "{kind:?}");
        assert_eq!(kind.is_for_home(), DIRECTORY.iter().any(|rule| rule.message == kind), "{kind:?}");
    }
}
