/* What a plan orders of the machine before the traffic: programs, sysctls, files. */
#define _GNU_SOURCE
#include "guest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a program, which must succeed; what it prints goes to the end of a file of the results. */
static void run_into(const char *name, char *line)
{
	char *argv[64], *save = NULL;
	int count = 0, status, log;
	char path[100];
	static char *environment[] = { "PATH=/bin", NULL };
	pid_t child;

	for (char *word = strtok_r(line, " ", &save); word && count < 63; word = strtok_r(NULL, " ", &save))
		argv[count++] = word;
	argv[count] = NULL;
	if (!count)
		fail("an empty command in the plan");
	child = fork();
	if (child < 0)
		fail("fork");
	if (!child) {
		snprintf(path, sizeof path, "%s/%s", results, name);
		log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
		if (log < 0)
			_exit(126);
		dup2(log, 1);
		dup2(log, 2);
		execve(argv[0], argv, environment);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child || status) {
		char command[500] = "";
		size_t used = 0;

		for (int i = 0; i < count && used < sizeof command; i++)
			used += snprintf(command + used, sizeof command - used, " %s", argv[i]);
		fail("command failed with status %d:%s", WEXITSTATUS(status), command);
	}
	/* The host reads it while the machine runs. */
	snprintf(path, sizeof path, "%s/%s", results, name);
	log = open(path, O_WRONLY);
	if (log < 0 || fsync(log) || close(log))
		fail("%s cannot be written", name);
}

void run_program(char *line)
{
	run_into("commands.log", line);
}

/* told FILE PROGRAM ...: the kernel's settings as a program reports them. A line for each call. */
void tell_settings(char *line)
{
	char *words = strchr(line, ' ');

	if (!words)
		fail("told: %s", line);
	*words = 0;
	run_into(line, words + 1);
}

/* Writes a sysctl of a node and reads it back. */
void set_sysctl(char *line)
{
	char path[200], back[200] = "", *save = NULL, *node = strtok_r(line, " ", &save);
	char *name = strtok_r(NULL, " ", &save), *value = save;
	int fd, n;

	enter(atoi(node));
	snprintf(path, sizeof path, "/proc/sys/net/ipv4/%s", name);
	fd = open(path, O_RDWR);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		fail("sysctl net.ipv4.%s refuses %s", name, value);
	lseek(fd, 0, SEEK_SET);
	n = read(fd, back, sizeof back - 1);
	close(fd);
	back[n > 0 ? n - 1 : 0] = 0;
	for (char *c = back; *c; c++)
		if (*c == '\t')
			*c = ' ';
	if (strcmp(back, value))
		fail("sysctl net.ipv4.%s is %s after %s was written", name, back, value);
}

/* file NAME LINES, and then the lines: goes to /run. */
void write_file(char *words, FILE *plan)
{
	char name[64], path[80], *line = NULL;
	size_t room = 0;
	FILE *file;
	int lines;

	if (sscanf(words, "%63s %d", name, &lines) != 2)
		fail("file: %s", words);
	snprintf(path, sizeof path, "/run/%s", name);
	file = fopen(path, "w");
	if (!file)
		fail("%s", path);
	while (lines-- && getline(&line, &room, plan) > 0)
		fputs(line, file);
	if (ferror(file) || fclose(file)) /* in memory */
		fail("%s", path);
	free(line);
}
