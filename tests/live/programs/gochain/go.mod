// SPDX-License-Identifier: BSD-2-Clause
module gochain

go 1.19
