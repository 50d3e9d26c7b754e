// SPDX-License-Identifier: BSD-2-Clause
// Work for a profiler: virtual calls, templates, lambdas, nodes on the heap.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Shape {
	virtual ~Shape() = default;
	virtual double area(int depth) const = 0;
};

struct Square : Shape {
	double area(int depth) const override
	{
		return depth ? 1 + area(depth - 1) : 1;
	}
};

struct Group : Shape {
	std::vector<std::unique_ptr<Shape>> parts;

	double area(int depth) const override
	{
		double sum = 0;

		for (const auto &part : parts)
			sum += part->area(depth);
		return sum;
	}
};

static std::unique_ptr<Shape> make(int depth)
{
	if (depth == 0)
		return std::make_unique<Square>();
	auto group = std::make_unique<Group>();
	for (int i = 0; i < 3; i++)
		group->parts.push_back(make(depth - 1));
	return group;
}

int main()
{
	auto shape = make(6);
	double sum = 0;

	std::puts("ready");
	std::fflush(stdout);
	for (unsigned round = 0;; round++) {
		std::map<std::string, std::function<int()>> calls;
		for (unsigned i = 0; i < 300; i++)
			calls[std::to_string(i * 7919 + round)] = [i] {
				return (int)i;
			};
		std::vector<int> all;
		for (const auto &call : calls)
			all.push_back(call.second());
		std::sort(all.begin(), all.end(), std::greater<int>());
		sum += all[0] + shape->area(5);
		if (sum < 0)
			return 1;
	}
}
