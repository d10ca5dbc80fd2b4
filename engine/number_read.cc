// One number out of a text, by a pattern. Digits are taken wherever the pattern has places for
// them; what else the text has there is passed over.
#include "absl/strings/ascii.h"
#include "engine/number_format.h"
#include "engine/text.h"

namespace adjoin {
namespace {

class Reader {
 public:
  Reader(const NumberShape& shape, std::string_view text) : shape_(shape), rest_(text) {}

  NumberText Run(const std::vector<NumberNode>& nodes) {
    for (const NumberNode& node : nodes) {
      if (rest_.empty()) break;
      Read(node);
    }
    if (digits_.ends_with('.')) digits_.pop_back();
    return {sign_ + digits_, after_};
  }

 private:
  bool has_digits() const { return before_ + after_ > 0; }

  void Skip(size_t n) { rest_.remove_prefix(std::min(n, rest_.size())); }
  void SkipCharacter() {
    Skip(1);
    while (!rest_.empty() && ContinuesCharacter(rest_[0])) Skip(1);
  }
  // Up to `n` characters that cannot be of a number.
  void SkipOthers(int n) {
    for (; n > 0 && !rest_.empty(); --n) {
      if (std::string_view("0123456789.,+-").find(rest_[0]) != std::string_view::npos) return;
      SkipCharacter();
    }
  }

  void ReadSignBefore() {
    const char c = rest_[0];
    const bool other = !(shape_.sign && shape_.sign_is_first);
    if (c == '-' || (other && shape_.bracket && c == '<')) {
      sign_ = '-';
    } else if (c == '+') {
      sign_ = '+';
    } else {
      return;
    }
    Skip(1);
  }

  // Of a place: whether it took a digit, or the point, which it leaves to be passed.
  bool ReadDigit() {
    if (IsDigit(rest_[0])) {
      if (has_point_ && after_ == shape_.after) return false;
      digits_ += rest_[0];
      ++(has_point_ ? after_ : before_);
      return true;
    }
    if (!shape_.point || has_point_ || rest_[0] != '.') return false;
    digits_ += '.';
    has_point_ = true;
    return true;
  }

  void ReadSignBehind(bool read) {
    if (shape_.sign && read && rest_.size() > 1 && !IsDigit(rest_[1])) {
      if (rest_[1] != '-' && rest_[1] != '+') return;
      sign_ = rest_[1];
      Skip(1);
    } else if (!read && !shape_.sign && (shape_.plus || shape_.minus)) {
      if (rest_[0] == '-' || rest_[0] == '+') sign_ = rest_[0];
    }
  }

  void ReadPlace(NumberField field) {
    if (rest_[0] == ' ') Skip(1);
    if (rest_.empty()) return;
    const bool is_digit = field == NumberField::kNine || field == NumberField::kZero;
    if (sign_ == ' ' && is_digit && !has_digits()) ReadSignBefore();
    if (rest_.empty()) return;
    const bool full = IsDigit(rest_[0]) && has_point_ && after_ == shape_.after;
    const bool read = ReadDigit();
    if (!full && sign_ == ' ' && has_digits()) ReadSignBehind(read);
    Skip(1);
  }

  void ReadSignField(bool minus, bool plus) {
    if ((minus && rest_[0] == '-') || (plus && rest_[0] == '+')) {
      sign_ = rest_[0];
      Skip(1);
    } else {
      SkipOthers(1);
    }
  }

  void Read(const NumberNode& node) {
    switch (node.field) {
      case NumberField::kText:
        return SkipCharacter();
      case NumberField::kNine:
      case NumberField::kZero:
      case NumberField::kPoint:
      case NumberField::kDecimal:
        return ReadPlace(node.field);
      case NumberField::kComma:
      case NumberField::kGroup:
        if (!shape_.fill && rest_[0] == ',') Skip(1);
        return;
      case NumberField::kSymbol:
        return SkipOthers(1);
      case NumberField::kOrdinal:
        if (sign_ != '-' && !shape_.point) SkipOthers(2);
        return;
      case NumberField::kMinus:
        return ReadSignField(true, false);
      case NumberField::kPlus:
        return ReadSignField(false, true);
      case NumberField::kAnySign:
        return ReadSignField(true, true);
      default:
        return;
    }
  }

  const NumberShape& shape_;
  std::string_view rest_;
  char sign_ = ' ';
  std::string digits_;
  bool has_point_ = false;
  int before_ = 0, after_ = 0;
};

}  // namespace

NumberText ReadNumber(const std::vector<NumberNode>& nodes, const NumberShape& shape,
                      std::string_view text) {
  return Reader(shape, text).Run(nodes);
}

}  // namespace adjoin
