#include "transforms/receptive/shift_text.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "transforms/base/source_text.h"
#include "transforms/receptive/convolution_text.h"

namespace soapstone::transforms {
namespace {

using core::Dims;
using core::Graph;
using core::Node;
using core::TensorId;
using Axes = std::vector<std::size_t>;

/// Elements of a window.
constexpr std::int64_t kMostPlaces = 128;
/// Of a kernel, which is computed when the model is written.
constexpr std::int64_t kLargestKernel = 1 << 20;
/// Dimensions of places that a convolution may have.
constexpr std::size_t kMostDimensions = 3;

Dims numbers_of(const Axes& order) { return {order.begin(), order.end()}; }

/// How the joined channels are read behind the cuts, by dimension of places.
struct Behind {
  std::int64_t size = 1, step = 1, stride = 1, before = 0, behind = 0;
};

/// One rule: what is common to sums and to joins.
class ShiftText {
 public:
  ShiftText(const Graph& graph, const Shifted& all)
      : graph_(graph), all_(all), whole_(dims(all.whole)), result_(dims(all.result)) {
    for (std::size_t d = 0; d < whole_.size(); ++d)
      if (std::ranges::any_of(all.cuts, [&](const auto& entry) {
            return entry.second[d] != Cut{.count = whole_[d]};
          }))
        shifted_.push_back(d);
    names_.emplace(all.whole, "x");
  }

 protected:
  Dims dims(TensorId id) const { return dims_of(graph_, id); }
  const Node& producer(TensorId id) const { return graph_.node(graph_.tensor(id).producer); }
  static std::int64_t product_of(const Dims& all, const Axes& axes) {
    std::int64_t product = 1;
    for (const std::size_t d : axes) product *= all[d];
    return product;
  }
  bool is_shifted(std::size_t d) const { return std::ranges::find(shifted_, d) != shifted_.end(); }

  void declare(const std::string& name, TensorId id) { head_ += declared(graph_, name, id); }
  void add(const std::string& name, const std::string& call) {
    target_ += fmt::format("    {} = {}\n", name, call);
  }

  /// Lines of the source for a cut, or for what is between cuts.
  std::string write_cut(TensorId id) {
    if (const auto known = names_.find(id); known != names_.end()) return known->second;
    const Node& node = producer(id);
    if (node.inputs.empty()) {
      has_zeros_ = true;
      return name_line(id, call_of(graph_, node, {}));
    }
    std::vector<std::string> operands;
    for (const TensorId input : node.inputs) operands.push_back(write_cut(input));
    const std::string call = call_of(graph_, node, operands);
    if (node.outputs.size() == 1) return name_line(id, call);
    std::vector<std::string> names;
    for (const TensorId result : node.outputs) {
      names.push_back(fmt::format("t{}", names_.size()));
      names_.emplace(result, names.back());
    }
    source_ += fmt::format("    {} = {}\n", fmt::join(names, ", "), call);
    return names_.at(id);
  }
  std::string name_line(TensorId id, const std::string& call) {
    const std::string name = id == all_.result ? "y" : fmt::format("t{}", names_.size());
    source_ += fmt::format("    {} = {}\n", name, call);
    names_.emplace(id, name);
    return name;
  }

  /// The places that the windows read, `x` without those that none reads, and the convolution's
  /// geometry along dimensions of places; several axes of one that no cut shifts may be one.
  bool take_window(const std::vector<Axes>& places, const std::vector<Behind>& behind,
                   const Dims& results) {
    if (places.empty() || places.size() > kMostDimensions) return false;
    Dims crop(2 * whole_.size(), 0);
    std::int64_t elements = 1;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Behind& more = behind[i];
      std::int64_t low = 0, high = 0, step = 0;
      std::int64_t size = product_of(whole_, places[i]), stride = more.stride;
      if (const std::size_t d = places[i][0]; is_shifted(d)) {
        const Cut& first = all_.cuts.begin()->second[d];
        low = high = first.start;
        for (const auto& [id, shift] : all_.cuts) {
          const Cut& cut = shift[d];
          if (cut.step != first.step || cut.count != first.count) return false;
          step = std::gcd(step, cut.start - first.start);
          low = std::min(low, cut.start);
          high = std::max(high, cut.start);
        }
        scale_.push_back(first.step);
        // Beside the cuts there are zeros, where the whole must have nothing.
        if ((more.before > 0 && high - first.step >= 0) ||
            (more.behind > 0 && low + first.step * first.count < size))
          return false;
      } else {
        scale_.push_back(1);
      }
      const std::int64_t scale = scale_.back();
      if (more.size > 1) step = std::gcd(step, scale * more.step);
      step = std::max<std::int64_t>(step, 1);
      first_.push_back(low);
      last_.push_back(high);
      low -= scale * more.before;
      high += scale * (more.step * (more.size - 1) - more.before);
      stride *= scale;
      std::int64_t left = -low, right = (results[i] - 1) * stride + high + 1 - size;
      if (left < 0 || right <= -stride) {
        const std::size_t d = places[i][0];
        if (places[i].size() != 1) return false;
        crop[d] = std::min<std::int64_t>(left, 0);
        crop[whole_.size() + d] = right <= -stride ? right : 0;
        cropped_ = true;
        high += crop[d];
        low += crop[d];
        left = std::max<std::int64_t>(left, 0);
      }
      right = std::max<std::int64_t>(right, 0);
      conv_.window.low.push_back(-left);
      conv_.window.high.push_back(high - low - left);
      conv_.window.step.push_back(step);
      conv_.strides.push_back(stride);
      conv_.end.push_back(right - conv_.window.high.back());
      const std::int64_t size_of_window = conv_.window.size(i);
      if (size_of_window > kMostPlaces) return false;
      elements *= size_of_window;
      if (elements > kMostPlaces) return false;
    }
    for (std::size_t d = 0; d < whole_.size(); ++d) whole_[d] += crop[d] + crop[whole_.size() + d];
    if (cropped_) add("xc", fmt::format("pad(x; pads=[{}], value=0.0)", list(crop)));
    return true;
  }

  /// The image in that order of dimensions and that shape, which is written so.
  void write_image(const Axes& order, const Dims& shape, const std::string& text) {
    std::string now = cropped_ ? "xc" : "x";
    if (!std::ranges::is_sorted(order)) {
      target_ += transposed("xt", now, numbers_of(order));
      now = "xt";
    }
    Dims lying;
    for (const std::size_t d : order) lying.push_back(whole_[d]);
    if (lying != shape) target_ += reshaped("xr", now, text);
    image_ = lying != shape ? "xr" : now;
  }

  /// `y`, whose convolution has its dimensions in that order.
  std::string finished(const char* name, const Axes& order, const Dims& shape,
                       const std::string& bias) {
    Dims lying;
    for (const std::size_t d : order) lying.push_back(result_[d]);
    const bool is_moved = !std::ranges::is_sorted(order), is_shaped = lying != shape;
    const std::string conv = is_shaped ? "yr" : is_moved ? "yt" : "y";
    target_ += convolved(conv_, conv, image_, "w", bias);
    if (is_shaped) target_ += reshaped(is_moved ? "yt" : "y", conv, list(lying));
    Axes back(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) back[order[k]] = k;
    if (is_moved) target_ += transposed("y", "yt", numbers_of(back));
    return window_rule(name, head_, source_, target_);
  }

  /// The line that puts a kernel of the cut alone at its place of the common one. `channels`: the
  /// dimension of the whole of which the cut has a part; none: it has all.
  std::string placed(const std::string& name, const std::string& weight, const Shift& shift,
                     const std::vector<Axes>& places, const std::vector<Behind>& behind,
                     std::optional<std::size_t> channels = {}) const {
    Dims around{0, 0}, after{0, 0}, between{0, 0};
    if (channels) {
      around[1] = shift[*channels].start;
      after[1] = whole_[*channels] - around[1] - shift[*channels].count;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::int64_t step = conv_.window.step[i];
      const std::size_t d = places[i][0];
      const std::int64_t start = is_shifted(d) ? shift[d].start : 0;
      around.push_back((start - first_[i]) / step);
      after.push_back((last_[i] - start) / step);
      between.push_back(behind[i].size > 1 ? scale_[i] * behind[i].step / step - 1 : 0);
    }
    around.insert(around.end(), after.begin(), after.end());
    return padded(name, weight, around, between);
  }

  const Graph& graph_;
  const Shifted& all_;
  Dims whole_, result_;
  Axes shifted_;       ///< Dimensions along which there are cuts.
  Dims first_, last_;  ///< Starts of the cuts, by dimension of places.
  Dims scale_;         ///< Their steps.
  bool cropped_ = false;
  bool has_zeros_ = false;  ///< Some are joined to what is cut.
  Convolution conv_;
  std::string head_, source_, target_, image_;
  std::map<TensorId, std::string> names_;
};

/// The operators that add cuts up do the same with their kernels.
class SumOfShifts : ShiftText {
 public:
  using ShiftText::ShiftText;

  std::optional<std::string> text() {
    if (shifted_.empty()) return std::nullopt;
    declare("x", all_.whole);
    for (const auto& [id, ignored] : all_.cuts) write_cut(id);
    write(all_.result);
    Axes batch, order;
    for (std::size_t d = 0; d < whole_.size(); ++d)
      if (!channels_.contains(d) && !is_shifted(d)) batch.push_back(d);
    const Axes channels(channels_.begin(), channels_.end());
    std::vector<Axes> places;
    Dims results;
    for (const std::size_t d : shifted_) {
      if (channels_.contains(d)) return std::nullopt;
      places.push_back({d});
      results.push_back(result_[d]);
    }
    // What lies behind the places need not be moved if all of it is treated alike.
    Axes behind;
    if (channels.empty() && places.size() < kMostDimensions)
      while (!batch.empty() && batch.back() > shifted_.back()) {
        behind.insert(behind.begin(), batch.back());
        batch.pop_back();
      }
    if (!behind.empty()) {
      places.push_back(behind);
      results.push_back(product_of(whole_, behind));
    }
    const std::vector<Behind> alone(places.size());
    if (!take_window(places, alone, results)) return std::nullopt;
    order = batch;
    order.insert(order.end(), channels.begin(), channels.end());
    for (const Axes& axes : places) order.insert(order.end(), axes.begin(), axes.end());
    const std::int64_t count = product_of(whole_, channels);
    Dims image{product_of(whole_, batch), count}, shape{image};
    for (const Axes& axes : places) image.push_back(product_of(whole_, axes));
    shape.insert(shape.end(), results.begin(), results.end());
    conv_.group = count;
    write_image(order, image, list(image));
    if (!write_kernels(channels, places, alone)) return std::nullopt;
    return finished("shifts", order, shape, "");
  }

 private:
  /// The source behind the cuts.
  void write(TensorId id) {
    if (names_.contains(id)) return;
    const Node& node = producer(id);
    for (const TensorId input : node.inputs) {
      if (graph_.is_constant_expression(input))
        declare_factor(input);
      else
        write(input);
    }
    name_line(id, called(node, names_));
    nodes_.push_back(id);
  }

  std::string called(const Node& node, const std::map<TensorId, std::string>& names) const {
    if (node.inputs.size() == 1)
      return fmt::format(fmt::runtime(call_around(graph_, node)), names.at(node.inputs[0]));
    return fmt::format("{}({}, {})", node.op->name, names.at(node.inputs[0]),
                       names.at(node.inputs[1]));
  }

  void declare_factor(TensorId id) {
    if (names_.contains(id)) return;
    const std::string name = fmt::format("c{}", factors_.size());
    declare(name, id);
    names_.emplace(id, name);
    factors_.push_back(id);
    const Dims shape = dims(id);
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != 1) channels_.insert(d + whole_.size() - shape.size());
  }

  /// False: a factor varies along some of the channels only, or the kernel is too large.
  bool write_kernels(const Axes& channels, const std::vector<Axes>& places,
                     const std::vector<Behind>& alone) {
    std::map<TensorId, std::string> kernels;
    const std::int64_t count = product_of(whole_, channels);
    for (std::size_t i = 0, size = 1; i < places.size(); ++i) {
      size *= static_cast<std::size_t>(conv_.window.size(i));
      if (count > kLargestKernel / static_cast<std::int64_t>(size)) return false;
    }
    const Dims ones(places.size() + 1, 1);
    add("one", fmt::format("full(; shape=[{}, {}], value=1.0)", count, list(ones)));
    for (const auto& [id, shift] : all_.cuts) {
      kernels[id] = fmt::format("k{}", kernels.size());
      target_ += placed(kernels[id], "one", shift, places, alone);
    }
    for (const TensorId id : factors_) {
      const std::int64_t own = core::element_count(dims(id));
      if (own != 1 && own != count) return false;
      kernels[id] = fmt::format("k{}", kernels.size());
      target_ += reshaped(kernels[id], names_.at(id), fmt::format("{}, {}", own, list(ones)));
    }
    for (const TensorId id : nodes_) {
      const std::string name = id == all_.result ? "w" : fmt::format("k{}", kernels.size());
      add(name, called(producer(id), kernels));
      kernels[id] = name;
    }
    return true;
  }

  std::set<std::size_t> channels_;  ///< Dimensions along which factors vary.
  std::vector<TensorId> factors_, nodes_;
};

/// The weight of each joined part is a kernel.
class JoinOfShifts : ShiftText {
 public:
  /// `any_width`: of any number of channels, for which proofs are shorter.
  JoinOfShifts(const Graph& graph, const Shifted& all, bool any_width)
      : ShiftText(graph, all), any_width_(any_width) {}

  std::optional<std::string> text() {
    const Node& node = producer(all_.result);
    const Node& join = producer(node.inputs[0]);
    const bool is_product = is_product_with_matrix(node);
    const auto axis = ops::axis_by_role(join);
    if (axis != (is_product ? whole_.size() - 1 : 1) || !are_channels(axis)) return std::nullopt;
    if (is_shifted(axis) && any_width_) return std::nullopt;
    Axes batch, order;
    std::vector<Axes> places;
    std::vector<Behind> behind;
    Dims results;
    const auto conv =
        is_product ? std::nullopt : convolution_at(graph_, graph_.tensor(all_.result).producer);
    if (!is_product && (!conv || conv->group != 1)) return std::nullopt;
    for (std::size_t d = 0; d < whole_.size(); ++d) {
      if (d == axis) continue;
      if (!is_shifted(d) && (is_product || d == 0)) {
        batch.push_back(d);
        continue;
      }
      if (d == 0 && !is_product) return std::nullopt;
      places.push_back({d});
      results.push_back(result_[d]);
      behind.push_back(is_product ? Behind() : behind_of(*conv, d - 2));
    }
    if (!take_window(places, behind, results)) return std::nullopt;
    head_ += fmt::format("  x: [{}]\n  v: [{}]\n", sized(dims(all_.whole), axis, 1),
                         sized(dims(node.inputs[1]), is_product ? 0 : 1, join.inputs.size()));
    write_source(node, join, conv);
    if (has_zeros_ && any_width_) return std::nullopt;  // these have a number of channels
    order = batch;
    order.push_back(axis);
    for (const Axes& axes : places) order.push_back(axes[0]);
    Dims image{product_of(whole_, batch), whole_[axis]}, shape{image[0], result_[axis]};
    for (const Axes& axes : places) image.push_back(whole_[axes[0]]);
    shape.insert(shape.end(), results.begin(), results.end());
    write_image(order, image, sized(image, 1, 1));
    write_kernels(join, axis, is_product, places, behind);
    return finished("joined_shifts", order, shape, conv && conv->has_bias ? "b" : "");
  }

 private:
  /// Whether each cut has channels of the whole that lie side by side.
  bool are_channels(std::size_t axis) const {
    return std::ranges::all_of(all_.cuts, [&](const auto& entry) {
      const Cut& cut = entry.second[axis];
      return cut.step == 1 && cut.start >= 0 && cut.start + cut.count <= whole_[axis];
    });
  }

  bool is_product_with_matrix(const Node& node) const {
    return node.op->operand_role(1) == core::OperandRole::kRightMatrix &&
           dims(node.inputs[1]).size() == 2;
  }

  Behind behind_of(const Convolution& conv, std::size_t d) const {
    const std::int64_t places = result_of_join()[d + 2];
    return {.size = conv.window.size(d),
            .step = conv.window.step[d],
            .stride = conv.strides[d],
            .before = -conv.window.low[d],
            .behind = (result_[d + 2] - 1) * conv.strides[d] + conv.window.high[d] + 1 - places};
  }
  Dims result_of_join() const { return dims(producer(all_.result).inputs[0]); }

  /// A shape with that many times the channels along an axis.
  std::string sized(const Dims& shape, std::size_t axis, std::size_t times) const {
    std::vector<std::string> sizes;
    for (const std::int64_t n : shape) sizes.push_back(std::to_string(n));
    if (any_width_) sizes[axis] = times == 1 ? "c" : fmt::format("{}*c", times);
    return fmt::format("{}", fmt::join(sizes, ", "));
  }

  void write_source(const Node& node, const Node& join, const std::optional<Convolution>& conv) {
    if (node.inputs.size() > 2 && node.inputs[2].valid()) declare("b", node.inputs[2]);
    std::vector<std::string> parts;
    for (const TensorId input : join.inputs) parts.push_back(write_cut(input));
    source_ += concatenated("j", parts, static_cast<int>(ops::axis_by_role(join)));
    if (!conv) {
      source_ += fmt::format("    y = {}(j, v)\n", node.op->name);
      return;
    }
    source_ += convolved(*conv, "y", "j", "v", conv->has_bias ? "b" : "");
  }

  void write_kernels(const Node& join, std::size_t axis, bool is_product,
                     const std::vector<Axes>& places, const std::vector<Behind>& behind) {
    std::vector<std::string> parts, widths;
    for (std::size_t k = 0; k < join.inputs.size(); ++k) {
      parts.push_back(numbered("v", k));
      widths.push_back(any_width_ ? "c" : std::to_string(dims(join.inputs[k])[axis]));
    }
    add(fmt::format("{}", fmt::join(parts, ", ")),
        fmt::format("split(v; axis={}, sizes=[{}])", is_product ? 0 : 1, fmt::join(widths, ", ")));
    std::string sum;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      std::string now = parts[k];
      if (is_product) {
        target_ += transposed(numbered("f", k), now, {1, 0});
        now = numbered("g", k);
        target_ += reshaped(
            now, numbered("f", k),
            fmt::format("{}, {}, {}", result_[axis], widths[k], list(Dims(places.size(), 1))));
      }
      const bool is_last = k + 1 == parts.size();
      target_ += placed(numbered("p", k), now, all_.cuts.at(join.inputs[k]), places, behind, axis);
      if (k > 0) {
        const std::string next = is_last ? "w" : numbered("s", k);
        add(next, fmt::format("add({}, p{})", sum, k));
        sum = next;
      } else {
        sum = "p0";
      }
    }
  }

  bool any_width_;
};

}  // namespace

std::vector<std::string> sum_of_shifts(const Graph& graph, const Shifted& all) {
  const auto text = SumOfShifts(graph, all).text();
  return text ? std::vector{*text} : std::vector<std::string>();
}

std::vector<std::string> join_of_shifts(const Graph& graph, const Shifted& all) {
  std::vector<std::string> texts;
  for (const bool any_width : {true, false})
    if (auto text = JoinOfShifts(graph, all, any_width).text()) texts.push_back(*std::move(text));
  return texts;
}

}  // namespace soapstone::transforms
