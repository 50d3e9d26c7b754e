// SPDX-License-Identifier: BSD-2-Clause
#include "demangle.h"

#include <malloc.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <outwind/outwind.h>

#include "error.h"
#include "scratch.h"
#include "test.h"

/* Whose names are asked for. */
static uid_t uid;

static char *demangle(const char *name)
{
	char *text;

	ow_demangle(name, uid, &text);
	return text;
}

static void check(const char *mangled, const char *want)
{
	_cleanup_(ow_freep) char *got = demangle(mangled);

	if (!want) {
		CHECK(!got);
		return;
	}
	CHECK(got && strcmp(got, want) == 0);
	if (got && strcmp(got, want) != 0)
		printf("# %s: %s\n", mangled, got);
}

static void test_known(void)
{
	check("_Z3addii", "add(int, int)");
	check("_ZN1AC4Ev", "A::A()");
	check("_Z1fv.cold", "f() [clone .cold]");
	check("_ZNSt6vectorIiSaIiEE9push_backERKi",
	      "std::vector<int, std::allocator<int> >::push_back(int const&)");
	check("_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
	      "core::ptr::drop_in_place");
	check("_RNvCsL39EUhRVRM_7mycrate3foo", "mycrate::foo");
	check("_RINvNtCs1234_7mycrate3foo3barlE", "mycrate::foo::bar::<i32>");
}

static void test_not_mangled(void)
{
	static const char *const names[] = { "",   "_",     "main", "_start",
					     "_Z", "_Znot", "_R",   "__libc",
					     "f",  "_ZN",   "_RNvC" };

	for (size_t i = 0; i < OW_ARRAY_SIZE(names); i++)
		check(names[i], NULL);
}

/* Each substitution has twice the text of the one before. */
static void test_exponential(void)
{
	char name[4000];
	size_t n = snprintf(name, sizeof(name), "_Z1fI1AIiiE");

	/* S0_ S1_ ...: f<A<i,i>, A<S0_,S0_>, A<S1_,S1_>, ...> */
	for (int i = 0; i < 34; i++) {
		char d = i < 10 ? '0' + i : 'A' + i - 10;

		n += snprintf(name + n, sizeof(name) - n, "S_IS%c_S%c_E", d, d);
	}
	snprintf(name + n, sizeof(name) - n, "EvT_");
	check(name, NULL);
}

/* A reference to a part: S_, S0_, ... S9_, SA_, ... */
static int put_reference(char *to, int i)
{
	return sprintf(to, i ? "S%c_" : "S_",
		       i <= 10 ? '0' + i - 1 : 'A' + i - 11);
}

/* f<void(), void(S0_, S0_), void(S1_, S1_), ...>, which returns the last one expanded. */
static void put_expansion(char *name, int depth, unsigned int number)
{
	name += sprintf(name, "_Z7f%06uIFvvE", number % 1000000);
	for (int i = 1; i < depth; i++) {
		name += sprintf(name, "Fv");
		name += put_reference(name, i);
		name += put_reference(name, i);
		*name++ = 'E';
	}
	name += sprintf(name, "EDp");
	name += put_reference(name, depth);
	strcpy(name, "v");
}

/*
 * A template of templates of so many levels, each with all that is in it by a reference
 * too, in a pack that there is not.
 */
static void put_nested(char *name, int levels, unsigned int number)
{
	int i;

	name += sprintf(name, "_Z7f%06uDp", number % 1000000);
	for (i = 0; i <= levels; i++)
		name += sprintf(name, "1aI");
	for (i = 0; i < 800; i++)
		*name++ = 'i';
	for (i = 0; i < levels; i++) {
		*name++ = 'E';
		name += put_reference(name, levels + 1 + i);
	}
	strcpy(name, "E");
}

/* Of the CPU; of other processes: for what they have done for this one. */
static double seconds_of(int who)
{
	struct rusage took;

	getrusage(who, &took);
	return (double)took.ru_utime.tv_sec +
	       (double)took.ru_utime.tv_usec / 1e6;
}

/* Such that libiberty finds no end of it, and says nothing meanwhile. */
static void test_endless(void)
{
	char name[1024];

	put_expansion(name, 34, 0);
	check(name, NULL);
	/* Lifetimes that are not printed, as they are in an impl's path. */
	check("_RNvMINtC1a1bFGzzzzzzzzz_EuEC1a3foo", NULL);
	check("_RNvC1a1fINtC1a1bDGzzzzzzzzz_EL_E", NULL);
	check("_RNvMINtC1a1bFG4_EuEC1a3foo", "<a>::foo");
}

/* Names that differ take little time all together, in a child that has its own time. */
static void check_time(void (*put)(char *name, unsigned int number),
		       unsigned int nr)
{
	double begun = seconds_of(RUSAGE_CHILDREN);
	pid_t child = fork();
	char name[4096];
	int status;

	for (unsigned int i = 1; child == 0 && i < nr; i++) {
		put(name, i);
		free(demangle(name));
	}
	if (child == 0)
		_exit(0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(seconds_of(RUSAGE_CHILDREN) - begun < 12);
}

static void put_slow(char *name, unsigned int number)
{
	put_nested(name, 15, number);
}

/* They are demangled right here, as they have few references. */
static void test_many_slow(void)
{
	check_time(put_slow, 1000);
}

/* f<int, int, ...>, with a parameter for each of these: it has few references. */
static void put_pack(char *name, unsigned int number)
{
	name += sprintf(name, "_Z7f%06uIJ", number % 1000000);
	memset(name, 'i', 950);
	strcpy(name + 950, "EEvDpT_");
}

/* An identifier in Punycode of so many letters after a character of four bytes. */
static void put_punycode(char *name, unsigned int letters)
{
	name += sprintf(name, "_RINvC1au%u_2n7c", letters + 4);
	memset(name, 'a', letters);
	strcpy(name + letters, "B_E");
}

/* f<path, path, ...>, for a path of many parts that says nothing. */
static void put_paths(char *name, unsigned int number)
{
	name += sprintf(name, "_RINvC1a1b");
	for (int i = 0; i < 19; i++, name += 2)
		memcpy(name, "Nv", 2);
	name += sprintf(name, "C10abcd%06u", number % 1000000);
	memset(name, '0', 19);
	name += 19;
	for (int i = 0; i < 1300; i++, name += 3)
		memcpy(name, "B8_", 3);
	strcpy(name, "E");
}

/* Lifetimes of a path that is not said, in a short name. */
static void put_lifetimes(char *name, unsigned int number)
{
	sprintf(name, "_RNvMINtC1a1bFGzzz_EuEC1a7f%06u", number % 1000000);
}

/* Each conversion looks through those in it. */
static void put_conversions(char *name, unsigned int number)
{
	name += sprintf(name, "_Z");
	for (int i = 0; i < 480; i++, name += 2)
		memcpy(name, "cv", 2);
	sprintf(name, "7f%06u", number % 1000000);
}

/* Each takes 0.3 to 6 ms, which is counted whatever its text is. */
static void test_many_fair(void)
{
	check_time(put_paths, 40000);
	check_time(put_lifetimes, 3000);
	check_time(put_conversions, 20000);
}

static size_t allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* The demangler decodes them to memory of its own, and says them all at once. */
static void test_punycode(void)
{
	size_t before = allocated();
	char name[4096];

	check("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	      "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0\u10d3_"
	      "\u10d2\u10d4\u10db\u10e0\u10d8\u10d4\u10da\u10d8_"
	      "\u10e1\u10d0\u10d3\u10d8\u10da\u10d8");
	put_punycode(name, 4066);
	uid = 1002;
	for (int i = 0; i < 20; i++)
		check(name, NULL);
	uid = 0;
	CHECK(allocated() < before + 100000);
}

static char *put_base_62(char *to, unsigned int value)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (value > 63)
		to = put_base_62(to, (value - 1) / 62) - 1;
	if (value > 0)
		*to++ = digits[(value - 1) % 62];
	*to++ = '_';
	return to;
}

/* f<path, tuple of 18 of it, tuple of 18 of that>, where 980 parts have no name. */
static void put_tuples(char *name, unsigned int number)
{
	char *to = name + sprintf(name, "_RINvC1a7f%06u", number % 1000000);
	char *part = to;
	int i, level;

	for (i = 0; i < 980; i++, to += 2)
		memcpy(to, "Nt", 2);
	to += sprintf(to, "C0");
	memset(to, '0', 980);
	to += 980;
	for (level = 0; level < 2; level++) {
		char *tuple = to;

		*to++ = 'T';
		for (i = 0; i < 18; i++) {
			*to++ = 'B';
			to = put_base_62(to, (unsigned int)(part - name - 2));
		}
		*to++ = 'E';
		part = tuple;
	}
	strcpy(to, "E");
}

/* A reference to what is short takes no time. */
static void test_rust_references(void)
{
	char name[1024] = "_RINvC1a1fTNtC1b1g";
	char want[1024] = "a::f::<(b::g";
	size_t i;

	for (i = 0; i < 60; i++) {
		strcat(name, "B8_");
		strcat(want, ", b::g");
	}
	strcat(name, "EE");
	strcat(want, ")>");
	check(name, want);
}

/* References that may take long, in a name with letters as Punycode has them. */
static void test_letters_of_punycode(void)
{
	char name[1024] = "_RINvC1a8read_u32TINtC1b1gmE";
	char want[1024] = "a::read_u32::<(b::g<u32>";
	size_t i;

	for (i = 0; i < 20; i++) {
		strcat(name, "Bf_");
		strcat(want, ", b::g<u32>");
	}
	strcat(name, "EE");
	strcat(want, ")>");
	check(name, want);
	/* Here they are Punycode, where a reference leads, and where they are. */
	memcpy(name, "_RINvC1a8Cu5b_2n7", 17);
	strcpy(name + strlen(name) - 1, "B6_E");
	check(name, NULL);
	memcpy(name, "_RINvC1au7bb_2n7c", 17);
	strcpy(name + strlen(name) - 4, "E");
	check(name, NULL);
}

/* Each takes some milliseconds. */
static void test_many_tuples(void)
{
	check_time(put_tuples, 3000);
}

/* What could be references without an end is looked through once. */
static void test_many_letters(void)
{
	double begun = seconds_of(RUSAGE_SELF);
	char name[4096] = "_R";

	memset(name + 2, 'B', sizeof(name) - 3);
	for (int i = 0; i < 1000; i++) {
		name[sizeof(name) - 2] = (char)('a' + i % 26);
		check(name, NULL);
	}
	CHECK(seconds_of(RUSAGE_SELF) - begun < 1);
}

/* Each takes a millisecond, and its text is too long. */
static void test_many_packs(void)
{
	check_time(put_pack, 20000);
}

/* What one user's names have taken, another one's have not. */
static void test_users(void)
{
	static const char *const pair =
		"_ZSt9make_pairIiiESt4pairINSt25__strip_reference_wrapperINSt5"
		"decayIT_E4typeEE6__typeENS1_INS2_IT0_E4typeEE6__typeEEOS3_OS8_";
	char name[1024];

	uid = 1000;
	for (unsigned int i = 1; i < 40; i++) {
		put_expansion(name, 34, i);
		check(name, NULL);
	}
	check(pair, NULL);
	CHECK(ow_left_out(1) &&
	      strcmp(ow_left_out(1),
		     "demangled names of processes of user 1000: those that "
		     "may take long, after others took too long: left "
		     "out") == 0);
	uid = 1001;
	check(pair, "std::pair<std::__strip_reference_wrapper<std::decay<int>::"
		    "type>::__type, std::__strip_reference_wrapper<std::decay<"
		    "int>::type>::__type> std::make_pair<int, int>(int&&, "
		    "int&&)");
	uid = 0;
}

/* Their timer stops them; and many of them don't take the time of each. */
static void test_many_endless(void)
{
	double begun = seconds_of(RUSAGE_CHILDREN);
	char name[1024];

	for (unsigned int i = 1; i < 2000; i++) {
		put_expansion(name, 34, i);
		check(name, NULL);
	}
	CHECK(seconds_of(RUSAGE_CHILDREN) - begun < 5);
	CHECK(ow_left_out(0) && strstr(ow_left_out(0), "demangled names: "));
	CHECK(!ow_left_out(1));
	check("_Z3addii", "add(int, int)");
}

/* Templates, and as many references to what may stand for a parameter. */
static void put_copies(char *name, int nr, const char *reference)
{
	int i;

	name += sprintf(name, "_Z1fI1aI");
	for (i = 0; i < nr; i++)
		name += sprintf(name, "SaIE");
	name += sprintf(name, "EEvPFv");
	for (i = 0; i < nr; i++)
		name += sprintf(name, "%s", reference);
	strcpy(name, "E");
}

/* libiberty has room on its stack for all of a name's templates at each reference. */
static void test_copies(void)
{
	char name[1024], *text;

	put_copies(name, 20, "RT_");
	text = demangle(name);
	CHECK(text && strstr(text, "(*)(a<std::allocator<>, "));
	free(text);
	put_copies(name, 60, "RT_");
	check(name, NULL);
	put_copies(name, 140, "OT_");
	check(name, NULL);
	put_copies(name, 140, "RS_");
	check(name, NULL);
}

static void test_deep_and_long(void)
{
	char name[8192] = "_Z1f";

	memset(name + 4, 'P', sizeof(name) - 6);
	name[sizeof(name) - 2] = 'i';
	check(name, NULL);
	name[3000] = 'i';
	name[3001] = '\0';
	free(demangle(name));
	memset(name + 2, 'N', 2998);
	free(demangle(name));
	memcpy(name, "_RNvC1a", 7);
	memset(name + 7, 'R', 2900);
	free(demangle(name));
}

/* Every name of a library and of a Rust program, as c++filt -i has it. */
static void check_all(const char *path)
{
	char line[40000], want[40000];
	size_t nr = 0, wrong = 0;
	FILE *in, *filtered;

	if (!scratch_run("{ nm -D --defined-only %s; nm --defined-only %s; } "
			 "2>/dev/null | awk '$3 ~ /^_[ZR]/ && "
			 "length($3) < 2000 { sub(/@.*/, \"\", $3); print $3 }'"
			 " | awk 'NR %% 7 == 0' >names && "
			 "c++filt -i <names >filtered && test -s names",
			 path, path))
		return;
	in = fopen("names", "re");
	filtered = fopen("filtered", "re");
	while (fgets(line, sizeof(line), in) &&
	       fgets(want, sizeof(want), filtered)) {
		_cleanup_(ow_freep) char *got = NULL;

		line[strcspn(line, "\n")] = '\0';
		want[strcspn(want, "\n")] = '\0';
		got = demangle(line);
		nr++;
		if (strcmp(got ? got : line, want) == 0)
			continue;
		if (wrong++ < 5)
			printf("# %s: %s, not %s\n", line, got ? got : "-",
			       want);
	}
	fclose(in);
	fclose(filtered);
	printf("# %s: %zu names\n", path, nr);
	CHECK(nr > 50 && wrong == 0);
}

static void test_all_names(void)
{
	check_all("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
	check_all("/usr/bin/node");
	scratch_write("r.rs", "fn main() { println!(\"{:?}\", \
std::env::args().map(|a| a.len()).collect::<Vec<_>>()); }\n");
	if (!scratch_run("PATH=$PATH:/root/.cargo/bin rustc -g r.rs "
			 "2>/dev/null"))
		return;
	check_all("r");
	CHECK(scratch_run("PATH=$PATH:/root/.cargo/bin rustc -g -C "
			  "symbol-mangling-version=v0 r.rs -o v0"));
	check_all("v0");
}

int main(void)
{
	static const struct test tests[] = {
		{ "known names", test_known },
		{ "names that are not mangled", test_not_mangled },
		{ "text of exponential length", test_exponential },
		{ "deep and long names", test_deep_and_long },
		{ "templates that are copied often", test_copies },
		{ "endless names", test_endless },
		{ "all names of a library and of programs", test_all_names },
		{ "many slow names", test_many_slow },
		{ "many names of long packs", test_many_packs },
		{ "many Rust names of tuples", test_many_tuples },
		{ "many names that look fair", test_many_fair },
		{ "Rust names in Punycode", test_punycode },
		{ "a Rust name of many short references",
		  test_rust_references },
		{ "a Rust name with letters as Punycode has them",
		  test_letters_of_punycode },
		{ "Rust names of one letter", test_many_letters },
		{ "many endless names", test_many_endless },
		{ "names of several users", test_users },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
