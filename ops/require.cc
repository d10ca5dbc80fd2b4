#include "ops/require.h"

#include "absl/strings/str_cat.h"
#include "engine/status.h"

namespace adjoin {

absl::Status RequireStep::Run(RunState& state) const {
  ADJOIN_ASSIGN_OR_RETURN(const TableRef table, spec_.relation.Resolve(state));
  bool kept = true;
  switch (spec_.what) {
    case RequireSpec::What::kUnique:
      kept = table->IsUnique(spec_.columns);
      break;
    case RequireSpec::What::kOneRow:
      kept = table->num_rows() == 1;
      break;
    case RequireSpec::What::kAtMostOneRow:
      kept = table->num_rows() <= 1;
      break;
  }
  return kept ? absl::OkStatus() : SqlError(spec_.sqlstate, spec_.message);
}

std::string RequireStep::Describe() const {
  static constexpr const char* kNames[] = {"unique rows", "one row", "at most one row"};
  return absl::StrCat("require ", kNames[static_cast<int>(spec_.what)], " in ",
                      spec_.relation.ToString());
}

}  // namespace adjoin
