#include "gpt/gpt_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace gpt {
namespace {

using adjoin::api::ColumnData;
using adjoin::api::Table;
using adjoin::api::Type;

absl::StatusOr<Table> BatchTable(int64_t rows, int64_t context, const std::vector<int64_t>& token,
                                 const std::vector<int64_t>& target) {
  std::vector<int64_t> b, t;
  for (int64_t i = 0; i < rows * context; ++i) {
    b.push_back(i / context);
    t.push_back(i % context);
  }
  adjoin::api::Schema schema;
  std::vector<ColumnData> columns;
  const std::array<const char*, 4> names = {"b", "t", "token", "target"};
  const std::array<const std::vector<int64_t>*, 4> values = {&b, &t, &token, &target};
  for (size_t i = 0; i < names.size(); ++i) {
    schema.fields.push_back({names[i], Type::kBigInt, true});
    auto column = ColumnData::Copy<int64_t>(*values[i]);
    if (!column.ok()) return column.status();
    columns.push_back(*std::move(column));
  }
  schema.dims = {0, 1};
  return Table::Make(std::move(schema), std::move(columns));
}

template <typename T>
absl::StatusOr<ColumnData> InitialColumn(const Parameter& parameter,
                                         const std::vector<uint64_t>& random) {
  std::vector<T> values(random.size());
  std::transform(random.begin(), random.end(), values.begin(), [&](uint64_t bits) {
    const double uniform = static_cast<double>(bits >> 11) * 0x1p-53;
    return static_cast<T>(parameter.centre + (uniform - 0.5) * parameter.width);
  });
  return ColumnData::Copy<T>(values);
}

}  // namespace

absl::StatusOr<Size> SizeByName(std::string_view name) {
  if (name == "small")
    return Size{.layers = 1, .heads = 2, .channels = 16, .context = 16, .batch = 4};
  if (name == "base")
    return Size{.layers = 1, .heads = 4, .channels = 128, .context = 64, .batch = 12};
  if (name == "deep")
    return Size{.layers = 6, .heads = 6, .channels = 384, .context = 128, .batch = 8};
  constexpr std::string_view kLayers = "layers-";
  int64_t layers = 0;
  if (name.starts_with(kLayers) &&
      absl::SimpleAtoi(std::string(name.substr(kLayers.size())), &layers) && layers > 0) {
    return Size{.layers = layers, .heads = 4, .channels = 64, .context = 32, .batch = 4};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no such size: ", std::string(name), " (small, base, deep or layers-N)"));
}

std::vector<uint64_t> SplitMix64(uint64_t state, int64_t first, int64_t count) {
  std::vector<uint64_t> out(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    uint64_t z = state + static_cast<uint64_t>(first + i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    out[static_cast<size_t>(i)] = z ^ (z >> 31);
  }
  return out;
}

absl::StatusOr<Text> Text::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string raw{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad())
    return absl::NotFoundError(absl::StrCat("cannot read the text: ", path));
  if (raw.size() < 1000) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a text needs 1000 characters to train on, and this has ", raw.size(), ": ", path));
  }
  Text text;
  const std::set<unsigned char> distinct(raw.begin(), raw.end());
  text.vocabulary_.assign(distinct.begin(), distinct.end());
  std::vector<int64_t> ids = text.Encode(raw);
  const auto cut = ids.begin() + std::ssize(ids) * 9 / 10;
  text.train_.assign(ids.begin(), cut);
  text.valid_.assign(cut, ids.end());
  return text;
}

std::vector<int64_t> Text::Encode(std::string_view characters) const {
  std::vector<int64_t> tokens;
  std::array<int64_t, 256> ids;
  ids.fill(-1);
  for (size_t i = 0; i < vocabulary_.size(); ++i)
    ids[static_cast<unsigned char>(vocabulary_[i])] = static_cast<int64_t>(i);
  for (unsigned char c : characters) {
    if (ids[c] >= 0) tokens.push_back(ids[c]);
  }
  return tokens;
}

absl::StatusOr<Table> Batch(const std::vector<int64_t>& part, int64_t rows, int64_t context,
                            int64_t step, uint64_t seed) {
  std::vector<int64_t> token, target;
  for (uint64_t random : SplitMix64(seed, step * rows, rows)) {
    const auto start =
        part.begin() +
        static_cast<int64_t>((random >> 11) % (part.size() - static_cast<size_t>(context)));
    token.insert(token.end(), start, start + context);
    target.insert(target.end(), start + 1, start + 1 + context);
  }
  return BatchTable(rows, context, token, target);
}

absl::StatusOr<Table> Prompt(const std::vector<int64_t>& tokens, int64_t context) {
  std::vector<int64_t> padded = tokens;
  padded.resize(static_cast<size_t>(context), 0);
  return BatchTable(1, context, padded, std::vector<int64_t>(static_cast<size_t>(context), 0));
}

std::vector<Parameter> Parameters(const Size& size, int64_t vocabulary, bool untied) {
  const int64_t c = size.channels, h = size.heads, d = c / h, f = 4 * c;
  // A uniform variable of standard deviation sigma is sigma * sqrt(12) wide; sigma is 1 /
  // sqrt(fan-in).
  const double by_channels = std::pow(static_cast<double>(c), -0.5) * std::sqrt(12.0);
  const double by_hidden = std::pow(static_cast<double>(f), -0.5) * std::sqrt(12.0);
  std::vector<Parameter> all = {
      {"wte", {"v", "c"}, {vocabulary, c}, 0, by_channels},
      {"wpe", {"t", "c"}, {size.context, c}, 0, by_channels},
  };
  for (int64_t layer = 0; layer < size.layers; ++layer) {
    const std::string prefix = absl::StrCat("h", layer, "_");
    const std::vector<Parameter> block = {
        {prefix + "ln_1", {"c"}, {c}, 1, 0.5},
        {prefix + "wq", {"c", "h", "d"}, {c, h, d}, 0, by_channels},
        {prefix + "wk", {"c", "h", "d"}, {c, h, d}, 0, by_channels},
        {prefix + "wv", {"c", "h", "d"}, {c, h, d}, 0, by_channels},
        {prefix + "wo", {"h", "d", "c"}, {h, d, c}, 0, by_channels},
        {prefix + "ln_2", {"c"}, {c}, 1, 0.5},
        {prefix + "w_fc", {"c", "f"}, {c, f}, 0, by_channels},
        {prefix + "w_proj", {"f", "c"}, {f, c}, 0, by_hidden},
    };
    all.insert(all.end(), block.begin(), block.end());
  }
  all.push_back({"ln_f", {"c"}, {c}, 1, 0.5});
  if (untied) all.push_back({"w_head", {"c", "v"}, {c, vocabulary}, 0, by_channels});
  return all;
}

absl::StatusOr<std::vector<Table>> InitialValues(const std::vector<Parameter>& parameters,
                                                 uint64_t seed, Dtype dtype) {
  std::vector<Table> tables;
  int64_t first = 0;
  for (const Parameter& parameter : parameters) {
    int64_t count = 1;
    for (int64_t extent : parameter.extents) count *= extent;
    const std::vector<uint64_t> random = SplitMix64(seed, first, count);
    first += count;
    auto column = dtype == Dtype::kFloat32 ? InitialColumn<float>(parameter, random)
                                           : InitialColumn<double>(parameter, random);
    if (!column.ok()) return column.status();
    auto table = Table::Grid(parameter.dims, parameter.extents, *std::move(column));
    if (!table.ok()) return table.status();
    tables.push_back(*std::move(table));
  }
  return tables;
}

}  // namespace gpt
