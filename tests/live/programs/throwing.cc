// SPDX-License-Identifier: BSD-2-Clause
// Stopped while an exception is on its way, one scene per argument.
#include <cstring>
#include <exception>
#include <unwind.h>

#include "stay.h"

namespace
{

// Its destructor runs in phase 2 of the unwinding.
struct Guard {
	NOINLINE ~Guard();
};

Guard::~Guard()
{
	stay(1);
}

NOINLINE void thrower(int x)
{
	throw x;
}

NOINLINE int guarded(int x)
{
	Guard guard;

	thrower(x);
	return x;
}

NOINLINE int catcher(int x)
{
	try {
		return guarded(x);
	} catch (int) {
		return 1;
	}
}

NOINLINE int in_catch(int x)
{
	try {
		thrower(x);
	} catch (int) {
		return stay(x) + 1;
	}
	return 0;
}

NOINLINE void on_terminate()
{
	stay(1);
}

NOINLINE int uncaught(int x)
{
	std::set_terminate(on_terminate);
	thrower(x);
	return x;
}

NOINLINE _Unwind_Reason_Code on_unwind(int, _Unwind_Action, _Unwind_Exception_Class,
				       _Unwind_Exception *, _Unwind_Context *, void *)
{
	stay(1);
	return _URC_NO_REASON;
}

NOINLINE int forced(int x)
{
	static _Unwind_Exception exception;

	_Unwind_ForcedUnwind(&exception, on_unwind, nullptr);
	return x;
}

template <typename T> struct Outer {
	template <typename U> NOINLINE int inner(U x, T y)
	{
		return stay(x) + y;
	}
};

NOINLINE int templated(int x)
{
	auto lambda = [x](long y) NOINLINE {
		return Outer<long>().inner<unsigned char>(1, y + x);
	};
	return lambda(x) + 1;
}

} // namespace

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "";

	if (!strcmp(scene, "destructor"))
		return catcher(argc) + 1;
	if (!strcmp(scene, "catch"))
		return in_catch(argc) + 1;
	if (!strcmp(scene, "terminate"))
		return uncaught(argc) + 1;
	if (!strcmp(scene, "forced"))
		return forced(argc) + 1;
	if (!strcmp(scene, "template"))
		return templated(argc) + 1;
	return 64;
}
