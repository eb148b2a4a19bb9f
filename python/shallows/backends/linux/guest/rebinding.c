/* NATs of hosts that change their mapping during the run: programs in BPF at both ends of a host's cables.
 *
 * The program behind the host's port writes the outer address and port into what leaves, and notes the outer port. The one
 * before the wire to the host lets in what comes to the outer address and to a port that was noted, and translates it back;
 * all else is lost. Both are made anew for each rebinding, with their constants, so that no earlier mapping is left.
 *
 * Source: RFC 4787, endpoint-independent mapping and filtering; include/uapi/linux/bpf.h.
 *
 * Left out: ICMP errors keep the packet that they quote as it is, so that hosts do not know it. */
#define _GNU_SOURCE
#include "guest.h"
#include "netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Slots of the map: by outer port, those of TCP behind those of UDP; 0 counts what was lost. Ports of the system (RFC 6335)
 * keep their numbers. */
enum { PORTS = 65536, LOST = 0, OWN_PORTS = 1024, LOOKUP = 1, STORE = 9, SUM_3 = 10, SUM_4 = 11, LOAD = 26 };

/* Places on the stack, from its end: the header of IP, one for an address, the port as it was and as it will be, the slot,
 * the new port as a number. */
enum { HEADER = -24, ADDRESS = -28, PORT_NEW = -30, PORT_OLD = -32, SLOT = -36, MAPPED = -40 };

struct nat {
	int node, map;
	long long at;
};

static struct nat *nats;
static size_t nat_count;

static struct bpf_insn text[200];
static int used;

static int emit(int code, int to, int from, int offset, int number)
{
	text[used] = (struct bpf_insn){ .code = code, .dst_reg = to, .src_reg = from, .off = offset, .imm = number };
	return used++;
}

static void land(int jump)
{
	text[jump].off = used - jump - 1;
}

static void set(int to, int number)
{
	emit(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number);
}

static void move(int to, int from, int more)
{
	emit(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
	if (more)
		emit(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, more);
}

static void swap(int reg) /* between the network's order and numbers */
{
	emit(BPF_ALU | BPF_END | BPF_TO_BE, reg, 0, 0, 16);
}

static void find_slot(int map) /* in r0 */
{
	emit(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map);
	emit(0, 0, 0, 0, 0);
	move(2, 10, SLOT);
	emit(BPF_JMP | BPF_CALL, 0, 0, 0, LOOKUP);
}

static int read_bytes(int more, int place, int count) /* from r7 and more bytes on; the jump is that of a short packet */
{
	move(1, 6, 0);
	move(2, 7, more);
	move(3, 10, place);
	set(4, count);
	emit(BPF_JMP | BPF_CALL, 0, 0, 0, LOAD);
	return emit(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 0, 0);
}

static void write_bytes(int from, int more, int place, int count)
{
	move(1, 6, 0);
	if (from < 0)
		set(2, more);
	else
		move(2, from, more);
	move(3, 10, place);
	set(4, count);
	set(5, BPF_F_INVALIDATE_HASH);
	emit(BPF_JMP | BPF_CALL, 0, 0, 0, STORE);
}

/* The checksum of TCP or UDP at r7 + r9, after a change from r3 to r4. No checksum is no checksum of UDP afterwards. */
static void mend_sum(int flags)
{
	int tcp;

	move(1, 6, 0);
	move(2, 7, 0);
	emit(BPF_ALU64 | BPF_ADD | BPF_X, 2, 9, 0, 0);
	set(5, flags);
	tcp = emit(BPF_JMP | BPF_JNE | BPF_K, 8, 0, 0, IPPROTO_UDP);
	set(5, flags | BPF_F_MARK_MANGLED_0);
	land(tcp);
	emit(BPF_JMP | BPF_CALL, 0, 0, 0, SUM_4);
}

/* r6 is the packet, r7 the place of the transport's header, r8 the protocol, r9 the place of its checksum in that header. */
static void write_text(int inward, int map, uint32_t inner, uint32_t outer, int flip)
{
	int past[8], lost[3], pasts = 0, losts = 0, addresses[2], here;
	int place = inward ? 16 : 12, port = inward ? 2 : 0; /* of the address and port in their headers */
	uint32_t from = inward ? outer : inner, to = inward ? inner : outer;

	used = 0;
	move(6, 1, 0);
	set(7, ETH_HLEN);
	past[pasts++] = read_bytes(0, HEADER, 20);
	emit(BPF_LDX | BPF_W | BPF_MEM, 0, 10, HEADER + place, 0);
	here = emit(BPF_JMP32 | BPF_JNE | BPF_K, 0, 0, 0, from);
	if (inward)
		lost[losts++] = here;
	else
		past[pasts++] = here;
	emit(BPF_LDX | BPF_B | BPF_MEM, 7, 10, HEADER, 0);
	emit(BPF_ALU64 | BPF_AND | BPF_K, 7, 0, 0, 15);
	emit(BPF_ALU64 | BPF_LSH | BPF_K, 7, 0, 0, 2);
	emit(BPF_ALU64 | BPF_ADD | BPF_K, 7, 0, 0, ETH_HLEN);
	emit(BPF_LDX | BPF_B | BPF_MEM, 8, 10, HEADER + 9, 0);
	set(9, 0);
	/* A fragment after the first has no ports. */
	emit(BPF_LDX | BPF_H | BPF_MEM, 0, 10, HEADER + 6, 0);
	swap(0);
	emit(BPF_ALU64 | BPF_AND | BPF_K, 0, 0, 0, 0x1fff);
	addresses[0] = emit(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 0, 0);
	set(9, 6);
	here = emit(BPF_JMP | BPF_JEQ | BPF_K, 8, 0, 0, IPPROTO_UDP);
	set(9, 0);
	addresses[1] = emit(BPF_JMP | BPF_JNE | BPF_K, 8, 0, 0, IPPROTO_TCP);
	set(9, 16);
	land(here);
	/* The port, and what it becomes. */
	past[pasts++] = read_bytes(port, PORT_OLD, 2);
	emit(BPF_LDX | BPF_H | BPF_MEM, 1, 10, PORT_OLD, 0);
	swap(1);
	move(2, 1, 0);
	here = emit(BPF_JMP | BPF_JLT | BPF_K, 1, 0, 0, OWN_PORTS);
	emit(BPF_ALU64 | BPF_XOR | BPF_K, 2, 0, 0, flip);
	land(here);
	emit(BPF_STX | BPF_W | BPF_MEM, 10, 2, MAPPED, 0);
	move(3, inward ? 1 : 2, 0);
	here = emit(BPF_JMP | BPF_JNE | BPF_K, 8, 0, 0, IPPROTO_TCP);
	emit(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, PORTS);
	land(here);
	emit(BPF_STX | BPF_W | BPF_MEM, 10, 3, SLOT, 0);
	find_slot(map);
	past[pasts++] = emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0);
	if (inward) {
		emit(BPF_LDX | BPF_DW | BPF_MEM, 1, 0, 0, 0);
		lost[losts++] = emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0, 0);
	} else {
		set(1, 1);
		emit(BPF_STX | BPF_DW | BPF_MEM, 0, 1, 0, 0);
	}
	emit(BPF_LDX | BPF_W | BPF_MEM, 4, 10, MAPPED, 0);
	swap(4);
	emit(BPF_STX | BPF_H | BPF_MEM, 10, 4, PORT_NEW, 0);
	emit(BPF_LDX | BPF_H | BPF_MEM, 3, 10, PORT_OLD, 0);
	here = emit(BPF_JMP | BPF_JEQ | BPF_X, 3, 4, 0, 0);
	mend_sum(2);
	write_bytes(7, port, PORT_NEW, 2);
	land(here);
	land(addresses[0]);
	land(addresses[1]);
	if (inner != outer) {
		here = emit(BPF_JMP | BPF_JEQ | BPF_K, 9, 0, 0, 0);
		set(3, from);
		set(4, to);
		mend_sum(4 | BPF_F_PSEUDO_HDR);
		land(here);
		move(1, 6, 0);
		set(2, ETH_HLEN + 10);
		set(3, from);
		set(4, to);
		set(5, 4);
		emit(BPF_JMP | BPF_CALL, 0, 0, 0, SUM_3);
		emit(BPF_ST | BPF_W | BPF_MEM, 10, 0, ADDRESS, to);
		write_bytes(-1, ETH_HLEN + place, ADDRESS, 4);
	}
	while (pasts)
		land(past[--pasts]);
	set(0, TC_ACT_UNSPEC); /* the next filter redirects it to its wire */
	emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	if (!inward)
		return;
	while (losts)
		land(lost[--losts]);
	emit(BPF_ST | BPF_W | BPF_MEM, 10, 0, SLOT, LOST);
	find_slot(map);
	here = emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0);
	emit(BPF_LDX | BPF_DW | BPF_MEM, 1, 0, 0, 0);
	emit(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, 1);
	emit(BPF_STX | BPF_DW | BPF_MEM, 0, 1, 0, 0);
	land(here);
	set(0, TC_ACT_SHOT);
	emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int bpf(int what, union bpf_attr *about)
{
	return syscall(SYS_bpf, what, about, sizeof *about);
}

static int load_text(void)
{
	static char said[8192];
	union bpf_attr about = { .prog_type = BPF_PROG_TYPE_SCHED_CLS, .insn_cnt = used, .insns = (uintptr_t)text,
				 .license = (uintptr_t)"GPL", .log_level = 1, .log_size = sizeof said,
				 .log_buf = (uintptr_t)said };
	int program = bpf(BPF_PROG_LOAD, &about);
	size_t size = strlen(said);

	if (program < 0)
		fail("a rebinding was refused: %s ... %s", strerror(errno), said + (size > 300 ? size - 300 : 0));
	return program;
}

/* Puts a program before the redirection of what arrives at a device, instead of an earlier one. */
static void place_text(int node, const char *device, int earlier)
{
	unsigned index, flags = TCA_BPF_FLAG_ACT_DIRECT, arriving = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);
	unsigned order_of_filters = 1 << 16 | htons(ETH_P_IP);
	int fd = connect_netlink(node), program = load_text();
	union request request;
	struct rtattr *options;

	index = if_nametoindex(device);
	if (earlier) {
		begin(&request, RTM_DELTFILTER, NLM_F_ACK, index, arriving, 0);
		request.tc.tcm_info = order_of_filters;
		put(&request, TCA_KIND, "bpf", 4);
		order(fd, &request, "the end of a rebinding", device);
	}
	begin(&request, RTM_NEWTFILTER, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, index, arriving, 1);
	request.tc.tcm_info = order_of_filters;
	put(&request, TCA_KIND, "bpf", 4);
	options = put(&request, TCA_OPTIONS, NULL, 0);
	put(&request, TCA_BPF_FD, &program, sizeof program);
	put(&request, TCA_BPF_NAME, "rebind", 7);
	put(&request, TCA_BPF_FLAGS, &flags, sizeof flags);
	end(&request, options);
	order(fd, &request, "a rebinding", device);
	close(program);
	close(fd);
}

/* rebind NODE INNER OUTER FLIP DEVICE:NODE:DEVICE ...: of a host, with its addresses, what turns a port into another, and its
 * cables: its device, the neighbour, and the neighbour's device */
void rebind(char *words)
{
	union bpf_attr about = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 2 * PORTS };
	char inner[INET_ADDRSTRLEN], outer[INET_ADDRSTRLEN], own[IFNAMSIZ], other[IFNAMSIZ];
	int node, flip, far, at, earlier = 0;
	struct in_addr in, out;

	if (sscanf(words, "%d %15s %15s %d%n", &node, inner, outer, &flip, &at) != 4 || inet_aton(inner, &in) == 0 ||
	    inet_aton(outer, &out) == 0)
		fail("rebind: %s", words);
	for (size_t i = 0; i < nat_count; i++)
		earlier |= nats[i].node == node;
	ROOM(nats, nat_count);
	nats[nat_count] = (struct nat){ node, bpf(BPF_MAP_CREATE, &about), now() - began };
	if (nats[nat_count].map < 0)
		fail("this kernel has no maps of BPF");
	for (words += at; sscanf(words, " %15[^:]:%d:%15s%n", own, &far, other, &at) == 3; words += at) {
		write_text(1, nats[nat_count].map, in.s_addr, out.s_addr, flip);
		place_text(node, own, earlier);
		write_text(0, nats[nat_count].map, in.s_addr, out.s_addr, flip);
		place_text(far, other, earlier);
	}
	nat_count++;
}

/* A line for each rebinding that was made: NODE AT_NS LOST */
void rebindings_write(void)
{
	FILE *file = output("rebindings");

	for (size_t i = 0; i < nat_count; i++) {
		uint32_t slot = LOST;
		uint64_t lost = 0;
		union bpf_attr about = { .map_fd = nats[i].map, .key = (uintptr_t)&slot, .value = (uintptr_t)&lost };

		if (bpf(BPF_MAP_LOOKUP_ELEM, &about))
			fail("a rebinding does not tell its count");
		fprintf(file, "%d %lld %llu\n", nats[i].node, nats[i].at, (unsigned long long)lost);
	}
	done(file);
}
