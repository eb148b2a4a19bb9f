/* Processes that programs leave behind: those that belong to no program that still runs. */
#define _GNU_SOURCE
#include "programs.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KERNEL_THREAD = 0x200000 }; /* PF_KTHREAD */

struct process {
	pid_t number, parent, session;
	unsigned flags;
	char state;
};

static int read_process(const char *number, struct process *found)
{
	char path[300], text[1000] = "", *after;
	FILE *file;
	size_t n;

	snprintf(path, sizeof path, "/proc/%s/stat", number);
	file = fopen(path, "r");
	if (!file)
		return 0;
	n = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[n] = 0;
	after = strrchr(text, ')'); /* a name may have blanks and brackets */
	found->number = atoi(number);
	return after && sscanf(after + 1, " %c %d %*d %d %*d %*d %u", &found->state, &found->parent, &found->session,
			       &found->flags) == 4;
}

static void each_process(void (*take)(const struct process *process, void *what), void *what)
{
	DIR *all = opendir("/proc");
	struct dirent *entry;
	struct process found;

	if (!all)
		fail("processes");
	while ((entry = readdir(all)))
		if (isdigit((unsigned char)entry->d_name[0]) && read_process(entry->d_name, &found) && found.number > 1 &&
		    !(found.flags & KERNEL_THREAD) && found.state != 'Z')
			take(&found, what);
	closedir(all);
}

/* Its ancestor that this process has started or taken over. */
static pid_t top_of(struct process process)
{
	char number[20];

	while (process.parent > 1) {
		snprintf(number, sizeof number, "%d", process.parent);
		if (!read_process(number, &process))
			break;
	}
	return process.number;
}

static int node_of(pid_t process)
{
	char path[80];
	struct stat own, of_node;

	snprintf(path, sizeof path, "/proc/%d/ns/net", process);
	if (stat(path, &own))
		return -1;
	for (int node = 0;; node++) {
		snprintf(path, sizeof path, "/run/netns/n%d", node);
		if (stat(path, &of_node))
			return -1;
		if (of_node.st_ino == own.st_ino)
			return node;
	}
}

static int (*runs_still)(pid_t session, pid_t top);

static void tell(const struct process *process, void *what)
{
	char path[80], command[200] = "";
	FILE *file;
	size_t n;

	if (runs_still(process->session, top_of(*process)))
		return;
	snprintf(path, sizeof path, "/proc/%d/cmdline", process->number);
	file = fopen(path, "r");
	n = file ? fread(command, 1, sizeof command - 1, file) : 0;
	if (file)
		fclose(file);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)command[i] < ' ')
			command[i] = ' ';
	fprintf(what, "%d %s\n", node_of(process->number), command);
}

/* Writes a line for each, NODE COMMAND. `runs` says whether a program that has not ended has this session or process. */
void orphans_tell(int (*runs)(pid_t session, pid_t top))
{
	FILE *file = output("orphans");

	runs_still = runs;
	each_process(tell, file);
	done(file);
}

static void send_to(const struct process *process, void *what)
{
	kill(process->number, *(int *)what);
}

void signal_processes(int number)
{
	each_process(send_to, &number);
}
