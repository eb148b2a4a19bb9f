/* Programs of the host machine on the hosts of the network: each host has the machine's files under a layer of its
 * own that can be written, its own name and network, and no way to the files themselves. */
#define _GNU_SOURCE
#include "programs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a program may write to one of its outputs; the rest is counted. */
#define MOST_OUTPUT (64LL << 20)
/* Time for the programs that are left to end after SIGTERM, as they close their files. */
#define GRACE 1000000000LL

struct output_pipe {
	enum what what; /* first, so that an event says what it is about */
	int from;
	FILE *to;
	long long size;
};

struct program {
	int node, server, status, terminal;
	char host[64], *command;
	pid_t process;
	nanoseconds ended; /* -1 while it runs */
	struct output_pipe outputs[2];
};

static struct program *programs;
static size_t program_count;
static FILE *ends; /* of programs as they come, for a machine that does not reach its own end */
static char **environment, *directory;
static size_t variable_count;
static enum what child_signal = CHILD;
static int children = -1;

void add_variable(char *words) /* NAME=VALUE */
{
	ROOM(environment, variable_count);
	environment[variable_count++] = strdup(words);
}

void set_directory(char *words) /* the working directory of all programs */
{
	directory = strdup(words);
}

void add_program(char *words, FILE *plan) /* NODE HOST SERVER LINES, and then the lines of the command */
{
	struct program made = { .ended = -1 };
	char *line = NULL, *command = NULL;
	size_t room = 0, size = 0;
	FILE *text = open_memstream(&command, &size);
	int lines;

	if (!text || sscanf(words, "%d %63s %d %d", &made.node, made.host, &made.server, &lines) != 4)
		fail("program: %s", words);
	while (lines-- && getline(&line, &room, plan) > 0)
		fputs(line, text);
	if (fclose(text))
		fail("out of memory for a command");
	free(line);
	if (size)
		command[size - 1] = 0; /* the last line's end */
	made.command = command;
	ROOM(programs, program_count);
	programs[program_count++] = made;
	prepare_host(made.node);
}

void set_terminal(char *words) /* of the program named last */
{
	(void)words;
	if (!program_count)
		fail("terminal: there is no program");
	programs[program_count - 1].terminal = 1;
}

int programs_terminal(void)
{
	return program_count && programs[program_count - 1].terminal;
}

/* The machine's second console as the terminal of a session of its own. */
static int take_terminal(void)
{
	int fd = open("/dev/tty1", O_RDWR);

	if (fd >= 0 && ioctl(fd, TIOCSCTTY, 0))
		_exit(125);
	return fd;
}

static _Noreturn void become(const struct program *program, const int outputs[2])
{
	char *argv[] = { "/bin/sh", "-c", program->command, NULL };
	int ends[3] = { -1, outputs[0], outputs[1] };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	prctl(PR_SET_TIMERSLACK, 50000, 0, 0, 0); /* as usual; this process has less */
	if (program->terminal)
		ends[0] = ends[1] = ends[2] = take_terminal();
	enter_host(program->node, program->host);
	if (!program->terminal)
		ends[0] = open("/dev/null", O_RDONLY);
	if (dup2(ends[0], 0) < 0 || dup2(ends[1], 1) < 0 || dup2(ends[2], 2) < 0)
		_exit(126);
	close_range(3, ~0U, 0);
	if (directory && chdir(directory) && chdir("/"))
		_exit(126);
	execve(argv[0], argv, environment);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static void start(size_t number)
{
	struct program *program = &programs[number];
	static const char *const names[2] = { "stdout", "stderr" };
	int ends[2], outputs[2];
	char name[80];

	for (int i = 0; i < 2; i++) {
		if (pipe2(ends, O_CLOEXEC))
			fail("pipe");
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		snprintf(name, sizeof name, "program%zu.%s", number, names[i]);
		program->outputs[i] = (struct output_pipe){ OUTPUT, ends[0], output(name), 0 };
		outputs[i] = ends[1];
		watch(ends[0], &program->outputs[i], EPOLLIN, 0);
	}
	program->process = fork();
	if (program->process < 0)
		fail("fork");
	if (!program->process)
		become(program, outputs);
	close(outputs[0]);
	close(outputs[1]);
}

int programs_any(void)
{
	return program_count > 0;
}

void programs_start(void)
{
	sigset_t child;

	if (!program_count)
		return;
	ROOM(environment, variable_count);
	environment[variable_count] = NULL;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (children < 0)
		fail("signalfd");
	watch(children, &child_signal, EPOLLIN, 0);
	ends = output("ends.csv");
	for (size_t i = 0; i < program_count; i++)
		start(i);
}

void program_output(void *what)
{
	struct output_pipe *pipe = what;
	static char room[65536];
	ssize_t n;

	while ((n = read(pipe->from, room, sizeof room)) > 0) {
		long long left = MOST_OUTPUT - pipe->size;

		if (left > 0)
			fwrite(room, 1, n < left ? n : left, pipe->to);
		pipe->size += n;
	}
	/* The host copies it while the machine runs, and has it if the machine comes to no end of its own. */
	if (fflush(pipe->to) || fsync(fileno(pipe->to)))
		fail("an output cannot be written: %s", strerror(errno));
	if (n < 0 && errno == EAGAIN)
		return;
	close(pipe->from); /* which takes it from epoll */
	pipe->from = -1;
}

void programs_reap(void)
{
	struct signalfd_siginfo info;
	int status;
	pid_t process;

	while (read(children, &info, sizeof info) > 0)
		;
	while ((process = waitpid(-1, &status, WNOHANG)) > 0)
		for (size_t i = 0; i < program_count; i++)
			if (programs[i].process == process && programs[i].ended < 0) { /* numbers of processes come again */
				programs[i].status = status;
				programs[i].ended = now() - began;
				if (!ends)
					continue;
				fprintf(ends, "%zu,%d,%d,%lld\n", i, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
					WIFSIGNALED(status) ? WTERMSIG(status) : 0, (long long)programs[i].ended);
				if (fflush(ends) || fsync(fileno(ends)))
					fail("the end of a program cannot be written: %s", strerror(errno));
			}
}

int programs_over(void)
{
	int waited = 0;

	for (size_t i = 0; i < program_count; i++) {
		if (programs[i].server)
			continue;
		waited = 1;
		if (programs[i].ended < 0)
			return 0;
	}
	return waited;
}

static int runs(pid_t session, pid_t top)
{
	for (size_t i = 0; i < program_count; i++)
		if (programs[i].ended < 0 && (programs[i].process == session || programs[i].process == top))
			return 1;
	return 0;
}

/* Whether any process is left: all have this one as their parent in the end. */
static int any_left(void)
{
	siginfo_t info;

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
}

void programs_stop(void (*turn)(nanoseconds until))
{
	nanoseconds end = now() + GRACE;
	FILE *file;

	if (!program_count)
		return;
	file = output("ended");
	fprintf(file, "%lld\n", (long long)length);
	done(file);
	file = output("programs.csv");
	/* Who is stopped here has not ended by itself. */
	for (size_t i = 0; i < program_count; i++)
		programs[i].server |= 2 * (programs[i].ended < 0);
	orphans_tell(runs);
	signal_processes(SIGTERM);
	while (any_left() && now() < end)
		turn(end);
	signal_processes(SIGKILL);
	end = now() + GRACE;
	while (any_left() && now() < end)
		turn(end);
	fprintf(file, "stopped,status,signal,ended_ns,stdout_bytes,stderr_bytes\n");
	for (size_t i = 0; i < program_count; i++) {
		struct program *program = &programs[i];

		for (int k = 0; k < 2; k++) {
			if (program->outputs[k].from >= 0)
				program_output(&program->outputs[k]);
			done(program->outputs[k].to);
		}
		fprintf(file, "%d,%d,%d,%lld,%lld,%lld\n", program->server >> 1,
			WIFEXITED(program->status) ? WEXITSTATUS(program->status) : -1,
			WIFSIGNALED(program->status) ? WTERMSIG(program->status) : 0, (long long)program->ended,
			program->outputs[0].size, program->outputs[1].size);
	}
	done(file);
}
