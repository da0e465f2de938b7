/* User-Mode Linux 6.1 restores the registers that CPUs had when it was written: 832 bytes with AVX. A newer host
   with further registers (AVX-512, AMX) accepts either all of them or none. So this library fills in the
   registers that the guest's kernel does not know with their current values. It is preloaded only into the
   machine's own process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

enum { XSTATE = 0x202, MOST_BYTES = 1 << 16 };

typedef long (*ptrace_call)(enum __ptrace_request, pid_t, void *, void *);

long ptrace(enum __ptrace_request request, ...)
{
	static ptrace_call original;
	static char whole[MOST_BYTES];
	va_list given;
	va_start(given, request);
	pid_t pid = va_arg(given, pid_t);
	void *address = va_arg(given, void *);
	void *data = va_arg(given, void *);
	va_end(given);
	if (!original)
		original = (ptrace_call)dlsym(RTLD_NEXT, "ptrace");
	if (request != PTRACE_SETREGSET || (long)address != XSTATE)
		return original(request, pid, address, data);
	struct iovec *some = data, all = { whole, sizeof whole };
	if (original(PTRACE_GETREGSET, pid, address, &all) || all.iov_len <= some->iov_len)
		return original(request, pid, address, data);
	memcpy(whole, some->iov_base, some->iov_len);
	return original(request, pid, address, &all);
}
