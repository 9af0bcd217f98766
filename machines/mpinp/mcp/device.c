/* The MPI device over the firmware that matches (mpinp): the card takes sends and receives as requests and gives back events.
 * What this library's host matching would do is done there; see transport.h of the library. */
#include "host.h"
#include "mpi/runtime/error.h"

void mcp_look(void)
{
    const struct chasqui_mpinp_event *event;
    mcp_entries_post();
    while ((event = mcp_card_event())) {
        struct chasqui_mpinp_event copy = *event;
        chq_tell();
        switch (copy.kind) {
        case CHASQUI_MPINP_SENT: mcp_sent(&copy); break;
        case CHASQUI_MPINP_RECEIVED: mcp_received(&copy); break;
        case CHASQUI_MPINP_ENTRY_DONE: mcp_pin_more(copy.name, copy.entry); break;
        case CHASQUI_MPINP_UNCLAIMED: mcp_unclaimed(&copy); break;
        case CHASQUI_MPINP_CROWDED: mcp_crowded(copy.rank); break;
        case CHASQUI_MPINP_NOTED: mcp_noted(&copy); break;
        case CHASQUI_MPINP_COLLECTED: mcp_collected(&copy); break;
        default: mcp_answered(&copy); break;
        }
    }
    mcp_receives_look();
}

static void mcp_cancel(struct request *request)
{
    if (request->kind == REQUEST_RECEIVE)
        mcp_receive_cancel(request);
    else
        mcp_send_cancel(request);
}

static void mcp_init(void)
{
    chq.send = mcp_send_short;
    chq.eager_bytes_max = mcp_window_bytes();
    chq.unexpected_count = CHQ_POSTS;
    chq_set_network(mcp_look);
    mcp_send_init();
    mcp_receive_init();
    mcp_notes_init();
}

static const struct transport mcp_transport = {
    .name = "MPI-NP",
    .init = mcp_init,
    .send = mcp_send,
    .send_refused = mcp_send_refused,
    .post = mcp_post,
    .probe = mcp_probe,
    .claim = mcp_claim,
    .receive = mcp_receive,
    .cancel = mcp_cancel,
};

static void mcp_close(void) {}

static bool mcp_open(const struct chasqui_ni_identification *ni, int ni_fd);

struct mpi_device mpi_device_mcp = {
    .name = "mcp",
    .id = CHASQUI_MPINP_MCP_DEVICE,
    .interface = CHASQUI_MPINP_INTERFACE,
    .open = mcp_open,
    .close = mcp_close,
    .transport = &mcp_transport,
};

static bool mcp_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    if (!mcp_card_open(ni, ni_fd))
        return false;
    mpi_device_mcp.collective = mcp_collectives_open(ni) ? mcp_collective : NULL;
    return true;
}
