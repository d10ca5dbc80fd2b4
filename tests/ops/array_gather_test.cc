// Gathers and scattered sums are held against loops over all cells, at every number of threads.
#include "ops/array_gather.h"

#include <cstring>
#include <random>

#include "gtest/gtest.h"

namespace adjoin {
namespace {

// One index: where its positions are along the loops, and what they move in the indexed array.
struct Index {
  std::vector<int64_t> strides;
  int64_t extent;  // positions are below it
  int64_t stride;
  TypeId type = TypeId::kInt64;
};
struct Nest {
  const char* name;
  std::vector<int64_t> loops;
  std::vector<int64_t> direct;  // in the array that is indexed
  std::vector<Index> indices;
  int64_t cells;  // of that array
};

int64_t CellsOf(const std::vector<int64_t>& loops) {
  int64_t cells = 1;
  for (int64_t extent : loops) cells *= extent;
  return cells;
}

// Large ones run in parts: of rows, of a row, of an outer loop.
std::vector<Nest> Nests() {
  return {
      {"no loops", {}, {}, {{{}, 7, 1}}, 7},
      {"rows by position", {60, 7}, {0, 1}, {{{1, 0}, 5, 7}}, 35},
      {"many rows by position", {2100, 130}, {0, 1}, {{{1, 0}, 31, 130, TypeId::kInt32}}, 4030},
      {"batches of rows", {24, 120, 96}, {1920, 0, 1}, {{{0, 1, 0}, 20, 96}}, 46080},
      {"cells by position", {300000}, {0}, {{{1}, 5000, 1}}, 5000},
      {"one cell of each row", {270000}, {3}, {{{1}, 3, 1}}, 810000},
      {"within rows", {300, 901}, {1000, 0}, {{{0, 1}, 1000, 1, TypeId::kInt16}}, 300000},
      {"outer loop by position", {3, 190, 500}, {0, 500, 1}, {{{1, 0, 0}, 4, 95000}}, 380000},
      {"two indices", {400, 300}, {0, 0}, {{{1, 0}, 20, 30}, {{0, 1}, 30, 1}}, 600},
      {"index over both", {300, 500, 2}, {0, 0, 1}, {{{500, 1, 0}, 50, 2}}, 100},
      {"four loops", {30, 6, 40, 40}, {1680, 40, 0, 1}, {{{0, 0, 1, 0}, 7, 240}}, 50400},
      {"four loops and a long run",
       {5, 6, 40, 250},
       {10500, 250, 0, 1},
       {{{40, 0, 1, 0}, 7, 1500}},
       52500},
      {"strided rows", {1500, 200}, {0, 8}, {{{1, 0}, 8, 1}}, 1600},
      {"few cells to many", {10, 4}, {0, 1}, {{{1, 0}, 80000, 4}}, 320000},
  };
}

constexpr int64_t kOrigin = 3;

std::vector<int64_t> Coordinates(const std::vector<int64_t>& loops, int64_t cell) {
  std::vector<int64_t> at(loops.size());
  for (size_t i = loops.size(); i-- > 0; cell /= loops[i]) at[i] = cell % loops[i];
  return at;
}
int64_t Dot(const std::vector<int64_t>& strides, const std::vector<int64_t>& at) {
  int64_t sum = 0;
  for (size_t i = 0; i < at.size(); ++i) sum += strides[i] * at[i];
  return sum;
}

template <typename T>
class ArrayGatherTest : public testing::TestWithParam<Nest> {
 protected:
  ArrayGatherTest() : nest_(GetParam()), random_(5) {
    for (const Index& index : nest_.indices) {
      int64_t n = 1;
      for (size_t i = 0; i < nest_.loops.size(); ++i) n += (nest_.loops[i] - 1) * index.strides[i];
      positions_.emplace_back();
      for (int64_t i = 0; i < n; ++i)
        positions_.back().push_back(
            static_cast<int64_t>(random_() % static_cast<uint64_t>(index.extent)));
      const auto store = [&](auto zero) {
        using P = decltype(zero);
        stored_.emplace_back(static_cast<size_t>(n) * sizeof(P));
        for (int64_t i = 0; i < n; ++i) {
          const P p = static_cast<P>(positions_.back()[static_cast<size_t>(i)] + kOrigin);
          std::memcpy(stored_.back().data() + static_cast<size_t>(i) * sizeof(P), &p, sizeof(P));
        }
      };
      if (index.type == TypeId::kInt16) {
        store(int16_t{});
      } else if (index.type == TypeId::kInt32) {
        store(int32_t{});
      } else {
        store(int64_t{});
      }
      indices_.push_back({{static_cast<int>(indices_.size()) + 2, 0},
                          index.type,
                          index.strides,
                          kOrigin,
                          index.stride});
    }
  }

  std::vector<T> Random(int64_t n) {
    std::normal_distribution<double> normal;
    std::vector<T> out(static_cast<size_t>(n));
    for (T& x : out) x = static_cast<T>(100 * normal(random_));
    return out;
  }
  // Where the loops' cell points in the indexed array.
  size_t Target(const std::vector<int64_t>& at) const {
    int64_t target = Dot(nest_.direct, at);
    for (size_t k = 0; k < positions_.size(); ++k) {
      const Index& index = nest_.indices[k];
      target += positions_[k][static_cast<size_t>(Dot(index.strides, at))] * index.stride;
    }
    return static_cast<size_t>(target);
  }
  // Positions follow from the outermost loop, and it is no axis of the indexed array: tiles are of
  // it.
  bool IsTiled() const {
    if (nest_.loops.empty()) return false;
    const bool varies = std::any_of(nest_.indices.begin(), nest_.indices.end(),
                                    [](const Index& index) { return index.strides[0] != 0; });
    return varies && nest_.direct[0] == 0 && nest_.loops[0] > 1;
  }
  // `tile`: indices of the outermost loop that run before the next ones; 0: it runs whole.
  void Run(const Step& step, std::vector<T>& in, std::vector<T>& out, int threads,
           int64_t tile = 0) {
    TaskPool pool(threads);
    RunState state;
    state.pool = &pool;
    state.bases = {reinterpret_cast<std::byte*>(in.data()),
                   reinterpret_cast<std::byte*>(out.data())};
    for (auto& positions : stored_) state.bases.push_back(positions.data());
    for (int64_t first = 0; tile > 0 && first < nest_.loops[0]; first += tile)
      step.RunTile(state, first, std::min(first + tile, nest_.loops[0]));
    ASSERT_TRUE(tile > 0 || step.Run(state).ok());
  }

  void Gathers() {
    const int64_t cells = CellsOf(nest_.loops);
    std::vector<T> source = Random(nest_.cells), expected(static_cast<size_t>(cells));
    for (int64_t cell = 0; cell < cells; ++cell)
      expected[static_cast<size_t>(cell)] = source[Target(Coordinates(nest_.loops, cell))];
    const GatherStep step(TypeOf(), nest_.loops, {0, 0}, nest_.direct, indices_, {1, 0},
                          nest_.loops.empty() ? 1 : nest_.loops[0], "test");
    for (int threads = 1; threads <= 4; ++threads) {
      std::vector<T> out(expected.size(), T(-1));
      Run(step, source, out, threads);
      EXPECT_EQ(out, expected) << threads << " threads";
      if (!IsTiled()) continue;
      std::fill(out.begin(), out.end(), T(-1));
      Run(step, source, out, threads, nest_.loops[0] / 2);
      EXPECT_EQ(out, expected) << threads << " threads, by tiles";
    }
  }
  // Values lie along the loops in order, or turned over.
  void Scatters(bool turned) {
    const int64_t cells = CellsOf(nest_.loops);
    std::vector<int64_t> strides(nest_.loops.size());
    int64_t stride = 1;
    for (size_t i = 0; i < strides.size(); ++i) {
      const size_t loop = turned ? i : strides.size() - 1 - i;
      strides[loop] = std::exchange(stride, stride * nest_.loops[loop]);
    }
    std::vector<T> values = Random(cells), expected(static_cast<size_t>(nest_.cells), T(0));
    for (int64_t cell = 0; cell < cells; ++cell) {
      const std::vector<int64_t> at = Coordinates(nest_.loops, cell);
      expected[Target(at)] += values[static_cast<size_t>(Dot(strides, at))];
    }
    const ScatterStep step(TypeOf(), nest_.loops, {{{0, 0}, strides, indices_}}, nest_.direct,
                           {1, 0}, nest_.cells, "test");
    for (int threads = 1; threads <= 4; ++threads) {
      std::vector<T> out(expected.size(), T(-1));
      Run(step, values, out, threads);
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(T)), 0)
          << threads << " threads, turned " << turned;
      if (!IsTiled()) continue;
      Run(step, values, out, threads, nest_.loops[0] / 2);
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(T)), 0)
          << threads << " threads, turned " << turned << ", by tiles";
    }
  }

  // Two values at each cell of the loops, the second's positions those of the first turned over.
  void ScattersTwo() {
    if (nest_.loops.empty() || nest_.indices.size() != 1) return;
    const auto nonzero = [](int64_t stride) { return stride != 0; };
    const auto& of_index = nest_.indices[0].strides;
    if (std::count_if(of_index.begin(), of_index.end(), nonzero) != 1) return;
    const auto loop = static_cast<size_t>(std::find_if(of_index.begin(), of_index.end(), nonzero) -
                                          of_index.begin());
    const int64_t cells = CellsOf(nest_.loops), extent = nest_.loops[loop];
    std::vector<int64_t> strides(nest_.loops.size());
    int64_t stride = 1;
    for (size_t i = strides.size(); i-- > 0;)
      strides[i] = std::exchange(stride, stride * nest_.loops[i]);
    std::vector<T> values = Random(2 * cells), expected(static_cast<size_t>(nest_.cells), T(0));
    // Index by index, of each the first value's cells and then the second's.
    std::vector<std::vector<int64_t>> cells_at(static_cast<size_t>(extent));
    for (int64_t cell = 0; cell < cells; ++cell)
      cells_at[static_cast<size_t>(Coordinates(nest_.loops, cell)[loop])].push_back(cell);
    for (const std::vector<int64_t>& of_index_cells : cells_at) {
      for (int value : {0, 1}) {
        for (int64_t cell : of_index_cells) {
          const std::vector<int64_t> at = Coordinates(nest_.loops, cell);
          std::vector<int64_t> target = at;
          if (value == 1) target[loop] = extent - 1 - at[loop];
          const int64_t direct = Dot(nest_.direct, at) - Dot(nest_.direct, target);
          expected[static_cast<size_t>(static_cast<int64_t>(Target(target)) + direct)] +=
              values[static_cast<size_t>(value * cells + cell)];
        }
      }
    }
    std::vector<ArrayIndex> turned = indices_;
    turned[0].strides[loop] = -turned[0].strides[loop];
    turned[0].address.offset = (extent - 1) * of_index[loop] * WidthOf(turned[0].type);
    const ScatterStep step(TypeOf(), nest_.loops,
                           {{{0, 0}, strides, indices_},
                            {{0, cells * static_cast<int64_t>(sizeof(T))}, strides, turned}},
                           nest_.direct, {1, 0}, nest_.cells, "test");
    for (int threads = 1; threads <= 4; ++threads) {
      std::vector<T> out(expected.size(), T(-1));
      Run(step, values, out, threads);
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(T)), 0)
          << threads << " threads";
      if (!IsTiled()) continue;
      Run(step, values, out, threads, nest_.loops[0] / 2);
      EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(T)), 0)
          << threads << " threads, by tiles";
    }
  }

 private:
  static TypeId TypeOf() {
    return std::is_same_v<T, float>    ? TypeId::kFloat32
           : std::is_same_v<T, double> ? TypeId::kFloat64
                                       : TypeId::kInt16;
  }
  Nest nest_;
  std::mt19937_64 random_;
  std::vector<std::vector<int64_t>> positions_;
  std::vector<std::vector<std::byte>> stored_;
  std::vector<ArrayIndex> indices_;
};

std::string NameOf(const testing::TestParamInfo<Nest>& info) {
  std::string name = info.param.name;
  std::erase_if(name, [](char c) { return c == ' ' || c == ','; });
  return name;
}

using DoubleGatherTest = ArrayGatherTest<double>;
TEST_P(DoubleGatherTest, FetchesEachCell) { Gathers(); }
TEST_P(DoubleGatherTest, AddsInTheOrderOfTheLoops) {
  Scatters(false);
  Scatters(true);
}
TEST_P(DoubleGatherTest, AddsTwoValuesInTurn) { ScattersTwo(); }
using FloatGatherTest = ArrayGatherTest<float>;
TEST_P(FloatGatherTest, AddsTwoValuesInTurn) { ScattersTwo(); }
TEST_P(FloatGatherTest, FetchesEachCell) { Gathers(); }
TEST_P(FloatGatherTest, AddsInTheOrderOfTheLoops) {
  Scatters(false);
  Scatters(true);
}
using IntegerGatherTest = ArrayGatherTest<int16_t>;
TEST_P(IntegerGatherTest, FetchesEachCell) { Gathers(); }

INSTANTIATE_TEST_SUITE_P(Nests, DoubleGatherTest, testing::ValuesIn(Nests()), NameOf);
INSTANTIATE_TEST_SUITE_P(Nests, FloatGatherTest, testing::ValuesIn(Nests()), NameOf);
INSTANTIATE_TEST_SUITE_P(Nests, IntegerGatherTest, testing::ValuesIn(Nests()), NameOf);

}  // namespace
}  // namespace adjoin
