// Tables of intermediate results, whose columns only their places tell apart.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/table.h"

namespace adjoin {

inline Schema UnnamedSchema(std::span<const TypeId> types) {
  Schema schema;
  for (TypeId type : types) schema.fields.push_back({"", type});
  return schema;
}

inline TableRef UnnamedTable(std::vector<ColumnRef> columns, int64_t num_rows) {
  std::vector<TypeId> types;
  for (const ColumnRef& column : columns) types.push_back(column->type());
  return Table::MakeUnchecked(UnnamedSchema(types), std::move(columns), num_rows);
}

}  // namespace adjoin
