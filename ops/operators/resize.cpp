// `resize`: nearest and linear sampling on a grid of another size. The ratio of sizes is given as
// two whole numbers, so coordinates are exact fractions and sizes may be symbols.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"
#include "ops/parts/resize_sampling.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;

constexpr const char* kFloor = "floor";
constexpr const char* kAsymmetric = "asymmetric";

using Integers = std::vector<std::int64_t>;

/// The divisors that are meant if `down` is left out.
Integers with_ones(Integers given, std::size_t rank) {
  if (given.empty()) given.resize(rank, 1);
  return given;
}

ResizeCoordinate coordinate_of(const OpInstance& op, std::size_t d) {
  const Integers up = op.attributes.get_ints("up");
  return ResizeCoordinate::make(*parse_resize_coordinates(op.attributes.get_text("coordinates")),
                                up[d], with_ones(op.attributes.get_ints("down"), up.size())[d]);
}

bool require_words(InferContext& c) {
  const Attributes& attributes = c.attributes();
  return c.require(parse_resize_mode(attributes.get_text("mode")).has_value(), "resize.mode",
                   "mode must be nearest or linear") &&
         c.require(parse_resize_coordinates(attributes.get_text("coordinates")).has_value(),
                   "resize.coordinates",
                   "coordinates must be half_pixel, asymmetric or align_corners") &&
         c.require(parse_resize_rounding(attributes.get_text("rounding")).has_value(),
                   "resize.rounding",
                   "rounding must be floor, ceil, round_prefer_floor or round_prefer_ceil");
}

std::vector<TensorType> infer_resize(InferContext& c) {
  if (!require_words(c)) return {};
  const bool linear = c.attributes().get_text("mode") == "linear";
  const auto up = require_ints(c, "resize", "up"), given = require_ints(c, "resize", "down");
  if (!require_elements(c, "resize", linear ? Elements::kFloating : Elements::kNumbers) || !up ||
      !given)
    return {};
  const Integers down = with_ones(*given, up->size());
  if (!c.require(up->size() == c.rank(0) && down.size() == c.rank(0), "resize.rank",
                 "up and down must have one number a dimension"))
    return {};
  const Polynomial border = c.attributes().get_text("coordinates") == "align_corners" ? 1 : 0;
  Shape result = c.shape(0);
  for (std::size_t d = 0; d < result.size(); ++d) {
    constexpr std::int64_t kLargest = std::int64_t{1} << 20;
    const auto is_factor = [](std::int64_t f) { return f >= 1 && f <= kLargest; };
    if (!c.require(is_factor((*up)[d]) && is_factor(down[d]), "resize.ratio",
                   fmt::format("up and down must be from 1 to {}", kLargest)))
      return {};
    if ((*up)[d] == down[d]) continue;
    const Polynomial scaled = (result[d] - border) * (*up)[d];
    result[d] = c.floor_div(scaled, down[d]) + border;
    if (!c.require_at_least(c.shape(0)[d], 1, "resize.nonempty") ||
        !c.require_equal((result[d] - border) * down[d], scaled, "resize.sizes") ||
        !c.require_at_least(result[d], 1, "resize.nonempty"))
      return {};
  }
  return {{c.input(0).data_type, std::move(result)}};
}

/// Σ over v of weight(i, v)·x[…v…], one dimension at a time: the rest of the index is as given.
class Sampler {
 public:
  Sampler(SemanticsBuilder& builder, const OpInstance& op)
      : builder_(builder), op_(op), mode_(*parse_resize_mode(op.attributes.get_text("mode"))),
        rounding_(*parse_resize_rounding(op.attributes.get_text("rounding"))) {}

  /// The element of input `tensor`, resized in dimension d alone.
  Expr element(std::uint32_t tensor, std::size_t d, const Index& i) {
    return mode_ == ResizeMode::kNearest ? nearest(tensor, d, i) : linear(tensor, d, i);
  }

 private:
  Index with(Index i, std::size_t d, const Polynomial& at) const {
    i[d] = at;
    return i;
  }

  /// Positions before the first element are the first, those behind the last are the last.
  Expr nearest(std::uint32_t tensor, std::size_t d, const Index& i) {
    const ResizeCoordinate at = coordinate_of(op_, d);
    const RoundingBounds bounds = rounding_bounds(rounding_, at.divisor);
    const Polynomial size = op_.inputs[0].shape[d];
    const Polynomial twice = (i[d] * at.scale + at.offset) * 2;
    const Binder v{builder_.fresh(), 0, size};
    const Polynomial rest = twice - Polynomial(v.variable) * (2 * at.divisor);
    Expr value = sum({v}, read(tensor, with(i, d, v.variable)),
                     {at_least(rest, bounds.low), less(rest, bounds.high)});
    value = value + guard({less(twice, bounds.low)}, read(tensor, with(i, d, 0)));
    const Polynomial behind = twice - size * (2 * at.divisor);
    return value + guard({at_least(behind, bounds.low)}, read(tensor, with(i, d, size - 1)));
  }

  Expr linear(std::uint32_t tensor, std::size_t d, const Index& i) {
    const ResizeCoordinate at = coordinate_of(op_, d);
    const Polynomial size = op_.inputs[0].shape[d];
    const Expr coordinate =
        number(Rational{1, at.divisor}) * index_value(i[d] * at.scale + at.offset);
    const Expr clamped = minimum(maximum(coordinate, number(0.0)), index_value(size - 1));
    return builder_.sum_over(size, [&](const Polynomial& v) {
      const Expr distance = apply(Function::kAbs, {clamped - index_value(v)});
      const Expr weight = apply(Function::kRelu, {number(1.0) - distance});
      return weight * read(tensor, with(i, d, v));
    });
  }

  SemanticsBuilder& builder_;
  const OpInstance& op_;
  ResizeMode mode_;
  ResizeRounding rounding_;
};

/// Sampling is separable: a stage for each dimension that changes.
Semantics resize_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  Sampler sampler(builder, op);
  const Shape &from = op.inputs[0].shape, &to = op.outputs[0].shape;
  const Integers up = op.attributes.get_ints("up");
  const Integers down = with_ones(op.attributes.get_ints("down"), up.size());
  std::vector<std::size_t> changed;
  for (std::size_t d = 0; d < from.size(); ++d)
    if (up[d] != down[d]) changed.push_back(d);
  std::uint32_t tensor = 0;
  Shape shape = from;
  for (std::size_t k = 0; k + 1 < changed.size(); ++k) {
    shape[changed[k]] = to[changed[k]];
    tensor = builder.stage(shape,
                           [&](const Index& i) { return sampler.element(tensor, changed[k], i); });
  }
  builder.output(to, [&](const Index& i) {
    return changed.empty() ? read(0, i) : sampler.element(tensor, changed.back(), i);
  });
  return std::move(builder).finish();
}

// --- Reading and writing ------------------------------------------------------------------------

/// The sizes of a dimension that is resized.
struct Change {
  std::int64_t input, output;
  /// The only coordinate is 0 whatever the mode.
  bool is_point() const { return input == 1 || output == 1; }
};

/// Whether runtimes, which find the nearest element in floats, take the same element as exact
/// fractions do. They may not if a coordinate lies on the border between two elements and the ratio
/// of sizes is no float.
bool floats_agree(const ResizeCoordinate& exact, ResizeCoordinates kind, ResizeRounding rounding,
                  const Change& change) {
  const auto [input, output] = change;
  const auto taps = resize_taps(ResizeMode::kNearest, rounding, exact, input, output);
  const float scale = static_cast<float>(output) / static_cast<float>(input);
  for (std::int64_t i = 0; i < output; ++i) {
    const auto at = static_cast<float>(i);
    const float x = kind == ResizeCoordinates::kAsymmetric ? at / scale
                    : kind == ResizeCoordinates::kHalfPixel
                        ? (at + 0.5F) / scale - 0.5F
                        : at * static_cast<float>(input - 1) /
                              static_cast<float>(std::max<std::int64_t>(output - 1, 1));
    const float rounded = rounding == ResizeRounding::kFloor        ? std::floor(x)
                          : rounding == ResizeRounding::kCeil       ? std::ceil(x)
                          : rounding == ResizeRounding::kPreferCeil ? std::floor(x + 0.5F)
                                                                    : std::ceil(x - 0.5F);
    const auto position =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(rounded), 0, input - 1);
    if (position != taps[static_cast<std::size_t>(i)].position) return false;
  }
  return true;
}

/// Attributes up and down for these sizes. Empty: no whole numbers say their ratio.
std::optional<Attributes> ratios(const core::Dims& x, const core::Dims& sizes,
                                 ResizeCoordinates kind) {
  const std::int64_t border = kind == ResizeCoordinates::kAlignCorners ? 1 : 0;
  Integers up, down;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const std::int64_t a = sizes[d] - border, b = x[d] - border;
    if (sizes[d] == x[d]) {
      up.push_back(1), down.push_back(1);
    } else if (a < 1 || b < 1) {
      return std::nullopt;
    } else {
      const std::int64_t common = std::gcd(a, b);
      up.push_back(a / common), down.push_back(b / common);
    }
  }
  if (std::ranges::all_of(down, [](std::int64_t divisor) { return divisor == 1; })) down.clear();
  return Attributes{{"up", to_sizes(up)}, {"down", to_sizes(down)}};
}

/// Whether each element is repeated, as often as `up` says: what several words come to where sizes
/// are multiples. An element's coordinate is then at most half a step from its own.
bool repeats(const Attributes& attributes, ResizeMode mode, ResizeCoordinates kind,
             ResizeRounding rounding) {
  if (mode != ResizeMode::kNearest || !attributes.get_ints("down").empty()) return false;
  if (kind == ResizeCoordinates::kAsymmetric) return rounding == ResizeRounding::kFloor;
  return kind == ResizeCoordinates::kHalfPixel &&
         (rounding == ResizeRounding::kPreferFloor || rounding == ResizeRounding::kPreferCeil);
}

/// The word that our operator has for these coordinates at these sizes.
std::string plain_coordinates(std::string coordinates, const std::vector<Change>& changes) {
  if (std::ranges::all_of(changes, &Change::is_point) && coordinates != "half_pixel")
    return kAsymmetric;
  const bool has_point =
      std::ranges::any_of(changes, [](const Change& change) { return change.output == 1; });
  if (coordinates == "pytorch_half_pixel" && !has_point) return "half_pixel";
  return coordinates;
}

ReadResult read_with(OnnxImport& import, const core::Dims& sizes, std::string mode,
                     std::string coordinates, std::string rounding) {
  const core::Dims x = input_dims(import, 0);
  if (sizes.size() != x.size()) return bad_node(import, "sizes or scales do not fit the input");
  constexpr std::int64_t kLargest = std::int64_t{1} << 20;
  std::vector<Change> changes;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (x[d] < 1 || sizes[d] < 1) return cannot_read(import, "an empty tensor");
    if (x[d] == sizes[d]) continue;
    if (std::max(x[d], sizes[d]) > kLargest) return cannot_read(import, "a large size");
    changes.push_back({x[d], sizes[d]});
  }
  if (changes.empty()) return std::vector{import.input(0)};
  coordinates = plain_coordinates(std::move(coordinates), changes);
  const auto parsed = parse_resize_mode(mode);
  const auto rounded = parse_resize_rounding(rounding);
  const auto kind = parse_resize_coordinates(coordinates);
  if (!parsed || !rounded) return cannot_read(import, "mode " + mode);
  auto attributes = kind ? ratios(x, sizes, *kind) : std::nullopt;
  if (!attributes) return cannot_read(import, "coordinates " + coordinates);
  const Integers up = attributes->get_ints("up");
  const Integers down = with_ones(attributes->get_ints("down"), up.size());
  for (std::size_t d = 0; d < x.size(); ++d)
    if (*parsed == ResizeMode::kNearest &&
        !floats_agree(ResizeCoordinate::make(*kind, up[d], down[d]), *kind, *rounded,
                      {x[d], sizes[d]}))
      return cannot_read(import, "positions at which rounding decides");
  if (repeats(*attributes, *parsed, *kind, *rounded)) {
    coordinates = kAsymmetric;
    rounding = "floor";
  } else if (*parsed == ResizeMode::kLinear) {
    rounding = "round_prefer_floor";  // it is not used
  }
  attributes->set("mode", std::move(mode));
  attributes->set("coordinates", std::move(coordinates));
  attributes->set("rounding", std::move(rounding));
  return import.append("resize", {import.input(0)}, std::move(*attributes));
}

/// None: an element of the scales is no ratio of whole sizes.
std::optional<core::Dims> sizes_by_scales(const core::Dims& x, const std::vector<double>& scales) {
  if (scales.size() != x.size()) return std::nullopt;
  core::Dims sizes;
  for (std::size_t d = 0; d < x.size(); ++d) {
    constexpr double kLargest = 1 << 24;
    const double size = static_cast<double>(x[d]) * scales[d];
    const double whole = std::floor(size);
    if (!(size >= 1 && size < kLargest) || size != whole) return std::nullopt;
    sizes.push_back(static_cast<std::int64_t>(whole));
  }
  return sizes;
}

/// Upsample, and Resize before opset 11: nearest takes the element before, which is what runtimes
/// agree on only where nothing shrinks.
ReadResult read_upsample(OnnxImport& import) {
  std::vector<double> scales;
  if (const OnnxAttribute* given = import.attribute("scales")) {
    if (const auto* reals = std::get_if<std::vector<float>>(given))
      scales.assign(reals->begin(), reals->end());
  } else if (const core::LiteralPtr literal = import.constant_input(1)) {
    scales = literal->to_doubles();
  }
  for (const double scale : scales)
    if (scale < 1) return cannot_read(import, "a scale below 1");
  const auto sizes = sizes_by_scales(input_dims(import, 0), scales);
  if (!sizes) return cannot_read(import, "its scales");
  return read_with(import, *sizes, import.text_or("mode", "nearest"), kAsymmetric, kFloor);
}

/// Sizes for the dimensions that `axes` names; the others stay.
std::optional<core::Dims> spread_sizes(const OnnxImport& import, const core::Dims& x,
                                       const std::vector<std::int64_t>& given) {
  const auto axes = import.ints("axes");
  if (!axes) return given;
  if (axes->size() != given.size()) return std::nullopt;
  core::Dims sizes = x;
  for (std::size_t k = 0; k < axes->size(); ++k) {
    const std::int64_t rank = static_cast<std::int64_t>(x.size());
    const std::int64_t axis = (*axes)[k] < 0 ? (*axes)[k] + rank : (*axes)[k];
    if (axis < 0 || axis >= rank) return std::nullopt;
    sizes[static_cast<std::size_t>(axis)] = given[k];
  }
  return sizes;
}

ReadResult read_resize(OnnxImport& import) {
  if (import.int_or("antialias", 0) != 0) return cannot_read(import, "antialias");
  if (import.text_or("keep_aspect_ratio_policy", "stretch") != "stretch")
    return cannot_read(import, "keep_aspect_ratio_policy");
  const core::Dims x = input_dims(import, 0);
  std::optional<core::Dims> sizes;
  if (has_input(import, 3)) {
    const core::LiteralPtr literal = import.constant_input(3);
    if (const auto values = literal ? literal->to_ints() : std::nullopt)
      sizes = spread_sizes(import, x, *values);
  } else if (const core::LiteralPtr literal =
                 has_input(import, 2) ? import.constant_input(2) : core::LiteralPtr();
             literal && !import.attribute("axes")) {
    sizes = sizes_by_scales(x, literal->to_doubles());
  }
  if (!sizes) return cannot_read(import, "its sizes or scales");
  return read_with(import, *sizes, import.text_or("mode", "nearest"),
                   import.text_or("coordinate_transformation_mode", "half_pixel"),
                   import.text_or("nearest_mode", "round_prefer_floor"));
}

core::Status write_resize(OnnxExport& out) {
  Emitter emitter(out);
  const Attributes& attributes = emitter.attributes();
  if (out.opset() < 11) return cannot_write(out, "Resize to given sizes needs opset 11");
  // The region of interest and the scales are not used; before opset 13 they must be there.
  const std::string none =
      out.opset() < 13 ? out.constant(core::Literal::floats({0}, std::span<const float>())) : "";
  return emitter.finish(
      "Resize",
      {emitter.input(0), none, none,
       emitter.ints(*core::concrete(out.graph().tensor(out.node().outputs[0]).type.shape))},
      {{"mode", attributes.get_text("mode")},
       {"coordinate_transformation_mode", attributes.get_text("coordinates")},
       {"nearest_mode", attributes.get_text("rounding")}});
}

}  // namespace

std::vector<OpDefinition> resize_ops() {
  return {OpDefinition({
      .name = "resize",
      .equation = "x[s…] → y[s·up/down…] = x at the coordinates of y's positions: the nearest "
                  "element, or linearly between neighbors; beyond the border the outermost one",
      .attributes =
          std::vector<core::AttributeSchema>{
              {"up", AttributeRole::kRatio, std::nullopt, {}},
              {"down", AttributeRole::kRatio, Sizes{}, {}},
              {"mode", AttributeRole::kVariant, std::string("nearest"), {std::string("linear")}},
              {"coordinates", AttributeRole::kVariant, std::string("half_pixel"), {}},
              {"rounding", AttributeRole::kVariant, std::string("round_prefer_floor"), {}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kMovement,
      .movement = Movement::kOther,
      .infer = infer_resize,
      .semantics = resize_semantics,
      .onnx = OnnxMapping{{reader("Upsample", Elements::kNumbers, read_upsample, 7),
                           reader("Resize", Elements::kNumbers, read_upsample, 10, 10),
                           reader("Resize", Elements::kNumbers, read_resize, 11)},
                          write_resize},
  })};
}

}  // namespace soapstone::ops
