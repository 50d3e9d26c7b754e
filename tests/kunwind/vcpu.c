// SPDX-License-Identifier: BSD-2-Clause
/*
 * With the hook on: where perf samples a guest of KVM, the call chain has no stack of
 * the program that runs the guest, as it has none without the hook; where it samples
 * that program, the stack is whole.  Run as root, with KVM.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#include "chain.h"

#define PAGE   4096
#define PAGES  64 /* of samples */
#define DEPTH  12
#define ENOUGH 20 /* samples of each kind */
#define MOST   60 /* seconds */

static int passed, failed, vcpu, event;
static struct kvm_run *run;
static struct perf_event_mmap_page *ring;
static unsigned int in_guest, guests_stacks, in_host, whole;

static void say(bool well, const char *what, long figure)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - %s (%ld, errno %d)\n", what, figure, errno);
}

/* A guest of a loop that never ends. */
static bool make_guest(void)
{
	static const uint8_t loop[] = { 0xeb, 0xfe }; /* jmp . */
	struct kvm_userspace_memory_region memory = { .memory_size = PAGE };
	struct kvm_regs regs = { .rflags = 2 };
	struct kvm_sregs sregs;
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm;
	void *bytes = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (kvm < 0 || bytes == MAP_FAILED)
		return false;
	memcpy(bytes, loop, sizeof(loop));
	memory.userspace_addr = (uintptr_t)bytes;
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0 || ioctl(vm, KVM_SET_USER_MEMORY_REGION, &memory))
		return false;
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	run = mmap(NULL, (size_t)ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0),
		   PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	if (vcpu < 0 || run == MAP_FAILED || ioctl(vcpu, KVM_GET_SREGS, &sregs))
		return false;
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	return !ioctl(vcpu, KVM_SET_SREGS, &sregs) &&
	       !ioctl(vcpu, KVM_SET_REGS, &regs);
}

static bool start_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 3000000,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.wakeup_events = 1,
	};

	event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			     PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return false;
	ring = mmap(NULL, (1 + PAGES) * PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED, event, 0);
	return ring != MAP_FAILED;
}

/* The frames of user code that a chain has. */
static unsigned int user_frames(const uint64_t *ips, uint64_t nr)
{
	unsigned int n = 0;
	bool user = false;
	uint64_t i;

	for (i = 0; i < nr; i++) {
		if (ips[i] >= PERF_CONTEXT_MAX)
			user = ips[i] == PERF_CONTEXT_USER;
		else
			n += user;
	}
	return n;
}

static void take(const uint8_t *bytes, uint16_t misc)
{
	unsigned int n;
	uint64_t nr;

	memcpy(&nr, bytes, 8);
	n = user_frames((const uint64_t *)bytes + 1, nr);
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_GUEST_KERNEL:
	case PERF_RECORD_MISC_GUEST_USER:
		in_guest++;
		guests_stacks += n > 0;
		return;
	case PERF_RECORD_MISC_USER:
		in_host++;
		whole += n > DEPTH;
		return;
	default: return;
	}
}

/* A record is copied out, as it may go round the ring's end. */
static void take_all(void)
{
	const uint8_t *data = (uint8_t *)ring + PAGE;
	static _Alignas(8) uint8_t copy[65536];
	struct perf_event_header h;
	uint64_t at, head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	unsigned int i;

	for (at = ring->data_tail; at < head; at += h.size) {
		memcpy(&h, data + at % (PAGES * PAGE), sizeof(h));
		for (i = 0; i < h.size; i++)
			copy[i] = data[(at + i) % (PAGES * PAGE)];
		if (h.type == PERF_RECORD_SAMPLE)
			take(copy + sizeof(h), h.misc);
	}
	__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
}

static void spin(void)
{
	static volatile unsigned int n;
	unsigned int i;

	for (i = 0; i < 3000000; i++)
		n++;
}

/* By turns in the guest, until a timer's signal, and not. */
static void both(void)
{
	time_t until = time(NULL) + MOST;

	while ((in_guest < ENOUGH || in_host < ENOUGH) && time(NULL) < until) {
		alarm(1);
		ioctl(vcpu, KVM_RUN, 0);
		spin();
		take_all();
	}
}

static void on_alarm(int sig)
{
	(void)sig;
}

int main(void)
{
	int dev = ow_kunwind_open(NULL);

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, NULL);
	if (!make_guest()) {
		printf("# no KVM here\n0 passed, 0 failed, 1 skipped\n");
		return 0;
	}
	say(ow_kunwind_follow(dev, 0, 0, NULL) == 0, "follow oneself", dev);
	say(start_event(), "an event", event);
	kt_chain(DEPTH, both);
	printf("# %u samples in the guest, %u with a stack; %u in user code, "
	       "%u whole\n",
	       in_guest, guests_stacks, in_host, whole);
	say(in_guest >= ENOUGH && in_host >= ENOUGH, "samples", in_guest);
	say(guests_stacks == 0, "none of the guest's has a stack",
	    guests_stacks);
	say(whole * 10 >= in_host * 9, "those of user code are whole", whole);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
