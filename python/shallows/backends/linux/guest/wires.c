/* Wires: the netem at the far end of a link, and those behind it that make packets late. What was set is read back. */
#define _GNU_SOURCE
#include "guest.h"
#include "netlink.h"

#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* TCA_NETEM_PRNG_SEED, which older headers do not have. */
enum { NETEM_SEED = 14, WIRE = 1 << 16, HOLD = 2 << 16, JITTER = 3 << 16, BITS = 4 << 16, BAND = 0x40 };

/* A table from which netem draws delays: its entries, and the largest of them. */
enum { ENTRIES = 16384, LARGEST = 32767 };

/* Losses of a wire in bursts (Gilbert and Elliott): chances of 2^32 - 1 that one begins, that it ends, that a packet in it
 * arrives. */
struct bursts {
	int any;
	unsigned begin, end, kept;
};

static void verify_bursts(const struct rtattr *model, const char *device, unsigned loss, const struct bursts *bursts)
{
	const struct rtattr *inner = model ? RTA_DATA(model) : NULL;
	struct tc_netem_gemodel set;

	if (!bursts->any && !model)
		return;
	if (!bursts->any || !model || (inner->rta_type & NLA_TYPE_MASK) != NETEM_LOSS_GE ||
	    RTA_PAYLOAD(inner) < sizeof set)
		fail("netem on %s has another model of losses than was set", device);
	memcpy(&set, RTA_DATA(inner), sizeof set);
	if (set.p != bursts->begin || set.r != bursts->end || set.h != bursts->kept || set.k1 != loss)
		fail("netem on %s has bursts of losses with p %u r %u h %u k1 %u after %u %u %u %u were set", device, set.p, set.r,
		     set.h, set.k1, bursts->begin, bursts->end, bursts->kept, loss);
}

/* The netem of a wire as the kernel tells it must be what was set. */
static void verify_wire(int fd, unsigned index, const char *device, long long delay, unsigned long long rate,
			unsigned loss, unsigned long long seed, const struct bursts *bursts)
{
	struct rtattr *all = options_of(fd, index, WIRE);
	size_t fixed = sizeof(struct tc_netem_qopt);
	int wide = rate > UINT32_MAX;
	struct tc_netem_qopt set;
	uint64_t back;

	if (!all || RTA_PAYLOAD(all) < sizeof set)
		fail("netem on %s does not tell its settings", device);
	memcpy(&set, RTA_DATA(all), sizeof set);
	back = number_in(among(fixed, fd, index, WIRE, TCA_NETEM_LATENCY64), 8);
	if ((long long)back != delay)
		fail("netem on %s delays by %llu ns after %lld were set", device, (unsigned long long)back, delay);
	back = number_in(among(fixed, fd, index, WIRE, wide ? TCA_NETEM_RATE64 : TCA_NETEM_RATE), wide ? 8 : 4);
	if (back != rate)
		fail("netem on %s has rate %llu after %llu bytes a second was set", device, (unsigned long long)back, rate);
	back = number_in(among(fixed, fd, index, WIRE, NETEM_SEED), 8);
	if (set.loss != (bursts->any ? 0 : loss) || ((loss || bursts->any) && back != seed))
		fail("netem on %s loses %u of 2^32 from seed %llu after %u from %llu was set", device, set.loss,
		     (unsigned long long)back, loss, seed);
	verify_bursts(among(fixed, fd, index, WIRE, TCA_NETEM_LOSS), device, loss, bursts);
}

/* NODE DEVICE DELAY_NS BYTES_A_SECOND OVERHEAD LOSS SEED [BEGIN END KEPT]: makes or changes the netem of a wire, for packets
 * of OVERHEAD more bytes than the device counts. It loses LOSS of 2^32 - 1 packets, drawn from SEED; with the last three
 * numbers it does so outside bursts, which keep KEPT. A change begins outside a burst. tc cuts delays to microseconds. */
static void set_wire(const char *words, int flags)
{
	char device[IFNAMSIZ];
	unsigned node, index, loss;
	long long delay;
	unsigned long long rate, seed;
	int fd, overhead, given;
	union request request;
	struct rtattr *options, *model;
	struct bursts bursts = { 0 };
	struct tc_netem_qopt netem = { .limit = 1000000 };
	struct tc_netem_rate speed;

	given = sscanf(words, "%u %15s %lld %llu %d %u %llu %u %u %u", &node, device, &delay, &rate, &overhead, &loss, &seed,
		       &bursts.begin, &bursts.end, &bursts.kept);
	if (given != 7 && given != 10)
		fail("wire: %s", words);
	bursts.any = given == 10;
	netem.loss = bursts.any ? 0 : loss;
	fd = connect_netlink(node);
	index = if_nametoindex(device);
	speed = (struct tc_netem_rate){ .rate = rate > UINT32_MAX ? UINT32_MAX : rate, .packet_overhead = overhead };
	begin(&request, RTM_NEWQDISC, NLM_F_ACK | flags, index, TC_H_ROOT, WIRE);
	put(&request, TCA_KIND, "netem", sizeof "netem");
	options = put(&request, TCA_OPTIONS, &netem, sizeof netem);
	put(&request, TCA_NETEM_LATENCY64, &delay, sizeof delay);
	put(&request, TCA_NETEM_RATE, &speed, sizeof speed);
	if (rate > UINT32_MAX)
		put(&request, TCA_NETEM_RATE64, &rate, sizeof rate);
	if (bursts.any) {
		struct tc_netem_gemodel chances = { .p = bursts.begin, .r = bursts.end, .h = bursts.kept, .k1 = loss };

		model = put(&request, TCA_NETEM_LOSS | NLA_F_NESTED, NULL, 0);
		put(&request, NETEM_LOSS_GE, &chances, sizeof chances);
		end(&request, model);
	}
	if (loss || bursts.any)
		put(&request, NETEM_SEED, &seed, sizeof seed);
	end(&request, options);
	order(fd, &request, "netem", device);
	verify_wire(fd, index, device, delay, rate, loss, seed, &bursts);
	close(fd);
}

/* wire NODE DEVICE DELAY_NS BYTES_A_SECOND OVERHEAD LOSS SEED [BEGIN END KEPT] */
void add_wire(char *words)
{
	set_wire(words, NLM_F_CREATE | NLM_F_EXCL);
}

/* The same of a wire that is there: packets on it keep their times. */
void change_wire(char *words)
{
	set_wire(words, 0);
}

/* The same, and the packets on the wire are lost: it is made anew. */
void cut_wire(char *words)
{
	char device[IFNAMSIZ];
	union request request;
	unsigned node;
	int fd;

	if (sscanf(words, "%u %15s", &node, device) != 2)
		fail("cut: %s", words);
	wire_ends(node, device);
	fd = connect_netlink(node);
	begin(&request, RTM_DELQDISC, NLM_F_ACK, if_nametoindex(device), TC_H_ROOT, 0);
	order(fd, &request, "the end of a wire", device);
	close(fd);
	add_wire(words);
}

/* A netem that makes packets late, below the discipline `parent`: by entries of a table, of which 8192 are `scale`
 * (tabledist). With a rate that takes no time packets keep their order; without one they overtake each other. */
static void add_late(unsigned node, const char *device, unsigned parent, unsigned handle, long long scale, int kept,
		     const int16_t *table, unsigned long long seed)
{
	unsigned long long rate = kept ? 1000000000000000ULL : 0; /* bytes a second: a packet takes 0 ns */
	struct tc_netem_qopt netem = { .limit = 1000000 };
	struct tc_netem_rate speed = { .rate = kept ? UINT32_MAX : 0 };
	size_t fixed = sizeof netem;
	long long none = 0;
	union request request;
	struct rtattr *options;
	unsigned index;
	int fd;

	fd = connect_netlink(node);
	index = if_nametoindex(device);
	begin(&request, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, index, parent | 1, handle);
	put(&request, TCA_KIND, "netem", sizeof "netem");
	options = put(&request, TCA_OPTIONS, &netem, sizeof netem);
	put(&request, TCA_NETEM_LATENCY64, &none, sizeof none);
	put(&request, TCA_NETEM_JITTER64, &scale, sizeof scale);
	if (kept) {
		put(&request, TCA_NETEM_RATE, &speed, sizeof speed);
		put(&request, TCA_NETEM_RATE64, &rate, sizeof rate);
	}
	put(&request, TCA_NETEM_DELAY_DIST, table, ENTRIES * sizeof *table);
	put(&request, NETEM_SEED, &seed, sizeof seed);
	end(&request, options);
	order(fd, &request, "netem that makes packets late", device);
	if (number_in(among(fixed, fd, index, handle, TCA_NETEM_JITTER64), 8) != (uint64_t)scale ||
	    number_in(among(fixed, fd, index, handle, NETEM_SEED), 8) != seed ||
	    number_in(among(fixed, fd, index, handle, TCA_NETEM_RATE64), 8) != rate)
		fail("netem on %s does not make packets late as it was set", device);
	close(fd);
}

/* hold NODE DEVICE PARENT SHARE MOST_NS SEED
 *
 * SHARE of 16384 packets wait at the end of the wire, for times spread evenly up to MOST_NS, and the others overtake them. */
void add_hold(char *words)
{
	static int16_t table[ENTRIES];
	char device[IFNAMSIZ];
	unsigned node, parent, share;
	long long most;
	unsigned long long seed;

	if (sscanf(words, "%u %15s %x %u %lld %llu", &node, device, &parent, &share, &most, &seed) != 6 || share > ENTRIES)
		fail("hold: %s", words);
	memset(table, 0, sizeof table);
	for (unsigned i = 0; i < share; i++)
		table[i] = (long long)LARGEST * (2 * i + 1) / (2 * share);
	add_late(node, device, parent, HOLD, most / 4, 0, table, seed);
}

static int16_t (*laws)[ENTRIES];
static size_t law_count;

/* law VALUE ...: the times of a distribution, the shortest first, as parts of 8192 of a scale; the next number */
void add_law(char *words)
{
	char *end;

	ROOM(laws, law_count);
	for (int i = 0; i < ENTRIES; i++, words = end) {
		long value = strtol(words, &end, 10);

		if (end == words || value < 0 || value > LARGEST)
			fail("law %zu: its value %d", law_count, i);
		laws[law_count][i] = value;
	}
	law_count++;
}

/* jitter NODE DEVICE SCALE_NS KEPT SEED LAW: of every packet at the end of the wire; those that are held back are so after
 * it. */
void add_jitter(char *words)
{
	char device[IFNAMSIZ];
	unsigned node, law;
	int kept;
	long long scale;
	unsigned long long seed;

	if (sscanf(words, "%u %15s %lld %d %llu %u", &node, device, &scale, &kept, &seed, &law) != 6 || law >= law_count)
		fail("jitter: %s", words);
	add_late(node, device, WIRE, JITTER, scale, kept, laws[law], seed);
}

/* The band of a discipline of priorities: a netem that loses a share. */
static void add_band(int fd, unsigned index, const char *device, unsigned band, unsigned loss, unsigned long long seed)
{
	struct tc_netem_qopt netem = { .limit = 1000000, .loss = loss }, set;
	unsigned handle = (BAND + band) << 16;
	union request request;
	struct rtattr *options;

	begin(&request, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, index, BITS | (band + 1), handle);
	put(&request, TCA_KIND, "netem", sizeof "netem");
	options = put(&request, TCA_OPTIONS, &netem, sizeof netem);
	put(&request, NETEM_SEED, &seed, sizeof seed);
	end(&request, options);
	order(fd, &request, "netem for wrong bits", device);
	options = options_of(fd, index, handle);
	if (!options || RTA_PAYLOAD(options) < sizeof set)
		fail("netem on %s does not tell its settings", device);
	memcpy(&set, RTA_DATA(options), sizeof set);
	if (set.loss != loss || number_in(among(sizeof set, fd, index, handle, NETEM_SEED), 8) != seed)
		fail("netem on %s does not lose packets with wrong bits as it was set", device);
}

/* Sends packets whose length has `value` in the bits of `mask` to a band, unless an earlier filter has. The length is in the
 * last two bytes of the first word of the IP header. */
static void add_filter(int fd, unsigned index, const char *device, unsigned band, unsigned value, unsigned mask)
{
	struct { struct tc_u32_sel head; struct tc_u32_key key; } choice = {
		.head = { .flags = TC_U32_TERMINAL, .nkeys = 1 }, .key = { .mask = htonl(mask), .val = htonl(value) },
	};
	uint32_t target = BITS | (band + 1);
	union request request;
	struct rtattr *options;

	begin(&request, RTM_NEWTFILTER, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, index, BITS, 0);
	request.tc.tcm_info = TC_H_MAKE((band + 1) << 16, htons(ETH_P_IP));
	put(&request, TCA_KIND, "u32", sizeof "u32");
	options = put(&request, TCA_OPTIONS, NULL, 0);
	put(&request, TCA_U32_CLASSID, &target, sizeof target);
	put(&request, TCA_U32_SEL, &choice, sizeof choice);
	end(&request, options);
	order(fd, &request, "a filter by length", device);
}

/* bits NODE DEVICE PARENT SEED VALUE:MASK:LOSS ...: packets with a wrong bit are lost at the end of the wire, by their length;
 * each band draws from a seed of its own. */
void add_bits(char *words)
{
	char device[IFNAMSIZ];
	unsigned node, parent, index, value[TCQ_PRIO_BANDS], mask[TCQ_PRIO_BANDS], loss[TCQ_PRIO_BANDS];
	unsigned long long seed;
	struct tc_prio_qopt bands = { 0 };
	union request request;
	int fd, used;

	if (sscanf(words, "%u %15s %x %llu%n", &node, device, &parent, &seed, &used) != 4)
		fail("bits: %s", words);
	for (char *at = words + used; bands.bands < TCQ_PRIO_BANDS; bands.bands++, at += used)
		if (sscanf(at, " %u:%u:%u%n", &value[bands.bands], &mask[bands.bands], &loss[bands.bands], &used) != 3)
			break;
	if (bands.bands < 2)
		fail("bits: %s", words);
	memset(bands.priomap, bands.bands - 1, sizeof bands.priomap);
	fd = connect_netlink(node);
	index = if_nametoindex(device);
	begin(&request, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, index, parent | 1, BITS);
	put(&request, TCA_KIND, "prio", sizeof "prio");
	put(&request, TCA_OPTIONS, &bands, sizeof bands);
	order(fd, &request, "prio", device);
	for (int band = 0; band < bands.bands; band++) {
		add_band(fd, index, device, band, loss[band], seed + band);
		add_filter(fd, index, device, band, value[band], mask[band]);
	}
	close(fd);
}
