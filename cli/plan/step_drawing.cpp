// See step_drawing.h. All positions are in pixels.
#include "cli/plan/step_drawing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "cli/plan/drawn_parts.h"

namespace soapstone::cli {
namespace {

using parallel::StepPart;
using parallel::Ticks;
using parallel::to_us;

constexpr double kLeft = 190, kRight = 130, kTop = 64, kWidth = 1200;
constexpr double kLane = 24, kMemory = 16, kBetween = 10, kBottom = 34;
constexpr std::size_t kMostDrawn = 2000;
constexpr double kLetter = 5;          // The width of one, about.
constexpr double kThinnest = 0.05;     // A part that is narrower is not drawn.
constexpr double kPointedAt = 0.5;     // A part that is narrower has no title.
constexpr double kNarrowStroke = 2.5;  // A part that is narrower has no outline.

const char* color_of(StepPart part) {
  switch (part) {
  case StepPart::kForward:
    return "#8fb8de";
  case StepPart::kAgain:
    return "#c6b7e2";
  case StepPart::kBackward:
    return "#9fcf9f";
  case StepPart::kExchange:
    return "#f2b56b";
  case StepPart::kUpdate:
    return "#8c8c8c";
  }
  return "#ffffff";
}

std::string xml_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += static_cast<unsigned char>(c) < ' ' ? '?' : c;  // XML has no control characters
  }
  return result;
}

class StepDrawing {
 public:
  StepDrawing(const parallel::SimulatedStep& step,
              const std::vector<parallel::MeasuredLane>& measured)
      : step_(step), problem_(step.problem), timeline_(step.timeline), measured_(measured),
        end_us_(end_of(step, measured)),
        has_microbatches_(std::ranges::any_of(step.microbatch_of, [](auto m) { return m > 0; })) {}

  std::string text() {
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" "
        "font-size=\"11\">\n"
        "<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        kLeft + kWidth + kRight, bottom() + kBottom);
    draw_title();
    draw_scale();
    draw_lanes();
    draw_parts();
    draw_weights();
    draw_memory();
    draw_measured();
    return svg_ + "</svg>\n";
  }

 private:
  static double lane_height() { return kLane + kMemory + kBetween; }
  static double top_of(std::size_t device) {
    return kTop + static_cast<double>(device) * lane_height();
  }
  double top_of_measured(std::size_t rank) const {
    return top_of(problem_.device_count) + static_cast<double>(rank) * (kLane + kBetween);
  }
  double bottom() const { return top_of_measured(measured_.size()); }
  /// Until all lanes end.
  static double end_of(const parallel::SimulatedStep& step,
                       const std::vector<parallel::MeasuredLane>& measured) {
    double end_us = to_us(std::max<Ticks>(1, step.timeline.end));
    for (const parallel::MeasuredLane& lane : measured)
      if (!lane.parts.empty()) end_us = std::max(end_us, lane.parts.back().end_us);
    return end_us;
  }
  double x_of_us(double us) const { return kLeft + kWidth * us / end_us_; }
  double x_of(Ticks time) const { return x_of_us(to_us(time)); }
  void write(double x, double y, std::string_view text, std::string_view style = "") {
    svg_ += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x, y,
                        style.empty() ? "" : " ", style, xml_escaped(text));
  }

  void draw_title() {
    double idle = 0;
    for (std::size_t device = 0; device < problem_.device_count; ++device)
      idle += timeline_.idle_share(device) / static_cast<double>(problem_.device_count);
    write(kLeft, 20,
          fmt::format("{:.3f} ms: {:.3f} ms until the last part ends; {:.1f} % idle; the "
                      "plan: {:.3f} ms",
                      to_us(timeline_.end) / 1000, to_us(timeline_.computed) / 1000, 100 * idle,
                      step_.plan_us / 1000),
          "font-size=\"14\"");
    double x = kLeft;
    const auto swatch = [&](const char* fill, const char* stroke, std::string_view name) {
      svg_ += fmt::format("<rect class=\"key\" x=\"{:.1f}\" y=\"34\" width=\"14\" height=\"11\" "
                          "fill=\"{}\" stroke=\"{}\"/>\n",
                          x, fill, stroke);
      write(x + 19, 44, name);
      x += 45 + 6 * static_cast<double>(name.size());
    };
    for (const StepPart part : {StepPart::kForward, StepPart::kAgain, StepPart::kBackward,
                                StepPart::kExchange, StepPart::kUpdate}) {
      const bool is_update = part == StepPart::kUpdate;
      swatch(color_of(part), "none", is_update ? "sums of gradients, update" : to_string(part));
    }
    swatch("none", "#c00000", "critical path");
    swatch("#bbccdd", "none", "memory");
  }

  /// Round times below the lanes, five to ten of them.
  void draw_scale() {
    const double whole_ms = std::max(end_us_ / 1000, 1e-5);
    double step_ms = std::pow(10, std::floor(std::log10(whole_ms)));
    if (whole_ms / step_ms < 2.5) step_ms /= 4;
    if (whole_ms / step_ms < 5) step_ms /= 2;
    for (int k = 0; k * step_ms <= whole_ms; ++k) {
      const double x = kLeft + kWidth * k * step_ms / whole_ms;
      svg_ += fmt::format("<line class=\"scale\" x1=\"{0:.2f}\" y1=\"{1}\" x2=\"{0:.2f}\" "
                          "y2=\"{2:.1f}\" stroke=\"#dddddd\"/>\n",
                          x, kTop - 6, bottom());
      write(x, bottom() + 14, fmt::format("{:g} ms", k * step_ms), "text-anchor=\"middle\"");
    }
  }

  void draw_lanes() {
    for (std::size_t device = 0; device < problem_.device_count; ++device)
      draw_lane(top_of(device), problem_.device_names[device], timeline_.idle_share(device));
  }

  /// The name where there is room for it, else the number of the microbatch, else nothing.
  std::string label(const DrawnPart& part, double width) const {
    const auto letters = static_cast<std::size_t>(std::max(0.0, width - 4) / kLetter);
    if (part.name.size() <= letters) return part.name;
    std::string number = part.microbatch < 0 ? "" : fmt::to_string(part.microbatch);
    if (has_microbatches_ && number.size() <= letters) return number;
    return letters >= 8 ? part.name.substr(0, letters) : "";
  }

  std::string title(const DrawnPart& part) const {
    return fmt::format("<title>{}, {}{}: {:.3f} ms from {:.3f} ms</title>", xml_escaped(part.name),
                       to_string(part.does),
                       has_microbatches_ ? fmt::format(" {}", part.microbatch) : "",
                       to_us(part.end - part.start) / 1000, to_us(part.start) / 1000);
  }

  void draw_parts() {
    for (const DrawnPart& part : drawn_parts(step_, kMostDrawn)) {
      const double x = x_of(part.start), width = x_of(part.end) - x, y = top_of(part.device);
      if (width < kThinnest) continue;
      svg_ += fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" "
                          "fill=\"{}\"{}>{}</rect>\n",
                          part.is_critical ? "part critical" : "part", x, y, width, kLane,
                          color_of(part.does),
                          width < kNarrowStroke ? "" : " stroke=\"#ffffff\" stroke-width=\"0.5\"",
                          width < kPointedAt ? "" : title(part));
      if (part.is_critical)
        svg_ += fmt::format("<line class=\"critical\" x1=\"{0:.2f}\" y1=\"{2}\" x2=\"{1:.2f}\" "
                            "y2=\"{2}\" stroke=\"#c00000\" stroke-width=\"2\"/>\n",
                            x, x + width, y + 1);
      if (const std::string text = label(part, width); !text.empty())
        write(x + 3, y + kLane * 0.5, text, "font-size=\"9\"");
    }
  }

  void draw_weights() {
    for (const parallel::SyncRun& sync : timeline_.syncs) {
      if (x_of(sync.end) - x_of(sync.start) < kThinnest) continue;
      const std::uint32_t first = problem_.groups[sync.group].members.front();
      const char* const what = step_.parts[first] == StepPart::kUpdate ? "" : "sum of gradients, ";
      for (const std::uint8_t device : sync.devices)
        svg_ += fmt::format(
            "<rect class=\"weight\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" "
            "fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.3\"><title>{}{}: {:.3f} ms from "
            "{:.3f} ms</title></rect>\n",
            x_of(sync.start), top_of(device) + kLane * 0.65, x_of(sync.end) - x_of(sync.start),
            kLane * 0.35, color_of(StepPart::kUpdate), what,
            xml_escaped(problem_.operators[first].name), to_us(sync.end - sync.start) / 1000,
            to_us(sync.start) / 1000);
    }
  }

  /// As shares of the most that any device holds.
  void draw_memory() {
    const auto memory = memory_over_time(problem_, step_.placement, timeline_);
    double full = 1;
    for (const auto& steps : memory)
      for (const parallel::MemoryStep& step : steps) full = std::max(full, step.bytes);
    for (std::size_t device = 0; device < problem_.device_count; ++device) {
      double most = 0;
      for (const parallel::MemoryStep& step : memory[device]) most = std::max(most, step.bytes);
      const double bottom = top_of(device) + kLane + kMemory;
      std::string points = fmt::format("{},{}", kLeft, bottom);
      double last = bottom;
      for (const parallel::MemoryStep& step : memory[device]) {
        const double x = x_of(step.from), y = bottom - kMemory * step.bytes / full;
        points += fmt::format(" {:.2f},{:.2f} {:.2f},{:.2f}", x, last, x, y);
        last = y;
      }
      points += fmt::format(" {},{:.2f} {},{}", kLeft + kWidth, last, kLeft + kWidth, bottom);
      svg_ += fmt::format("<polygon class=\"memory\" points=\"{}\" fill=\"#bbccdd\"/>\n", points);
      write(kLeft + kWidth + 6, bottom - 3,
            fmt::format("{:.2f} of {:.0f} GB", most / 1e9, problem_.memory_bytes[device] / 1e9),
            "font-size=\"9\"");
    }
  }

  void draw_lane(double top, const std::string& name, double idle_share) {
    svg_ += fmt::format("<rect class=\"lane\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
                        "fill=\"#f4f4f4\"/>\n",
                        kLeft, top, kWidth, kLane);
    write(kLeft - 6, top + kLane * 0.65, name, "text-anchor=\"end\"");
    write(kLeft + kWidth + 6, top + kLane * 0.65, fmt::format("{:.1f} % idle", 100 * idle_share));
  }

  /// Time that a rank waits in an exchange is left white.
  void draw_measured() {
    for (std::size_t rank = 0; rank < measured_.size(); ++rank) {
      const parallel::MeasuredLane& lane = measured_[rank];
      const double y = top_of_measured(rank);
      draw_lane(y, lane.name + ", measured", lane.idle_share);
      for (const parallel::MeasuredPart& part : lane.parts) {
        const double x = x_of_us(part.start_us + part.waited_us), width = x_of_us(part.end_us) - x;
        if (width < kThinnest) continue;
        const double start_ms = part.start_us / 1000;
        svg_ += fmt::format(
            "<rect class=\"measured\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" "
            "fill=\"{}\"><title>{}: {:.3f} ms from {:.3f} ms{}</title></rect>\n",
            x, y, width, kLane,
            color_of(part.is_exchange ? StepPart::kExchange : StepPart::kForward),
            xml_escaped(part.name), part.end_us / 1000 - start_ms, start_ms,
            part.waited_us > 0 ? fmt::format(", {:.3f} ms of it waiting", part.waited_us / 1000)
                               : "");
      }
    }
  }

  const parallel::SimulatedStep& step_;
  const parallel::PlacementProblem& problem_;
  const parallel::Timeline& timeline_;
  const std::vector<parallel::MeasuredLane>& measured_;
  const double end_us_;
  const bool has_microbatches_;
  std::string svg_;
};

}  // namespace

std::string step_svg(const parallel::SimulatedStep& step,
                     const std::vector<parallel::MeasuredLane>& measured) {
  return StepDrawing(step, measured).text();
}

}  // namespace soapstone::cli
