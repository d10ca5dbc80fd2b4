// What a process has in memory, by /proc/self.
#pragma once

#include <cstdint>

namespace adjoin::bench {

int64_t ResidentBytes();      // now (VmRSS)
int64_t ResidentPeakBytes();  // the most since the last reset (VmHWM)

// Starts the peak again from what is resident, after malloc gave back what was freed.
void ResetResidentPeak();

}  // namespace adjoin::bench
