// What a step of arrays is predicted to take: its work, times the constants of a machine. Reports
// alone rest on it, so that bits and plans are the same whatever the constants.
#pragma once

#include <array>
#include <cstdint>

namespace adjoin {

// Nanoseconds but for the products. The defaults were measured on one core with AVX2; `adjoin
// calibrate` measures those of a machine.
struct StepCosts {
  double call = 31;                       // of a step, beside its work
  double task = 5000;                     // starting parts on another thread
  double copy_l1 = 0.18, copy_l2 = 0.25;  // 8 bytes read and written there
  double copy_l3 = 0.31, copy_memory = 1.2;
  double add = 0.1;  // a DOUBLE of a block in L1, like the next
  double exp = 1.8, tanh = 2.0;
  double position = 0.36;                     // fetching or adding a cell by position
  double product_f32 = 80, product_f64 = 40;  // GFLOP/s
  friend bool operator==(const StepCosts&, const StepCosts&) = default;
};

// The constants by the names that files of them have.
struct StepCostField {
  const char* name;
  double StepCosts::*member;
};
inline constexpr std::array<StepCostField, 12> kStepCostFields = {
    {{"call_ns", &StepCosts::call},
     {"task_ns", &StepCosts::task},
     {"copy_l1_ns", &StepCosts::copy_l1},
     {"copy_l2_ns", &StepCosts::copy_l2},
     {"copy_l3_ns", &StepCosts::copy_l3},
     {"copy_memory_ns", &StepCosts::copy_memory},
     {"add_ns", &StepCosts::add},
     {"exp_ns", &StepCosts::exp},
     {"tanh_ns", &StepCosts::tanh},
     {"position_ns", &StepCosts::position},
     {"product_gflops_f32", &StepCosts::product_f32},
     {"product_gflops_f64", &StepCosts::product_f64}}};

// The work of one step. Cells count as the share of a DOUBLE that their type has.
struct StepWork {
  double additions = 0;  // cell by cell: arithmetic, in additions
  double exps = 0, tanhs = 0;
  double positions = 0;  // cells fetched or added by position
  double flops = 0;      // of a product,
  bool is_real = false;  // of REALs
  double bytes = 0;      // read and written
  double cells = 0;      // of its nest of loops
};

// What 8 bytes cost that lie among `bytes` which are read and written together.
double CopyCost(const StepCosts& costs, double bytes);

double Microseconds(const StepWork& work, const StepCosts& costs);

}  // namespace adjoin
