// Which instruction sets this processor runs, and the choice between them.
#include <cstdlib>
#include <cstring>

#include "kernels/kernel_table.h"
#include "kernels/libm_map.h"

#define ADJOIN_DECLARE_VARIANT(ISA)               \
  namespace ISA {                                 \
  void FillArithmetic(KernelTable* table);        \
  void FillCasts(KernelTable* table);             \
  void FillMath(KernelTable* table);              \
  void FillReductions(KernelTable* table);        \
  void FillRows(KernelTable* table);              \
  void FillChains(KernelTable* table);            \
  void FillGemm(KernelTable* table);              \
  void FillRandom(KernelTable* table);            \
  void FillSelection(KernelTable* table);         \
  static KernelTable MakeTable() {                \
    KernelTable table = {};                       \
    table.isa = #ISA;                             \
    FillLibmMaps(&table);                         \
    FillArithmetic(&table);                       \
    FillCasts(&table);                            \
    FillMath(&table);                             \
    FillReductions(&table);                       \
    FillRows(&table);                             \
    FillChains(&table);                           \
    FillGemm(&table);                             \
    FillRandom(&table);                           \
    FillSelection(&table);                        \
    return table;                                 \
  }                                               \
  static const KernelTable& Table() {             \
    static const KernelTable table = MakeTable(); \
    return table;                                 \
  }                                               \
  }

namespace adjoin {

ADJOIN_DECLARE_VARIANT(portable)
#if defined(ADJOIN_HAS_X86_VARIANTS)
ADJOIN_DECLARE_VARIANT(avx2)
ADJOIN_DECLARE_VARIANT(avx512)
#endif

namespace {

struct Supported {
  const KernelTable* tables[3] = {};
  size_t count = 0;
};

Supported Detect() {
  Supported supported;
  supported.tables[supported.count++] = &portable::Table();
#if defined(ADJOIN_HAS_X86_VARIANTS)
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2) supported.tables[supported.count++] = &avx2::Table();
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    supported.tables[supported.count++] = &avx512::Table();
  }
#endif
  return supported;
}

const KernelTable* Choose() {
  const std::span<const KernelTable* const> supported = SupportedKernels();
  // Names a variant this processor lacks, or none at all: the best one is used.
  if (const char* wanted = std::getenv("ADJOIN_ISA")) {
    for (const KernelTable* table : supported) {
      if (std::strcmp(table->isa, wanted) == 0) return table;
    }
  }
  return supported.back();
}

}  // namespace

std::span<const KernelTable* const> SupportedKernels() {
  static const Supported supported = Detect();
  return {supported.tables, supported.count};
}

const KernelTable& Kernels() {
  static const KernelTable* const chosen = Choose();
  return *chosen;
}

}  // namespace adjoin
