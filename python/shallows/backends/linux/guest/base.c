/* What every part stands on: how the guest fails and stops, its clock, its events, its files of results. */
#define _GNU_SOURCE
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/reboot.h>
#include <time.h>
#include <unistd.h>

nanoseconds began, length, warmup;
uint64_t seed;
int no_delay;
const char *const results = "/run/out";
int loop;

void stop(void)
{
	fflush(NULL);
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

void fail(const char *format, ...)
{
	char text[600];
	va_list words;
	FILE *file;
	int error = errno;

	va_start(words, format);
	vsnprintf(text, sizeof text, format, words);
	va_end(words);
	printf("guest: %s (%s)\n", text, strerror(error));
	if ((file = fopen("/run/out/failed", "w"))) {
		fprintf(file, "%s\n", text);
		fclose(file);
	}
	stop();
}

void *grow(void *array, size_t size, size_t count)
{
	if (count & (count - 1)) /* it was grown to the next power of two before */
		return array;
	array = realloc(array, size * (count ? 2 * count : 1));
	if (!array)
		fail("out of memory for %zu elements of %zu bytes", count, size);
	return array;
}

FILE *output(const char *name)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", results, name);
	file = fopen(path, "w");
	if (!file)
		fail("%s cannot be written: %s", name, strerror(errno));
	return file;
}

void write_line(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fprintf(file, "%s\n", text) < 0 || fclose(file))
		fail("%s is not written: %s", path, strerror(errno));
}

void done(FILE *file)
{
	/* Synchronised, since the host has room or not only when pages are written back. */
	if (ferror(file) || fflush(file) || fsync(fileno(file)) || fclose(file))
		fail("results cannot be written: %s", strerror(errno));
}

nanoseconds now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

void enter(int node)
{
	static int entered = MACHINE, machine = -1;
	char path[64];
	int fd;

	if (node == entered)
		return;
	if (machine < 0)
		machine = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "/run/netns/n%d", node);
	fd = node == MACHINE ? machine : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail("network namespace of node %d", node);
	if (fd != machine)
		close(fd);
	entered = node;
}

void watch(int descriptor, void *what, uint32_t events, int again)
{
	struct epoll_event event = { .events = events, .data.ptr = what };

	if (epoll_ctl(loop, again ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event))
		fail("epoll");
}

void unwatch(int descriptor)
{
	if (epoll_ctl(loop, EPOLL_CTL_DEL, descriptor, NULL))
		fail("epoll");
}
