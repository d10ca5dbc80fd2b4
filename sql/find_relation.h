// Relations by name.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "sql/bind_state.h"

namespace adjoin {

// A relation by its name alone: WITH item, table or view. `location` is for errors.
struct Relation {
  Query query;
  std::optional<Schema> schema;  // of a base table
};
absl::StatusOr<Relation> FindRelation(BindState& state, const std::string& name,
                                      const CteScope* ctes, int location);

}  // namespace adjoin
