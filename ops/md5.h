// RFC 1321.
#pragma once

#include <string>
#include <string_view>

namespace adjoin {

// The digest in 32 hexadecimal digits.
std::string Md5(std::string_view text);

}  // namespace adjoin
