/* Turns of the library and the device at what both wait for. A part of the device (device.c).
 *
 * What the library sends waits there when `send` has refused it. What the device has to say itself waits here: grants and
 * stretches of long messages (long.h), and credit. Both need a slot of the window, and all but credit alone needs credit at the
 * process to which it goes. With little of it, what is asked for first after each poll would always have it. So who waited first
 * has the next, and then the other.
 *
 * Nothing waits for ever for what something else keeps. Credit at a process: only packets to that process wait for it. A slot: it
 * comes back by the card alone, and only that has the turn which also has credit and the turn at its process; it keeps both
 * until it goes, as what waits for a slot counts as waiting at its process, too. The library asks again until it goes
 * (mpi/device.h), the device with each poll. */
#ifndef MPINP_TURNS_H
#define MPINP_TURNS_H

static struct turn window_turn;
static uint32_t waits_count; /* at processes and at the window: what waits, of each side */
static bool lacked_slot; /* the device: since it last had all that it wanted */

/* Whether the side has what comes back next. */
static inline bool has_turn(const struct turn *turn, enum side side)
{
    if (side == DEVICE)
        return !turn->library_waits || turn->is_devices;
    return !turn->device_waits || (turn->library_waits && !turn->is_devices);
}

static void library_waits(struct turn *turn)
{
    if (turn->library_waits)
        return;
    turn->library_waits = true;
    turn->is_devices = turn->device_waits;
    waits_count++;
}

/* For a grant, or a stretch (enum wanted): its bit. */
static void device_waits(struct turn *turn, uint8_t wanted)
{
    waits_count += turn->device_waits == 0;
    turn->device_waits |= wanted;
}

/* If the library waits it was first, whenever the device waits again. */
static void device_waits_not(struct turn *turn, uint8_t wanted)
{
    if (turn->device_waits == 0)
        return;
    turn->device_waits &= (uint8_t)~wanted;
    if (turn->device_waits == 0) {
        turn->is_devices = false;
        waits_count--;
    }
}

static void went(struct turn *turn, enum side side)
{
    if (side == LIBRARY && turn->library_waits) {
        turn->library_waits = false;
        waits_count--;
    }
    turn->is_devices = side == LIBRARY;
}

/* A process waits for no slot of its own: that is the card's affair. */
static bool device_has_slot(void)
{
    if (!is_full() && has_turn(&window_turn, DEVICE))
        return true;
    lacked_slot = true;
    return false;
}

/* `is_lacked`: by the device, still. */
static bool library_has_slot(bool is_lacked)
{
    lacked_slot = is_lacked;
    window_turn.device_waits = is_lacked;
    window_turn.is_devices = window_turn.is_devices && is_lacked;
    if (!is_full() && has_turn(&window_turn, LIBRARY))
        return true;
    library_waits(&window_turn);
    return false;
}

static bool has_credit(const struct peer *peer, enum side side)
{
    return peer->sent - peer->credited != credit && has_turn(&peer->turn, side);
}

/* There is a place for a packet of the device's to the process. */
static bool device_has_place(struct peer *peer, uint8_t wanted)
{
    if (unlikely(!has_credit(peer, DEVICE) || !device_has_slot())) {
        device_waits(&peer->turn, wanted);
        return false;
    }
    return true;
}

static void device_went(struct peer *peer, uint8_t wanted)
{
    device_waits_not(&peer->turn, wanted);
    went(&peer->turn, DEVICE);
    went(&window_turn, DEVICE);
}

#endif
