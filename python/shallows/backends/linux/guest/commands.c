/* What a plan orders of the machine before the traffic: programs, sysctls, files. */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static struct set { int node; char *name, *value; } *settings;
static size_t setting_count;

/* A name of TCP's is one of net.ipv4; another has dots, as in net.core.rmem_max. */
static void sysctl_path(char *path, size_t room, const char *name)
{
	size_t begin = snprintf(path, room, "/proc/sys/%s", strchr(name, '.') ? "" : "net/ipv4/");

	snprintf(path + begin, room - begin, "%s", name);
	for (char *c = path + begin; *c; c++)
		if (*c == '.')
			*c = '/';
}

/* The value with blanks for tabs and without the end of its line; empty if it cannot be read. */
static void read_sysctl(int fd, char *back, size_t room)
{
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	n = read(fd, back, room - 1);
	back[n > 0 ? n - 1 : 0] = 0;
	for (char *c = back; *c; c++)
		if (*c == '\t')
			*c = ' ';
}

/* Writes a sysctl of a node and reads it back. */
void set_sysctl(char *line)
{
	char path[200], back[200] = "", *save = NULL, *node = strtok_r(line, " ", &save);
	char *name = strtok_r(NULL, " ", &save), *value = save;
	int fd;

	sysctl_path(path, sizeof path, name);
	enter(atoi(node));
	fd = open(path, O_RDWR);
	if (fd < 0) { /* one for the whole machine */
		enter(MACHINE);
		fd = open(path, O_RDWR);
	}
	if (fd < 0)
		fail("this kernel has no sysctl %s%s", strchr(name, '.') ? "" : "net.ipv4.", name);
	if (write(fd, value, strlen(value)) < 0)
		fail("sysctl %s%s refuses %s", strchr(name, '.') ? "" : "net.ipv4.", name, value);
	read_sysctl(fd, back, sizeof back);
	close(fd);
	if (strcmp(back, value))
		fail("sysctl %s%s is %s after %s was written", strchr(name, '.') ? "" : "net.ipv4.", name, back, value);
	ROOM(settings, setting_count);
	settings[setting_count++] = (struct set){ atoi(node), strdup(name), strdup(value) };
}

/* Which sysctls programs have changed: a line for each, NODE NAME VALUE. The last that was written counts. */
void tell_changed_sysctls(void)
{
	char path[200], back[200];
	FILE *file;

	if (!programs_any())
		return;
	file = output("sysctls");
	for (size_t i = 0; i < setting_count; i++) {
		struct set *set = &settings[i];
		int fd, later = 0;

		for (size_t k = i + 1; k < setting_count; k++)
			later |= settings[k].node == set->node && !strcmp(settings[k].name, set->name);
		if (later)
			continue;
		enter(set->node);
		sysctl_path(path, sizeof path, set->name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		read_sysctl(fd, back, sizeof back);
		close(fd);
		if (strcmp(back, set->value))
			fprintf(file, "%d %s %s\n", set->node, set->name, back);
	}
	done(file);
}

/* A flag's word as a number. */
static const char *truth(const char *value)
{
	return !strcmp(value, "Y") ? "1" : !strcmp(value, "N") ? "0" : value;
}

/* parameter MODULE NAME VALUE: of a module that is built in; read back. */
void set_parameter(char *words)
{
	char module[64], name[64], value[100], path[200], back[200] = "";
	int fd;

	if (sscanf(words, "%63s %63s %99s", module, name, value) != 3)
		fail("parameter: %s", words);
	snprintf(path, sizeof path, "/sys/module/%s/parameters/%s", module, name);
	fd = open(path, O_RDWR);
	if (fd >= 0 && write(fd, value, strlen(value)) < 0)
		fail("module parameter %s.%s refuses %s", module, name, value);
	if (fd < 0) /* it was given at the boot */
		fd = open(path, O_RDONLY);
	if (fd < 0)
		fail("this kernel has no module parameter %s.%s", module, name);
	read_sysctl(fd, back, sizeof back);
	close(fd);
	if (strcmp(truth(back), truth(value)))
		fail("module parameter %s.%s is %s after %s was asked", module, name, back, value);
}

static void offer_all(FILE *file, const char *what, const char *directory, const char *prefix)
{
	char path[600];
	DIR *all = opendir(directory);
	struct dirent *entry;
	struct stat about;

	while (all && (entry = readdir(all))) {
		snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
		if (!stat(path, &about) && S_ISREG(about.st_mode))
			fprintf(file, "%s %s%s %d\n", what, prefix, entry->d_name, !!(about.st_mode & 0200));
	}
	if (all)
		closedir(all);
}

/* offers: the names of controls, file systems, devices, sysctls and module parameters that this kernel has */
void tell_offers(char *words)
{
	FILE *file = output("offers"), *controls = fopen("/proc/sys/net/ipv4/tcp_available_congestion_control", "r");
	FILE *systems = fopen("/proc/filesystems", "r"), *devices = fopen("/proc/misc", "r");
	DIR *modules = opendir("/sys/module");
	char name[40], path[600], prefix[300];
	struct dirent *entry;

	(void)words;
	while (controls && fscanf(controls, "%39s", name) == 1)
		fprintf(file, "control %s\n", name);
	if (controls)
		fclose(controls);
	while (systems && fscanf(systems, "%39s", name) == 1)
		if (strcmp(name, "nodev"))
			fprintf(file, "filesystem %s\n", name);
	if (systems)
		fclose(systems);
	while (devices && fscanf(devices, "%*d %39s", name) == 1)
		fprintf(file, "device %s\n", name);
	if (devices)
		fclose(devices);
	if (has_action("police"))
		fprintf(file, "action police\n");
	offer_all(file, "sysctl", "/proc/sys/net/ipv4", "");
	offer_all(file, "sysctl", "/proc/sys/net/core", "net.core.");
	offer_all(file, "sysctl", "/proc/sys/net/ipv6", "net.ipv6.");
	offer_all(file, "sysctl", "/proc/sys/net/mptcp", "net.mptcp.");
	while (modules && (entry = readdir(modules)))
		if (entry->d_name[0] != '.') {
			snprintf(path, sizeof path, "/sys/module/%s/parameters", entry->d_name);
			snprintf(prefix, sizeof prefix, "%s.", entry->d_name);
			offer_all(file, "parameter", path, prefix);
		}
	if (modules)
		closedir(modules);
	done(file);
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
