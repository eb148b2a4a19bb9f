/* Flows of programs: the packets and bytes of each five-tuple as they arrive at hosts, what TCP tells of its sockets, and
 * the kernel's counters of each host. All are read between events and change nothing. */
#define _GNU_SOURCE
#include "guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Of each packet the ring keeps what its headers need. */
enum { FRAME = 128, BLOCK = 65536, FRAMES_A_BLOCK = BLOCK / FRAME };

struct tap {
	int socket, node;
	char *ring;
	unsigned frames, next;
};

struct tuple {
	uint32_t source, destination;
	uint16_t source_port, destination_port, protocol, zero;
};

struct flow {
	struct tuple of;
	nanoseconds first, last;
	uint64_t packets, bytes, data, traced;
	uint16_t fragments; /* the datagram whose first fragment came last */
};

static struct tap *taps;
static size_t tap_count;
static struct flow *flows;
static size_t flow_count;
static uint32_t *places; /* of a flow in the table, plus one; by the hash of its five-tuple */
static size_t place_count;
static nanoseconds real_began;
static uint64_t missed;
static FILE *trace, *sockets;

void add_tap(char *words) /* NODE DEVICE FRAMES: packets that arrive at a host */
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct tap made = { 0 };
	char device[IFNAMSIZ];
	int version = TPACKET_V2;
	unsigned blocks;

	if (sscanf(words, "%d %15s %u", &made.node, device, &made.frames) != 3)
		fail("tap: %s", words);
	enter(made.node);
	blocks = (made.frames + FRAMES_A_BLOCK - 1) / FRAMES_A_BLOCK;
	made.frames = blocks * FRAMES_A_BLOCK;
	struct tpacket_req ring = { BLOCK, blocks, FRAME, made.frames };

	made.socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	at.sll_ifindex = if_nametoindex(device);
	if (made.socket < 0 || !at.sll_ifindex ||
	    setsockopt(made.socket, SOL_PACKET, PACKET_VERSION, &version, sizeof version) ||
	    setsockopt(made.socket, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring))
		fail("a ring of %u packets for %s", made.frames, device);
	made.ring = mmap(NULL, (size_t)blocks * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, made.socket, 0);
	/* A child must not share it: User-Mode Linux takes its pages for lost ones when the child leaves them. */
	if (made.ring == MAP_FAILED || madvise(made.ring, (size_t)blocks * BLOCK, MADV_DONTFORK) ||
	    bind(made.socket, (void *)&at, sizeof at))
		fail("the ring of %s", device);
	ROOM(taps, tap_count);
	taps[tap_count++] = made;
}

static uint32_t hash(const struct tuple *of)
{
	const uint32_t words[] = { of->source, of->destination, (uint32_t)of->source_port << 16 | of->destination_port,
				   of->protocol };
	uint32_t sum = 2166136261U;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		sum = (sum ^ words[i]) * 16777619U, sum ^= sum >> 15;
	return sum;
}

static void put_place(size_t flow)
{
	size_t at = hash(&flows[flow].of) & (place_count - 1);

	while (places[at])
		at = (at + 1) & (place_count - 1);
	places[at] = flow + 1;
}

static struct flow *find(const struct tuple *of)
{
	for (size_t at = hash(of) & (place_count - 1); place_count && places[at]; at = (at + 1) & (place_count - 1))
		if (!memcmp(&flows[places[at] - 1].of, of, sizeof *of))
			return &flows[places[at] - 1];
	return NULL;
}

static struct flow *flow_of(const struct tuple *of, nanoseconds at)
{
	struct flow *found = find(of);

	if (found)
		return found;
	ROOM(flows, flow_count);
	flows[flow_count++] = (struct flow){ .of = *of, .first = at };
	if (2 * flow_count > place_count) {
		place_count = place_count ? 2 * place_count : 256;
		free(places);
		places = calloc(place_count, sizeof *places);
		if (!places)
			fail("out of memory for flows");
		for (size_t i = 0; i < flow_count; i++)
			put_place(i);
	} else {
		put_place(flow_count - 1);
	}
	return &flows[flow_count - 1];
}

/* A later fragment has no ports: it belongs to the flow whose first fragment had its number. */
static struct flow *flow_of_fragment(const struct tuple *of, uint16_t number)
{
	for (size_t i = flow_count; i-- > 0;)
		if (flows[i].of.source == of->source && flows[i].of.destination == of->destination &&
		    flows[i].of.protocol == of->protocol && flows[i].fragments == number)
			return &flows[i];
	return NULL;
}

static void count(const unsigned char *packet, unsigned kept, nanoseconds at)
{
	const unsigned char *header = packet + sizeof(struct ether_header);
	struct iphdr ip;
	struct tuple of = { 0 };
	struct flow *flow;
	unsigned begin, data, fragment;

	if (kept < sizeof(struct ether_header) + sizeof ip || packet[12] != 8 || packet[13] != 0)
		return; /* not IPv4 */
	memcpy(&ip, header, sizeof ip);
	begin = ip.ihl * 4;
	fragment = ntohs(ip.frag_off);
	of = (struct tuple){ ip.saddr, ip.daddr, 0, 0, ip.protocol, 0 };
	data = ntohs(ip.tot_len) - begin;
	if (fragment & 0x1fff) {
		flow = flow_of_fragment(&of, ip.id);
		if (!flow)
			return;
	} else {
		if ((ip.protocol == IPPROTO_TCP || ip.protocol == IPPROTO_UDP) &&
		    kept >= sizeof(struct ether_header) + begin + (ip.protocol == IPPROTO_UDP ? 8 : 14)) {
			memcpy(&of.source_port, header + begin, 2);
			memcpy(&of.destination_port, header + begin + 2, 2);
			of.source_port = ntohs(of.source_port);
			of.destination_port = ntohs(of.destination_port);
			data -= ip.protocol == IPPROTO_UDP ? 8 : (header[begin + 12] >> 4) * 4;
		}
		if (ip.protocol == IPPROTO_TCP && of_traffic(of.source, of.source_port, of.destination, of.destination_port))
			return;
		if (ip.protocol == IPPROTO_UDP && of_datagrams(of.source, of.source_port, of.destination, of.destination_port))
			return;
		flow = flow_of(&of, at);
		flow->fragments = fragment & IP_MF ? ip.id : 0;
	}
	flow->packets++;
	flow->bytes += ntohs(ip.tot_len);
	flow->data += data;
	flow->last = at;
}

void exchanges_take(void)
{
	struct timespec real;

	if (!tap_count)
		return;
	if (!real_began) {
		clock_gettime(CLOCK_REALTIME, &real);
		real_began = real.tv_sec * 1000000000LL + real.tv_nsec + (began - now());
	}
	for (size_t i = 0; i < tap_count; i++)
		for (;;) {
			struct tap *tap = &taps[i];
			char *frame = tap->ring + (size_t)tap->next * FRAME;
			struct tpacket2_hdr *head = (void *)frame;
			struct sockaddr_ll *from = (void *)(frame + TPACKET_ALIGN(sizeof *head));

			if (!(__atomic_load_n(&head->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
				break;
			if (from->sll_pkttype == PACKET_OUTGOING) /* a wire hands it on */
				count((unsigned char *)frame + head->tp_mac, head->tp_snaplen,
				      head->tp_sec * 1000000000LL + head->tp_nsec - real_began);
			__atomic_store_n(&head->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
			tap->next = (tap->next + 1) % tap->frames;
		}
}

/* ---- sockets ---- */

static int *diagnoses; /* netlink sockets by tap */

static int diagnosis(size_t tap)
{
	int room = 4 << 20;

	if (!diagnoses) {
		diagnoses = malloc(tap_count * sizeof *diagnoses);
		if (!diagnoses)
			fail("out of memory for sockets");
		for (size_t i = 0; i < tap_count; i++)
			diagnoses[i] = -1;
	}
	if (diagnoses[tap] < 0) {
		enter(taps[tap].node);
		diagnoses[tap] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
		if (diagnoses[tap] < 0 || setsockopt(diagnoses[tap], SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room))
			fail("TCP's sockets cannot be asked for (is CONFIG_INET_TCP_DIAG in this kernel?)");
	}
	return diagnoses[tap];
}

static void tell_socket(nanoseconds at, const struct inet_diag_msg *socket, struct rtattr *attribute, int left)
{
	struct tcp_info info = { 0 };
	char name[32] = "";
	char source[INET_ADDRSTRLEN], destination[INET_ADDRSTRLEN];

	if (of_traffic(socket->id.idiag_src[0], ntohs(socket->id.idiag_sport), socket->id.idiag_dst[0],
		       ntohs(socket->id.idiag_dport)))
		return;
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		size_t size = RTA_PAYLOAD(attribute);

		if (attribute->rta_type == INET_DIAG_INFO)
			memcpy(&info, RTA_DATA(attribute), size < sizeof info ? size : sizeof info);
		else if (attribute->rta_type == INET_DIAG_CONG)
			snprintf(name, sizeof name, "%s", (char *)RTA_DATA(attribute));
	}
	inet_ntop(AF_INET, socket->id.idiag_src, source, sizeof source);
	inet_ntop(AF_INET, socket->id.idiag_dst, destination, sizeof destination);
	fprintf(sockets, "%lld,%s,%u,%s,%u,%s,%u,%u,%u,%u,%u,%u,%llu,%llu,%u\n", (long long)at, source,
		ntohs(socket->id.idiag_sport), destination, ntohs(socket->id.idiag_dport), name, info.tcpi_snd_mss,
		info.tcpi_snd_cwnd, info.tcpi_snd_ssthresh, info.tcpi_rtt, info.tcpi_unacked, info.tcpi_total_retrans,
		(unsigned long long)info.tcpi_bytes_acked, (unsigned long long)info.tcpi_pacing_rate, socket->idiag_state);
}

static void trace_sockets(nanoseconds at, size_t tap)
{
	static char answer[1 << 16];
	struct { struct nlmsghdr head; struct inet_diag_req_v2 of; } request = {
		.head = { sizeof request, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 },
		.of = { .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP,
			.idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1),
			.idiag_states = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11 }, /* those that send */
	};
	int fd = diagnosis(tap), size;

	if (send(fd, &request, sizeof request, 0) < 0)
		fail("TCP's sockets");
	while ((size = recv(fd, answer, sizeof answer, 0)) > 0)
		for (struct nlmsghdr *head = (void *)answer; NLMSG_OK(head, (unsigned)size); head = NLMSG_NEXT(head, size)) {
			struct inet_diag_msg *socket = NLMSG_DATA(head);

			if (head->nlmsg_type == NLMSG_DONE)
				return;
			if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
				fail("TCP's sockets cannot be asked for (is CONFIG_INET_TCP_DIAG in this kernel?)");
			tell_socket(at, socket, (void *)(socket + 1), head->nlmsg_len - NLMSG_LENGTH(sizeof *socket));
		}
	fail("TCP's sockets");
}

void exchanges_trace(nanoseconds at)
{
	if (!tap_count)
		return;
	if (!trace) {
		trace = output("exchange_trace.csv");
		fprintf(trace, "time_ns,exchange,packets,bytes,data_bytes\n");
		sockets = output("sockets.csv");
		fprintf(sockets, "time_ns,src,src_port,dst,dst_port,cc,mss,cwnd,ssthresh,srtt_us,flight,retransmissions,"
				 "acked_bytes,pacing_rate,state\n");
	}
	exchanges_take();
	for (size_t i = 0; i < flow_count; i++) {
		struct flow *flow = &flows[i];

		if (flow->packets == flow->traced)
			continue;
		flow->traced = flow->packets;
		fprintf(trace, "%lld,%zu,%llu,%llu,%llu\n", (long long)at, i, (unsigned long long)flow->packets,
			(unsigned long long)flow->bytes, (unsigned long long)flow->data);
	}
	for (size_t i = 0; i < tap_count; i++)
		if (!i || taps[i].node != taps[i - 1].node)
			trace_sockets(at, i);
}

/* ---- counters ---- */

static struct counter { int node; char *name; long long last; } *counters;
static size_t counter_count, counter_next;
static nanoseconds counters_every, counters_at = NEVER;
static FILE *counted;

void add_counters(char *words) /* INTERVAL, of every host that has a tap */
{
	counters_every = strtoll(words, NULL, 10);
	counters_at = 0;
}

nanoseconds counters_due(void)
{
	return counters_at;
}

/* The names and values come in the same order each time. */
static void put_counter(nanoseconds at, int node, const char *group, const char *name, long long value)
{
	char whole[100];

	if (counter_next == counter_count) {
		snprintf(whole, sizeof whole, "%s%s", group, name);
		ROOM(counters, counter_count);
		counters[counter_count++] = (struct counter){ node, strdup(whole), 0 };
	}
	struct counter *counter = &counters[counter_next++];

	if (value != counter->last)
		fprintf(counted, "%lld,%d,%s,%lld\n", (long long)at, node, counter->name, value);
	counter->last = value;
}

static void read_counters(nanoseconds at, int node, const char *path)
{
	static char *names, *values;
	static size_t names_room, values_room;
	FILE *file = fopen(path, "r");

	if (!file)
		fail("%s", path);
	while (getline(&names, &names_room, file) > 0 && getline(&values, &values_room, file) > 0) {
		char *save[2], group[40], *name = strtok_r(names, " \n", &save[0]), *value = strtok_r(values, " \n", &save[1]);

		snprintf(group, sizeof group, "%.*s", (int)strcspn(name, ":"), name);
		while ((name = strtok_r(NULL, " \n", &save[0])) && (value = strtok_r(NULL, " \n", &save[1])))
			put_counter(at, node, group, name, strtoll(value, NULL, 10));
	}
	fclose(file);
}

void counters_take(nanoseconds at)
{
	if (!counters_every)
		return;
	if (!counted) {
		counted = output("counters.csv");
		fprintf(counted, "time_ns,node,counter,value\n");
	}
	counter_next = 0;
	for (size_t i = 0; i < tap_count; i++)
		if (!i || taps[i].node != taps[i - 1].node) {
			enter(taps[i].node);
			read_counters(at, taps[i].node, "/proc/self/net/snmp");
			read_counters(at, taps[i].node, "/proc/self/net/netstat");
		}
	counters_at = at + counters_every;
}

/* ---- the end ---- */

static void write_flows(void)
{
	FILE *file = output("exchanges.csv");
	char source[INET_ADDRSTRLEN], destination[INET_ADDRSTRLEN];

	fprintf(file, "protocol,src,src_port,dst,dst_port,first_ns,last_ns,packets,bytes,data_bytes\n");
	for (size_t i = 0; i < flow_count; i++) {
		struct flow *flow = &flows[i];

		inet_ntop(AF_INET, &flow->of.source, source, sizeof source);
		inet_ntop(AF_INET, &flow->of.destination, destination, sizeof destination);
		fprintf(file, "%u,%s,%u,%s,%u,%lld,%lld,%llu,%llu,%llu\n", flow->of.protocol, source, flow->of.source_port,
			destination, flow->of.destination_port, (long long)flow->first, (long long)flow->last,
			(unsigned long long)flow->packets, (unsigned long long)flow->bytes, (unsigned long long)flow->data);
	}
	done(file);
}

void exchanges_write(void)
{
	if (!tap_count)
		return;
	exchanges_take();
	for (size_t i = 0; i < tap_count; i++) {
		struct tpacket_stats stats;
		socklen_t size = sizeof stats;

		if (!getsockopt(taps[i].socket, SOL_PACKET, PACKET_STATISTICS, &stats, &size))
			missed += stats.tp_drops;
	}
	write_flows();
	if (counted) {
		counters_take(length);
		done(counted);
	}
	if (trace) {
		done(trace);
		done(sockets);
	}
	FILE *file = output("missed");

	fprintf(file, "%llu\n", (unsigned long long)missed);
	done(file);
}
