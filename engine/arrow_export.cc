#include <algorithm>
#include <climits>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/arrow.h"
#include "engine/status.h"

namespace adjoin {
namespace {

constexpr int kArrowDigits = 38;  // of a decimal128

// What an exported ArrowSchema points to. Children are released with their parent unless they were
// moved out.
struct SchemaData {
  std::string name, format;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
  ArrowSchema dictionary = {};
};

// What an exported ArrowArray points to.
struct ArrayData {
  ColumnRef column;                        // keeps shared buffers
  std::shared_ptr<const Buffer> owned[2];  // and copied ones
  const void* buffers[3] = {};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
  ArrowArray dictionary = {};
};

// Both structs look alike as far as this goes.
template <typename Struct, typename Data>
void Release(Struct* released) {
  auto* data = static_cast<Data*>(released->private_data);
  for (Struct* child : data->child_pointers) {
    if (child->release != nullptr) child->release(child);
  }
  if (data->dictionary.release != nullptr) data->dictionary.release(&data->dictionary);
  const std::unique_ptr<Data> owner(data);
  released->release = nullptr;
}

std::string FormatOf(TypeId type, int scale) {
  switch (type) {
    case TypeId::kBool:
      return "b";
    case TypeId::kInt16:
      return "s";
    case TypeId::kInt32:
    case TypeId::kText:  // the codes
      return "i";
    case TypeId::kInt64:
      return "l";
    case TypeId::kFloat32:
      return "f";
    case TypeId::kFloat64:
      return "g";
    case TypeId::kDate:
      return "tdD";
    case TypeId::kTimestamp:
      return "tsu:";
    case TypeId::kDecimal:
      return absl::StrCat("d:", kArrowDigits, ",", scale);
    case TypeId::kInterval:  // ExportArrow refuses
      break;
  }
  return "";
}

ArrowSchema MakeSchema(std::string format, std::string name, int64_t flags,
                       std::unique_ptr<SchemaData> data) {
  ArrowSchema schema = {};
  data->name = std::move(name);
  data->format = std::move(format);
  for (ArrowSchema& child : data->children) data->child_pointers.push_back(&child);
  schema.format = data->format.c_str();
  schema.name = data->name.c_str();
  schema.flags = flags;
  schema.n_children = static_cast<int64_t>(data->children.size());
  schema.children = data->child_pointers.data();
  schema.dictionary = data->dictionary.release != nullptr ? &data->dictionary : nullptr;
  schema.release = &Release<ArrowSchema, SchemaData>;
  schema.private_data = data.release();
  return schema;
}

// The one scale of an Arrow column of NUMERIC: the largest of its values'.
int ScaleOf(const Column& column) {
  int scale = 0;
  for (int64_t i = 0; column.type() == TypeId::kDecimal && i < column.length(); ++i) {
    if (!column.is_null(i)) scale = std::max(scale, column.values<Decimal>()[i].scale());
  }
  return scale;
}

ArrowSchema SchemaOf(const Field& field, const Column& column) {
  auto data = std::make_unique<SchemaData>();
  if (field.type == TypeId::kText)
    data->dictionary = MakeSchema("u", "", 0, std::make_unique<SchemaData>());
  const int scale = std::max<int>(field.modifier.scale, ScaleOf(column));
  return MakeSchema(FormatOf(field.type, scale), field.name,
                    field.not_null ? 0 : ARROW_FLAG_NULLABLE, std::move(data));
}

ArrowArray MakeArray(int64_t length, int64_t null_count, int64_t n_buffers,
                     std::unique_ptr<ArrayData> data) {
  ArrowArray array = {};
  for (ArrowArray& child : data->children) data->child_pointers.push_back(&child);
  array.length = length;
  array.null_count = null_count;
  array.n_buffers = n_buffers;
  array.buffers = data->buffers;
  array.n_children = static_cast<int64_t>(data->children.size());
  array.children = data->child_pointers.data();
  array.dictionary = data->dictionary.release != nullptr ? &data->dictionary : nullptr;
  array.release = &Release<ArrowArray, ArrayData>;
  array.private_data = data.release();
  return array;
}

absl::StatusOr<ArrowArray> ArrayOf(const Dictionary& dictionary,
                                   const std::shared_ptr<MemoryBudget>& budget) {
  int64_t bytes = 0;
  for (int32_t code = 0; code < dictionary.size(); ++code) bytes += std::ssize(dictionary.at(code));
  if (bytes > INT_MAX) {
    return SqlError(sqlstate::kFeatureNotSupported,
                    "Arrow dictionaries of 2 GiB and more are not supported");
  }
  ADJOIN_ASSIGN_OR_RETURN(auto offsets,
                          Buffer::Allocate((int64_t{dictionary.size()} + 1) * 4, budget));
  ADJOIN_ASSIGN_OR_RETURN(auto texts, Buffer::Allocate(bytes, budget));
  int32_t at = 0;
  for (int32_t code = 0; code < dictionary.size(); ++code) {
    const std::string_view text = dictionary.at(code);
    offsets->mutable_as<int32_t>()[code] = at;
    if (!text.empty()) std::memcpy(texts->mutable_as<char>() + at, text.data(), text.size());
    at += static_cast<int32_t>(text.size());
  }
  offsets->mutable_as<int32_t>()[dictionary.size()] = at;
  auto data = std::make_unique<ArrayData>();
  data->buffers[1] = offsets->data();
  data->buffers[2] = texts->data();
  data->owned[0] = std::move(offsets);
  data->owned[1] = std::move(texts);
  return MakeArray(dictionary.size(), 0, 3, std::move(data));
}

absl::StatusOr<std::shared_ptr<const Buffer>> PackBits(
    const Column& column, const std::shared_ptr<MemoryBudget>& budget) {
  ADJOIN_ASSIGN_OR_RETURN(auto bits, Buffer::Allocate((column.length() + 7) / 8, budget));
  std::memset(bits->mutable_data(), 0, static_cast<size_t>(bits->size()));
  for (int64_t i = 0; i < column.length(); ++i) {
    uint8_t& byte = bits->mutable_as<uint8_t>()[i >> 3];
    byte = static_cast<uint8_t>(byte | ((column.values<uint8_t>()[i] != 0 ? 1 : 0) << (i & 7)));
  }
  return bits;
}

absl::StatusOr<std::shared_ptr<const Buffer>> CoefficientsOf(
    const Column& column, int scale, const std::shared_ptr<MemoryBudget>& budget) {
  ADJOIN_ASSIGN_OR_RETURN(auto buffer, Buffer::Allocate(column.length() * 16, budget));
  auto* out = buffer->mutable_as<__int128>();
  for (int64_t i = 0; i < column.length(); ++i) {
    out[i] = 0;
    if (column.is_null(i)) continue;
    const Decimal value = column.values<Decimal>()[i];
    const int up = scale - value.scale();
    if (up > kArrowDigits || __builtin_mul_overflow(value.coefficient(), PowerOfTen(up), &out[i]))
      return SqlError(sqlstate::kNumericOutOfRange, "value overflows Arrow's decimal128");
  }
  return std::shared_ptr<const Buffer>(std::move(buffer));
}

absl::StatusOr<ArrowArray> ArrayOf(const ColumnRef& column, int least_scale,
                                   const std::shared_ptr<MemoryBudget>& budget) {
  auto data = std::make_unique<ArrayData>();
  data->column = column;
  if (column->has_nulls()) data->buffers[0] = column->validity_buffer()->data();
  data->buffers[1] = column->data();
  if (column->type() == TypeId::kBool) {
    ADJOIN_ASSIGN_OR_RETURN(data->owned[0], PackBits(*column, budget));
    data->buffers[1] = data->owned[0]->data();
  }
  if (column->type() == TypeId::kDecimal) {
    const int scale = std::max(least_scale, ScaleOf(*column));
    ADJOIN_ASSIGN_OR_RETURN(data->owned[0], CoefficientsOf(*column, scale, budget));
    data->buffers[1] = data->owned[0]->data();
  }
  if (column->type() == TypeId::kText) {
    ADJOIN_ASSIGN_OR_RETURN(data->dictionary, ArrayOf(*column->dictionary(), budget));
  }
  return MakeArray(column->length(), column->null_count(), 2, std::move(data));
}

}  // namespace

absl::Status ExportArrow(const TableRef& table, std::shared_ptr<MemoryBudget> budget,
                         ArrowSchema* schema, ArrowArray* array) {
  // Once made, the root releases what it holds; until then an error must.
  auto arrays = std::make_unique<ArrayData>();
  absl::Status status;
  for (const Field& field : table->schema().fields) {
    if (field.type == TypeId::kInterval)
      return SqlError(sqlstate::kFeatureNotSupported, "intervals in Arrow are not supported");
  }
  for (int i = 0; i < table->num_columns() && status.ok(); ++i) {
    const Field& field = table->schema().fields[static_cast<size_t>(i)];
    absl::StatusOr<ArrowArray> child = ArrayOf(table->column(i), field.modifier.scale, budget);
    status = child.status();
    if (child.ok()) arrays->children.push_back(*child);
  }
  ArrowArray root = MakeArray(table->num_rows(), 0, 1, std::move(arrays));
  if (!status.ok()) {
    root.release(&root);
    return status;
  }
  auto schemas = std::make_unique<SchemaData>();
  for (int i = 0; i < table->num_columns(); ++i) {
    schemas->children.push_back(
        SchemaOf(table->schema().fields[static_cast<size_t>(i)], *table->column(i)));
  }
  *schema = MakeSchema("+s", "", 0, std::move(schemas));
  *array = root;
  return absl::OkStatus();
}

}  // namespace adjoin
