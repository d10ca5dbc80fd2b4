// Row-wise functions that call the C library lane by lane: rare ones, and exact ones that do not
// vectorise. Compiled once, so all instruction sets share the same code and bits.
#pragma once

#include "kernels/kernel_table.h"

namespace adjoin {

// Sets kRemainder, kCbrt, kTan, kAsin, kAcos, kAtan, kAtan2, kSinh, kCosh, kAsinh, kAcosh and
// kAtanh of both floats.
void FillLibmMaps(KernelTable* table);

}  // namespace adjoin
