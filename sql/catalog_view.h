// What the binder may ask of a catalog: names to tables and stored views, as of one snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table.h"

namespace adjoin {

struct CatalogTable {
  uint64_t id = 0;  // the catalog's; a dropped and recreated table is another
  Schema schema;
};

struct StoredView {
  std::string query;                 // text of the SELECT, parsed again wherever the view is read
  std::vector<std::string> columns;  // renames the leading output columns; may be empty
};

// Read-only for the duration of a Bind. Names are folded already. A name is a table, a view, or
// neither.
class CatalogView {
 public:
  virtual ~CatalogView() = default;
  virtual std::optional<CatalogTable> FindTable(std::string_view name) const = 0;
  virtual std::optional<StoredView> FindView(std::string_view name) const = 0;
};

}  // namespace adjoin
