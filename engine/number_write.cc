// One number by a pattern. What PostgreSQL gives where patterns are odd is part of the rules below.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "engine/number_format.h"
#include "engine/text.h"

namespace adjoin {
namespace {

// Walks over the pattern's digits beside those of the number, which is `spaces` places shorter.
class Writer {
 public:
  Writer(NumberShape shape, std::string digits, int spaces, char sign)
      : shape_(shape), digits_(std::move(digits)), spaces_(spaces), sign_(sign) {
    if (shape_.roman) {
      const bool fill = shape_.fill;
      shape_ = NumberShape();
      shape_.fill = fill;
      shape_.roman = true;
    }
    if (shape_.plus || shape_.minus) {
      // MI and SG write it themselves.
      sign_is_written_ = shape_.minus;
    } else {
      if (sign_ != '-' && shape_.fill) shape_.bracket = false;
      sign_is_written_ = sign_ == '+' && shape_.fill && !shape_.sign;
      if (shape_.sign_is_first && shape_.before == shape_.digits_before_sign)
        shape_.sign_is_first = false;
    }
    last_place_ = shape_.after + shape_.before - 1;
    if (shape_.fill && shape_.point) FindLastRelevant();
    if (!sign_is_written_ && spaces_ == 0) ++last_place_;
  }

  std::string Run(const std::vector<NumberNode>& nodes) {
    for (const NumberNode& node : nodes) Write(node);
    // A REAL or DOUBLE has only as many digits as are certain; PostgreSQL's text ends there.
    out_.resize(std::min(out_.find('\0'), out_.size()));
    return std::move(out_);
  }

 private:
  // With FM, zeros at the end of the fraction go, but those that a 0 asks for.
  void FindLastRelevant() {
    const size_t point = digits_.find('.');
    if (point == std::string::npos) return;
    size_t last = digits_.find_last_not_of('0');
    last = std::max(last, point);
    if (shape_.zero_end > spaces_) {
      const size_t zero = std::min(digits_.size() - 1, size_t(shape_.zero_end - spaces_));
      last = std::max(last, zero);
    }
    last_relevant_ = last;
  }
  bool ends_at_point() const {
    return last_relevant_ != std::string::npos && digits_[last_relevant_] == '.';
  }
  char digit() const { return at_ < digits_.size() ? digits_[at_] : '\0'; }
  // The 0 before the point of .5 where no 0 asks for it.
  bool at_leading_zero() const {
    return !shape_.zero && at_ == 0 && digit() == '0' && shape_.after != 0;
  }

  void WriteSign() {
    const bool starts = place_ >= spaces_ || (shape_.zero && shape_.zero_start == place_);
    if (sign_is_written_ || !starts || (at_leading_zero() && !ends_at_point())) return;
    if (shape_.sign) {
      if (!shape_.sign_is_first) return;
      out_ += sign_ == '-' ? '-' : '+';
    } else if (shape_.bracket) {
      out_ += sign_ == '+' ? ' ' : '<';
    } else if (sign_ == '+') {
      if (!shape_.fill) out_ += ' ';
    } else if (sign_ == '-') {
      out_ += '-';
    } else {
      return;
    }
    sign_is_written_ = true;
  }

  void WriteEnd() {
    int end = last_place_ + (spaces_ > 0 ? 1 : 0) + (shape_.point ? 1 : 0);
    if (last_relevant_ != std::string::npos && last_relevant_ == at_) end = place_;
    if (place_ + 1 != end) return;
    if (sign_is_written_ && shape_.bracket) {
      out_ += sign_ == '+' ? ' ' : '>';
    } else if (shape_.sign && !shape_.sign_is_first) {
      out_ += sign_ == '-' ? '-' : '+';
    }
  }

  void WriteDigit(NumberField field) {
    const bool past_relevant = last_relevant_ != std::string::npos && at_ > last_relevant_;
    if (digit() == '.') {
      out_ += '.';
    } else if (past_relevant && field != NumberField::kZero) {
      // nothing
    } else if (at_leading_zero()) {
      if (!shape_.fill) {
        out_ += ' ';
      } else if (ends_at_point()) {
        out_ += '0';
      }
    } else {
      out_ += digit();
      has_digits_ = true;
    }
    if (at_ < digits_.size()) ++at_;
  }

  // A 9, 0, D or point.
  void WritePlace(NumberField field) {
    if (shape_.roman) return;
    has_digits_ = false;
    WriteSign();
    if (place_ >= spaces_) {
      WriteDigit(field);
    } else if (shape_.zero && shape_.zero_start <= place_) {
      out_ += '0';
      has_digits_ = true;
    } else if (!shape_.fill) {
      out_ += ' ';
    }
    WriteEnd();
    ++place_;
  }

  void WriteOrdinal(bool lower) {
    if (shape_.roman || digits_[0] == '#' || sign_ == '-' || shape_.point) return;
    const std::string ending(OrdinalEnding(digits_));
    out_ += lower ? ending : absl::AsciiStrToUpper(ending);
  }

  void WriteSignField(bool here, char sign) {
    if (here) {
      out_ += sign;
    } else if (!shape_.fill) {
      out_ += ' ';
    }
  }

  void Write(const NumberNode& node) {
    switch (node.field) {
      case NumberField::kText:
        out_ += node.text;
        return;
      case NumberField::kNine:
      case NumberField::kZero:
      case NumberField::kPoint:
      case NumberField::kDecimal:
        return WritePlace(node.field);
      case NumberField::kComma:
      case NumberField::kGroup:
        return WriteSignField(has_digits_, ',');
      case NumberField::kSymbol:  // the C locale has none
        out_ += ' ';
        return;
      case NumberField::kRoman:
        out_ += absl::StrFormat("%*s", shape_.fill ? 0 : 15,
                                node.lower ? absl::AsciiStrToLower(digits_) : digits_);
        return;
      case NumberField::kOrdinal:
        return WriteOrdinal(node.lower);
      case NumberField::kMinus:
        return WriteSignField(sign_ == '-', '-');
      case NumberField::kPlus:
        return WriteSignField(sign_ == '+', '+');
      case NumberField::kAnySign:
        out_ += sign_;
        return;
      default:
        return;
    }
  }

  NumberShape shape_;
  std::string digits_;
  int spaces_;
  char sign_;
  bool sign_is_written_ = false;
  bool has_digits_ = false;  // the last place had one
  int place_ = 0;            // of the pattern
  int last_place_ = 0;
  size_t at_ = 0;                             // of the number
  size_t last_relevant_ = std::string::npos;  // of its digits, with FM
  std::string out_;
};

}  // namespace

std::string_view OrdinalEnding(std::string_view digits) {
  const bool teen = digits.size() > 1 && digits[digits.size() - 2] == '1';
  switch (teen ? '0' : digits.back()) {
    case '1':
      return "st";
    case '2':
      return "nd";
    case '3':
      return "rd";
    default:
      return "th";
  }
}

std::string WriteNumber(const std::vector<NumberNode>& nodes, NumberShape shape, std::string digits,
                        int spaces, char sign) {
  return Writer(shape, std::move(digits), spaces, sign).Run(nodes);
}

}  // namespace adjoin
