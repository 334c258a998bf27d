// SPDX-License-Identifier: Apache-2.0
// A program that says `using namespace ww` beside `using namespace std` keeps the names that programs have of their
// own: none below is ambiguous. The compiler is the test.
#include <gtest/gtest.h>
#include <sys/select.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <warpwright/warpwright.hpp>

using namespace std;
using namespace ww;

// Variables and functions of the user's, at global scope as in any small program.
int device, devices, stream, context, event, module, kernel, kernels, launch, grid, block, threads, memory, buffer,
    host;
int plan, plans, problem, operands, workspace, config, configs, options, result, results, error, errors, status, report;
int tensor, matrix, layout, shape, stride, tile, tiles, stage, stages, group, groups, batch, split, order, schedule;
int m, n, k, a, b, c, d, lda, ldb, ldd, rows, columns, input, output, bias, mask, seed, sms, info, name, names, text;
int runtime, ops, jit, cli, io, reference, operations, measure, capi, select_, launch_, detail, impl, test;
int upload(int x) { return x; }
int download(int x) { return x; }
int run(int x) { return x; }
int require(int x) { return x; }
int print(int x) { return x; }
int now(int x) { return x; }

namespace {

TEST(Names, OfAUsersProgramStayUnambiguous) {
  int sum = 0;
  for (const int each :
       {device, devices,   stream,     context,  event,   module,  kernel,  kernels, launch,   grid,
        block,  threads,   memory,     buffer,   host,    plan,    plans,   problem, operands, workspace,
        config, configs,   options,    result,   results, error,   errors,  status,  report,   tensor,
        matrix, layout,    shape,      stride,   tile,    tiles,   stage,   stages,  group,    groups,
        batch,  split,     order,      schedule, m,       n,       k,       a,       b,        c,
        d,      lda,       ldb,        ldd,      rows,    columns, input,   output,  bias,     mask,
        seed,   sms,       info,       name,     names,   text,    runtime, ops,     jit,      cli,
        io,     reference, operations, measure,  capi,    select_, launch_, detail,  impl,     test})
    sum += each;
  EXPECT_EQ(sum + upload(1) + download(2) + run(3) + require(4) + print(5) + now(6), 21);
}

TEST(Names, OfTheStandardLibraryStayUnambiguous) {
  vector<int> values{3, 1, 2};
  sort(begin(values), end(values));
  EXPECT_EQ(min(1, 2) + max(3, 4) + clamp(5, 0, 1), 6);
  EXPECT_EQ(size(values) + count(values.begin(), values.end(), 2), 4u);
  vector<int> others = move(values);
  swap(values, others);
  EXPECT_EQ(accumulate(values.begin(), values.end(), 0), 6);
  EXPECT_EQ(get<0>(tuple(7, 8)), 7);
  copy(values.begin(), values.end(), back_inserter(others));
  fill(others.begin(), others.end(), 0);
  transform(others.begin(), others.end(), others.begin(), [](int x) { return x; });
  static_assert(is_same_v<remove_reference<int&>::type, int> && is_integral_v<int>);
  static_assert(is_same_v<conditional_t<true, int, char>, int>);
  static_assert(is_same_v<make_index_sequence<2>, index_sequence<0, 1>>);
  const auto call = [](auto&& x) { return forward<decltype(x)>(x); };
  EXPECT_EQ(invoke(call, 9), 9);
  timeval none{};
  EXPECT_EQ(select(0, nullptr, nullptr, nullptr, &none), 0);  // POSIX
}

}  // namespace
