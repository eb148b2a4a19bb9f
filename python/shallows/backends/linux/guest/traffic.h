/* Connections, as traffic.c drives them and flows.c tells of them. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "guest.h"

#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <stddef.h>

#ifndef SOL_TCP
#define SOL_TCP 6
#endif
#ifndef TCP_CC_INFO
#define TCP_CC_INFO 26
#endif

struct end {
	enum what what; /* first, so that an event says what it is about */
	int connection, socket;
};

struct message {
	int64_t end, bytes; /* place in the stream of the byte after its last */
	nanoseconds at;
	int tag;
};

/* What a connection has counted; -1 where the kernel does not. */
struct counts {
	int64_t received, segments, retransmissions, timeouts, marks;
};

struct connection {
	struct end sender, receiver;
	int load, from, to, control, port;
	nanoseconds opened, ended;
	int64_t to_write, written, read, forever, planned;
	struct message *messages; /* in order; the first `delivered` are done */
	size_t count, delivered;
	int established, low; /* the least to read that wakes the receiver */
	int clamped; /* its receive window has been set */
	uint32_t awaits; /* events of the sender */
	/* As last seen, also after it is closed; of the sender, but for bytes and marks received. */
	struct counts counts, at_warmup;
	struct tcp_info last;
	uint32_t alpha;
	/* Sums over samples since the warm-up. */
	uint64_t samples, srtt_sum, cwnd_sum;
};

extern struct connection **connections;
extern size_t connection_count;
extern char (*controls)[16];

/* flows.c */
void snapshot(struct connection *connection);
void record_message(int connection, int64_t bytes, nanoseconds from, nanoseconds to);

#endif
