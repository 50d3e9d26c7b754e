/* SPDX-License-Identifier: BSD-2-Clause */
int tiny(int x);

int tiny(int x)
{
	return x + 1;
}
