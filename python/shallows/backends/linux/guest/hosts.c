/* The files that programs see: the machine's, read-only, under a layer in memory for each host. */
#define _GNU_SOURCE
#include "programs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES "/run/machine"

static int prepared[4096];
static int keeps;

/* What root may do here: all that concerns its own files, processes and network. Not: mount, make devices, load
 * modules, read memory, trace other programs, stop the machine, open files by handle. */
static const int ALLOWED[] = { CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID,
			       CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_NET_BROADCAST, CAP_NET_ADMIN, CAP_NET_RAW,
			       CAP_IPC_LOCK, CAP_IPC_OWNER, CAP_SYS_CHROOT, CAP_SYS_NICE, CAP_SYS_RESOURCE,
			       CAP_SYS_TTY_CONFIG, CAP_SETFCAP, CAP_BPF };

static const struct { const char *name; int major, minor; } DEVICES[] = {
	{ "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 }, { "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 },
};

static const struct { const char *name, *to; } LINKS[] = {
	{ "fd", "/proc/self/fd" }, { "stdin", "/proc/self/fd/0" }, { "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" }, { "ptmx", "pts/ptmx" },
};

static void mounted(const char *what, const char *where, const char *kind, unsigned long flags, const char *options)
{
	mkdir(where, 0755);
	if (mount(what, where, kind, flags, options))
		fail("mounting %s on %s (is CONFIG_OVERLAY_FS in this kernel?)", kind, where);
}

/* Whether the kernel has packets by way of a program. */
static int has_tun(void)
{
	FILE *file = fopen("/proc/misc", "r");
	char line[100];
	int found = 0;

	while (file && fgets(line, sizeof line, file))
		found |= strstr(line, " tun\n") != NULL;
	if (file)
		fclose(file);
	return found;
}

/* quiet NODE: devices that are made from now on have no version 6 of IP. The network of the file has version 4, and a device
 * of version 6 sends packets unasked. A namespace does not inherit this (addrconf_init_net). */
void quiet_node(char *words)
{
	enter(atoi(words));
	if (!access(VERSION_6, F_OK))
		write_line(VERSION_6, "1");
	enter(MACHINE);
}

static void make_devices(const char *top)
{
	char path[100], to[200];

	snprintf(path, sizeof path, "%.80s/dev", top);
	mounted("dev", path, "tmpfs", MS_NOSUID, "mode=755");
	for (size_t i = 0; i < sizeof DEVICES / sizeof *DEVICES; i++) {
		snprintf(to, sizeof to, "%s/%s", path, DEVICES[i].name);
		if (mknod(to, S_IFCHR | 0666, makedev(DEVICES[i].major, DEVICES[i].minor)) || chmod(to, 0666))
			fail("making %s", to);
	}
	for (size_t i = 0; i < sizeof LINKS / sizeof *LINKS; i++) {
		snprintf(to, sizeof to, "%s/%s", path, LINKS[i].name);
		if (symlink(LINKS[i].to, to))
			fail("making %s", to);
	}
	if (has_tun()) {
		snprintf(to, sizeof to, "%s/net", path);
		mkdir(to, 0755);
		snprintf(to, sizeof to, "%s/net/tun", path);
		if (mknod(to, S_IFCHR | 0666, makedev(10, 200)) || chmod(to, 0666))
			fail("making %s", to);
	}
	snprintf(to, sizeof to, "%s/pts", path);
	mounted("devpts", to, "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620");
	snprintf(to, sizeof to, "%s/shm", path);
	mounted("shm", to, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
}

static void copy(const char *from, const char *to)
{
	char room[4096];
	FILE *in = fopen(from, "r"), *out;
	size_t n;

	if (!in)
		return; /* the plan has no such file */
	unlink(to); /* it may be a link to elsewhere */
	out = fopen(to, "w");
	if (!out)
		fail("writing %s", to);
	while ((n = fread(room, 1, sizeof room, in)))
		fwrite(room, 1, n, out);
	fclose(in);
	if (fclose(out))
		fail("writing %s", to);
}

/* What a program reads about its processor is the guest's, without the line about the machine below it. */
static void show_processor(const char *proc)
{
	static const char own[] = "/run/cpuinfo";
	FILE *in = fopen("/proc/cpuinfo", "r"), *out;
	char *line = NULL, to[120];
	size_t room = 0;

	if (access(own, F_OK)) {
		out = fopen(own, "w");
		while (in && out && getline(&line, &room, in) > 0)
			if (strncmp(line, "host", 4))
				fputs(line, out);
		if (!in || !out || fclose(out))
			fail("writing %s", own);
	}
	if (in)
		fclose(in);
	free(line);
	snprintf(to, sizeof to, "%.100s/cpuinfo", proc);
	if (mount(own, to, NULL, MS_BIND, NULL) || mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL))
		fail("mounting %s on %s", own, to);
}

void prepare_host(int node)
{
	static const char *const own[] = { "hosts", "resolv.conf", "nsswitch.conf" };
	char top[40], path[60], place[100], options[400];

	if (node < 0 || node >= (int)(sizeof prepared / sizeof *prepared))
		fail("programs on node %d", node);
	if (prepared[node])
		return;
	prepared[node] = 1;
	if (access(FILES, F_OK))
		mounted("machine", FILES, "hostfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "/");
	mkdir("/run/host", 0755);
	snprintf(top, sizeof top, "/run/host/%d", node);
	mounted("changes", top, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=90%");
	snprintf(path, sizeof path, "%s/changes", top);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/work", top);
	mkdir(path, 0755);
	snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s/changes,workdir=%s/work", FILES, top, top);
	snprintf(path, sizeof path, "%s/root", top);
	mounted("root", path, "overlay", MS_NOSUID | MS_NODEV, options);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		char from[100], to[300];

		snprintf(from, sizeof from, "/run/%s", own[i]);
		snprintf(to, sizeof to, "%s/etc/%s", path, own[i]);
		copy(from, to);
	}
	snprintf(place, sizeof place, "%s/proc", path);
	mounted("proc", place, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	show_processor(place);
	enter(node); /* whose devices are to be seen */
	snprintf(place, sizeof place, "%s/sys", path);
	mounted("sys", place, "sysfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	snprintf(place, sizeof place, "%s/sys/kernel/tracing", path);
	if (!access(place, F_OK) && mount("trace", place, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		fail("mounting tracefs on %s", place);
	if (!access(VERSION_6, F_OK))
		write_line(VERSION_6, "0"); /* programs' own devices, as those of packetdrill */
	make_devices(path);
}

static void limit_privileges(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 }, { 0 } };
	uint64_t allowed = 0;

	for (size_t i = 0; i < sizeof ALLOWED / sizeof *ALLOWED; i++)
		allowed |= 1ULL << ALLOWED[i];
	for (int i = 0; i <= 63 && prctl(PR_CAPBSET_READ, i) >= 0; i++)
		if (!(allowed >> i & 1) && prctl(PR_CAPBSET_DROP, i))
			_exit(125);
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = allowed >> 32 * i;
	if (syscall(SYS_capset, &head, data))
		_exit(125);
}

void enter_host(int node, const char *name)
{
	char path[100];

	enter(node);
	snprintf(path, sizeof path, "/run/host/%d/root", node);
	if (unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    sethostname(name, strlen(name)) || chdir(path) || syscall(SYS_pivot_root, ".", ".") ||
	    umount2(".", MNT_DETACH) || chdir("/")) {
		dprintf(2, "the host %s cannot be entered: %s\n", name, strerror(errno));
		_exit(125);
	}
	limit_privileges();
}

void keep_all(char *words)
{
	(void)words;
	keeps = 1;
}

/* Writes what the programs of each host have changed as an archive, by the machine's own tar. */
void hosts_write(void)
{
	char name[60], from[100];
	int status;

	for (int node = 0; keeps && node < (int)(sizeof prepared / sizeof *prepared); node++) {
		if (!prepared[node])
			continue;
		snprintf(name, sizeof name, "changes%d.tar", node);
		snprintf(from, sizeof from, "/run/host/%d/changes", node);
		FILE *file = output(name);
		pid_t child = fork();

		if (child < 0)
			fail("fork");
		if (!child) {
			char *argv[] = { "tar", "--sort=name", "--hard-dereference", "--exclude=./etc/hosts", "--exclude=./etc/resolv.conf",
					 "--exclude=./etc/nsswitch.conf", "-cf", "-", ".", NULL };
			static char *environment[] = { "PATH=/usr/bin:/bin", NULL };

			dup2(fileno(file), 1);
			if (chdir(from) || chroot(FILES))
				_exit(125);
			execve("/usr/bin/tar", argv, environment);
			execve("/bin/tar", argv, environment);
			_exit(127);
		}
		if (waitpid(child, &status, 0) != child || status)
			fail("tar did not write the changes of node %d: status %d", node, WEXITSTATUS(status));
		done(file);
	}
}
