#include "bench/resident.h"

#include <malloc.h>

#include <fstream>
#include <string>
#include <string_view>

namespace adjoin::bench {
namespace {

// A line of /proc/self/status, in bytes.
int64_t StatusBytes(std::string_view line) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == line && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

int64_t ResidentBytes() { return StatusBytes("VmRSS:"); }
int64_t ResidentPeakBytes() { return StatusBytes("VmHWM:"); }

void ResetResidentPeak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace adjoin::bench
