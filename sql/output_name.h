// The name of an output column that has no AS.
#pragma once

#include <string>

#include "sql/tree.h"

namespace adjoin {

// PostgreSQL's rule: the column's or function's name, that of a CASE's ELSE or a cast's argument,
// "?column?" otherwise.
std::string OutputName(const Json& expression);

}  // namespace adjoin
