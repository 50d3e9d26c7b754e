// SPDX-License-Identifier: BSD-2-Clause
/* When nobody uses the module, it holds nothing. */
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

int main(void)
{
	struct ow_kunwind_stats s = { 0 };
	struct ow_error err;
	int dev = ow_kunwind_open(&err), i, well = 0;

	/* What is given back goes after a grace period. */
	for (i = 0; i < 3000 && !well && dev >= 0; i++) {
		well = ioctl(dev, OW_KUNWIND_STATS, &s) == 0 && !s.tables &&
		       !s.table_bytes && !s.followed && !s.map_bytes;
		usleep(100000);
	}
	printf("# %llu walks, %llu frames; left %llu tables, %llu followed, "
	       "%llu bytes of maps\n",
	       (unsigned long long)s.walks, (unsigned long long)s.frames,
	       (unsigned long long)s.tables, (unsigned long long)s.followed,
	       (unsigned long long)s.map_bytes);
	printf("%d passed, %d failed\n", well, !well);
	return !well;
}
