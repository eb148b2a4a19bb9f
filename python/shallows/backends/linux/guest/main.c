/* Boot, the plan, the loop. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Of the machine before programs start, since iputils' ping takes a clock below 1 s for one that was not read.
 * In real time nobody wants to wait. */
#define UPTIME 10000000000LL
#define UPTIME_AT_TERMINAL 1100000000LL

static nanoseconds sample_every, trace_every, ports_every;
static int timer, traced;

static int64_t number(char *words)
{
	return strtoll(words, NULL, 10);
}

static void obey(char *line, FILE *plan)
{
	char *words = strchr(line, ' ');

	words = words ? (*words = 0, words + 1) : line + strlen(line);
	if (!strcmp(line, "run")) run_program(words);
	else if (!strcmp(line, "told")) tell_settings(words);
	else if (!strcmp(line, "file")) write_file(words, plan);
	else if (!strcmp(line, "sysctl")) set_sysctl(words);
	else if (!strcmp(line, "parameter")) set_parameter(words);
	else if (!strcmp(line, "quiet")) quiet_node(words);
	else if (!strcmp(line, "offers")) tell_offers(words);
	else if (!strcmp(line, "tap")) add_tap(words);
	else if (!strcmp(line, "counters")) add_counters(words);
	else if (!strcmp(line, "step")) add_step(words);
	else if (!strcmp(line, "adapt")) add_adaptive(words);
	else if (!strcmp(line, "wire")) add_wire(words);
	else if (!strcmp(line, "hold")) add_hold(words);
	else if (!strcmp(line, "law")) add_law(words);
	else if (!strcmp(line, "bits")) add_bits(words);
	else if (!strcmp(line, "jitter")) add_jitter(words);
	else if (!strcmp(line, "change")) add_change(words);
	else if (!strcmp(line, "meter")) verify_meter(words);
	else if (!strcmp(line, "piece")) add_piece(words);
	else if (!strcmp(line, "follow")) add_follower(words);
	else if (!strcmp(line, "attributes")) add_attributes(words);
	else if (!strcmp(line, "queue")) add_queue(words);
	else if (!strcmp(line, "class")) add_class(words);
	else if (!strcmp(line, "arrivals")) add_arrivals(words);
	else if (!strcmp(line, "host")) add_host(words);
	else if (!strcmp(line, "control")) add_control(words);
	else if (!strcmp(line, "window")) set_receive_window(words);
	else if (!strcmp(line, "expect")) expect_of_connections(words);
	else if (!strcmp(line, "mss")) add_segments(words);
	else if (!strcmp(line, "open")) add_connection(words);
	else if (!strcmp(line, "send")) add_message(words);
	else if (!strcmp(line, "datagrams")) add_datagrams(words);
	else if (!strcmp(line, "emit")) add_emission(words);
	else if (!strcmp(line, "drain")) set_drain(words);
	else if (!strcmp(line, "rounds")) add_rounds(words);
	else if (!strcmp(line, "worker")) add_worker(words);
	else if (!strcmp(line, "variable")) add_variable(words);
	else if (!strcmp(line, "directory")) set_directory(words);
	else if (!strcmp(line, "program")) add_program(words, plan);
	else if (!strcmp(line, "terminal")) set_terminal(words);
	else if (!strcmp(line, "keep")) keep_all(words);
	else if (!strcmp(line, "capture")) add_capture(words);
	else if (!strcmp(line, "seed")) seed = strtoull(words, NULL, 10);
	else if (!strcmp(line, "duration")) length = number(words);
	else if (!strcmp(line, "warmup")) warmup = number(words);
	else if (!strcmp(line, "sample")) sample_every = number(words);
	else if (!strcmp(line, "trace")) trace_every = number(words);
	else if (!strcmp(line, "ports")) ports_every = number(words);
	else if (!strcmp(line, "traced")) traced = number(words);
	else if (!strcmp(line, "nodelay")) no_delay = number(words);
	else fail("the plan has an unknown word: %s", line);
}

/* The kernel's messages go to the console, whatever their level: a machine that does not reach its end has told all. The
 * word `quiet` of the command line would leave out the place of a BUG and the name of a WARNING. */
static void tell_all_messages(void)
{
	FILE *file = fopen("/proc/sys/kernel/printk", "w");

	if (!file || fputs("8\n", file) < 0 || fclose(file))
		fail("the level of the kernel's messages");
}

/* A namespace takes as its default any control that this kernel has, as the first namespace does: others are refused there
 * unless they are allowed to everyone (tcp_set_default_congestion_control). */
static void allow_all_controls(void)
{
	FILE *file = fopen("/proc/sys/net/ipv4/tcp_available_congestion_control", "r");
	char names[1000];

	if (!file || !fgets(names, sizeof names, file) || fclose(file))
		fail("the kernel's congestion controls");
	names[strcspn(names, "\n")] = 0;
	write_line("/proc/sys/net/ipv4/tcp_allowed_congestion_control", names);
}

static void write_messages_of_kernel(void)
{
	static char text[1 << 20];
	int size = klogctl(3, text, sizeof text); /* all that the ring has */
	FILE *file;

	if (!programs_any() || size < 0)
		return;
	file = output("dmesg");
	fwrite(text, 1, size, file);
	done(file);
}

/* The commands before the line "go", or after it those that come last. */
static void read_plan(FILE *plan)
{
	static char *line;
	static size_t room;
	ssize_t n;

	while ((n = getline(&line, &room, plan)) > 0) {
		line[n - 1] = 0;
		if (!strcmp(line, "go"))
			return;
		obey(line, plan);
	}
}

static void handle(void *what, uint32_t events)
{
	switch (*(enum what *)what) {
	case OUTPUT:
		program_output(what);
		break;
	case CHILD:
		programs_reap();
		break;
	case CAPTURE:
		capture_take(what);
		break;
	case DATAGRAMS_IN:
	case DATAGRAMS_OUT:
		datagrams_ready(what);
		break;
	default:
		traffic_ready(what, events);
	}
}

/* Waits for events, until an instant at most, and handles them. Each call hands over from the kernel's process to this
 * one and back, which costs more than what it does: so the timer is set only where it is to go off at another time, which
 * also takes back that it has gone off. */
static void turn(nanoseconds until)
{
	static nanoseconds set = NEVER;
	struct itimerspec when = { .it_value = { until / 1000000000, until % 1000000000 } };
	struct epoll_event ready[64];
	int n;

	if (until != set && timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL))
		fail("timer");
	set = until;
	n = epoll_wait(loop, ready, 64, -1);
	if (n < 0 && errno != EINTR)
		fail("epoll_wait");
	for (int i = 0; i < n; i++) {
		if (ready[i].data.ptr)
			handle(ready[i].data.ptr, ready[i].events);
		else
			set = NEVER; /* it has gone off, and is set anew */
	}
}

static void work(void)
{
	nanoseconds sample_at = sample_every ? 0 : NEVER, trace_at = trace_every ? 0 : NEVER, warm_at = warmup;
	nanoseconds programs_at = 0, ports_at = ports_every ? ports_every : NEVER, told = 0;

	for (;;) {
		nanoseconds at = now() - began, next = length;

		if (at >= told + length / 1000) { /* who watches knows that time goes on */
			told = at;
			captures_flush();
			printf("guest: at %d of 1000\n", (int)(at * 1000.0 / length));
		}

		if (warm_at <= at) {
			flows_warm();
			datagrams_warm();
			count_queues();
			warm_at = NEVER;
		}
		changes_wake(at); /* before all else of an instant, as in the simulator */
		followers_wake(at);
		/* Samples bear the instant that was planned; the clock is a few nanoseconds late. */
		if (sample_at <= at) {
			sample_queues(sample_at);
			exchanges_take();
			sample_at += sample_every;
		}
		if (ports_at <= at) {
			trace_ports(ports_at);
			trace_classes(ports_at);
			ports_at += ports_every;
		}
		if (trace_at <= at) {
			flows_sample(trace_at, traced);
			if (traced) {
				datagrams_sample(trace_at);
				exchanges_trace(trace_at);
			}
			trace_at += trace_every;
		}
		if (counters_due() <= at)
			counters_take(counters_due());
		if (at >= length || programs_over())
			break;
		if (programs_at <= at) {
			programs_start();
			programs_at = NEVER;
		}
		traffic_wake(at);
		datagrams_wake(at);
		rounds_wake(at);
		nanoseconds due[] = { warm_at, sample_at, trace_at, ports_at, programs_at, traffic_due(), rounds_due(),
				      datagrams_due(), changes_due(), followers_due(), counters_due() };
		for (size_t i = 0; i < sizeof due / sizeof *due; i++)
			next = due[i] < next ? due[i] : next;
		turn(next + began);
	}
	length = now() - began;
}

int main(void)
{
	FILE *plan, *memory;
	struct rlimit files = { 65536, 65536 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (mount("proc", "/proc", "proc", 0, NULL) || mount("sys", "/sys", "sysfs", 0, NULL) ||
	    mount("run", "/run", "tmpfs", 0, NULL) || mkdir("/run/netns", 0755) || mkdir(results, 0755))
		fail("mounting");
	/* The host's directory of the run: the kernel's own working directory, so that its name, which differs between
	 * runs, is not on the kernel's command line, which the kernel mixes into its entropy. */
	if (mount("out", results, "hostfs", 0, "/proc/self/cwd"))
		fail("mounting the output");
	printf("guest: up\n");
	tell_all_messages();
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* 50 us otherwise */
	setrlimit(RLIMIT_NOFILE, &files);
	/* Pages; the machine is small, and its memory must not be what limits TCP. */
	memory = fopen("/proc/sys/net/ipv4/tcp_mem", "w");
	if (!memory || fputs("200000 400000 800000\n", memory) < 0 || fclose(memory))
		fail("tcp_mem: %s", strerror(errno));
	allow_all_controls();
	loop = epoll_create1(EPOLL_CLOEXEC);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	watch(timer, NULL, EPOLLIN, 0);

	plan = fopen("/run/out/plan", "r");
	if (!plan)
		fail("there is no plan");
	read_plan(plan);
	printf("guest: network ready\n");
	flows_start();
	queues_start();
	followers_start();
	classes_start();
	traffic_start();
	datagrams_start();
	began = (now() / 1000000 + 10) * 1000000; /* a round instant soon */
	nanoseconds least = programs_terminal() ? UPTIME_AT_TERMINAL : programs_any() ? UPTIME : 0;
	if (began < least)
		began = least;
	captures_start();
	work();
	printf("guest: traffic done\n");
	datagrams_end();
	count_queues();
	tell_changed_sysctls();
	programs_stop(turn);
	exchanges_write();
	rebindings_write();
	captures_write();
	hosts_write();
	flows_write();
	rounds_write();
	write_queues();
	classes_write();
	datagrams_drain(turn);
	datagrams_write();
	read_plan(plan);
	write_messages_of_kernel();
	printf("guest: end\n");
	stop();
}
