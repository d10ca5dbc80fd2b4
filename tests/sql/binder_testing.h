// A catalog out of DDL text, for tests of the binder: statements in, plan text or error text out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "engine/status.h"
#include "sql/binder.h"
#include "sql/catalog_view.h"
#include "sql/parse.h"
#include "sql/utility.h"

namespace adjoin {

class TestCatalog final : public CatalogView {
 public:
  // REQUIRES: CREATE TABLE and CREATE VIEW statements that are right.
  explicit TestCatalog(std::string_view ddl) {
    const auto parsed = Parse(ddl);
    for (const ParsedStatement& statement : *parsed) {
      const auto utility = DecodeUtility(statement.tree, statement.text);
      if (const auto* table = std::get_if<CreateTable>(&*utility)) {
        tables_[table->name] = {tables_.size() + 1, table->schema};
      } else if (const auto* view = std::get_if<CreateView>(&*utility)) {
        views_[view->name] = {view->query_text, view->columns};
      }
    }
  }
  std::optional<CatalogTable> FindTable(std::string_view name) const override {
    const auto it = tables_.find(name);
    return it == tables_.end() ? std::nullopt : std::optional<CatalogTable>(it->second);
  }
  std::optional<StoredView> FindView(std::string_view name) const override {
    const auto it = views_.find(name);
    return it == views_.end() ? std::nullopt : std::optional<StoredView>(it->second);
  }

 private:
  std::map<std::string, CatalogTable, std::less<>> tables_;
  std::map<std::string, StoredView, std::less<>> views_;
};

// "42703 at 8: column "z" does not exist", with detail and hint on lines of their own.
inline std::string ErrorText(const absl::Status& status) {
  std::string out = SqlStateOf(status);
  if (const std::optional<int> position = PositionOf(status))
    absl::StrAppend(&out, " at ", *position);
  absl::StrAppend(&out, ": ", status.message());
  if (!DetailOf(status).empty()) absl::StrAppend(&out, "\nDETAIL: ", DetailOf(status));
  if (!HintOf(status).empty()) absl::StrAppend(&out, "\nHINT: ", HintOf(status));
  return out;
}

// Plan text without the node numbers: "  (3)" at line ends.
inline std::string WithoutIds(const std::string& plan) {
  std::string out;
  for (size_t i = 0; i < plan.size(); ++i) {
    if (plan.compare(i, 3, "  (") == 0 && plan.find(")\n", i) != std::string::npos) {
      const size_t close = plan.find(")\n", i);
      const std::string inside = plan.substr(i + 3, close - i - 3);
      if (inside.find_first_not_of("0123456789") == std::string::npos) {
        i = close;
        continue;
      }
    }
    out += plan[i];
  }
  return out;
}

inline absl::StatusOr<Statement> BindText(std::string_view sql, const CatalogView& catalog,
                                          Planner& planner, BindOptions options = {}) {
  ADJOIN_ASSIGN_OR_RETURN(const std::vector<ParsedStatement> parsed, Parse(sql));
  options.text = parsed.at(0).text;
  return Bind(parsed.at(0).tree, catalog, options, planner);
}

// The plans of a statement, one after the other, or its error.
inline std::string PlanText(std::string_view sql, const CatalogView& catalog,
                            BindOptions options = {}) {
  Planner planner;
  const absl::StatusOr<Statement> statement = BindText(sql, catalog, planner, std::move(options));
  if (!statement.ok()) return ErrorText(statement.status());
  std::string out;
  for (const Statement::Output& output : statement->outputs)
    out += WithoutIds(ToString(output.plan));
  return out;
}

}  // namespace adjoin
