// String functions as PostgreSQL has them: positions and lengths count characters of UTF-8, case is
// that of ASCII (the C collation). Text that is made lives in the arena; a part of an argument is a
// view of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "ops/arena.h"

namespace adjoin::text {

int32_t Length(std::string_view s);
std::string_view Concat(BatchArena& arena, std::string_view a, std::string_view b);
std::string_view Lower(BatchArena& arena, std::string_view s);
std::string_view Upper(BatchArena& arena, std::string_view s);
std::string_view Initcap(BatchArena& arena, std::string_view s);
std::string_view Reverse(BatchArena& arena, std::string_view s);
std::string_view Replace(BatchArena& arena, std::string_view s, std::string_view from,
                         std::string_view to);
std::string_view Translate(BatchArena& arena, std::string_view s, std::string_view from,
                           std::string_view to);

// Error: 54000 past 1 GiB.
absl::StatusOr<std::string_view> Repeat(BatchArena& arena, std::string_view s, int32_t count);
absl::StatusOr<std::string_view> PadLeft(BatchArena& arena, std::string_view s, int32_t length,
                                         std::string_view fill);
absl::StatusOr<std::string_view> PadRight(BatchArena& arena, std::string_view s, int32_t length,
                                          std::string_view fill);

// From the character at `start`, counted from 1; it may lie outside. Error: 22011 for a negative
// count.
std::string_view SubstringFrom(std::string_view s, int32_t start);
absl::StatusOr<std::string_view> Substring(std::string_view s, int32_t start, int32_t count);
// The first or last `count` characters; all but the last or first -count where it is negative.
std::string_view Left(std::string_view s, int32_t count);
std::string_view Right(std::string_view s, int32_t count);
// Without what `characters` has at that end.
std::string_view TrimLeft(std::string_view s, std::string_view characters);
std::string_view TrimRight(std::string_view s, std::string_view characters);
std::string_view Trim(std::string_view s, std::string_view characters);
// From 1; 0 where it is absent.
int32_t Position(std::string_view s, std::string_view part);
// The field number `n` between delimiters, counted from the end where negative. Error: 22023 for 0.
absl::StatusOr<std::string_view> SplitPart(std::string_view s, std::string_view delimiter,
                                           int32_t n);
// The first part of overlay(): what is before the character at `start`, then `part`. Error: 22011
// where start is not positive.
absl::StatusOr<std::string_view> OverlayHead(BatchArena& arena, std::string_view s,
                                             std::string_view part, int32_t start);
std::string_view Hex(BatchArena& arena, uint64_t value);
// As a literal of SQL.
std::string_view Quoted(BatchArena& arena, std::string_view s);
std::string_view Md5(BatchArena& arena, std::string_view s);  // in 32 hexadecimal digits
int32_t CodePoint(std::string_view s);                        // of the first character; 0 for none
absl::StatusOr<std::string_view> Character(BatchArena& arena, int32_t code_point);

}  // namespace adjoin::text
