#include "plan/random_functions.h"

#include <algorithm>

#include "plan/scalar_functions.h"

namespace adjoin {
namespace {

using Args = std::vector<ExprRef>;

bool All(Args::const_iterator first, Args::const_iterator last, bool (*is)(TypeId)) {
  return std::all_of(first, last, [is](const ExprRef& e) { return is(e->type); });
}

ExprRef Lowest32(const ExprRef& data) {
  constexpr int64_t kMask = 0xFFFFFFFF;
  if (data->kind == ExprKind::kConstant && !data->constant.is_null())
    return ConstantExpr(Value::Int(data->constant.as_int() & kMask), TypeId::kInt64);
  return CallNamed("&", {data, ConstantExpr(Value::Int(kMask), TypeId::kInt64)}, TypeId::kInt64);
}

}  // namespace

bool IsRandomFunction(std::string_view name) {
  return name == "random_split" || name == "random_fold_in" || name == "random_bits" ||
         IsRandomFloat(name);
}

bool IsRandomFloat(std::string_view name) {
  return name == "random_uniform" || name == "random_normal";
}

ExprRef ResolveRandom(std::string_view name, const Args& args) {
  constexpr std::ptrdiff_t kNumbers = 2;  // the key and the index
  if (std::ssize(args) < kNumbers || !All(args.begin(), args.begin() + kNumbers, IsInteger))
    return nullptr;
  const ExprRef key = CastTo(args[0], TypeId::kInt64), index = CastTo(args[1], TypeId::kInt64);
  const bool whole = args.size() == 2;
  const auto of_key = [&](std::string_view function, const ExprRef& i) {
    return CallNamed(function, {key, i}, TypeId::kInt64);
  };
  if (name == "random_fold_in") return whole ? of_key("random_split", Lowest32(index)) : nullptr;
  if (!IsRandomFloat(name)) return whole ? of_key(name, index) : nullptr;

  const bool uniform = name == "random_uniform";
  if (!whole && args.size() != (uniform ? 4u : 3u)) return nullptr;
  const auto floats = args.begin() + kNumbers;
  if (!All(floats, args.end(), IsNumeric)) return nullptr;
  const bool real =
      !whole && All(floats, args.end(), [](TypeId t) { return t == TypeId::kFloat32; });
  const TypeId type = real ? TypeId::kFloat32 : TypeId::kFloat64;
  Args out;
  for (auto at = floats; at != args.end(); ++at) out.push_back(CastTo(*at, type));
  if (whole && uniform) out.push_back(FloatConst(0, type));
  if (whole) out.push_back(FloatConst(1, type));
  out.push_back(of_key(real ? "random_bits" : "random_split", index));
  return CallNamed(name, std::move(out), type);
}

}  // namespace adjoin
