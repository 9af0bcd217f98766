/* The kernel: traps, threads, timers, memory, and what drivers of network interfaces are to it.
 *
 * The kernel is never interrupted, but where it is idle: interrupts come at user level and at `wfi` (thread.c). Of
 * several harts one at a time is in it (harts.c). System calls that it does not know are forwarded to the simulator,
 * which is machine level (simulator.h).
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hart.h"
#include "simulator.h"

#define PAGE_BYTES 4096u

/* --- the simulator (sbi.c) --- */

struct answer {
    int64_t error;
    uint64_t value, more;
#if HARTS > 1
    uint64_t woken; /* harts whose processes' threads wait no longer */
#endif
};

struct answer machine_call(uint64_t extension, uint64_t function, const uint64_t arguments[6]);
_Noreturn void panic(const char *text);

/* The kernel is broken where this is not so. */
static inline void check(bool right, const char *text)
{
    if (!right)
        panic(text);
}

/* What is executed seldom stands behind all other code (as Linux's .text.unlikely), which it would move in the
 * instruction cache. */
#define SELDOM __attribute__((noinline, section("seldom")))

/* --- traps (entry.S, trap.c) --- */

/* The registers that a trap saves; entry.S uses the layout. */
struct frame {
    uint64_t pc;
    uint64_t x[31]; /* x1 to x31 */
    uint64_t status;
    uint64_t hart; /* where the process's thread is, of several harts; the stack pointer stays a multiple of 16 */
};
/* For the simulator's reports. */
_Static_assert(offsetof(struct frame, pc) == CHASQUI_KERNEL_FRAME_PC, "frame: pc");
_Static_assert(offsetof(struct frame, x) == CHASQUI_KERNEL_FRAME_X1, "frame: x");

enum { RETURN_ADDRESS = 1 - 1, SP = 2 - 1, A0 = 10 - 1, A7 = 17 - 1 }; /* in frame.x */

void trap_entry(void), fast_entry(void);
_Noreturn void trap_return(struct frame *frame);
void trap(struct frame *frame);
int64_t fast_call(uint64_t first, uint64_t second);

/* --- system calls (syscall.c) --- */

/* Linux include/uapi/asm-generic/errno-base.h and errno.h */
enum error {
    EBADF = 9,
    EAGAIN = 11,
    ENOMEM = 12,
    EFAULT = 14,
    EINVAL = 22,
    EMFILE = 24,
    ENOTTY = 25,
    EPIPE = 32,
    EAFNOSUPPORT = 97,
    EADDRINUSE = 98,
    ECONNRESET = 104,
    ENOBUFS = 105,
    EISCONN = 106,
    ENOTCONN = 107,
    ETIMEDOUT = 110,
    ECONNREFUSED = 111,
    EINPROGRESS = 115,
};

int64_t system_call(uint64_t number, const uint64_t arguments[6]);

/* --- threads (thread.c) --- */

struct thread;
struct hart;

/* Who waits for something; oldest first. */
struct queue {
    struct thread *first, *last;
};

#if HARTS == 1
void threads_begin(void);
#endif
#if HARTS > 1
struct user;
struct user *user_create(struct hart *hart, uint64_t process); /* its registers are 0; it is in no queue */
void user_ready(struct user *user);
_Noreturn void users_begin(void); /* the hart's present thread, which is nobody's, becomes the first of them */
void thread_give_way(void);       /* to the kernel's threads, or to another process */
#else
struct frame *process_thread(struct hart *hart); /* a new one, on `hart`: its registers are 0 */
_Noreturn void process_begin(const struct chasqui_kernel_boot *boot);
#endif
void thread_create(void (*function)(void *), void *argument); /* it never returns */
void thread_sleep(struct queue *queue, const char *what);      /* `what` it sleeps for, in words */
void thread_wake(struct queue *queue);                         /* the oldest, if there is one */
void thread_wake_all(struct queue *queue);
void thread_yield(void);
bool threads_wait(void); /* for the hart */

/* --- harts --- */

struct timer;

/* A hart of the node. */
struct hart {
#if HARTS > 1
    uint64_t stack; /* where it begins; entry.S uses this place */
    uint64_t number;
    struct user *user;    /* whose memory and floating-point registers it has */
    struct user *threads; /* of processes, all that it has */
    struct queue users;   /* of these, those that can go on */
    struct timer *quantum;
    bool is_over;        /* the present turn */
    uint64_t only_turns; /* its timer is set for the end of a turn and nothing else; the simulator reads it */
    bool has_begun;
#endif
    struct thread *current;
#if HARTS == 1
    struct thread *process_thread;
#endif
    struct queue ready;
    struct timer *timers; /* in the order of their times */
#if HARTS == 1
    struct chasqui_kernel_process shown; /* to the simulator */
#endif
};

#if HARTS > 1
/* A thread of a process, on its hart; others that share the hart are of other processes. */
struct user {
    uint64_t floating[33]; /* f0 to f31, fcsr, while another's are in the hart; entry.S uses this place */
    uint64_t process;
    struct thread *thread;
    struct frame *frame;          /* where its registers are while it is in the kernel */
    struct queue blocked, vacant; /* its thread, while it waits for another, or has ended */
    bool is_woken;                /* by another thread, not by time */
    bool has_ended;               /* the process, for whatever reason */
    struct user *next;            /* of the hart's */
    struct chasqui_kernel_process shown; /* to the simulator */
};
#endif

extern struct hart harts[HARTS];

/* This hart, and the number of its process, which is below PROCESSES. */
#if HARTS > 1
#define PROCESSES CHASQUI_KERNEL_PROCESSES_MAX
register struct hart *here __asm__("tp");
#define process_here (here->user->process)
extern uint64_t process_count; /* those of the node, numbered from 0 on */
#define shown_here (here->user->shown)
#else
#define PROCESSES 1
#define here (&harts[0])
#define process_here 0
#define process_count 1
#define shown_here (here->shown)
#endif

/* Where the processes of the job are: with one hart each has a node of its own. */
#if HARTS > 1
extern struct chasqui_ni_placement placement; /* of the node's first process */
uint32_t node_of_rank(uint32_t rank);
uint32_t process_of_rank(uint32_t rank); /* its number there */
extern const struct chasqui_kernel_boot *boots; /* of the node's processes */
#define rank_here (boots[process_here].ni.rank)
#define node_here (placement.node)
#else
#define node_of_rank(rank) (rank)
#define process_of_rank(rank) 0
#define rank_here (boot.ni.rank)
#define node_here (boot.ni.rank)
#endif

/* Of several harts one at a time is in the kernel (harts.c). */
#if HARTS > 1
void kernel_lock(void);
void kernel_unlock(void);
void hart_interrupt(struct hart *hart);
/* What the simulator gives in registers. */
struct machine {
    uint64_t processes, harts_each, harts, quantum, phase;
};
_Noreturn void harts_begin(const struct machine *machine);
void user_comes(struct user *user);
void turn_continue(void); /* until its end, if others wait for it */
void processes_end(void); /* those of the hart's that the simulator has ended */
int64_t harts_forward(uint64_t number, const uint64_t arguments[6]); /* a system call, to the simulator */
_Noreturn void thread_end(void);                                     /* of the process, or all of it */
#else
static inline void kernel_lock(void) {}
static inline void kernel_unlock(void) {}
#endif

/* --- time (timer.c) --- */

struct timer {
    uint64_t at; /* ticks */
    void (*expire)(struct timer *timer);
    struct timer *next;
#if HARTS > 1
    struct hart *hart; /* whose interrupt it is */
#endif
    bool is_set;
};

void timer_set(struct timer *timer, uint64_t at, void (*expire)(struct timer *));
void timer_cancel(struct timer *timer);
void timer_interrupt(void);
void sleep_until(uint64_t at, const char *what);
void thread_sleep_until(struct queue *queue, uint64_t at, const char *what); /* or until it is woken */
uint64_t ticks_of_ns(uint64_t ns);

/* --- memory (memory.c) --- */

void memory_begin(uint64_t physical, uint64_t bytes);
/* Aligned to its size, rounded up to a power of two; contents are anything. */
void *memory_take(size_t bytes); /* what the kernel can't do without */
void *memory_try(size_t bytes);  /* 0: there is none */
void memory_give(void *memory, size_t bytes);
/* What a process asks for, of its share. 0: that is used up. */
void *memory_take_for(uint64_t process, size_t bytes);
void memory_give_for(uint64_t process, void *memory, size_t bytes);
void memory_clear(void *memory, size_t bytes);
void memory_copy(void *to, const void *from, size_t bytes);

static inline void *of_physical(uint64_t address) { return (void *)(CHASQUI_KERNEL_DIRECT + address); }

/* Of what these give. */
static inline uint64_t physical_of(const void *memory) { return (uint64_t)memory - CHASQUI_KERNEL_DIRECT; }

/* --- the process's memory (user.c, entry.S) --- */

int copy_from_user(void *to, uint64_t from, size_t bytes); /* 0 or -EFAULT */
int copy_to_user(uint64_t to, const void *from, size_t bytes);
uint64_t user_physical(uint64_t address, bool write); /* of memory, which stays where it is; 0: there is none */
bool user_page_fault(uint64_t address, uint64_t cause);

/* --- drivers (driver.c) --- */

extern struct chasqui_kernel_boot boot;

struct packet; /* net/net.h */

/* A network interface's driver, in machines/<name>/kernel. The first that supports the device is the node's. */
struct driver {
    /* Whether the NI is one of its: its number, boot.ni.device, and settings say. Starts it if it is. */
    bool (*start)(void);
    /* The NI asserts its line: called until it does not. */
    void (*interrupt)(void);
    /* ioctl() on the NI: a result, or below 0 an error; may be missing. */
    int64_t (*control)(uint64_t request, uint64_t argument);
    /* The process is about to give up the pages of this memory: what points at them is void; may be missing. */
    void (*unmapped)(uint64_t address, uint64_t bytes);
    /* Sends an IP packet to the node of a rank, and frees it when that is done; may be missing: then there are no
     * sockets. What comes goes to ip_receive(). */
    void (*transmit)(struct packet *packet, uint32_t rank);
    /* A packet of the driver's own protocol, which another process of the node has sent (loopback()); takes it. */
    void (*receive)(struct packet *packet);
    /* The process's system call CHASQUI_KERNEL_FAST_CALL, with a0 and a1: its result. It does not sleep. May be missing. */
    int64_t (*fast_call)(uint64_t first, uint64_t second);
    /* Whether the node must go on when its process has ended; may be missing. */
    bool (*outlives)(void);
    uint32_t mtu; /* longest packet that it takes [bytes] */
};

/* Packets from one process of the node to another, which go past the driver: they wait until the kernel has nothing else
 * to do for its caller (net/ip.c). */
#if HARTS > 1
void loopback_run(void);
#else
static inline void loopback_run(void) {}
#endif

#define DRIVER __attribute__((used, retain, section("drivers"))) static const struct driver *const

extern const struct driver *driver; /* 0: there is none */

void drivers_begin(void);
void traps_begin(void); /* of the hart: those of a driver's fast call */

/* Register of the NI. */
static inline uint64_t ni_load(uint64_t address) { return *(volatile uint64_t *)(CHASQUI_KERNEL_DEVICE + address); }

static inline void ni_store(uint64_t address, uint64_t value)
{
    *(volatile uint64_t *)(CHASQUI_KERNEL_DEVICE + address) = value;
}

#endif
