/* Connections and the messages on them. A connection carries data one way, from where it was opened. */
#define _GNU_SOURCE
#include "guest.h"
#include "traffic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Source ports count from here, destination ports are a control's number beyond LISTENERS. Where no connection is to
   end, all ports are left to programs. */
enum { FIRST_PORT = 10000, LAST_PORT = 65000, LISTENERS = 5000, WAKE_BYTES = 65536,
       MOST_READ = 1 << 20 };

struct planned {
	nanoseconds at;
	int connection, place; /* in the plan, which says in which order a connection's messages are written */
	int64_t bytes; /* 0 opens; -1 is without end */
};

static struct { int node, receives; struct in_addr address; int *by_port; size_t ports; } *hosts;
static size_t host_count;
char (*controls)[16];
static size_t control_count;
/* Pointers to them are in the kernel's hands, so they must not move. */
struct connection **connections;
size_t connection_count;
static struct planned *plan;
static size_t plan_count, plan_next;
static struct { int given; unsigned mss, window, timestamps, sack, ecn; } expected;

void add_host(char *words) /* NODE ADDRESS */
{
	char address[20];
	int node;

	if (sscanf(words, "%d %19s", &node, address) != 2)
		fail("host: %s", words);
	ROOM(hosts, host_count);
	memset(&hosts[host_count], 0, sizeof *hosts);
	hosts[host_count].node = node;
	hosts[host_count++].address.s_addr = inet_addr(address);
}

int node_of_host(int host)
{
	if (host < 0 || host >= (int)host_count)
		fail("there is no host %d", host);
	return hosts[host].node;
}

struct in_addr address_of_host(int host)
{
	node_of_host(host);
	return hosts[host].address;
}

void expect_connections(int host)
{
	if (host < 0 || host >= (int)host_count)
		fail("there is no host %d", host);
	hosts[host].receives = 1;
}

void add_control(char *words) /* NAME */
{
	ROOM(controls, control_count);
	snprintf(controls[control_count++], sizeof *controls, "%s", words);
}

static void add_planned(nanoseconds at, int connection, int64_t bytes)
{
	ROOM(plan, plan_count);
	plan[plan_count] = (struct planned){ at, connection, plan_count, bytes };
	plan_count++;
}

static struct connection *new_connection(int load, int from, int to, int control, nanoseconds at)
{
	struct connection *made = calloc(1, sizeof *made);
	int number = connection_count;

	if (!made || from >= (int)host_count || to >= (int)host_count || control >= (int)control_count)
		fail("connection %d from host %d to %d", number, from, to);
	made->load = load;
	made->from = from;
	made->to = to;
	made->control = control;
	made->opened = at;
	made->ended = -1;
	made->sender = (struct end){ SENDER, number, -1 };
	made->receiver = (struct end){ RECEIVER, number, -1 };
	ROOM(connections, connection_count);
	connections[connection_count++] = made;
	return made;
}

void add_connection(char *words) /* LOAD FROM TO CONTROL AT; connections are numbered in this order */
{
	int load, from, to, control;
	long long at;

	if (sscanf(words, "%d %d %d %d %lld", &load, &from, &to, &control, &at) != 5)
		fail("open: %s", words);
	new_connection(load, from, to, control, at);
	expect_connections(to);
	add_planned(at, connection_count - 1, 0);
}

void add_message(char *words) /* CONNECTION AT BYTES; -1 bytes are without end */
{
	int connection;
	long long at, bytes;

	if (sscanf(words, "%d %lld %lld", &connection, &at, &bytes) != 3 || connection >= (int)connection_count)
		fail("send: %s", words);
	connections[connection]->planned++;
	add_planned(at, connection, bytes);
}

static int sooner(const void *a, const void *b)
{
	const struct planned *x = a, *y = b;
	int64_t order = x->at != y->at ? x->at - y->at : x->connection != y->connection ? x->connection - y->connection
						       : x->place - y->place;

	return (order > 0) - (order < 0);
}

static int ends_at(uint32_t address, int port)
{
	for (size_t host = 0; host < host_count && port >= LISTENERS && port < LISTENERS + (int)control_count; host++)
		if (hosts[host].address.s_addr == address)
			return hosts[host].receives;
	return 0;
}

int of_traffic(uint32_t source, int source_port, uint32_t destination, int destination_port)
{
	return (source_port >= FIRST_PORT && ends_at(destination, destination_port)) ||
	       (destination_port >= FIRST_PORT && ends_at(source, source_port));
}

static void set_control(int fd, int control)
{
	if (setsockopt(fd, SOL_TCP, TCP_CONGESTION, controls[control], strlen(controls[control])))
		fail("the kernel has no congestion control %s", controls[control]);
}

void traffic_start(void)
{
	int on = 1;

	qsort(plan, plan_count, sizeof *plan, sooner);
	for (size_t host = 0; host < host_count; host++) {
		if (!hosts[host].receives)
			continue;
		enter(hosts[host].node);
		for (size_t control = 0; control < control_count; control++) {
			struct sockaddr_in at = { AF_INET, htons(LISTENERS + control), hosts[host].address, { 0 } };
			struct end *listener = calloc(1, sizeof *listener);
			int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

			if (fd < 0 || !listener)
				fail("socket");
			setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
			set_control(fd, control); /* DCTCP has a receiving half too; accepted sockets inherit it */
			if (bind(fd, (void *)&at, sizeof at) || listen(fd, 4096))
				fail("listening on host %zu", host);
			*listener = (struct end){ LISTENER, host, fd };
			watch(fd, listener, EPOLLIN, 0);
		}
	}
}

static struct { int load; unsigned bytes; } *segments;
static size_t segment_count;

/* mss LOAD BYTES: the segments of a load, where they are smaller than those that fill a packet */
void add_segments(char *words)
{
	ROOM(segments, segment_count);
	if (sscanf(words, "%d %u", &segments[segment_count].load, &segments[segment_count].bytes) != 2)
		fail("mss: %s", words);
	segment_count++;
}

/* 0 if nothing is said of the load */
static unsigned mss_of(int load)
{
	for (size_t i = 0; i < segment_count; i++)
		if (segments[i].load == load)
			return segments[i].bytes;
	return 0;
}

/* The sender's own bound. It is said without options, of which timestamps take 12 bytes. */
static void bound_segments(const struct connection *c)
{
	unsigned mss = mss_of(c->load), all = mss + 12 * expected.timestamps;

	if (mss && setsockopt(c->sender.socket, SOL_TCP, TCP_MAXSEG, &all, sizeof all))
		fail("TCP_MAXSEG of connection %d", c->sender.connection);
}

/* Opens the socket; the handshake runs by itself. */
static void connect_now(struct connection *c)
{
	int on = 1, host = c->from, service = service_of_load(c->load);

	c->port = FIRST_PORT + hosts[host].ports;
	if (c->port > LAST_PORT)
		fail("host %d has no source port left", host);
	hosts[host].by_port = grow(hosts[host].by_port, sizeof(int), hosts[host].ports);
	hosts[host].by_port[hosts[host].ports++] = c->sender.connection;
	struct sockaddr_in from = { AF_INET, htons(c->port), hosts[host].address, { 0 } };
	struct sockaddr_in to = { AF_INET, htons(LISTENERS + c->control), hosts[c->to].address, { 0 } };

	enter(hosts[host].node);
	c->sender.socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->sender.socket < 0)
		fail("socket of connection %d", c->sender.connection);
	set_control(c->sender.socket, c->control);
	if (no_delay && setsockopt(c->sender.socket, SOL_TCP, TCP_NODELAY, &on, sizeof on))
		fail("TCP_NODELAY");
	/* The other end answers with the same (tcp_reflect_tos). */
	if (service && setsockopt(c->sender.socket, SOL_IP, IP_TOS, &service, sizeof service))
		fail("IP_TOS");
	bound_segments(c);
	if (bind(c->sender.socket, (void *)&from, sizeof from))
		fail("binding connection %d", c->sender.connection);
	if (connect(c->sender.socket, (void *)&to, sizeof to) && errno != EINPROGRESS)
		fail("connecting %d", c->sender.connection);
	watch(c->sender.socket, &c->sender, EPOLLOUT, 0);
	c->awaits = EPOLLOUT;
}

static int receive_window;

/* window BYTES: that each receiver offers at most; 0 leaves it to the kernel */
void set_receive_window(char *words)
{
	receive_window = atoi(words);
}

/* The first full segment sets the clamp anew from the buffer (tcp_measure_rcv_mss), so that one from a route or before any
 * data is lost. From then on it stays, unless the kernel moderates the buffer. */
static void clamp(struct connection *c)
{
	int back = 0;
	socklen_t size = sizeof back;

	c->clamped = 1;
	if (setsockopt(c->receiver.socket, SOL_TCP, TCP_WINDOW_CLAMP, &receive_window, sizeof receive_window) ||
	    getsockopt(c->receiver.socket, SOL_TCP, TCP_WINDOW_CLAMP, &back, &size) || back != receive_window)
		fail("the receiver of connection %d has window %d after %d was set", c->sender.connection, back,
		     receive_window);
}

/* expect MSS INITIAL_WINDOW TIMESTAMPS SACK ECN: of every connection as it opens; ECN 0 is never, 1 is as it may be,
 * since a SYN that is sent again does not ask for it (tcp_ecn_fallback) */
void expect_of_connections(char *words)
{
	if (sscanf(words, "%u %u %u %u %u", &expected.mss, &expected.window, &expected.timestamps, &expected.sack,
		   &expected.ecn) != 5)
		fail("expect: %s", words);
	expected.given = 1;
}

/* What sysctls, routes and socket options have set, as the connection itself reports it. */
static void verify(const struct connection *c)
{
	struct tcp_info told;
	socklen_t size = sizeof told, name_size = sizeof *controls;
	char name[sizeof *controls] = "";
	unsigned timestamps, sack, ecn, mss = mss_of(c->load);

	if (!expected.given)
		return;
	if (getsockopt(c->sender.socket, SOL_TCP, TCP_INFO, &told, &size) ||
	    getsockopt(c->sender.socket, SOL_TCP, TCP_CONGESTION, name, &name_size))
		fail("connection %d does not tell its settings", c->sender.connection);
	timestamps = !!(told.tcpi_options & TCPI_OPT_TIMESTAMPS);
	sack = !!(told.tcpi_options & TCPI_OPT_SACK);
	ecn = !!(told.tcpi_options & TCPI_OPT_ECN);
	/* DCTCP without ECN, as after a SYN that was sent again, is Reno by the name of dctcp-reno (dctcp_init). */
	if (strcmp(name, controls[c->control]) &&
	    (ecn || strcmp(name, "dctcp-reno") || strcmp(controls[c->control], "dctcp")))
		fail("connection %d has congestion control %s after %s was set", c->sender.connection, name,
		     controls[c->control]);
	mss = mss ? mss : expected.mss;
	if (told.tcpi_snd_mss != mss || timestamps != expected.timestamps || sack != expected.sack ||
	    (ecn && !expected.ecn))
		fail("connection %d has mss %u, timestamps %u, SACK %u, ECN %u after %u, %u, %u, %u were set",
		     c->sender.connection, told.tcpi_snd_mss, timestamps, sack, ecn, mss, expected.timestamps,
		     expected.sack, expected.ecn);
	/* A handshake with a lost packet begins with one segment (tcp_init_transfer). */
	if (told.tcpi_snd_cwnd != expected.window && !told.tcpi_total_retrans && told.tcpi_snd_cwnd != 1)
		fail("connection %d begins with %u segments after %u were set", c->sender.connection, told.tcpi_snd_cwnd,
		     expected.window);
}

int open_connection(int load, int from, int to, int control, nanoseconds at)
{
	struct connection *made = new_connection(load, from, to, control, at);

	connect_now(made);
	return made->sender.connection;
}

static void close_both(struct connection *c)
{
	snapshot(c);
	close(c->sender.socket);
	close(c->receiver.socket);
	c->sender.socket = c->receiver.socket = -1;
}

/* Says whether to be woken when there is room to write. */
static void await_room(struct connection *c, uint32_t events)
{
	if (c->awaits != events)
		watch(c->sender.socket, &c->sender, events, 1);
	c->awaits = events;
}

static void push(struct connection *c)
{
	static char zeros[1 << 20];

	while (c->established && (c->forever || c->written < c->to_write)) {
		size_t want = c->forever || c->to_write - c->written > (int64_t)sizeof zeros ? sizeof zeros
											    : (size_t)(c->to_write - c->written);
		ssize_t n = send(c->sender.socket, zeros, want, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN) /* reset or timed out: the connection stays as it is, with what it delivered */
			break;
		c->written += n < 0 ? 0 : n;
		if (n < (ssize_t)want) { /* there is no more room */
			await_room(c, EPOLLOUT);
			return;
		}
	}
	if (c->established && c->sender.socket >= 0)
		await_room(c, 0);
}

/* Asks to be woken when the next message is whole, or after a good deal of it. */
static void want(struct connection *c)
{
	int64_t left = c->delivered < c->count ? c->messages[c->delivered].end - c->read : WAKE_BYTES;
	int low = left < WAKE_BYTES ? left : WAKE_BYTES;

	if (receive_window && !c->clamped)
		low = 1;

	if (c->receiver.socket >= 0 && low != c->low)
		setsockopt(c->receiver.socket, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low);
	c->low = c->receiver.socket >= 0 ? low : 0;
}

int send_message(int connection, int64_t bytes, int tag)
{
	struct connection *c = connections[connection];

	c->to_write += bytes;
	ROOM(c->messages, c->count);
	c->messages[c->count++] = (struct message){ c->to_write, bytes, now() - began, tag };
	if (c->count == c->delivered + 1)
		want(c);
	push(c);
	return connection;
}

nanoseconds traffic_due(void)
{
	return plan_next < plan_count ? plan[plan_next].at : NEVER;
}

void traffic_wake(nanoseconds at)
{
	for (; plan_next < plan_count && plan[plan_next].at <= at; plan_next++) {
		struct planned *due = &plan[plan_next];
		struct connection *c = connections[due->connection];

		if (due->bytes == 0) {
			connect_now(c);
		} else if (due->bytes < 0) {
			c->forever = 1;
			push(c);
		} else {
			c->planned--;
			send_message(due->connection, due->bytes, -1);
		}
	}
}

static void accept_all(struct end *listener)
{
	struct sockaddr_in peer;
	socklen_t size = sizeof peer;
	int fd;

	while ((fd = accept4(listener->socket, (void *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		size_t host = 0, port = ntohs(peer.sin_port) - FIRST_PORT;

		while (host < host_count && hosts[host].address.s_addr != peer.sin_addr.s_addr)
			host++;
		if (host == host_count || port >= hosts[host].ports)
			fail("a program connected to a port from %d on of %s, where the file's own traffic arrives", LISTENERS,
			     inet_ntoa(hosts[listener->connection].address));
		struct connection *c = connections[hosts[host].by_port[port]];

		c->receiver.socket = fd;
		want(c);
		watch(fd, &c->receiver, EPOLLIN, 0);
		size = sizeof peer;
	}
}

static void take(struct connection *c)
{
	ssize_t n;
	nanoseconds at;

	if (c->receiver.socket < 0)
		return;
	do {
		n = recv(c->receiver.socket, NULL, MOST_READ, MSG_TRUNC);
		c->read += n > 0 ? n : 0;
	} while (n == MOST_READ);
	if (receive_window && !c->clamped && c->read)
		clamp(c);
	if (c->delivered == c->count || c->messages[c->delivered].end > c->read) {
		want(c);
		return;
	}
	at = now() - began;
	while (c->delivered < c->count && c->messages[c->delivered].end <= c->read) {
		struct message m = c->messages[c->delivered++];

		record_message(c->sender.connection, m.bytes, m.at, at);
		if (m.tag >= 0)
			rounds_delivered(m.tag, at, c->sender.connection);
	}
	if (c->delivered == c->count && c->planned == 0 && c->count && !c->forever && c->messages[c->count - 1].tag < 0) {
		c->ended = at;
		close_both(c);
	}
	want(c);
}

void traffic_ready(void *what, uint32_t events)
{
	struct end *end = what;

	if (end->what == LISTENER) {
		accept_all(end);
		return;
	}
	struct connection *c = connections[end->connection];

	if (end->what == RECEIVER) {
		take(c);
	} else if (c->sender.socket >= 0) {
		int error = 0;
		socklen_t size = sizeof error;

		if (events & (EPOLLERR | EPOLLHUP))
			getsockopt(c->sender.socket, SOL_SOCKET, SO_ERROR, &error, &size);
		if (error) { /* the connection failed; nothing more is written */
			unwatch(c->sender.socket); /* it would tell of its end for ever */
			c->established = 0;
			return;
		}
		if (!c->established)
			verify(c);
		c->established = 1;
		push(c);
	}
}

/* Ends all connections at once, so that the network becomes empty. */
void traffic_stop(void)
{
	struct linger none = { .l_onoff = 1 };

	for (size_t i = 0; i < connection_count; i++) {
		struct end *ends[] = { &connections[i]->sender, &connections[i]->receiver };

		for (int k = 0; k < 2; k++) {
			if (ends[k]->socket < 0)
				continue;
			setsockopt(ends[k]->socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
			close(ends[k]->socket);
			ends[k]->socket = -1;
		}
	}
	plan_next = plan_count;
}
