// Row programs against the same expressions over whole arrays, one kernel after another: no blocks,
// registers or strides. Equal bits, since each operation is the kernel's either way.
#include "ops/row_program.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "ops/array_map.h"
#include "ops/vector.h"

namespace adjoin {
namespace {

using Extents = std::vector<int64_t>;
using Bytes = std::vector<std::byte>;

int64_t CellsOf(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t Below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  double Normal() { return normal_(engine_); }
  template <typename T>
  const T& Of(const std::vector<T>& from) {
    return from[static_cast<size_t>(Below(std::ssize(from)))];
  }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

// memcmp may not be handed the null pointer of an empty vector.
bool SameBytes(const void* a, const void* b, size_t n) {
  return n == 0 || std::memcmp(a, b, n) == 0;
}

bool SameCell(const std::byte* a, const std::byte* b, TypeId type) {
  return WithElementType(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      T x, y;
      std::memcpy(&x, a, sizeof(T));
      std::memcpy(&y, b, sizeof(T));
      if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    }
    return std::memcmp(a, b, sizeof(T)) == 0;
  });
}

Bytes RandomCells(TypeId type, int64_t n, Random& random) {
  Bytes out(static_cast<size_t>(n * VectorWidth(type)));
  WithElementType(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) {
      for (int64_t i = 0; i < n; ++i) {
        T x;
        if constexpr (std::is_floating_point_v<T>) {
          const T special[] = {T(0), T(-0.0), std::numeric_limits<T>::infinity(),
                               std::numeric_limits<T>::quiet_NaN()};
          x = random.OneIn(20) ? special[random.Below(4)] : static_cast<T>(random.Normal());
        } else {
          x = static_cast<T>(sizeof(T) == 1 ? random.Below(2) : random.Below(5) - 2);
        }
        std::memcpy(out.data() + i * int64_t{sizeof(T)}, &x, sizeof(T));
      }
    }
  });
  return out;
}

// Where cell i of the loops is, in elements.
int64_t Offset(int64_t cell, const Extents& loops, const Extents& strides) {
  int64_t offset = 0;
  for (size_t k = loops.size(); k-- > 0;) {
    offset += cell % loops[k] * strides[k];
    cell /= loops[k];
  }
  return offset;
}

// An array along loops in any order of them: dense, turned over, a slice of a larger one, or (if
// `broadcasts`) without some of the loops.
struct Layout {
  Extents strides;
  int64_t first = 0, cells = 1;  // of the array around it
};
Layout RandomLayout(const Extents& loops, bool broadcasts, Random& random) {
  Layout out;
  out.strides.assign(loops.size(), 0);
  std::vector<size_t> order(loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (random.OneIn(3)) {
    for (size_t k = order.size(); k > 1; --k)
      std::swap(order[k - 1], order[static_cast<size_t>(random.Below(static_cast<int64_t>(k)))]);
  }
  const bool slices = random.OneIn(3), leaves_out = broadcasts && random.OneIn(2);
  for (size_t k = order.size(); k-- > 0;) {
    const size_t axis = order[k];
    if (leaves_out && random.OneIn(2)) continue;
    const int64_t before = slices ? random.Below(3) : 0, after = slices ? random.Below(3) : 0;
    out.strides[axis] = out.cells;
    out.first += before * out.cells;
    out.cells *= std::max<int64_t>(before + loops[axis] + after, 1);
  }
  return out;
}

Extents RandomLoops(int64_t most_loops, int64_t most_cells, Random& random) {
  Extents loops;
  int64_t left = most_cells;
  for (int64_t k = random.Below(most_loops + 1); k > 0; --k) {
    const int64_t extent = random.OneIn(5) ? 1 : 1 + random.Below(std::min<int64_t>(left, 2000));
    loops.push_back(extent);
    left = std::max<int64_t>(left / extent, 1);
  }
  for (size_t k = loops.size(); k > 1; --k)
    std::swap(loops[k - 1], loops[static_cast<size_t>(random.Below(static_cast<int64_t>(k)))]);
  return loops;
}

TEST(StridedCellsTest, ReadsAndWritesWhatAnOdometerMeets) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    Extents loops = RandomLoops(5, 200, random);
    if (!loops.empty() && random.OneIn(20)) random.OneIn(2) ? loops[0] = 0 : loops.back() = 0;
    const TypeId type = random.Of<TypeId>(
        {TypeId::kBool, TypeId::kInt16, TypeId::kInt32, TypeId::kInt64, TypeId::kFloat64});
    const int64_t width = VectorWidth(type), cells = CellsOf(loops);
    const Layout from = RandomLayout(loops, true, random), to = RandomLayout(loops, false, random);
    const StridedCells read(loops, from.strides), write(loops, to.strides);
    Bytes source(static_cast<size_t>(from.cells * width)),
        target(static_cast<size_t>(to.cells * width));
    for (std::byte& b : source) b = static_cast<std::byte>(random.Below(256));
    for (std::byte& b : target) b = static_cast<std::byte>(random.Below(256));
    Bytes expected = target, dense(static_cast<size_t>(cells * width));
    for (int64_t i = 0; i < cells; ++i) {
      std::memcpy(dense.data() + i * width,
                  source.data() + (from.first + Offset(i, loops, from.strides)) * width,
                  static_cast<size_t>(width));
    }
    if (read.dense()) {
      EXPECT_TRUE(SameBytes(dense.data(), source.data() + from.first * width, dense.size()))
          << seed;
    }
    // In pieces that end anywhere.
    for (int64_t first = 0; first < cells || first == 0;) {
      const int64_t n = random.OneIn(3) ? cells - first : random.Below(cells - first + 1);
      Bytes piece(static_cast<size_t>(n * width));
      read.Read(source.data() + from.first * width, width, first, n, piece.data());
      ASSERT_TRUE(std::equal(piece.begin(), piece.end(), dense.begin() + first * width)) << seed;
      write.Write(target.data() + to.first * width, width, first, n, piece.data());
      for (int64_t i = first; i < first + n; ++i) {
        std::memcpy(expected.data() + (to.first + Offset(i, loops, to.strides)) * width,
                    dense.data() + i * width, static_cast<size_t>(width));
      }
      ASSERT_EQ(target, expected) << seed;
      first += n;
      if (cells == 0) break;
    }
  }
}

// A value of a program and its cells over the whole nest, also where it is one a row.
struct Node {
  RowProgramBuilder::Id id;
  Bytes cells;
};

// A random program beside the plain evaluation of it.
class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed)
      : random_(seed),
        row_loops_(RandomLoops(3, random_.OneIn(4) ? 3000 : 60, random_)),
        rows_(CellsOf(row_loops_)),
        cell_loops_(
            RandomLoops(2, std::min(random_.OneIn(4) ? int64_t{700} : 40, 40000 / rows_), random_)),
        length_(CellsOf(cell_loops_)),
        loops_(row_loops_),
        builder_(row_loops_, cell_loops_) {
    loops_.insert(loops_.end(), cell_loops_.begin(), cell_loops_.end());
    state_.parameters = {Value::Float(1.25), Value(), Value::Int(-3), Value::Bool(true)};
    for (int64_t n = 2 + random_.Below(5); n > 0; --n) AddLeaf();
    for (int64_t n = 1 + random_.Below(25); n > 0; --n) AddOperation();
    if (random_.OneIn(2)) {
      exposed_ = &Any();
      builder_.Expose(exposed_->id);
    }
    for (int64_t n = 1 + random_.Below(5); n > 0; --n) AddStore(Any());
    if (random_.OneIn(3)) AddStore(nodes_[last_stored_]);  // once more
  }

  void Check() {
    const RowProgram program = std::move(builder_).Build();
    ASSERT_EQ(program.rows(), rows_);
    ASSERT_EQ(program.length(), length_);
    state_.budget = std::make_shared<MemoryBudget>();
    for (auto& array : arrays_) state_.bases.push_back(array->data());
    RowProgram::Worker worker;
    ASSERT_TRUE(program.Prepare(state_, worker).ok());
    for (int64_t row = 0; row < rows_;) {
      int64_t n = std::min(program.block_rows(), rows_ - row);
      if (random_.OneIn(4)) n = 1 + random_.Below(n);
      program.Run(state_, worker, row, n);
      if (exposed_ != nullptr) CheckExposed(program.exposed(worker), row, n);
      if (testing::Test::HasFatalFailure()) return;
      row += n;
    }
    for (const auto& [number, expected] : expected_) {
      ASSERT_EQ(arrays_[number]->size(), expected.cells.size());
      const int64_t width = VectorWidth(expected.type);
      for (int64_t i = 0; i * width < std::ssize(expected.cells); ++i) {
        ASSERT_TRUE(SameCell(arrays_[number]->data() + i * width, expected.cells.data() + i * width,
                             expected.type))
            << "element " << i << " of array " << number << ", " << rows_ << " rows of " << length_;
      }
    }
  }

 private:
  void CheckExposed(const std::byte* cells, int64_t row, int64_t n) {
    const int64_t width = VectorWidth(exposed_type());
    for (int64_t i = 0; i < n * length_; ++i) {
      ASSERT_TRUE(SameCell(cells + i * width, exposed_->cells.data() + (row * length_ + i) * width,
                           exposed_type()))
          << "exposed cell " << i << " from row " << row;
    }
  }
  TypeId exposed_type() const { return types_[static_cast<size_t>(exposed_ - nodes_.data())]; }

  TypeId TypeAt(size_t node) const { return types_[node]; }
  // One of the nodes of a type, the latest more often: what few others read is fused.
  int Pick(std::span<const TypeId> types) {
    std::vector<int> fit;
    for (size_t k = 0; k < nodes_.size(); ++k) {
      if (std::find(types.begin(), types.end(), types_[k]) != types.end())
        fit.push_back(static_cast<int>(k));
    }
    if (fit.empty()) return -1;
    return random_.OneIn(2) ? fit.back() : random_.Of(fit);
  }
  const Node& Any() { return random_.Of(nodes_); }
  int AddNode(RowProgramBuilder::Id id, TypeId type, Bytes cells) {
    nodes_.push_back({id, std::move(cells)});
    types_.push_back(type);
    EXPECT_EQ(builder_.type(id), type);
    return static_cast<int>(nodes_.size()) - 1;
  }
  int64_t cells() const { return rows_ * length_; }

  template <typename T>
  static Bytes Filled(int64_t n, T value) {
    Bytes out(static_cast<size_t>(n) * sizeof(T));
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(out.data() + i * int64_t{sizeof(T)}, &value, sizeof(T));
    return out;
  }

  void AddLeaf() {
    const int64_t kind = random_.Below(8);
    if (kind == 0) {
      const double value = random_.Normal();
      AddNode(builder_.Constant(Value::Float(value), TypeId::kFloat64), TypeId::kFloat64,
              Filled(cells(), value));
    } else if (kind == 1) {
      AddNode(builder_.Constant(Value::Bool(true), TypeId::kBool), TypeId::kBool,
              Filled(cells(), uint8_t{1}));
      AddNode(builder_.Constant(Value::Float(0.5), TypeId::kFloat32), TypeId::kFloat32,
              Filled(cells(), 0.5f));
    } else if (kind == 2) {
      const int number = static_cast<int>(random_.Below(4));
      const double values[] = {1.25, 0, -3, 1};  // a NULL is 0
      AddNode(builder_.Parameter(number, TypeId::kFloat64), TypeId::kFloat64,
              Filled(cells(), values[number]));
      AddNode(builder_.ParameterIsValid(number), TypeId::kBool,
              Filled(cells(), uint8_t{number != 1}));
    } else {
      AddLoad(random_.Of<TypeId>({TypeId::kFloat64, TypeId::kFloat64, TypeId::kFloat32,
                                  TypeId::kBool, TypeId::kInt32, TypeId::kInt64}));
    }
  }

  void AddLoad(TypeId type) {
    const bool per_row = random_.OneIn(3);
    const Extents& loops = per_row ? row_loops_ : loops_;
    const Layout layout = RandomLayout(loops, true, random_);
    const int64_t width = VectorWidth(type);
    arrays_.push_back(std::make_unique<Bytes>(RandomCells(type, layout.cells, random_)));
    const Bytes& array = *arrays_.back();
    Bytes out(static_cast<size_t>(cells() * width));
    for (int64_t i = 0; i < cells(); ++i) {
      const int64_t at = layout.first + Offset(per_row ? i / length_ : i, loops, layout.strides);
      std::memcpy(out.data() + i * width, array.data() + at * width, static_cast<size_t>(width));
    }
    const ArrayAddress address{static_cast<int>(arrays_.size()) - 1, layout.first * width};
    AddNode(builder_.Load({address, type, layout.strides}, per_row), type, std::move(out));
  }

  void AddOperation() {
    const int64_t kind = random_.Below(12);
    const TypeId floats[] = {TypeId::kFloat64, TypeId::kFloat32};
    const TypeId bools[] = {TypeId::kBool};
    if (kind < 6) return Arithmetic(Pick(floats));
    if (kind == 6) return static_cast<void>(AddCast());
    if (kind == 7) return Reduce(Pick(floats));
    if (kind == 8) return Reduce(Pick(bools));
    if (kind == 9) return Compare();
    const int condition = Pick(bools), a = Pick(floats);
    if (condition < 0 || a < 0) return;
    if (kind == 10) {
      const TypeId type[] = {TypeAt(Index(a))};
      return Map(ScalarOp::kSelect, type[0], {condition, a, Pick(type)});
    }
    if (random_.OneIn(3)) return Map(ScalarOp::kNot, TypeId::kBool, {condition});
    Map(random_.OneIn(2) ? ScalarOp::kAnd : ScalarOp::kOr, TypeId::kBool, {condition, Pick(bools)});
  }

  static size_t Index(int i) { return static_cast<size_t>(i); }

  void Arithmetic(int a) {
    if (a < 0) return;
    const TypeId type[] = {TypeAt(Index(a))};
    const int b = Pick(type);
    if (random_.OneIn(8)) return Map(ScalarOp::kNegate, type[0], {a});
    if (random_.OneIn(8))
      return Map(random_.OneIn(2) ? ScalarOp::kAbs : ScalarOp::kSqrt, type[0], {a});
    const ScalarOp op =
        random_.Of<ScalarOp>({ScalarOp::kAdd, ScalarOp::kAdd, ScalarOp::kSubtract,
                              ScalarOp::kSubtract, ScalarOp::kMultiply, ScalarOp::kMultiply,
                              ScalarOp::kDivide, ScalarOp::kGreatest, ScalarOp::kLeast});
    if (random_.OneIn(2)) return Map(op, type[0], {a, b});
    Map(op, type[0], {b, a});
  }

  void Compare() {
    const TypeId types[] = {TypeId::kFloat64, TypeId::kFloat32, TypeId::kInt32, TypeId::kInt64,
                            TypeId::kBool};
    const int a = Pick(types);
    const TypeId type[] = {TypeAt(Index(a))};
    Map(random_.Of<ScalarOp>(
            {ScalarOp::kEqual, ScalarOp::kNotEqual, ScalarOp::kLess, ScalarOp::kLessEqual}),
        TypeId::kBool, {a, Pick(type)});
  }

  void Map(ScalarOp op, TypeId result, std::vector<int> args) {
    std::vector<RowProgramBuilder::Id> ids;
    const void* cells_of[3] = {};
    for (size_t k = 0; k < args.size(); ++k) {
      ids.push_back(nodes_[Index(args[k])].id);
      cells_of[k] = nodes_[Index(args[k])].cells.data();
    }
    const TypeId operand = TypeAt(Index(args[op == ScalarOp::kSelect ? 1 : 0]));
    const ScalarKernel kernel = Kernels().at(op, operand);
    if (kernel == nullptr) return;
    Bytes out(static_cast<size_t>(cells() * VectorWidth(result)));
    kernel(cells_of, nullptr, out.data(), cells());
    AddNode(builder_.Map(op, result, ids), result, std::move(out));
  }

  int AddCast() {
    const TypeId from[] = {TypeId::kFloat64, TypeId::kFloat32, TypeId::kInt32, TypeId::kInt64,
                           TypeId::kBool};
    const int arg = Pick(from);
    const TypeId source = TypeAt(Index(arg));
    const TypeId type =
        random_.Of<TypeId>({TypeId::kFloat64, TypeId::kFloat64, TypeId::kFloat32, TypeId::kBool});
    const RowProgramBuilder::Id id = builder_.Cast(nodes_[Index(arg)].id, type);
    if (type == source) {
      EXPECT_EQ(id, nodes_[Index(arg)].id);
      return arg;
    }
    Bytes out(static_cast<size_t>(cells() * VectorWidth(type)));
    const void* args[] = {nodes_[Index(arg)].cells.data()};
    const ScalarKernel kernel = Kernels().cast[static_cast<int>(source)][static_cast<int>(type)];
    if (kernel != nullptr) {
      kernel(args, nullptr, out.data(), cells());
    } else {
      WithElementType(source, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_arithmetic_v<T>) {
          for (int64_t i = 0; i < cells(); ++i)
            out[Index(static_cast<int>(i))] =
                static_cast<std::byte>(static_cast<const T*>(args[0])[i] != T{} ? 1 : 0);
        }
      });
    }
    const int node = AddNode(id, type, std::move(out));
    // The sum takes in the cast where nothing stands between them.
    if (type == TypeId::kFloat64 && random_.OneIn(2)) Reduce(node);
    return node;
  }

  void Reduce(int arg) {
    if (arg < 0) return;
    const TypeId type = TypeAt(Index(arg));
    const Bytes& in = nodes_[Index(arg)].cells;
    const ArrayReduction reduction =
        type == TypeId::kBool
            ? random_.Of<ArrayReduction>({ArrayReduction::kAny, ArrayReduction::kAll})
            : random_.Of<ArrayReduction>({ArrayReduction::kSum, ArrayReduction::kSum,
                                          ArrayReduction::kMax, ArrayReduction::kMin});
    Bytes out(in.size());
    const auto reduce = [&](auto zero) {
      using T = decltype(zero);
      const T* x = reinterpret_cast<const T*>(in.data());
      T* y = reinterpret_cast<T*>(out.data());
      for (int64_t r = 0; r < rows_; ++r, x += length_, y += length_) {
        T value;
        if constexpr (std::is_same_v<T, uint8_t>) {
          value = reduction == ArrayReduction::kAny ? *std::max_element(x, x + length_)
                                                    : *std::min_element(x, x + length_);
        } else {
          const ReduceKernels<T>& k = Kernels().reduce<T>();
          value = reduction == ArrayReduction::kSum   ? k.sum(x, length_)
                  : reduction == ArrayReduction::kMax ? k.max(x, length_)
                                                      : k.min(x, length_);
        }
        std::fill_n(y, length_, value);
      }
    };
    if (type == TypeId::kBool) reduce(uint8_t{});
    if (type == TypeId::kFloat32) reduce(float{});
    if (type == TypeId::kFloat64) reduce(double{});
    AddNode(builder_.Reduce(reduction, nodes_[Index(arg)].id), type, std::move(out));
  }

  void AddStore(const Node& node) {
    last_stored_ = static_cast<size_t>(&node - nodes_.data());
    const TypeId type = TypeAt(last_stored_);
    const bool to_rows = !builder_.is_cells(node.id) && random_.OneIn(2);
    const RowProgramBuilder::Id id = to_rows ? builder_.Rows(node.id) : builder_.Cells(node.id);
    const Extents& loops = to_rows ? row_loops_ : loops_;
    const Layout layout = RandomLayout(loops, false, random_);
    const int64_t width = VectorWidth(type);
    arrays_.push_back(std::make_unique<Bytes>(RandomCells(type, layout.cells, random_)));
    Bytes expected = *arrays_.back();
    for (int64_t i = 0; i < (to_rows ? rows_ : cells()); ++i) {
      std::memcpy(expected.data() + (layout.first + Offset(i, loops, layout.strides)) * width,
                  node.cells.data() + i * (to_rows ? length_ : 1) * width,
                  static_cast<size_t>(width));
    }
    const ArrayAddress address{static_cast<int>(arrays_.size()) - 1, layout.first * width};
    builder_.Store(id, {address, type, layout.strides});
    expected_.push_back({arrays_.size() - 1, {type, std::move(expected)}});
  }

  struct Array {
    TypeId type;
    Bytes cells;
  };
  Random random_;
  Extents row_loops_;
  int64_t rows_;
  Extents cell_loops_;
  int64_t length_;
  Extents loops_;
  RowProgramBuilder builder_;
  RunState state_;
  std::vector<Node> nodes_;
  std::vector<TypeId> types_;
  std::vector<std::unique_ptr<Bytes>> arrays_;  // by base
  std::vector<std::pair<size_t, Array>> expected_;
  const Node* exposed_ = nullptr;
  size_t last_stored_ = 0;
};

TEST(RowProgramTest, IsItsExpressions) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram(seed).Check();
    if (testing::Test::HasFailure()) return;
  }
}

RunState StateOver(std::vector<std::byte*> bases, TaskPool* pool) {
  RunState state;
  state.budget = std::make_shared<MemoryBudget>();
  state.bases = std::move(bases);
  state.step_states.resize(1);
  state.pool = pool;
  return state;
}

template <typename T>
std::byte* BytesOf(std::vector<T>& v) {
  return reinterpret_cast<std::byte*>(v.data());
}

// Softmax over rows on several threads: whole parts of it, and rows left over.
TEST(FusedRowsTest, HasTheSameBitsAtEveryNumberOfThreads) {
  for (const auto& [rows, length] :
       {std::pair<int64_t, int64_t>{5000, 37}, {100, 3001}, {300001, 1}, {0, 5}, {3, 4}}) {
    Random random(3);
    std::vector<double> x(static_cast<size_t>(rows * length));
    for (double& v : x) v = random.Normal();
    std::vector<double> expected;
    for (int threads : {0, 1, 2, 5}) {
      RowProgramBuilder b({rows}, {length});
      const auto cells = b.Load({{0, 0}, TypeId::kFloat64, {length, 1}}, false);
      const int shifted[] = {cells, b.Reduce(ArrayReduction::kMax, cells)};
      const int difference[] = {b.Map(ScalarOp::kSubtract, TypeId::kFloat64, shifted)};
      const auto e = b.Map(ScalarOp::kExp, TypeId::kFloat64, difference);
      const int quotient[] = {e, b.Reduce(ArrayReduction::kSum, e)};
      b.Store(b.Map(ScalarOp::kDivide, TypeId::kFloat64, quotient),
              {{1, 0}, TypeId::kFloat64, {length, 1}});
      std::vector<double> out(x.size(), -1);
      const FusedRows step(0, {std::move(b).Build()}, 1, "softmax");
      TaskPool pool(std::max(threads, 1));
      RunState state = StateOver({BytesOf(x), BytesOf(out)}, threads == 0 ? nullptr : &pool);
      ASSERT_TRUE(step.Prepare(state).ok());
      ASSERT_TRUE(step.Run(state).ok());
      if (threads == 0) {
        expected = out;
        for (int64_t r = 0; r < rows; ++r) {
          long double sum = 0;
          for (int64_t i = 0; i < length; ++i) sum += out[static_cast<size_t>(r * length + i)];
          ASSERT_NEAR(static_cast<double>(sum), 1, 1e-12) << r;
        }
      }
      ASSERT_TRUE(SameBytes(out.data(), expected.data(), out.size() * sizeof(double)))
          << threads << " threads, " << rows << " x " << length;
    }
  }
}

struct ReduceShape {
  int64_t outer, reduced, inner;
};

// Reduces 2 x (or x itself for the other reductions) over the middle axis; returns the bits.
template <typename T>
std::vector<T> RunReduce(ArrayReduction reduction, TypeId type, ReduceShape s, std::vector<T>& x,
                         TaskPool* pool) {
  const bool in_rows = s.inner > 1 && s.inner <= RowProgram::kLongestRow;
  Extents rows{s.outer, s.reduced}, cells;
  (in_rows ? cells : rows).push_back(s.inner);
  RowProgramBuilder b(rows, cells);
  int id = b.Load({{0, 0}, type, {s.reduced * s.inner, s.inner, 1}}, !in_rows && cells.empty());
  if (reduction == ArrayReduction::kSum) {
    const int args[] = {id, b.Constant(Value::Float(2), type)};
    id = b.Map(ScalarOp::kMultiply, type, args);
  }
  b.Expose(id);
  std::vector<T> out(static_cast<size_t>(s.outer * s.inner) + 1, T(77)), by_tiles = out;
  const FusedReduce step(0, reduction, s.outer, s.reduced, s.inner,
                         {{std::move(b).Build(), {1, 0}}}, std::max<int64_t>(s.outer, 1), "reduce");
  RunState state = StateOver({BytesOf(x), BytesOf(out)}, pool);
  EXPECT_TRUE(step.Prepare(state).ok());
  EXPECT_TRUE(step.Run(state).ok());
  EXPECT_EQ(out.back(), T(77));
  RunState tiled = StateOver({BytesOf(x), BytesOf(by_tiles)}, pool);
  EXPECT_TRUE(step.Prepare(tiled).ok());
  for (int64_t first = 0; first < s.outer; first += 3)
    step.RunTile(tiled, first, std::min(first + 3, s.outer));
  EXPECT_TRUE(SameBytes(by_tiles.data(), out.data(), out.size() * sizeof(T))) << "by tiles";
  out.pop_back();
  return out;
}

template <typename T>
void CheckReduce(ArrayReduction reduction, TypeId type, ReduceShape s) {
  Random random(static_cast<uint64_t>(s.outer + 7 * s.reduced + 13 * s.inner));
  std::vector<T> x(static_cast<size_t>(s.outer * s.reduced * s.inner));
  for (T& v : x) {
    v = std::is_same_v<T, uint8_t>
            ? static_cast<T>(reduction == ArrayReduction::kAll ? !random.OneIn(s.reduced + 1)
                                                               : random.OneIn(s.reduced + 1))
            : static_cast<T>(random.Normal());
  }
  TaskPool one(1), two(2), five(5);
  const std::vector<T> out = RunReduce(reduction, type, s, x, nullptr);
  for (TaskPool* pool : {&one, &two, &five}) {
    const std::vector<T> other = RunReduce(reduction, type, s, x, pool);
    ASSERT_TRUE(SameBytes(out.data(), other.data(), out.size() * sizeof(T)))
        << pool->threads() << " threads";
  }
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      long double sum = 0, size = 0;
      bool any = false, all = true;
      T most = -std::numeric_limits<T>::infinity(), least = std::numeric_limits<T>::quiet_NaN();
      for (int64_t r = 0; r < s.reduced; ++r) {
        const T v = x[static_cast<size_t>((o * s.reduced + r) * s.inner + i)];
        sum += 2 * static_cast<long double>(v);
        size += std::fabs(2 * static_cast<long double>(v));
        any |= v != 0;
        all &= v != 0;
        if (v > most) most = v;
        if (!(v >= least)) least = v;
      }
      const T value = out[static_cast<size_t>(o * s.inner + i)];
      if (reduction == ArrayReduction::kSum) {
        // Rows are added one after another: as many roundings as there are.
        const long double bound = static_cast<long double>(std::numeric_limits<T>::epsilon()) *
                                  size * (s.inner > 1 ? std::sqrt(s.reduced) + 64.0L : 128.0L);
        ASSERT_LE(std::fabs(value - sum), bound) << o << "," << i;
      } else if (reduction == ArrayReduction::kMax) {
        ASSERT_EQ(value, most) << o << "," << i;
      } else if (reduction == ArrayReduction::kMin) {
        ASSERT_TRUE(value == least || (std::isnan(value) && std::isnan(least))) << o << "," << i;
      } else {
        ASSERT_EQ(value != 0, reduction == ArrayReduction::kAny ? any : all) << o << "," << i;
      }
    }
  }
}

// Among them long reductions that are cut into chunks, and lines longer than a row may be.
TEST(FusedReduceTest, ReducesTheMiddleAxisAtEveryNumberOfThreads) {
  const ReduceShape shapes[] = {{1, 1, 1},       {3, 5, 1},      {3, 5, 4},      {7, 1000, 1},
                                {1, 400000, 1},  {3, 100001, 1}, {1, 50001, 9},  {2, 90000, 3},
                                {1, 3, 70001},   {2, 40, 5003},  {1, 2, 4096},   {1, 200, 4097},
                                {300, 1000, 1},  {40, 100, 100}, {100000, 3, 1}, {1, 131072, 1},
                                {2, 0, 3},       {2, 0, 1},      {0, 4, 3},      {15, 9000, 1},
                                {1, 1025, 1000}, {1, 16, 100000}};
  for (const ReduceShape& s : shapes) {
    SCOPED_TRACE(std::to_string(s.outer) + "," + std::to_string(s.reduced) + "," +
                 std::to_string(s.inner));
    for (ArrayReduction reduction :
         {ArrayReduction::kSum, ArrayReduction::kMax, ArrayReduction::kMin}) {
      CheckReduce<double>(reduction, TypeId::kFloat64, s);
      CheckReduce<float>(reduction, TypeId::kFloat32, s);
    }
    CheckReduce<uint8_t>(ArrayReduction::kAny, TypeId::kBool, s);
    CheckReduce<uint8_t>(ArrayReduction::kAll, TypeId::kBool, s);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace adjoin
