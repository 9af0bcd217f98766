/* turns.h alone, without a card: what waits at a process and at the window of the card has its turn, whatever the other side does.
 *
 * The device has waited first, and the library behind it. Then the device waits no more, since it lacks something else than a
 * place, and later waits again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define unlikely(condition) (condition)

enum side { LIBRARY, DEVICE };
enum { STRETCH = 2 };
struct turn {
    bool library_waits, is_devices;
    uint8_t device_waits;
};
struct peer {
    uint32_t sent, credited;
    struct turn turn;
};

static const uint32_t credit = 1;
static bool window_is_full;
static bool is_full(void) { return window_is_full; }

#include "machines/mpinp/turns.h"

static bool library_has_place(struct peer *peer, bool is_lacked)
{
    if (has_credit(peer, LIBRARY) && library_has_slot(is_lacked))
        return true;
    library_waits(&peer->turn);
    return false;
}

static int check(bool is_right, const char *what)
{
    if (!is_right)
        printf("%s\n", what);
    return is_right ? 0 : 1;
}

int main(void)
{
    struct peer peer = {.sent = 1};
    int wrong = check(!device_has_place(&peer, STRETCH), "there is no credit for the device");
    wrong += check(!library_has_place(&peer, false), "... nor for the library");
    device_waits_not(&peer.turn, STRETCH);
    peer.credited = 1;
    window_is_full = true;
    wrong += check(!library_has_place(&peer, false), "there is no slot");
    window_is_full = false;
    wrong += check(!device_has_place(&peer, STRETCH), "the library was first");
    wrong += check(library_has_place(&peer, lacked_slot), "the library's turn at the process is its own");
    peer.sent++;
    went(&peer.turn, LIBRARY);
    went(&window_turn, LIBRARY);
    peer.credited++;
    wrong += check(device_has_place(&peer, STRETCH), "then the device has its own");
    device_went(&peer, STRETCH);
    wrong += check(waits_count == 0, "nothing waits any more");
    printf("turn: %s\n", wrong == 0 ? "PASSED" : "FAILED");
    return wrong != 0;
}
