// From the array DAG to steps: which arrays are stored, which maps are fused into their readers,
// where buffers lie.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ops/row_program.h"
#include "plan/array.h"
#include "plan/program.h"

namespace adjoin {

// A stored array, or a view of one: where it starts and how its axes step, in elements.
struct ArrayView {
  ArrayAddress address;
  std::vector<int64_t> strides;
};

// An input column that a program reads, a table's or what a guard computed: bases[base] is its
// values (or its validity bitmap).
struct ArrayInput {
  uint64_t table_id;
  int column;
  bool valid;
  int guard;  // -1: a table's
  int base;
};

// Written into the arena once, when it is laid out.
struct ArrayConstant {
  ArrayAddress address;
  TypeId type;
  int64_t origin, cells;  // origin + i
};

struct ArrayProgram {
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<double> predicted_us;  // by step
  std::vector<bool> once;       // by step: what it stores depends on structure alone, and stays
  std::vector<Tiling> tilings;  // ascending; the steps of each tile by tile
  std::vector<Stage> stages;    // ascending
  std::vector<ArrayInput> inputs;
  std::vector<ArrayConstant> constants;
  absl::flat_hash_map<int, ArrayView> views;  // of stored arrays, inputs and slices
  int64_t arena_bytes = 0;
  int64_t bytes_between_steps = 0;
  int base_reads = 0;  // input columns read, each step's counted
  int contractions = 0;
  std::vector<RuleReport> rules;
};

// Steps that store every array of `roots`, numbered from `first_step`. The first `outputs` of them
// lie outside the arena, each in a base of its own after those of the inputs (the same array: in
// the first of them). Equal graphs and options give equal programs.
ArrayProgram CompileArrays(const ArrayGraph& graph, const std::vector<int>& roots, size_t outputs,
                           const PlanOptions& options, int first_step);

}  // namespace adjoin
