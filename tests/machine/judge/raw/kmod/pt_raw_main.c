// SPDX-License-Identifier: GPL-2.0
/*
 * The judge's own way to program Intel PT, as pt_raw.h says. One user at a time,
 * and no regard for the kernel's own driver: for the emulated machine alone.
 */
#include "pt_raw.h"

#include <linux/cpu.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <asm/msr.h>
#include <asm/tsc.h>

#define MAX_REGIONS	32
#define PTI_USER_HALF	0x1000UL	/* the user's page table is the second page of two */

#define TOPA_END_BIT	0x01ULL
#define TOPA_STOP_BIT	0x10ULL
#define TOPA_SIZE(order)	((u64)(order) << 6)
#define TOPA_POINTERS	0x7fULL		/* the first entry of a table, offset 0 */

static DEFINE_MUTEX(lock);
static struct pt_raw_start setup;
static bool running;

static struct output {
	u64 *table;
	struct page *region[MAX_REGIONS];
	u64 size, status;
	bool wrapped;
} outputs[PT_RAW_CPUS];

/* The 64-bit forms were given another name after 6.12. */
static void write_msr(u32 msr, u64 val)
{
	wrmsr(msr, (u32)val, (u32)(val >> 32));
}

static u64 read_msr(u32 msr)
{
	u32 lo, hi;

	rdmsr(msr, lo, hi);
	return lo | (u64)hi << 32;
}

static unsigned int n_regions(void)
{
	return setup.regions ?: 1;
}

static size_t region_size(void)
{
	return PAGE_SIZE << setup.order;
}

static void free_outputs(void)
{
	struct output *out;
	unsigned int i;

	for (out = outputs; out < outputs + PT_RAW_CPUS; out++) {
		for (i = 0; i < MAX_REGIONS; i++) {
			if (out->region[i])
				__free_pages(out->region[i], setup.order);
		}
		free_page((unsigned long)out->table);
		memset(out, 0, sizeof(*out));
	}
}

static int alloc_output(struct output *out)
{
	unsigned int i;

	out->table = (u64 *)get_zeroed_page(GFP_KERNEL);
	if (!out->table)
		return -ENOMEM;
	for (i = 0; i < n_regions(); i++) {
		out->region[i] = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN, setup.order);
		if (!out->region[i])
			return -ENOMEM;
		out->table[i] = page_to_phys(out->region[i]) | TOPA_SIZE(setup.order);
	}
	out->table[n_regions() - 1] |= TOPA_STOP_BIT;
	out->table[n_regions()] = virt_to_phys(out->table) | TOPA_END_BIT;
	return 0;
}

static void start_here(void *unused)
{
	static const u32 addr_msr[] = {
		MSR_IA32_RTIT_ADDR0_A, MSR_IA32_RTIT_ADDR0_B,
		MSR_IA32_RTIT_ADDR1_A, MSR_IA32_RTIT_ADDR1_B,
		MSR_IA32_RTIT_ADDR2_A, MSR_IA32_RTIT_ADDR2_B,
		MSR_IA32_RTIT_ADDR3_A, MSR_IA32_RTIT_ADDR3_B,
	};
	const struct output *out = &outputs[smp_processor_id()];
	u64 ctl = setup.ctl | RTIT_CTL_TRACEEN;
	unsigned int i;

	write_msr(MSR_IA32_RTIT_CTL, 0);
	write_msr(MSR_IA32_RTIT_STATUS, 0);
	for (i = 0; i < ARRAY_SIZE(addr_msr); i++) {
		if (setup.ctl >> (RTIT_CTL_ADDR0_OFFSET + i / 2 * 4) & 0xf)
			write_msr(addr_msr[i], setup.addr[i]);
	}
	if (setup.cr3 != PT_RAW_CR3_NONE) {
		write_msr(MSR_IA32_RTIT_CR3_MATCH, setup.cr3_match);
		ctl |= RTIT_CTL_CR3EN;
	}
	if (setup.regions) {
		ctl |= RTIT_CTL_TOPA;
		write_msr(MSR_IA32_RTIT_OUTPUT_BASE, virt_to_phys(out->table));
		write_msr(MSR_IA32_RTIT_OUTPUT_MASK, TOPA_POINTERS);
	} else {
		write_msr(MSR_IA32_RTIT_OUTPUT_BASE, page_to_phys(out->region[0]));
		write_msr(MSR_IA32_RTIT_OUTPUT_MASK, region_size() - 1);
	}
	write_msr(MSR_IA32_RTIT_CTL, ctl);
}

static void stop_here(void *unused)
{
	struct output *out = &outputs[smp_processor_id()];
	u64 ptrs;

	out->status = read_msr(MSR_IA32_RTIT_STATUS);
	write_msr(MSR_IA32_RTIT_CTL, 0);
	ptrs = read_msr(MSR_IA32_RTIT_OUTPUT_MASK);
	out->size = ptrs >> 32;
	if (setup.regions)
		out->size += ((ptrs & 0xffffffff) >> 7) * region_size();
	else
		out->wrapped = *(u64 *)(page_address(out->region[0]) + region_size() - 8);
	write_msr(MSR_IA32_RTIT_STATUS, 0);
}

static int find_cr3(void)
{
	struct task_struct *task;
	struct mm_struct *mm;

	if (setup.cr3 == PT_RAW_CR3_NONE)
		return 0;
	rcu_read_lock();
	task = get_pid_task(find_vpid(setup.pid), PIDTYPE_PID);
	rcu_read_unlock();
	if (!task)
		return -ESRCH;
	mm = get_task_mm(task);
	put_task_struct(task);
	if (!mm)
		return -ESRCH;
	setup.cr3_match = virt_to_phys(mm->pgd);
	mmput(mm);
	if (setup.cr3 == PT_RAW_CR3_USER && boot_cpu_has(X86_FEATURE_PTI))
		setup.cr3_match |= PTI_USER_HALF;
	return 0;
}

static long start(struct pt_raw_start __user *arg)
{
	unsigned int cpu;
	long ret;

	if (running)
		return -EBUSY;
	free_outputs();
	if (copy_from_user(&setup, arg, sizeof(setup)))
		return -EFAULT;
	if (setup.regions >= MAX_REGIONS || setup.order > 10)
		return -EINVAL;
	ret = find_cr3();
	for_each_online_cpu(cpu) {
		if (!ret)
			ret = cpu < PT_RAW_CPUS ? alloc_output(&outputs[cpu]) : -EINVAL;
	}
	if (!ret && put_user(setup.cr3_match, &arg->cr3_match))
		ret = -EFAULT;
	if (ret) {
		free_outputs();
		return ret;
	}
	running = true;
	on_each_cpu(start_here, NULL, 1);
	return 0;
}

static long stop(struct pt_raw_result __user *arg)
{
	struct pt_raw_result result = { .cpus = num_online_cpus() };
	unsigned int cpu;

	if (!running)
		return -EINVAL;
	on_each_cpu(stop_here, NULL, 1);
	running = false;
	for (cpu = 0; cpu < PT_RAW_CPUS; cpu++) {
		result.size[cpu] = outputs[cpu].size;
		result.status[cpu] = outputs[cpu].status;
		result.wrapped |= outputs[cpu].wrapped;
	}
	return copy_to_user(arg, &result, sizeof(result)) ? -EFAULT : 0;
}

/* ---- clocks ---- */

#define PSB_SIZE	16
#define TSC_HEADER	0x19

struct clock_work {
	struct pt_raw_clock *clock;
	u8 *page;
	bool wrong;
};

/* PSB+ begins with PSB and TSC; user code alone is traced, so nothing else is. */
static void clock_here(void *arg)
{
	struct clock_work *work = arg;
	unsigned int i;

	for (i = 0; i < PT_RAW_PAIRS; i++) {
		struct pt_raw_pair *pair = &work->clock->pair[i];

		write_msr(MSR_IA32_RTIT_STATUS, 0);
		write_msr(MSR_IA32_RTIT_OUTPUT_BASE, virt_to_phys(work->page));
		write_msr(MSR_IA32_RTIT_OUTPUT_MASK, PAGE_SIZE - 1);
		pair->before = rdtsc();
		write_msr(MSR_IA32_RTIT_CTL, RTIT_CTL_TRACEEN | RTIT_CTL_TSC_EN | RTIT_CTL_USR);
		pair->after = rdtsc();
		write_msr(MSR_IA32_RTIT_CTL, 0);
		memcpy(&pair->packet, work->page + PSB_SIZE, 8);
		work->wrong |= (pair->packet & 0xff) != TSC_HEADER;
		pair->packet >>= 8;
	}
}

static long read_clock(struct pt_raw_clock __user *arg)
{
	struct pt_raw_clock *clock = memdup_user(arg, sizeof(*clock));
	struct clock_work work = { .clock = clock };
	long ret;

	if (IS_ERR(clock))
		return PTR_ERR(clock);
	clock->tsc_khz = tsc_khz;
	work.page = (u8 *)get_zeroed_page(GFP_KERNEL);
	ret = running ? -EBUSY : work.page ? 0 : -ENOMEM;
	if (!ret)
		ret = smp_call_function_single(clock->cpu, clock_here, &work, 1);
	if (!ret && work.wrong)
		ret = -EIO;
	if (!ret && copy_to_user(arg, clock, sizeof(*clock)))
		ret = -EFAULT;
	free_page((unsigned long)work.page);
	kfree(clock);
	return ret;
}

/* ---- the device ---- */

static long raw_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	long ret = -ENOTTY;

	mutex_lock(&lock);
	cpus_read_lock();
	if (cmd == PT_RAW_START)
		ret = start((void __user *)arg);
	else if (cmd == PT_RAW_STOP)
		ret = stop((void __user *)arg);
	else if (cmd == PT_RAW_CLOCK)
		ret = read_clock((void __user *)arg);
	cpus_read_unlock();
	mutex_unlock(&lock);
	return ret;
}

static ssize_t raw_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	const u64 cpu = *pos >> 32;
	u64 offset = *pos & 0xffffffff;
	ssize_t ret = 0;

	mutex_lock(&lock);
	if (!running && cpu < PT_RAW_CPUS && offset < outputs[cpu].size) {
		const u64 in_region = offset & (region_size() - 1);

		len = min3((u64)len, outputs[cpu].size - offset, region_size() - in_region);
		ret = len;
		if (copy_to_user(buf, page_address(outputs[cpu].region[offset / region_size()]) +
				 in_region, len))
			ret = -EFAULT;
	}
	mutex_unlock(&lock);
	if (ret > 0)
		*pos += ret;
	return ret;
}

static const struct file_operations raw_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = raw_ioctl,
	.read = raw_read,
	.llseek = default_llseek,
};

static struct miscdevice raw_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "pt_raw",
	.fops = &raw_fops,
};

static int __init raw_init(void)
{
	return misc_register(&raw_device);
}

static void __exit raw_exit(void)
{
	misc_deregister(&raw_device);
	free_outputs();
}

module_init(raw_init);
module_exit(raw_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Programs Intel PT for the judge of the emulated machine");
