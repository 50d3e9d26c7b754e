/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of tbstack's format, byte by byte. */
#include <stdlib.h>
#include <string.h>

#include "stackview.h"
#include "test.h"

#define HEADING "--------------------  thread 3 (4711)  --------------------\n"

struct stack {
	struct ow_thread thread;
	struct ow_name names[4];
	struct ow_view_frame frames[4];
	struct ow_error why;
	struct ow_view view;
};

static struct stack *new_stack(size_t nr)
{
	struct stack *s = calloc(1, sizeof(*s));
	size_t i;

	s->thread = (struct ow_thread){ .tid = 4711,
					.state = 'S',
					.captured = true };
	for (i = 0; i < nr; i++) {
		s->frames[i].frame.pc = 0x1000 + i;
		s->frames[i].frame.sp = 0x7ff000 + i;
		s->frames[i].names = &s->names[i];
		s->frames[i].nr_names = 1;
	}
	s->view = (struct ow_view){ .thread = &s->thread,
				    .number = 3,
				    .frames = s->frames,
				    .nr = nr,
				    .end = OW_END_OUTERMOST,
				    .why = &s->why };
	return s;
}

/* Is that what is written of the stack? */
static bool gives(const struct stack *s, unsigned int flags, const char *wanted)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool same;

	ow_tbtext_writer.begin(out, 1, "prog");
	ow_tbtext_writer.thread(out, &s->view, true, flags);
	ow_tbtext_writer.end(out);
	fclose(out);
	same = strcmp(text, wanted) == 0;
	if (!same)
		printf("got:\n%swanted:\n%s", text, wanted);
	free(text);
	return same;
}

static void test_frames(void)
{
	struct stack *s = new_stack(2);

	s->names[0].function = "pause";
	s->names[0].offset = 0x32;
	s->names[1].function = "_start";
	CHECK(gives(s, 0,
		    HEADING " 0000000000001000  pause + 0x32\n"
			    " 0000000000001001  _start\n"));
	CHECK(gives(s, OW_VIEW_SP,
		    HEADING
		    " 0000000000001000  00000000007ff000  pause + 0x32\n"
		    " 0000000000001001  00000000007ff001  _start\n"));
	s->view.nr = 0;
	CHECK(gives(s, OW_VIEW_STATES,
		    "--------------------  thread 3 (4711) (S) "
		    "--------------------\n"));
	free(s);
}

static void test_without_name(void)
{
	struct stack *s = new_stack(4);

	s->names[1].module = "/usr/lib/libc.so.6";
	s->names[2].module = "[vdso]";
	s->names[3].module = "/tmp/prog";
	s->names[3].deleted = true;
	CHECK(gives(s, 0,
		    HEADING " 0000000000001000  ?\n"
			    " 0000000000001001  ?? (libc.so.6)\n"
			    " 0000000000001002  ?? [vdso]\n"
			    " 0000000000001003  ?? (prog is deleted)\n"));
	s->frames[0].frame.pc = 0xffffffffff600400;
	s->frames[1].nr_names = 0;
	s->names[3].function = "known";
	CHECK(gives(s, 0,
		    HEADING " ffffffffff600400  ?? [vsyscall]\n"
			    " 0000000000001001  ?\n"
			    " 0000000000001002  ?? [vdso]\n"
			    " 0000000000001003  known\n"));
	free(s);
}

static void test_signal(void)
{
	struct stack *s = new_stack(4);

	s->names[0].function = "handler";
	s->names[1].function = "__restore_rt";
	s->frames[1].frame.flags = OW_FRAME_SIGNAL;
	s->names[2].function = "interrupted";
	s->names[3].function = "main";
	CHECK(gives(s, 0,
		    HEADING " 0000000000001000  handler\n"
			    " 0000000000001001  __restore_rt\n"
			    " <signal handler called>\n"
			    " 0000000000001002  interrupted\n"
			    " 0000000000001003  main\n"));
	/* Nothing that was interrupted is there. */
	s->view.nr = 2;
	s->view.end = OW_END_FAULT;
	CHECK(gives(s, 0,
		    HEADING " 0000000000001000  handler\n"
			    " 0000000000001001  __restore_rt\n"
			    " ????????????????  <stack breaks here>\n"));
	free(s);
}

static void test_ends(void)
{
	struct stack *s = new_stack(0);
	int end;

	for (end = OW_END_NO_MODULE; end <= OW_END_CYCLE; end++) {
		s->view.end = end;
		CHECK(gives(s, 0,
			    HEADING
			    " ????????????????  <stack breaks here>\n"));
	}
	CHECK(gives(s, OW_VIEW_SP,
		    HEADING " ????????????????  ????????????????  <stack "
			    "breaks here>\n"));
	s->view.end = OW_END_LIMIT;
	CHECK(gives(s, OW_VIEW_SP,
		    HEADING " ????????????????  <stack is too long>\n\n"));
	s->view.end = OW_END_NOT_YET;
	s->thread.captured = false;
	CHECK(gives(s, 0, HEADING " ????????????????  <stack breaks here>\n"));
	free(s);
}

/* The cut is the original's: of 512 bytes an offset has 32. */
static void test_long_name(void)
{
	struct stack *s = new_stack(1);
	char name[600], wanted[700];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	s->names[0].function = name;
	snprintf(wanted, sizeof(wanted), HEADING " 0000000000001000  %.511s\n",
		 name);
	CHECK(gives(s, 0, wanted));
	s->names[0].offset = 0x1f;
	snprintf(wanted, sizeof(wanted),
		 HEADING " 0000000000001000  %.480s + 0x1f\n", name);
	CHECK(gives(s, 0, wanted));
	name[480] = '\0';
	CHECK(gives(s, 0, wanted));
	free(s);
}

static void test_hostile_name(void)
{
	struct stack *s = new_stack(2);

	s->names[0].function = "a\033[2Jb\n";
	s->names[1].module = "/x/a\nb";
	CHECK(gives(s, 0,
		    HEADING " 0000000000001000  a?[2Jb?\n"
			    " 0000000000001001  ?? (a?b)\n"));
	free(s);
}

static void test_summary(void)
{
	const struct ow_capture_stats stats = {
		.freeze_ns = 2333999,
		.bytes_copied = 0x9000,
		.stopped = 36,
		.sleeps = 7,
	};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ow_tbtext_put_summary(out, &stats);
	fclose(out);
	CHECK(strcmp(text, "-----------------------  summary  "
			   "--------------------------\n"
			   " time the process was frozen: 2ms 333us\n"
			   " sleep count: 7\n"
			   " total bytes copied: 0x9000 (36K)\n") == 0);
	free(text);
}

int main(void)
{
	static const struct test tests[] = {
		{ "frames", test_frames },
		{ "frames without a name", test_without_name },
		{ "signal handlers", test_signal },
		{ "ends", test_ends },
		{ "long names", test_long_name },
		{ "hostile names", test_hostile_name },
		{ "summary", test_summary },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
