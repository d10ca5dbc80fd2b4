#include "output.h"

#include <algorithm>
#include <cmath>
#include <cwchar>

#include "engine/csv.h"
#include "nlohmann/json.hpp"

namespace adjoin {
namespace {

constexpr size_t kFlushBytes = 1 << 16;

void Flush(std::string& text, std::FILE* out, size_t above = 0) {
  if (text.size() <= above) return;
  std::fwrite(text.data(), 1, text.size(), out);
  text.clear();
}

// Line breaks and tabs would break the alignment: psql's escapes for them.
std::string OneLine(std::string text) {
  if (text.find_first_of("\n\r\t") == std::string::npos) return text;
  std::string out;
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
  }
  return out;
}

std::string Spaces(int64_t count) {
  return std::string(static_cast<size_t>(std::max<int64_t>(count, 0)), ' ');
}

void AppendCentred(std::string& line, const std::string& text, int64_t width) {
  const int64_t spare = width - DisplayWidth(text);
  line += Spaces(spare / 2) + text + Spaces(spare - spare / 2);
}

void AppendRow(const TextGrid& grid, int64_t row, const std::vector<int64_t>& widths,
               std::string& text) {
  const int columns = static_cast<int>(grid.headers.size());
  for (int c = 0; c < columns; ++c) {
    const std::string cell = OneLine(grid.cell(row, c));
    const int64_t spare = widths[static_cast<size_t>(c)] - DisplayWidth(cell);
    const bool right = grid.right_aligned[static_cast<size_t>(c)];
    const bool last = c + 1 == columns;
    text += c == 0 ? " " : "| ";
    if (right) text += Spaces(spare);
    text += cell;
    if (!right && !last) text += Spaces(spare);
    if (!last) text += " ";
  }
  text += "\n";
}

bool IsNumber(api::Type type) {
  return (type > api::Type::kBoolean && type < api::Type::kText) || type == api::Type::kNumeric;
}

TextGrid GridOf(const api::Table& table) {
  TextGrid grid;
  for (int c = 0; c < table.num_columns(); ++c) {
    grid.headers.emplace_back(table.column_name(c));
    grid.right_aligned.push_back(IsNumber(table.column_type(c)));
  }
  grid.num_rows = table.num_rows();
  grid.cell = [&table](int64_t row, int column) { return table.ToText(row, column); };
  return grid;
}

void PrintCsv(const api::Table& table, std::FILE* out) {
  constexpr int64_t kRowsAtOnce = 4096;
  CsvOptions options;
  options.header = CsvOptions::Header::kSkip;
  std::string text;
  AppendCsvHeader(table.impl()->schema(), options, &text);
  for (int64_t row = 0; row < table.num_rows(); row += kRowsAtOnce) {
    AppendCsvRows(*table.impl(), row, std::min(row + kRowsAtOnce, table.num_rows()), options,
                  &text);
    Flush(text, out, kFlushBytes);
  }
  Flush(text, out);
}

std::string JsonString(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// JSON has no NaN and no infinities: they are strings.
std::string JsonValue(const api::Table& table, int64_t row, int column) {
  if (table.is_null(row, column)) return "null";
  if (table.column_type(column) == api::Type::kNumeric) return table.ToText(row, column);
  const api::Value value = table.value(row, column);
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&value)) return JsonString(*text);
  const auto* number = std::get_if<double>(&value);
  const std::string text = table.ToText(row, column);
  return number != nullptr && !std::isfinite(*number) ? JsonString(text) : text;
}

void PrintJson(const api::Table& table, std::FILE* out) {
  std::string text = "[";
  std::vector<std::string> names;
  for (int c = 0; c < table.num_columns(); ++c) names.push_back(JsonString(table.column_name(c)));
  for (int64_t row = 0; row < table.num_rows(); ++row) {
    text += row == 0 ? "\n  {" : ",\n  {";
    for (int c = 0; c < table.num_columns(); ++c) {
      text += c == 0 ? "" : ", ";
      text += names[static_cast<size_t>(c)] + ": " + JsonValue(table, row, c);
    }
    text += "}";
    Flush(text, out, kFlushBytes);
  }
  text += table.num_rows() == 0 ? "]\n" : "\n]\n";
  Flush(text, out);
}

}  // namespace

int64_t DisplayWidth(std::string_view text) {
  int64_t width = 0;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t point = length == 1 ? lead : lead & (0x7Fu >> length);
    for (size_t k = 1; k < length && i + k < text.size(); ++k) {
      point = (point << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    }
    const int columns = length == 1 ? 1 : wcwidth(static_cast<wchar_t>(point));
    width += columns < 0 ? 1 : columns;
    i += length;
  }
  return width;
}

void PrintGrid(const TextGrid& grid, std::FILE* out) {
  const int columns = static_cast<int>(grid.headers.size());
  std::vector<int64_t> widths;
  for (const std::string& header : grid.headers) widths.push_back(DisplayWidth(header));
  for (int64_t row = 0; row < grid.num_rows; ++row) {
    for (int c = 0; c < columns; ++c) {
      int64_t& width = widths[static_cast<size_t>(c)];
      width = std::max(width, DisplayWidth(OneLine(grid.cell(row, c))));
    }
  }
  std::string text;
  if (!grid.title.empty()) {
    int64_t total = columns - 1;
    for (int64_t width : widths) total += width + 2;
    text += Spaces((total - DisplayWidth(grid.title)) / 2) + grid.title + "\n";
  }
  for (int c = 0; c < columns; ++c) {
    text += c == 0 ? " " : "| ";
    AppendCentred(text, grid.headers[static_cast<size_t>(c)], widths[static_cast<size_t>(c)]);
    text += " ";
  }
  while (!text.empty() && text.back() == ' ' && columns == 0) text.pop_back();
  text += "\n";
  for (int c = 0; c < columns; ++c) {
    text += (c == 0 ? "" : "+") +
            std::string(static_cast<size_t>(widths[static_cast<size_t>(c)]) + 2, '-');
  }
  text += columns == 0 ? "--\n" : "\n";
  for (int64_t row = 0; row < grid.num_rows && columns > 0; ++row) {
    AppendRow(grid, row, widths, text);
    Flush(text, out, kFlushBytes);
  }
  text += "(" + std::to_string(grid.num_rows) + (grid.num_rows == 1 ? " row)\n" : " rows)\n");
  Flush(text, out);
}

void PrintResult(const api::Result& result, OutputFormat format, std::FILE* out) {
  if (!result.has_rows) {
    if (format == OutputFormat::kTable && !result.tag.empty())
      std::fprintf(out, "%s\n", result.tag.c_str());
  } else if (format == OutputFormat::kCsv) {
    PrintCsv(result.rows, out);
  } else if (format == OutputFormat::kJson) {
    PrintJson(result.rows, out);
  } else {
    PrintGrid(GridOf(result.rows), out);
    std::fputc('\n', out);
  }
  std::fflush(out);
}

}  // namespace adjoin
