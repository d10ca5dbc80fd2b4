// What an engine gave for a query, and whether two engines agree.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace adjoin {

struct Answer {
  std::string sqlstate;  // empty: it ran
  std::string message;
  std::vector<std::string> types;
  std::vector<std::vector<std::optional<std::string>>> rows;  // as PostgreSQL prints values

  bool failed() const { return !sqlstate.empty(); }
  std::string ToString() const;
};

enum class Verdict { kSame, kBothFail, kExplained, kNotSupported, kDifferent };

// Compares ours with PostgreSQL's: rows in any order unless `ordered`, floats within 1e-9 of each
// other, NaN equal to NaN and -0 to 0. What differs for a known reason is kExplained (see the list
// in answer.cc), and `why` is that reason or the first difference.
Verdict Compare(const Answer& ours, const Answer& postgres, bool ordered, std::string& why);

}  // namespace adjoin
