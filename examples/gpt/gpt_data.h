// The numbers a GPT is made of: text, batches and initial parameters, as tables. The same integers
// and the same bits as the JAX script that the reference values come from, so that every step can
// be compared with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "adjoin/table.h"

namespace gpt {

enum class Dtype : uint8_t { kFloat32, kFloat64 };

// How large a model is. Everything else follows from these and the text.
struct Size {
  int64_t layers, heads, channels, context, batch;
};
// "small", "base" or "deep"; "layers-N": N layers of 64 channels, for what planning costs. Errors:
// InvalidArgument for another name.
absl::StatusOr<Size> SizeByName(std::string_view name);

// SplitMix64: outputs first, first + 1, ... of the stream that starts in `state`.
std::vector<uint64_t> SplitMix64(uint64_t state, int64_t first, int64_t count);

// A text as token ids: a character's id is its rank among the text's distinct characters. The first
// nine tenths train.
class Text {
 public:
  // Errors: NotFound for a file that cannot be read, InvalidArgument for one shorter than 1000
  // characters.
  static absl::StatusOr<Text> Load(const std::string& path);

  const std::string& vocabulary() const { return vocabulary_; }
  const std::vector<int64_t>& train() const { return train_; }
  const std::vector<int64_t>& valid() const { return valid_; }
  std::vector<int64_t> Encode(
      std::string_view characters) const;  // characters that the text lacks are left out
  char Decode(int64_t token) const { return vocabulary_[static_cast<size_t>(token)]; }

 private:
  std::string vocabulary_;
  std::vector<int64_t> train_, valid_;
};

// Table batch(b, t, token, target), dims b and t: `rows` sequences of step `step`, drawn from
// `part` by stream `seed`. REQUIRES: part.size() > context.
absl::StatusOr<adjoin::api::Table> Batch(const std::vector<int64_t>& part, int64_t rows,
                                         int64_t context, int64_t step, uint64_t seed);

// The same table with one sequence: `tokens`, padded to `context` with token 0. Targets are 0.
absl::StatusOr<adjoin::api::Table> Prompt(const std::vector<int64_t>& tokens, int64_t context);

// One parameter: a table of integer dims and a column val.
struct Parameter {
  std::string name;
  std::vector<std::string> dims;
  std::vector<int64_t> extents;
  double centre, width;  // initial values are uniform on centre +- width / 2
};
// In the order in which the stream of initial values walks over them. `untied`: logits have a
// weight of their own.
std::vector<Parameter> Parameters(const Size& size, int64_t vocabulary, bool untied);

// Grid tables of initial values, one a parameter, in order.
absl::StatusOr<std::vector<adjoin::api::Table>> InitialValues(
    const std::vector<Parameter>& parameters, uint64_t seed, Dtype dtype);

}  // namespace gpt
