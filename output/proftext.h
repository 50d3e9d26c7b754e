/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text as formats quote it: '?' stands for what is no UTF-8, and for characters
 * that control something.  What writes it returns how many bytes it wrote: up to
 * PROFTEXT_LONGER times those of the text, and 2.  Where out is NULL, it only counts them.
 */
#ifndef OW_PROFTEXT_H
#define OW_PROFTEXT_H

#include <stdio.h>

#define PROFTEXT_LONGER 6 /* times, at most */

/* A string of JSON, with its quotes.  What would reorder the text is escaped. */
size_t proftext_put_json(FILE *out, const char *text);

/* The same inside of HTML's <script>, to be shown: by ow_view_is_odd(), too. */
size_t proftext_put_script(FILE *out, const char *text);

/* Text of XML and HTML, also in an attribute; likewise. */
size_t proftext_put_xml(FILE *out, const char *text);

#endif /* OW_PROFTEXT_H */
