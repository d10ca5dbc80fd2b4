#include "ops/merge_runs.h"

#include <gtest/gtest.h>

#include "engine/status.h"

namespace adjoin {
namespace {

std::vector<int64_t> Merge(const std::vector<int>& values,
                           const std::vector<std::vector<RowRun>>& runs) {
  std::vector<RunList> lists(runs.begin(), runs.end());
  std::vector<int64_t> rows;
  const auto less = [&](int64_t a, int64_t b) { return values[a] < values[b]; };
  EXPECT_TRUE(MergeRuns(lists, less, [&](int64_t row) {
                rows.push_back(row);
                return absl::OkStatus();
              }).ok());
  return rows;
}

TEST(MergeRuns, EqualRowsComeByListAndListsGoThroughTheirRuns) {
  const std::vector<int> values = {1, 3, 5, 1, 1, 4, 5, 9};
  const std::vector<int64_t> expected = {0, 3, 4, 1, 5, 2, 6, 7};
  EXPECT_EQ(Merge(values, {{{0, 0, 3}}, {}, {{0, 3, 2}, {0, 5, 3}}}), expected);
}

TEST(MergeRuns, NothingGivesNothing) {
  EXPECT_TRUE(Merge({}, {}).empty());
  EXPECT_TRUE(Merge({}, {{}, {}}).empty());
}

TEST(MergeRuns, AnErrorEndsIt) {
  const std::vector<RowRun> run = {{0, 0, 5}};
  int taken = 0;
  const absl::Status status = MergeRuns(
      {RunList(run)}, [](int64_t a, int64_t b) { return a < b; },
      [&](int64_t row) { return ++taken, row == 2 ? absl::AbortedError("") : absl::OkStatus(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(taken, 3);
}

}  // namespace
}  // namespace adjoin
