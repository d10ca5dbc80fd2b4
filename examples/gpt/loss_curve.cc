#include "gpt/loss_curve.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gpt {
namespace {

constexpr double kWidth = 720, kHeight = 420, kLeft = 60, kRight = 20, kTop = 40, kBottom = 50;

absl::Status WriteFile(const std::string& text, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("cannot write ", path));
}

// Maps steps and losses to the picture's coordinates.
struct Axes {
  double last_step, low, high;
  double X(double step) const { return kLeft + step / last_step * (kWidth - kLeft - kRight); }
  double Y(double loss) const {
    return kTop + (high - loss) / (high - low) * (kHeight - kTop - kBottom);
  }
};

std::string Label(double x, double y, absl::string_view anchor, absl::string_view colour,
                  absl::string_view text) {
  return absl::StrCat("<text x='", x, "' y='", y, "' text-anchor='", anchor, "' fill='", colour,
                      "'>", text, "</text>\n");
}

std::string Line(const std::vector<CurvePoint>& curve, const Axes& axes, double CurvePoint::*loss,
                 absl::string_view colour) {
  std::string points;
  for (const CurvePoint& point : curve) {
    absl::StrAppend(&points, axes.X(static_cast<double>(point.step)), ",", axes.Y(point.*loss),
                    " ");
  }
  return absl::StrCat("<polyline fill='none' stroke-width='1.5' stroke='", colour, "' points='",
                      points, "'/>\n");
}

// Four to ten round numbers in [low, high]: multiples of 1, 2 or 5 times a power of ten.
std::vector<double> Ticks(double low, double high) {
  const double power = std::pow(10, std::floor(std::log10((high - low) / 4)));
  double tick = power;
  for (double factor : {2.0, 5.0}) {
    if ((high - low) / (factor * power) >= 4) tick = factor * power;
  }
  std::vector<double> ticks;
  for (auto i = std::llround(std::ceil(low / tick)); static_cast<double>(i) * tick <= high; ++i) {
    ticks.push_back(static_cast<double>(i) * tick);
  }
  return ticks;
}

}  // namespace

absl::Status WriteCurveCsv(const std::vector<CurvePoint>& curve, const std::string& path) {
  std::string text = "step,train_loss,valid_loss\n";
  for (const CurvePoint& point : curve) {
    absl::StrAppend(&text, point.step, ",", point.train_loss, ",", point.valid_loss, "\n");
  }
  return WriteFile(text, path);
}

absl::Status WriteCurveSvg(const std::vector<CurvePoint>& curve, const std::string& path) {
  Axes axes{std::max(1.0, static_cast<double>(curve.back().step)), curve[0].train_loss,
            curve[0].train_loss};
  for (const CurvePoint& point : curve) {
    axes.low = std::min({axes.low, point.train_loss, point.valid_loss});
    axes.high = std::max({axes.high, point.train_loss, point.valid_loss});
  }
  axes.high += 0.05 * (axes.high - axes.low) + 1e-6;
  axes.low -= 0.05 * (axes.high - axes.low);
  std::string svg =
      absl::StrCat("<svg xmlns='http://www.w3.org/2000/svg' width='", kWidth, "' height='", kHeight,
                   "' font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' "
                   "fill='white'/>\n");
  for (double loss : Ticks(axes.low, axes.high)) {
    absl::StrAppend(&svg, "<path stroke='#ddd' d='M", kLeft, " ", axes.Y(loss), "H",
                    kWidth - kRight, "'/>\n",
                    Label(kLeft - 8, axes.Y(loss) + 4, "end", "#444", absl::StrCat(loss)));
  }
  for (double step : Ticks(0, axes.last_step)) {
    absl::StrAppend(
        &svg, Label(axes.X(step), kHeight - kBottom + 18, "middle", "#444", absl::StrCat(step)));
  }
  absl::StrAppend(&svg, Line(curve, axes, &CurvePoint::train_loss, "#1f77b4"),
                  Line(curve, axes, &CurvePoint::valid_loss, "#d62728"),
                  Label(kLeft, kTop - 16, "start", "#1f77b4", "training text"),
                  Label(kLeft + 110, kTop - 16, "start", "#d62728", "validation text"),
                  Label(kWidth / 2, kHeight - 10, "middle", "#444", "step"),
                  Label(12, kTop - 16, "start", "#444", "loss"), "</svg>\n");
  return WriteFile(svg, path);
}

}  // namespace gpt
