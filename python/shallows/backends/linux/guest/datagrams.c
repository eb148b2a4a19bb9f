/* Datagrams: senders whose times the plan gives, and receivers that count what comes.
 *
 * Each datagram begins with its number, by which the receiver knows when it was sent. Source of the jitter: RFC 3550 s.6.4.1
 * and A.8. Statistics are about datagrams that were sent since the warm-up, as in the simulator. */
#define _GNU_SOURCE
#include "guest.h"
#include "netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST_PORT = 20000, LAST_PORT = 65000, RECEIVE_BUFFER = 1 << 28, MOST_BYTES = 65536 };

/* Datagrams of one size, the first at `at` and each of the others `gap` later; in ps. */
struct row {
	int64_t at, gap, count;
	int bytes;
};

struct side {
	enum what what; /* first, so that an event says what it is about */
	int pair, socket;
};

struct pair {
	struct side sender, receiver;
	int load, from, to, service, send_buffer;
	struct row *rows;
	size_t row_count, row;
	int64_t in_row; /* datagrams of the row that are sent */
	int waits; /* for room in the socket */
	/* By number: when each was sent; -1 once it has arrived. `all` are sent, of which `before` in the warm-up. */
	nanoseconds *sent;
	size_t all, before;
	uint32_t highest; /* one beyond the highest number that has come */
	int64_t bytes, bytes_before; /* of payload that has come, each datagram once */
	int64_t arrived, arrived_bytes, copies, overtaken, late, came_late; /* `came_late`: after the end of the run */
	nanoseconds late_most, least, most, last;
	__int128 sum;
	double jitter;
	int marked; /* arrivals with a mark */
};

static struct pair **pairs;
static size_t pair_count;
static FILE *trace;
static int over; /* the run has ended: what comes now was under way */

/* datagrams LOAD FROM TO SERVICE SEND_BUFFER: a sender and its receiver. SERVICE has the codepoint of ECN; SEND_BUFFER is 0 for
 * the kernel's. */
void add_datagrams(char *words)
{
	struct pair *made = calloc(1, sizeof *made);

	if (!made || sscanf(words, "%d %d %d %d %d", &made->load, &made->from, &made->to, &made->service,
			    &made->send_buffer) != 5)
		fail("datagrams: %s", words);
	made->sender = (struct side){ DATAGRAMS_OUT, pair_count, -1 };
	made->receiver = (struct side){ DATAGRAMS_IN, pair_count, -1 };
	made->least = NEVER;
	made->last = -1;
	ROOM(pairs, pair_count);
	pairs[pair_count++] = made;
}

/* emit AT GAP COUNT BYTES: the next datagrams of the sender named last */
void add_emission(char *words)
{
	struct pair *pair = pair_count ? pairs[pair_count - 1] : NULL;
	long long at, gap, count;
	struct row row;

	if (!pair || sscanf(words, "%lld %lld %lld %d", &at, &gap, &count, &row.bytes) != 4 ||
	    row.bytes < (int)sizeof(uint32_t) || row.bytes > MOST_BYTES)
		fail("emit: %s", words);
	row.at = at;
	row.gap = gap;
	row.count = count;
	ROOM(pair->rows, pair->row_count);
	pair->rows[pair->row_count++] = row;
}

static struct sockaddr_in place(int host, int port)
{
	return (struct sockaddr_in){ AF_INET, htons(port), address_of_host(host), { 0 } };
}

static int open_socket(int host, int port)
{
	struct sockaddr_in own = place(host, port);
	int fd;

	enter(node_of_host(host));
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (void *)&own, sizeof own))
		fail("a socket for datagrams on host %d: %s", host, strerror(errno));
	return fd;
}

void datagrams_start(void)
{
	if (!pair_count)
		return;
	trace = output("datagram_trace.csv");
	fprintf(trace, "time_ns,pair,delivered\n");
	for (size_t i = 0; i < pair_count; i++) {
		struct pair *pair = pairs[i];
		int port = FIRST_PORT + i, room = RECEIVE_BUFFER, half = pair->send_buffer / 2, on = 1;
		int service = pair->service | service_of_load(pair->load);
		struct sockaddr_in to = place(pair->to, port), from = place(pair->from, port);

		if (port > LAST_PORT)
			fail("there are more than %d senders of datagrams", LAST_PORT - FIRST_PORT);
		pair->receiver.socket = open_socket(pair->to, port);
		/* Nothing is lost in a receiver: its program reads at once. */
		if (setsockopt(pair->receiver.socket, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) ||
		    setsockopt(pair->receiver.socket, SOL_IP, IP_RECVTOS, &on, sizeof on))
			fail("the socket of a receiver of datagrams");
		/* What programs send to this port is refused. */
		if (connect(pair->receiver.socket, (void *)&from, sizeof from))
			fail("connecting a receiver of datagrams");
		watch(pair->receiver.socket, &pair->receiver, EPOLLIN, 0);
		pair->sender.socket = open_socket(pair->from, port);
		/* The kernel doubles the size that it gets. */
		if (service && setsockopt(pair->sender.socket, SOL_IP, IP_TOS, &service, sizeof service))
			fail("IP_TOS of datagrams");
		if (half && setsockopt(pair->sender.socket, SOL_SOCKET, SO_SNDBUFFORCE, &half, sizeof half))
			fail("the send buffer of datagrams");
		if (connect(pair->sender.socket, (void *)&to, sizeof to))
			fail("connecting a sender of datagrams");
	}
}

/* Whether a packet is a datagram of the plan. */
int of_datagrams(uint32_t source, int source_port, uint32_t destination, int destination_port)
{
	size_t number = source_port - FIRST_PORT;

	return source_port == destination_port && source_port >= FIRST_PORT && number < pair_count &&
	       address_of_host(pairs[number]->from).s_addr == source &&
	       address_of_host(pairs[number]->to).s_addr == destination;
}

static nanoseconds due_of(const struct pair *pair)
{
	const struct row *row = &pair->rows[pair->row];

	return pair->row < pair->row_count ? (row->at + row->gap * pair->in_row) / 1000 : NEVER;
}

nanoseconds datagrams_due(void)
{
	nanoseconds next = NEVER;

	for (size_t i = 0; i < pair_count && !over; i++) {
		nanoseconds due = pairs[i]->waits ? NEVER : due_of(pairs[i]);

		next = due < next ? due : next;
	}
	return next;
}

/* Sends all that is due, as far as the socket has room: a datagram that finds none waits, and those behind it too. */
static void pump(struct pair *pair, nanoseconds at)
{
	static char bytes[MOST_BYTES];
	nanoseconds due;

	while (!over && (due = due_of(pair)) <= at) {
		struct row *row = &pair->rows[pair->row];
		uint32_t number = pair->all;
		nanoseconds here = now() - began;
		ssize_t n;

		memcpy(bytes, &number, sizeof number);
		n = send(pair->sender.socket, bytes, row->bytes, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			if (!pair->waits)
				watch(pair->sender.socket, &pair->sender, EPOLLOUT, 0);
			pair->waits = 1;
			return;
		}
		/* Of a failed datagram (a route that is away, say) nobody learns but its receiver. */
		if (pair->waits) {
			pair->late++;
			if (here - due > pair->late_most)
				pair->late_most = here - due;
		}
		ROOM(pair->sent, pair->all);
		pair->sent[pair->all++] = here;
		if (++pair->in_row == row->count) {
			pair->in_row = 0;
			pair->row++;
		}
	}
	if (pair->waits)
		unwatch(pair->sender.socket);
	pair->waits = 0;
}

void datagrams_wake(nanoseconds at)
{
	for (size_t i = 0; i < pair_count; i++)
		if (!pairs[i]->waits)
			pump(pairs[i], at);
}

static int mark_of(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
		if (c->cmsg_level == SOL_IP && c->cmsg_type == IP_TOS)
			return (*(unsigned char *)CMSG_DATA(c) & 3) == 3;
	return 0;
}

static void arrive(struct pair *pair, uint32_t number, int64_t bytes, int marked, nanoseconds at)
{
	nanoseconds sent, delay;
	int copy, new = number >= pair->highest;

	if (number >= pair->all)
		fail("a datagram that nobody sent came to host %d", pair->to);
	sent = pair->sent[number];
	copy = sent < 0;
	if (new)
		pair->highest = number + 1;
	if (over) {
		pair->came_late += !copy && number >= pair->before;
		pair->sent[number] = -1;
		return;
	}
	pair->sent[number] = -1;
	if (!copy)
		pair->bytes += bytes;
	if (number < pair->before)
		return;
	if (copy) {
		pair->copies++;
		return;
	}
	delay = at - sent;
	pair->arrived++;
	pair->arrived_bytes += bytes;
	pair->overtaken += !new;
	pair->marked += marked;
	pair->sum += delay;
	pair->least = delay < pair->least ? delay : pair->least;
	pair->most = delay > pair->most ? delay : pair->most;
	if (pair->last >= 0) {
		nanoseconds change = delay > pair->last ? delay - pair->last : pair->last - delay;

		pair->jitter += (change - pair->jitter) / 16;
	}
	pair->last = delay;
}

void datagrams_ready(void *what)
{
	struct side *side = what;
	struct pair *pair = pairs[side->pair];
	char control[64];
	uint32_t number;
	ssize_t n;

	if (side->what == DATAGRAMS_OUT) {
		pump(pair, now() - began);
		return;
	}
	for (;;) {
		struct iovec part = { &number, sizeof number };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
					  .msg_controllen = sizeof control };

		n = recvmsg(side->socket, &message, MSG_TRUNC);
		if (n < (ssize_t)sizeof number)
			return;
		arrive(pair, number, n, mark_of(&message), now() - began);
	}
}

void datagrams_warm(void)
{
	for (size_t i = 0; i < pair_count; i++) {
		struct pair *pair = pairs[i];

		pair->before = pair->all;
		pair->bytes_before = pair->bytes;
		pair->arrived = pair->arrived_bytes = pair->copies = pair->overtaken = pair->late = pair->late_most = 0;
		pair->sum = pair->most = pair->marked = 0;
		pair->least = NEVER;
		pair->last = -1;
		pair->jitter = 0;
	}
}

void datagrams_sample(nanoseconds at)
{
	for (size_t i = 0; i < pair_count; i++)
		if (at && pairs[i]->row_count && pairs[i]->rows->at / 1000 < at)
			fprintf(trace, "%lld,%zu,%lld\n", (long long)at, i, (long long)pairs[i]->bytes);
}

void datagrams_end(void)
{
	over = 1;
}

/* Datagrams that neither have come nor can be known as lost. */
static int open_ones(void)
{
	for (size_t i = 0; i < pair_count; i++)
		if (pairs[i]->arrived + pairs[i]->came_late < (int64_t)(pairs[i]->all - pairs[i]->before))
			return 1;
	return 0;
}

static nanoseconds most_drained;
static int nodes;

/* drain NS NODES: how long at most what is under way at the end is waited for, and in how many namespaces */
void set_drain(char *words)
{
	long long most;

	if (sscanf(words, "%lld %d", &most, &nodes) != 2)
		fail("drain: %s", words);
	most_drained = most;
}

/* Waits for what is under way, until the network is empty. Then the rest is lost. */
void datagrams_drain(void (*turn)(nanoseconds until))
{
	nanoseconds last = now() + most_drained;

	if (!pair_count)
		return;
	traffic_stop();
	do
		turn(now() + 1000000); /* which also reads what has come while results were written */
	while (open_ones() && now() < last && network_holds(nodes));
}

void datagrams_write(void)
{
	FILE *file;

	if (!pair_count)
		return;
	done(trace);
	file = output("datagrams.csv");
	fprintf(file, "load,from,to,opened_ps,sent,arrived,in_flight,copies,overtaken,late,late_max_ns,arrived_bytes,"
		      "delay_min_ns,delay_sum_ns,delay_max_ns,jitter_fs,marks,received,received_before\n");
	for (size_t i = 0; i < pair_count; i++) {
		struct pair *p = pairs[i];

		fprintf(file, "%d,%d,%d,%lld,%zu,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%d,%lld,%lld\n", p->load,
			p->from, p->to, p->row_count ? (long long)p->rows->at : 0LL, p->all - p->before, (long long)p->arrived,
			(long long)p->came_late, (long long)p->copies, (long long)p->overtaken, (long long)p->late,
			(long long)p->late_most, (long long)p->arrived_bytes,
			(long long)(p->arrived ? p->least : -1), (long long)p->sum, (long long)(p->arrived ? p->most : -1),
			(long long)(p->arrived > 1 ? p->jitter * 1e6 : -1), p->marked, (long long)p->bytes,
			(long long)p->bytes_before);
	}
	done(file);
}
