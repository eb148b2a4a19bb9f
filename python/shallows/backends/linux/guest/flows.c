/* What is told of connections and messages. */
#define _GNU_SOURCE
#include "traffic.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Members of struct tcp_info that older headers do not have, by their distance from one that they have:
 * tcpi_total_rto (16 bits) and tcpi_received_ce (32 bits). */
enum { TOTAL_RTO = offsetof(struct tcp_info, tcpi_snd_wnd) + 12, RECEIVED_CE = TOTAL_RTO + 8 };

struct done {
	int connection;
	int64_t bytes;
	nanoseconds from, to;
};

static struct done *dones;
static size_t done_count;
static FILE *trace;

void record_message(int connection, int64_t bytes, nanoseconds from, nanoseconds to)
{
	ROOM(dones, done_count);
	dones[done_count++] = (struct done){ connection, bytes, from, to };
}

void snapshot(struct connection *c)
{
	union { struct tcp_info known; char all[512]; } told = { 0 };
	struct tcp_dctcp_info dctcp = { 0 };
	socklen_t size = sizeof told;
	uint16_t timeouts;
	uint32_t marks;

	if (c->sender.socket >= 0 && !getsockopt(c->sender.socket, SOL_TCP, TCP_INFO, &told, &size)) {
		c->last = told.known;
		memcpy(&timeouts, told.all + TOTAL_RTO, sizeof timeouts);
		c->counts.segments = told.known.tcpi_data_segs_out;
		c->counts.retransmissions = told.known.tcpi_total_retrans;
		c->counts.timeouts = size >= TOTAL_RTO + sizeof timeouts ? (int64_t)timeouts : -1;
	}
	size = sizeof dctcp;
	if (c->sender.socket >= 0 && !strcmp(controls[c->control], "dctcp") &&
	    !getsockopt(c->sender.socket, SOL_TCP, TCP_CC_INFO, &dctcp, &size))
		c->alpha = dctcp.dctcp_alpha;
	size = sizeof told;
	memset(&told, 0, sizeof told);
	if (c->receiver.socket >= 0 && !getsockopt(c->receiver.socket, SOL_TCP, TCP_INFO, &told, &size)) {
		memcpy(&marks, told.all + RECEIVED_CE, sizeof marks);
		c->counts.received = told.known.tcpi_bytes_received;
		c->counts.marks = size >= RECEIVED_CE + sizeof marks ? (int64_t)marks : -1;
	}
}

void flows_start(void)
{
	trace = output("trace.csv");
	fprintf(trace, "time_ns,flow,cwnd,ssthresh,srtt_us,alpha,delivered,flight\n");
}

void flows_warm(void)
{
	for (size_t i = 0; i < connection_count; i++) {
		struct connection *c = connections[i];

		snapshot(c);
		c->at_warmup = c->counts;
		c->samples = c->srtt_sum = c->cwnd_sum = 0;
	}
}

void flows_sample(nanoseconds at, int write)
{
	for (size_t i = 0; i < connection_count; i++) {
		struct connection *c = connections[i];

		if (c->sender.socket < 0 || !c->established)
			continue;
		snapshot(c);
		c->samples++;
		c->srtt_sum += c->last.tcpi_rtt;
		c->cwnd_sum += c->last.tcpi_snd_cwnd;
		if (write)
			fprintf(trace, "%lld,%zu,%u,%u,%u,%u,%lld,%u\n", (long long)at, i, c->last.tcpi_snd_cwnd,
				c->last.tcpi_snd_ssthresh, c->last.tcpi_rtt, c->alpha, (long long)c->counts.received,
				c->last.tcpi_unacked);
	}
}

long timeouts_of_load(int load)
{
	long sum = 0;

	for (size_t i = 0; i < connection_count; i++)
		if (connections[i]->load == load) {
			snapshot(connections[i]);
			if (connections[i]->counts.timeouts < 0)
				return -1;
			sum += connections[i]->counts.timeouts;
		}
	return sum;
}

static void write_counts(FILE *file, const struct counts *counts)
{
	fprintf(file, "%lld,%lld,%lld,%lld,%lld,", (long long)counts->received, (long long)counts->segments,
		(long long)counts->retransmissions, (long long)counts->timeouts, (long long)counts->marks);
}

static void write_flows(void)
{
	FILE *file = output("flows.csv");

	fprintf(file, "load,from,to,control,opened_ns,ended_ns,received_before,segments_before,retransmissions_before,"
		      "timeouts_before,marks_before,received,segments,retransmissions,timeouts,marks,cwnd,ssthresh,mss,alpha,"
		      "samples,srtt_sum_us,cwnd_sum,forever,written\n");
	for (size_t i = 0; i < connection_count; i++) {
		struct connection *c = connections[i];

		snapshot(c);
		fprintf(file, "%d,%d,%d,%d,%lld,%lld,", c->load, c->from, c->to, c->control, (long long)c->opened,
			(long long)c->ended);
		write_counts(file, &c->at_warmup);
		write_counts(file, &c->counts);
		fprintf(file, "%u,%u,%u,%u,%llu,%llu,%llu,%d,%lld\n", c->last.tcpi_snd_cwnd, c->last.tcpi_snd_ssthresh,
			c->last.tcpi_snd_mss, c->alpha, (unsigned long long)c->samples, (unsigned long long)c->srtt_sum,
			(unsigned long long)c->cwnd_sum, (int)c->forever, (long long)c->to_write);
	}
	done(file);
}

static void write_messages(void)
{
	FILE *file = output("messages.csv");

	fprintf(file, "flow,bytes,start_ns,end_ns\n");
	for (size_t i = 0; i < done_count; i++)
		fprintf(file, "%d,%lld,%lld,%lld\n", dones[i].connection, (long long)dones[i].bytes,
			(long long)dones[i].from, (long long)dones[i].to);
	for (size_t i = 0; i < connection_count; i++)
		for (size_t j = connections[i]->delivered; j < connections[i]->count; j++)
			fprintf(file, "%zu,%lld,%lld,-1\n", i, (long long)connections[i]->messages[j].bytes,
				(long long)connections[i]->messages[j].at);
	done(file);
}

void flows_write(void)
{
	done(trace);
	write_flows();
	write_messages();
}
