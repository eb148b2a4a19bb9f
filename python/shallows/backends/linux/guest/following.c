/* Links that follow a trace of rates. Each packet is released when the one before it has been transmitted, at the rates that it
 * has met, as in the simulator (net/wire/trace.rs).
 *
 * The shaper of such a port gets no tokens of its own. To set it anew fills its bucket, which holds one frame (tbf_change), and
 * a packet that is larger than the bucket makes it look at its queue: the shaper drops that packet (tbf_enqueue), and the
 * device asks it for another (__dev_xmit_skb). The rate of the netem behind is that at which the next frame passes. */
#define _GNU_SOURCE
#include "guest.h"
#include "netlink.h"

#include <arpa/inet.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The bucket holds a frame and a little; the packet that is too large is a tagged one (packet_extra_vlan_len_allowed). */
enum { SHAPER = 1 << 16, MORE = 2, TAG = 4, LONGEST_LOOK = 1000000 };

typedef unsigned __int128 wide;

struct piece {
	nanoseconds at;
	uint64_t rate;
	wide before; /* bits times 10^9 that the pieces before it carry */
};

struct follower {
	char port[IFNAMSIZ], wire[IFNAMSIZ];
	unsigned node, far, frame, loss, limit, index;
	long long delay;
	uint64_t seed, speed, sent;
	int raw;
	struct piece *pieces;
	size_t count;
	nanoseconds period, at, full_since;
	wide all;
	int full; /* its bucket: the link is free, and nothing waits */
};

static struct follower *followers;
static size_t follower_count;
static struct piece *pieces;
static size_t piece_count;

/* piece AT_NS BITS_A_SECOND: of the next link */
void add_piece(char *words)
{
	long long at;
	unsigned long long rate;

	if (sscanf(words, "%lld %llu", &at, &rate) != 2)
		fail("piece: %s", words);
	ROOM(pieces, piece_count);
	pieces[piece_count++] = (struct piece){ .at = at, .rate = rate };
}

/* follow NODE PORT FAR WIRE FRAME DELAY_NS LOSS SEED LIMIT PERIOD_NS: a link that follows the pieces so far; LIMIT is that of a
 * fifo below, which each change of the shaper sets, and a period of 0 is none. */
void add_follower(char *words)
{
	struct follower made = { .pieces = pieces, .count = piece_count };
	unsigned long long seed;
	long long period;
	wide sum = 0;

	if (sscanf(words, "%u %15s %u %15s %u %lld %u %llu %u %lld", &made.node, made.port, &made.far, made.wire, &made.frame,
		   &made.delay, &made.loss, &seed, &made.limit, &period) != 10 || !piece_count)
		fail("follow: %s", words);
	made.seed = seed;
	made.period = period;
	for (size_t i = 0; i < made.count; i++) {
		nanoseconds end = i + 1 < made.count ? pieces[i + 1].at : made.period ? made.period : pieces[i].at;

		pieces[i].before = sum;
		sum += (wide)(end - pieces[i].at) * pieces[i].rate;
	}
	made.all = sum;
	ROOM(followers, follower_count);
	followers[follower_count++] = made;
	pieces = NULL;
	piece_count = 0;
}

/* The last piece that begins by `at`, or before the link has carried `bits`. */
static const struct piece *last_piece(const struct follower *link, nanoseconds at, const wide *bits)
{
	size_t low = 0, high = link->count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;
		const struct piece *piece = &link->pieces[middle];

		if (bits ? piece->before < *bits : piece->at <= at)
			low = middle;
		else
			high = middle;
	}
	return &link->pieces[low];
}

/* When a packet of so many bytes has passed whose transmission begins at `now`. */
static nanoseconds passed(const struct follower *link, uint64_t bytes, nanoseconds now)
{
	nanoseconds within = link->period ? now % link->period : now, begun = now - within;
	const struct piece *piece = last_piece(link, within, NULL);
	wide wanted = piece->before + (wide)(within - piece->at) * piece->rate + (wide)bytes * 8 * 1000000000;

	if (link->period) {
		wide periods = (wanted - 1) / link->all;

		wanted -= periods * link->all;
		begun += (nanoseconds)periods * link->period;
	}
	piece = last_piece(link, 0, &wanted);
	within = piece->at + (nanoseconds)((wanted - piece->before + piece->rate - 1) / (piece->rate ? piece->rate : 1));
	return begun + within > now ? begun + within : now + 1;
}

/* Bytes that the shaper has sent. */
static uint64_t sent_by(const struct follower *link)
{
	struct look look = { .device = link->index, .handle = SHAPER };
	uint64_t bytes = 0;

	look_at(link->node, &look, 1);
	if (!look.first)
		fail("the shaper of %s is gone", link->port);
	for (; RTA_OK(look.first, look.left); look.first = RTA_NEXT(look.first, look.left)) {
		struct rtattr *inner = RTA_DATA(look.first);
		int within = RTA_PAYLOAD(look.first);

		if ((look.first->rta_type & NLA_TYPE_MASK) != TCA_STATS2)
			continue;
		for (; RTA_OK(inner, within); inner = RTA_NEXT(inner, within))
			if (inner->rta_type == TCA_STATS_BASIC)
				memcpy(&bytes, RTA_DATA(inner), sizeof bytes);
	}
	return bytes;
}

/* The wire takes a frame as long as the trace does now. A wire that loses packets draws from a new place each time. */
static void set_speed(struct follower *link, nanoseconds time)
{
	uint64_t speed = ((uint64_t)link->frame * 1000000000 + time / 2) / time;
	char words[200];

	if (!speed)
		speed = 1;
	if (speed == link->speed)
		return;
	link->speed = speed;
	if (link->loss)
		link->seed += 0x9e3779b97f4a7c15;
	snprintf(words, sizeof words, "%u %s %lld %llu -14 %u %llu", link->far, link->wire, link->delay,
		 (unsigned long long)speed, link->loss, (unsigned long long)link->seed);
	change_wire(words);
}

/* Lets a frame pass, or several packets that are no longer together. */
static void release(struct follower *link)
{
	static char packet[65536 + 2 * ETH_HLEN];
	char words[100];

	snprintf(words, sizeof words, "%u %s %x 1 %u %u -14", link->node, link->port, SHAPER, link->frame + MORE, link->limit);
	change_shaper(words);
	memset(packet, 0, ETH_HLEN);
	packet[12] = ETH_P_8021Q >> 8;
	packet[13] = ETH_P_8021Q & 0xff;
	/* The device tells that the packet was dropped, which is meant. */
	send(link->raw, packet, link->frame + ETH_HLEN + TAG, 0);
}

static void wake(struct follower *link)
{
	nanoseconds at = link->at, time = passed(link, link->frame, at) - at;
	uint64_t sent = sent_by(link), more = sent - link->sent;

	link->sent = sent;
	if (more) { /* it has found tokens in the bucket */
		link->at = passed(link, more, link->full ? link->full_since : at);
		link->full = 0;
		if (link->at > at)
			return;
		link->at = at;
	}
	set_speed(link, time);
	if (!link->full) {
		release(link);
		sent = sent_by(link);
		more = sent - link->sent;
		link->sent = sent;
		link->full = !more;
		if (more) {
			link->at = passed(link, more, at);
			return;
		}
	}
	link->full_since = at;
	link->at = at + (time < LONGEST_LOOK ? time : LONGEST_LOOK);
}

nanoseconds followers_due(void)
{
	nanoseconds due = NEVER;

	for (size_t i = 0; i < follower_count; i++)
		if (followers[i].at < due)
			due = followers[i].at;
	return due;
}

void followers_start(void)
{
	for (size_t i = 0; i < follower_count; i++) {
		struct follower *link = &followers[i];
		struct sockaddr_ll where = { .sll_family = AF_PACKET };

		enter(link->node);
		link->index = if_nametoindex(link->port);
		where.sll_ifindex = link->index;
		link->raw = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
		if (link->raw < 0 || bind(link->raw, (void *)&where, sizeof where))
			fail("a packet socket of %s", link->port);
	}
}

void followers_wake(nanoseconds at)
{
	for (size_t i = 0; i < follower_count; i++)
		while (followers[i].at <= at)
			wake(&followers[i]);
}
