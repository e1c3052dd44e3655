/* See fiber.h. On x86-64 changing stacks takes a dozen instructions, written out here; elsewhere ucontext does it,
 * which asks the system each time and is some ten times slower. */
#define _GNU_SOURCE
#include "kernels/cuda/emulator/fiber.h"

#include <stdint.h>
#include <sys/mman.h>

#if defined __SANITIZE_ADDRESS__
#define HAVE_ASAN 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { STACK = 1 << 18 };
#else
enum { STACK = 1 << 16 };
#endif
enum { PAGE = 4096 };

bool fiber_open(Fiber *f)
{
    char *memory = mmap(NULL, STACK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    mprotect(memory, PAGE, PROT_NONE);
    *f = (Fiber){.stack = memory + PAGE, .bytes = STACK};
    return true;
}

/* ---- changing stacks */

#if defined __x86_64__

/* Saves the registers that a function must keep on this stack, leaves its pointer in *from, and continues with `to`. */
void fiber_switch(void **from, void *to);
__asm__(".text\n"
        ".globl fiber_switch\n"
        ".hidden fiber_switch\n"
        ".type fiber_switch, @function\n"
        "fiber_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fiber_switch, .-fiber_switch\n");

static void *scheduler; /* its stack pointer while a fiber runs */

/* A stack as fiber_switch leaves one: six registers, where to continue, and nothing to return to. A function expects
 * the stack pointer 8 after a multiple of 16. */
static void lay_stack(Fiber *f, void (*entry)(void))
{
    uintptr_t *top = (uintptr_t *)(void *)(f->stack + f->bytes);
    top[-1] = 0;
    top[-2] = (uintptr_t)entry;
    for (int i = 3; i <= 8; i++)
        top[-i] = 0;
    f->pointer = top - 8;
}

static void to_fiber(Fiber *f) { fiber_switch(&scheduler, f->pointer); }
static void to_scheduler(Fiber *f) { fiber_switch(&f->pointer, scheduler); }

#else

static ucontext_t scheduler;

static void lay_stack(Fiber *f, void (*entry)(void))
{
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = f->bytes;
    f->context.uc_link = NULL;
    makecontext(&f->context, entry, 0);
}

static void to_fiber(Fiber *f) { swapcontext(&scheduler, &f->context); }
static void to_scheduler(Fiber *f) { swapcontext(&f->context, &scheduler); }

#endif

/* ---- AddressSanitizer has to be told of each change */

#ifdef HAVE_ASAN
static const void *scheduler_stack;
static size_t scheduler_bytes;
static void *scheduler_fake;
static void (*first)(void);

/* What a fiber begins with: its first arrival is told, and the scheduler's stack learned. */
__attribute__((no_sanitize("address"))) static void arrive(void)
{
    __sanitizer_finish_switch_fiber(NULL, &scheduler_stack, &scheduler_bytes);
    first();
}

void fiber_begin(Fiber *f, void (*entry)(void))
{
    first = entry;
    f->fake_stack = NULL;
    lay_stack(f, arrive);
}

void fiber_abandon(Fiber *f) { __asan_unpoison_memory_region(f->stack, f->bytes); }

void fiber_resume(Fiber *f)
{
    __sanitizer_start_switch_fiber(&scheduler_fake, f->stack, f->bytes);
    to_fiber(f);
    __sanitizer_finish_switch_fiber(scheduler_fake, NULL, NULL);
}

void fiber_pause(Fiber *f)
{
    __sanitizer_start_switch_fiber(&f->fake_stack, scheduler_stack, scheduler_bytes);
    to_scheduler(f);
    __sanitizer_finish_switch_fiber(f->fake_stack, &scheduler_stack, &scheduler_bytes);
}
#else
void fiber_begin(Fiber *f, void (*entry)(void)) { lay_stack(f, entry); }
void fiber_abandon(Fiber *f) { (void)f; }
void fiber_resume(Fiber *f) { to_fiber(f); }
void fiber_pause(Fiber *f) { to_scheduler(f); }
#endif
