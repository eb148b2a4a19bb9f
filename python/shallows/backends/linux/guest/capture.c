/* Captures: the packets that ports send, and that hosts receive, as pcapng files with times in nanoseconds since the
 * traffic began. A packet socket sees a packet when its port takes it from the queue, and when it leaves the wire.
 *
 * Source of the format: draft-ietf-opsawg-pcapng. */
#define _GNU_SOURCE
#include "programs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Bytes of a packet that are kept, as many as headers have and some of what follows. */
enum { KEPT = 256, RECEIVE_BUFFER = 64 << 20 };

enum { SECTION = 0x0A0D0D0A, INTERFACE = 1, PACKET = 6, END = 0, NAME = 2, RESOLUTION = 9, FLAGS = 2 };

/* A packet socket, which is an interface of its file. */
struct tap {
	enum what what; /* first, so that an event says what it is about */
	int socket, arrivals;
	uint32_t interface;
	struct capture *capture;
};

struct capture {
	int number;
	uint32_t interfaces;
	FILE *file;
};

static struct capture **captures;
static struct tap **taps; /* the kernel holds pointers to them */
static size_t capture_count, tap_count;
static nanoseconds real_began;

static void put32(FILE *file, uint32_t value)
{
	fwrite(&value, sizeof value, 1, file);
}

static void put_option(FILE *file, uint16_t code, const void *data, uint16_t size)
{
	static const char zeros[4];

	fwrite(&code, 2, 1, file);
	fwrite(&size, 2, 1, file);
	fwrite(data, 1, size, file);
	fwrite(zeros, 1, -size & 3, file);
}

static void begin_file(FILE *file)
{
	put32(file, SECTION);
	put32(file, 28);
	put32(file, 0x1A2B3C4D);
	put32(file, 1); /* version 1.0 */
	put32(file, UINT32_MAX); /* a length that is not told */
	put32(file, UINT32_MAX);
	put32(file, 28);
}

static void begin_interface(FILE *file, const char *port)
{
	uint32_t name = 4 + ((strlen(port) + 3) & ~3U), size = 16 + name + 8 + 4 + 4;
	uint8_t nanosecond = 9;

	put32(file, INTERFACE);
	put32(file, size);
	put32(file, 1); /* Ethernet */
	put32(file, KEPT);
	put_option(file, NAME, port, strlen(port));
	put_option(file, RESOLUTION, &nanosecond, 1);
	put32(file, END);
	put32(file, size);
}

static struct capture *capture_of(int number)
{
	char name[40];

	for (size_t i = 0; i < capture_count; i++)
		if (captures[i]->number == number)
			return captures[i];
	struct capture *made = calloc(1, sizeof *made);

	if (!made)
		fail("out of memory for a capture");
	made->number = number;
	snprintf(name, sizeof name, "capture%d.pcapng", number);
	made->file = output(name);
	begin_file(made->file);
	ROOM(captures, capture_count);
	return captures[capture_count++] = made;
}

void add_capture(char *words) /* CAPTURE NODE DEVICE PORT ARRIVALS; all of a capture before the traffic begins */
{
	struct tap *made = calloc(1, sizeof *made);
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	char device[IFNAMSIZ], port[150];
	int number, node, on = 1, room = RECEIVE_BUFFER;

	if (!made || sscanf(words, "%d %d %15s %149s %d", &number, &node, device, port, &made->arrivals) != 5)
		fail("capture: %s", words);
	enter(node);
	made->what = CAPTURE;
	made->socket = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	at.sll_ifindex = if_nametoindex(device);
	if (made->socket < 0 || !at.sll_ifindex || setsockopt(made->socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
	    setsockopt(made->socket, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) ||
	    bind(made->socket, (void *)&at, sizeof at))
		fail("capturing on %s", port);
	made->capture = capture_of(number);
	made->interface = made->capture->interfaces++;
	begin_interface(made->capture->file, port);
	watch(made->socket, made, EPOLLIN, 0);
	ROOM(taps, tap_count);
	taps[tap_count++] = made;
}

void captures_start(void)
{
	struct timespec real;

	clock_gettime(CLOCK_REALTIME, &real);
	real_began = real.tv_sec * 1000000000LL + real.tv_nsec + (began - now());
	captures_flush();
}

static void write_packet(const struct tap *tap, nanoseconds at, const char *data, uint32_t length)
{
	uint32_t kept = length < KEPT ? length : KEPT, padded = (kept + 3) & ~3U, size = 28 + padded + 8 + 4 + 4;
	uint32_t flags = tap->arrivals ? 1 : 2; /* inbound, outbound */
	FILE *file = tap->capture->file;
	static const char zeros[4];

	put32(file, PACKET);
	put32(file, size);
	put32(file, tap->interface);
	put32(file, (uint64_t)at >> 32);
	put32(file, at);
	put32(file, kept);
	put32(file, length);
	fwrite(data, 1, kept, file);
	fwrite(zeros, 1, padded - kept, file);
	put_option(file, FLAGS, &flags, sizeof flags);
	put32(file, END);
	put32(file, size);
}

void capture_take(void *what)
{
	struct tap *tap = what;
	char data[KEPT], control[CMSG_SPACE(sizeof(struct timespec))];
	struct sockaddr_ll from;
	struct iovec part = { data, sizeof data };

	for (;;) {
		struct msghdr message = { &from, sizeof from, &part, 1, control, sizeof control, 0 };
		ssize_t length = recvmsg(tap->socket, &message, MSG_TRUNC);
		struct cmsghdr *first = CMSG_FIRSTHDR(&message);
		struct timespec at;

		if (length < 0)
			return;
		if (from.sll_pkttype != PACKET_OUTGOING || !first || first->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&at, CMSG_DATA(first), sizeof at);
		write_packet(tap, at.tv_sec * 1000000000LL + at.tv_nsec - real_began, data, length);
	}
}

/* For a machine that does not reach its own end. */
void captures_flush(void)
{
	for (size_t i = 0; i < capture_count; i++)
		if (fflush(captures[i]->file) || fsync(fileno(captures[i]->file)))
			fail("a capture cannot be written: %s", strerror(errno));
}

void captures_write(void)
{
	for (size_t i = 0; i < tap_count; i++) {
		struct tpacket_stats stats;
		socklen_t size = sizeof stats;

		capture_take(taps[i]);
		if (!getsockopt(taps[i]->socket, SOL_PACKET, PACKET_STATISTICS, &stats, &size) && stats.tp_drops)
			fail("a capture missed %u packets", stats.tp_drops);
		close(taps[i]->socket); /* which takes it from epoll */
	}
	for (size_t i = 0; i < capture_count; i++)
		done(captures[i]->file);
}
