"""Colours of the page: of each thing the same in every chart, and those of our other pictures."""

from __future__ import annotations

from chasqui.experiment.drawing import BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from chasqui.shares import name_of

YELLOW, GREY, PALE, DARK, SLATE = "#f0e442", "#999999", "#c4c4c4", "#6b6b6b", "#7f8fa6"
BROWN, TEAL = "#a6761d", "#44aa99"
SEVERAL = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BROWN, TEAL, SLATE)

# By the names of summary.json: work in blues, what nobody chose in greys, MPI in warm colours.
SHARES = {
    "computing_ps": BLUE, "data_cache_ps": SKY, "instruction_cache_ps": TEAL,
    "page_tables_ps": SLATE, "stores_ps": "#9ad0f5", "uncached_ps": BROWN,
    "system_software_ps": DARK, "other_threads_ps": "#b0a8c9", "asleep_ps": "#d9d9d9",
    "no_thread_ps": "#e6e6e6", "others_on_hart_ps": "#8d86a8", "mpi_init_ps": PALE,
    "mpi_software_ps": ORANGE, "late_sender_ps": RED, "late_receiver_ps": PURPLE,
    "ni_full_ps": YELLOW, "under_way_ps": GREEN, "waiting_otherwise_ps": GREY,
}  # fmt: skip
SHARES_BY_NAME = {name_of(key): colour for key, colour in SHARES.items()}

# Parts of a message's life that follow one another and add up to it, mostly as summary.json names
# them: from which stage to which, colour. Stages in another order: `data.Messages.milestones`.
PARTS = {
    "send_software": ("call_ps", "ready_ps", ORANGE),
    "ni_queueing": ("ready_ps", "accept_ps", YELLOW),
    "ni_send": ("accept_ps", "inject_ps", SKY),
    "network": ("inject_ps", "arrive_ps", BLUE),
    "landing": ("arrive_ps", "land_ps", TEAL),
    "landed_unmatched": ("land_ps", "match_ps", RED),  # unexpected_wait and matching
    "delivery": ("match_ps", "deliver_ps", PURPLE),
    "completion": ("deliver_ps", "done_ps", BROWN),
}
CAUSES = {
    "issue": BLUE, "data": SKY, "instruction": TEAL, "tlb": SLATE, "uncached": BROWN,
    "write_buffer": "#9ad0f5", "posted": YELLOW, "overhead": ORANGE, "software": DARK,
    "sleep": "#d9d9d9", "wait": GREEN,
}  # fmt: skip


def mechanisms(names: list[str]) -> dict[str, str]:
    """By their place among all of the run."""
    return {name: SEVERAL[number % len(SEVERAL)] for number, name in enumerate(names)}
