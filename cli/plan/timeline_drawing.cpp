// See timeline_drawing.h. All positions are in pixels.
#include "cli/plan/timeline_drawing.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace soapstone::cli {
namespace {

using parallel::Ticks;
using parallel::to_us;

constexpr double kLeft = 110, kRight = 90, kTop = 40, kWidth = 1200;
constexpr double kLane = 22, kMemory = 16, kBetween = 8;
constexpr double kNarrowestLabel = 60;  // A part that is narrower has no text.

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
      result += c;
  }
  return result;
}

class Drawing {
 public:
  Drawing(const parallel::PlacementProblem& problem, const parallel::Timeline& timeline)
      : problem_(problem), timeline_(timeline) {}

  std::string text(const parallel::Placement& placement) {
    const double height = kTop + static_cast<double>(problem_.device_count) * lane_height() + 30;
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica\" font-size=\"11\">\n",
        kLeft + kWidth + kRight, height);
    svg_ +=
        fmt::format("<text x=\"{}\" y=\"20\" font-size=\"14\">{:.3f} ms: {:.3f} ms until the last "
                    "part ends</text>\n",
                    kLeft, to_us(timeline_.end) / 1000, to_us(timeline_.computed) / 1000);
    draw_lanes();
    draw_parts();
    draw_weights();
    draw_memory(placement);
    return svg_ + "</svg>\n";
  }

 private:
  static double lane_height() { return kLane + kMemory + kBetween; }
  static double top_of(std::size_t device) {
    return kTop + static_cast<double>(device) * lane_height();
  }
  double x_of(Ticks time) const {
    return kLeft + kWidth * static_cast<double>(time) /
                       static_cast<double>(std::max<Ticks>(1, timeline_.end));
  }

  void draw_lanes() {
    for (std::size_t device = 0; device < problem_.device_count; ++device) {
      const double middle = top_of(device) + kLane * 0.7;
      svg_ += fmt::format("<rect class=\"lane\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
                          "fill=\"#f4f4f4\"/>\n",
                          kLeft, top_of(device), kWidth, kLane);
      svg_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLeft - 6,
                          middle, xml_escaped(problem_.device_names[device]));
      svg_ += fmt::format("<text x=\"{}\" y=\"{}\">{:.1f} % idle</text>\n", kLeft + kWidth + 6,
                          middle, 100 * timeline_.idle_share(device));
    }
  }

  void draw_parts() {
    std::vector<bool> is_critical(timeline_.parts.size());
    for (const std::size_t k : timeline_.critical_path()) is_critical[k] = true;
    for (std::size_t k = 0; k < timeline_.parts.size(); ++k) {
      const parallel::PartRun& run = timeline_.parts[k];
      const double x = x_of(run.start), width = x_of(run.end) - x, y = top_of(run.device);
      const std::string& name = problem_.operators[run.op].name;
      svg_ += fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" "
                          "fill=\"hsl({}, 60%, 75%)\" stroke=\"{}\" stroke-width=\"{}\"><title>{}, "
                          "part {}: {:.3f} ms from {:.3f} ms</title></rect>\n",
                          is_critical[k] ? "part critical" : "part", x, y, width, kLane,
                          run.op * 47 % 360, is_critical[k] ? "#c00000" : "#ffffff",
                          is_critical[k] ? 1.5 : 0.3, xml_escaped(name), run.part,
                          to_us(run.end - run.start) / 1000, to_us(run.start) / 1000);
      if (width >= kNarrowestLabel)
        svg_ += fmt::format("<text x=\"{:.2f}\" y=\"{}\" font-size=\"9\">{}</text>\n", x + 3,
                            y + kLane * 0.65,
                            xml_escaped(name.substr(0, static_cast<std::size_t>(width / 6))));
    }
  }

  void draw_weights() {
    for (const parallel::SyncRun& sync : timeline_.syncs) {
      if (sync.end == sync.start) continue;
      const std::uint32_t first = problem_.groups[sync.group].members.front();
      for (std::size_t device = 0; device < problem_.device_count; ++device)
        if ((sync.devices >> device & 1) != 0)
          svg_ += fmt::format(
              "<rect class=\"weight\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" "
              "fill=\"#999999\" stroke=\"#ffffff\" stroke-width=\"0.3\"><title>weight of {}: "
              "{:.3f} "
              "ms</title></rect>\n",
              x_of(sync.start), top_of(device) + kLane * 0.25, x_of(sync.end) - x_of(sync.start),
              kLane * 0.5, xml_escaped(problem_.operators[first].name),
              to_us(sync.end - sync.start) / 1000);
    }
  }

  /// As shares of what the device has, or of the most that is held if that is more.
  void draw_memory(const parallel::Placement& placement) {
    const auto memory = memory_over_time(problem_, placement, timeline_);
    for (std::size_t device = 0; device < problem_.device_count; ++device) {
      double most = 0;
      for (const parallel::MemoryStep& step : memory[device]) most = std::max(most, step.bytes);
      const double full = std::max(most, problem_.memory_bytes[device]);
      const double bottom = top_of(device) + kLane + kMemory;
      std::string points = fmt::format("{},{}", kLeft, bottom);
      double last = bottom;
      for (const parallel::MemoryStep& step : memory[device]) {
        const double x = x_of(step.from), y = bottom - kMemory * step.bytes / full;
        points += fmt::format(" {:.2f},{:.2f} {:.2f},{:.2f}", x, last, x, y);
        last = y;
      }
      points += fmt::format(" {},{:.2f} {},{}", kLeft + kWidth, last, kLeft + kWidth, bottom);
      svg_ += fmt::format("<polygon class=\"memory\" points=\"{}\" fill=\"#bcd\"/>\n", points);
      svg_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"9\">{:.2f} of {:.0f} GB</text>\n",
                          kLeft + kWidth + 6, bottom - 3, most / 1e9,
                          problem_.memory_bytes[device] / 1e9);
    }
  }

  const parallel::PlacementProblem& problem_;
  const parallel::Timeline& timeline_;
  std::string svg_;
};

}  // namespace

std::string timeline_svg(const parallel::PlacementProblem& problem,
                         const parallel::Placement& placement, const parallel::Timeline& timeline) {
  return Drawing(problem, timeline).text(placement);
}

}  // namespace soapstone::cli
