// Tables to and from the Arrow C data interface (arrow.apache.org, "The Arrow C data interface").
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "engine/table.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
}
#endif  // ARROW_C_DATA_INTERFACE

namespace adjoin {

// Exports a record batch (a struct array of the columns). Values and validity are shared, BOOLEAN
// is packed into bits by copying, TEXT is dictionary<int32, utf8>. The caller owns both structs and
// must release them; children may be moved out. On error neither is touched: 53200, or 0A000 for a
// dictionary of 2 GiB and more.
absl::Status ExportArrow(const TableRef& table, std::shared_ptr<MemoryBudget> budget,
                         ArrowSchema* schema, ArrowArray* array);

// Imports a record batch and takes ownership of both structs, also on error. Shared: int16/32/64,
// float, double, int32 dictionary codes, and their validity where it starts at a byte. Copied:
// bool, the other integers (to the next wider type; uint64 to BIGINT, 22003 where too large), utf8
// and large_utf8. 0A000 names any other format. No keys.
absl::StatusOr<TableRef> ImportArrow(ArrowSchema* schema, ArrowArray* array,
                                     std::shared_ptr<MemoryBudget> budget);

}  // namespace adjoin
