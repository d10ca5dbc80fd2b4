// Printing results: psql's aligned tables, CSV, JSON.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adjoin/connection.h"

namespace adjoin {

enum class OutputFormat : uint8_t { kTable, kCsv, kJson };

// Cells to be aligned. `cell` may be called twice for each.
struct TextGrid {
  std::string title;  // centred above; may be empty
  std::vector<std::string> headers;
  std::vector<bool> right_aligned;  // by column
  int64_t num_rows = 0;
  std::function<std::string(int64_t row, int column)> cell;
};

// The grid and "(3 rows)" as psql prints them, without the empty line that psql adds.
void PrintGrid(const TextGrid& grid, std::FILE* out);

// The rows of a result; in the table format also the tag of what returns none. Ends flushed.
void PrintResult(const api::Result& result, OutputFormat format, std::FILE* out);

// Columns that UTF-8 `text` takes on a terminal.
int64_t DisplayWidth(std::string_view text);

}  // namespace adjoin
