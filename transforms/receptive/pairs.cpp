#include "transforms/receptive/pairs.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace soapstone::transforms {
namespace {

using core::Dims;
using core::TensorId;
using Names = std::vector<std::string>;

/// The rule about pairs of convolutions.
class PairText {
 public:
  PairText(const std::vector<Convolution>& first, const std::string& behind, const Sum& sum)
      : first_(first), behind_(behind), sum_(sum),
        has_bias_(std::ranges::any_of(first, &Convolution::has_bias)) {}

  std::string text() {
    head_ = "  x: " + tensor(first_[0].group * first_[0].operands, Dims(first_[0].strides.size()));
    for (std::size_t k = 0; k < first_.size(); ++k) add_pair(k);
    Names terms{"r"};
    const Dims ends = sum_of(first_[0].end, sum_.convolutions[0].end);
    for (const TensorId id : sum_.others) {
      const auto [known, is_new] = names_.emplace(id, numbered("u", terms.size()));
      if (is_new)
        head_ += fmt::format("  {}: {}", known->second, tensor(sum_.convolutions[0].results, ends));
      terms.push_back(known->second);
    }
    source_ += additions(sum_, names_);
    side_by_side("w", list_with(first_[0]));
    if (has_bias_) side_by_side("b", "");
    target_ +=
        convolved(first_[0], behind_.empty() ? "as" : "ms", "x", "ws", has_bias_ ? "bs" : "");
    if (!behind_.empty()) target_ += fmt::format("    as = {}\n", through("ms"));
    target_ += concatenated("vs", kernels_, 1);
    if (biases_.size() > 1) target_ += summed(biases_, "cs", "cs_");
    const std::string c = biases_.empty() ? "" : biases_.size() == 1 ? biases_[0] : "cs";
    target_ += convolved(sum_.convolutions[0], terms.size() == 1 ? "y" : "r", "as", "vs", c);
    return window_rule("pairs", head_, source_, target_ + summed(terms, "y", "r_"));
  }

 private:
  static Dims sum_of(Dims a, const Dims& b) {
    for (std::size_t d = 0; d < a.size(); ++d) a[d] += b[d];
    return a;
  }
  /// `, 1, 3, 3`: what a group of the kernel reads, and its window.
  static std::string list_with(const Convolution& conv) {
    std::string sizes = fmt::format(", {}", conv.operands);
    for (std::size_t d = 0; d < conv.strides.size(); ++d)
      sizes += fmt::format(", {}", conv.window.size(d));
    return sizes;
  }
  std::string through(const std::string& x) const { return fmt::format(fmt::runtime(behind_), x); }

  /// With so many channels, and so many more places than the image has.
  static std::string tensor(std::int64_t channels, const Dims& ends) {
    Names all{"n", std::to_string(channels)};
    for (std::size_t d = 0; d < ends.size(); ++d)
      all.push_back(ends[d] == 0
                        ? numbered("h", d)
                        : fmt::format("h{} {} {}", d, ends[d] < 0 ? '-' : '+', std::abs(ends[d])));
    return fmt::format("[{}]\n", fmt::join(all, ", "));
  }

  void add_pair(std::size_t k) {
    const Convolution &one = first_[k], &other = sum_.convolutions[k];
    const std::string w = numbered("w", k), b = numbered("b", k), v = numbered("v", k),
                      c = numbered("c", k), a = numbered("a", k);
    head_ += fmt::format("  {}: [{}{}]\n  {}: [{}{}]\n", w, one.results, list_with(one), v,
                         other.results, list_with(other));
    if (one.has_bias) head_ += fmt::format("  {}: [{}]\n", b, one.results);
    if (has_bias_ && !one.has_bias)
      target_ += fmt::format("    {} = full(; shape=[{}], value=0.0)\n", b, one.results);
    if (other.has_bias) {
      head_ += fmt::format("  {}: [{}]\n", c, other.results);
      biases_.push_back(c);
    }
    kernels_.push_back(v);
    const std::string m = behind_.empty() ? a : numbered("m", k);
    source_ += convolved(one, m, "x", w, one.has_bias ? b : "");
    if (!behind_.empty()) source_ += fmt::format("    {} = {}\n", a, through(m));
    names_[other.result] = numbered("s", k);
    source_ += convolved(other, names_[other.result], a, v, other.has_bias ? c : "");
  }

  /// The weights of all first convolutions as `ws`: the results of a group side by side.
  void side_by_side(const std::string& w, const std::string& sizes) {
    const std::int64_t groups = first_[0].group;
    Names parts;
    for (std::size_t k = 0; k < first_.size(); ++k) {
      parts.push_back(fmt::format("{}g{}", w, k));
      target_ +=
          reshaped(parts.back(), numbered(w.c_str(), k), fmt::format("{}, 1{}", groups, sizes));
    }
    target_ += concatenated(w + "s_", parts, 1);
    target_ += reshaped(w + "s", w + "s_", fmt::format("{}{}", groups * std::ssize(first_), sizes));
  }

  const std::vector<Convolution>& first_;
  const std::string& behind_;
  const Sum& sum_;
  bool has_bias_;
  std::string head_, source_, target_;
  Names kernels_, biases_;
  std::map<TensorId, std::string> names_;
};

}  // namespace

bool may_be_paired(const Convolution& conv) {
  return conv.operands == 1 && conv.results == conv.group &&
         std::ranges::all_of(conv.strides, [](std::int64_t stride) { return stride == 1; });
}

std::string paired_convolutions(const std::vector<Convolution>& first, const std::string& behind,
                                const Sum& sum) {
  return PairText(first, behind, sum).text();
}

}  // namespace soapstone::transforms
