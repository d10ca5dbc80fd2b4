// The header of an NPY file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace adjoin {

enum class NpyType : uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat32,
  kFloat64
};

struct NpyHeader {
  NpyType type = NpyType::kFloat64;
  bool fortran_order = false;
  std::vector<int64_t> shape;  // of no axis: one element
  int64_t elements = 1;        // the product of `shape`
  int64_t data_offset = 0;     // bytes from the start of the file
};

int64_t NpyWidth(NpyType type);          // bytes an element
std::string_view NpyName(NpyType type);  // NumPy's: "int16", "float64"

// Reads the header of `file`, all bytes of an NPY file, and checks that the data is there in full.
// Errors, all 22P04, do not name the file: "not an NPY file", "data is cut short: 80 bytes
// expected, 72 present", ...
absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view file);

// The bytes that come before the data, version 1.0, C order.
std::string MakeNpyHeader(NpyType type, const std::vector<int64_t>& shape);

}  // namespace adjoin
