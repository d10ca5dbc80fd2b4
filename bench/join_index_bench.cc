// The build side of a join: building an index of random keys, and looking up as many, in the forms
// that the keys can have. What ops/partitioned_keys.cc has its crossover from.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ops/join_index.h"

namespace adjoin {
namespace {

constexpr PipelineOptions kOptions;

enum class Keys : uint8_t { kFarInteger, kTwoIntegers, kText };

TableRef MakeTable(Keys keys, int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto budget = std::make_shared<MemoryBudget>();
  const TypeId type = keys == Keys::kText ? TypeId::kText : TypeId::kInt64;
  Schema schema;
  std::vector<ColumnRef> columns;
  for (int c = 0; c < (keys == Keys::kTwoIntegers ? 2 : 1); ++c) {
    ColumnBuilder builder(type, budget);
    for (int64_t r = 0; r < rows; ++r) {
      const auto key = static_cast<int64_t>(random() % static_cast<uint64_t>(rows));
      const Value value = keys == Keys::kText         ? Value::Text("key " + std::to_string(key))
                          : keys == Keys::kFarInteger ? Value::Int(key << 30)
                                                      : Value::Int(key);
      if (!builder.Append(value).ok()) std::abort();
    }
    columns.push_back(*builder.Finish());
    schema.fields.push_back({"k", type});
  }
  return Table::MakeUnchecked(std::move(schema), std::move(columns), rows);
}

// Arguments: keys, form, threads, rows. `ns` are a row's, of building and of looking up.
void BM_JoinIndex(benchmark::State& state) {
  const auto keys = static_cast<Keys>(state.range(0));
  const auto form = static_cast<JoinForm>(state.range(1));
  const auto threads = static_cast<int>(state.range(2));
  const int64_t rows = state.range(3);
  const TableRef table = MakeTable(keys, rows, 1), probe = MakeTable(keys, rows, 2);
  TaskPool pool(threads);
  RunState run;
  run.budget = std::make_shared<MemoryBudget>();
  run.pool = threads == 1 ? nullptr : &pool;
  JoinKeys of;
  ExprBuilder builder;
  for (int c = 0; c < table->num_columns(); ++c)
    builder.Output(builder.Input(c, table->column(c)->type()));
  of.exprs = std::move(builder).Build();
  of.null_safe.assign(static_cast<size_t>(table->num_columns()), false);
  const auto asked = *EvaluateOverTable(of.exprs, *probe, run, kOptions);
  int64_t found = -1;
  double look_ups = 0;
  for (auto _ : state) {
    const auto index = *JoinIndex::Build(of, *table, run, kOptions, 0, form);
    benchmark::DoNotOptimize(index.get());
    state.PauseTiming();
    const auto begin = std::chrono::steady_clock::now();
    KeyScratch scratch;
    std::vector<int32_t> matched(static_cast<size_t>(kOptions.batch_rows));
    std::vector<int64_t> ids(matched.size());
    int64_t m = 0;
    for (int64_t r = 0; r < rows; r += kOptions.batch_rows) {
      const int64_t n = std::min(kOptions.batch_rows, rows - r);
      m += index->FindMatches(SlicesOf(asked, r), n, matched.data(), ids.data(), scratch);
    }
    look_ups += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (found >= 0 && m != found) state.SkipWithError("look-ups differ");
    found = m;
    state.ResumeTiming();
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["found"] = static_cast<double>(found) / static_cast<double>(rows);
  state.counters["build_ns"] =
      benchmark::Counter(runs * static_cast<double>(rows) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["find_ns"] = look_ups / runs / static_cast<double>(rows) * 1e9;
}

void AllForms(benchmark::internal::Benchmark* bench) {
  for (int64_t rows : {100000, 300000, 1000000, 3000000, 10000000}) {
    for (int keys : {0, 1, 2}) {
      for (int threads : {1, 2}) {
        for (JoinForm form : {JoinForm::kTable, JoinForm::kParts})
          bench->Args({keys, static_cast<int64_t>(form), threads, rows});
      }
    }
  }
}
BENCHMARK(BM_JoinIndex)
    ->Apply(AllForms)
    ->ArgNames({"keys", "form", "threads", "rows"})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace adjoin
