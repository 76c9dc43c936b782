// SPDX-License-Identifier: GPL-2.0
/*
 * Many recordings, several at a time.
 */
#include "jobs.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
	FILE *said;
	pid_t pid;
	int status;
};

static void start(struct job *job, const char *prefix,
		  int (*judge)(const char *prefix, uint64_t *count), uint64_t *count)
{
	job->said = tmpfile();
	if (!job->said)
		unusable("no temporary file");
	fflush(stdout);
	job->pid = fork();
	if (job->pid < 0)
		unusable("no process for %s", prefix);
	if (job->pid)
		return;
	if (dup2(fileno(job->said), 1) < 0)
		unusable("no output for %s", prefix);
	exit(judge(prefix, count));
}

static int wait_for_one(struct job *jobs, int n)
{
	int status, i;
	pid_t pid;

	pid = wait(&status);
	for (i = 0; i < n; i++) {
		if (jobs[i].pid == pid)
			jobs[i].status = WIFEXITED(status) ? WEXITSTATUS(status) : 2;
	}
	return pid > 0;
}

static void report(struct job *job, const char *prefix)
{
	const char *slash = strrchr(prefix, '/');
	char buf[65536];
	size_t n;

	printf("%sok %s\n", job->status ? "not " : "", slash ? slash + 1 : prefix);
	rewind(job->said);
	while ((n = fread(buf, 1, sizeof(buf), job->said)))
		fwrite(buf, 1, n, stdout);
	fclose(job->said);
}

int jobs_run(char **prefixes, int n, int at_once, int (*judge)(const char *prefix, uint64_t *count),
	     uint64_t *sum)
{
	struct job *jobs = calloc(n, sizeof(*jobs));
	uint64_t *counts = mmap(NULL, n * sizeof(*counts), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int running = 0, worst = 0, i;

	if (!jobs || counts == MAP_FAILED)
		unusable("no memory");
	for (i = 0; i < n; i++) {
		if (running == at_once)
			running -= wait_for_one(jobs, i);
		start(&jobs[i], prefixes[i], judge, &counts[i]);
		running++;
	}
	while (running)
		running -= wait_for_one(jobs, n);
	for (i = 0; i < n; i++) {
		report(&jobs[i], prefixes[i]);
		worst = jobs[i].status > worst ? jobs[i].status : worst;
		*sum += counts[i];
	}
	free(jobs);
	return worst;
}
