// See loop_text.h.
#include "cpu/generated/loop_text.h"

#include <numeric>

#include <fmt/format.h>

#include "runtime/generated/element_types.h"

namespace soapstone::cpu {
namespace {

using runtime::generated::Affine;
using runtime::generated::ColumnLoops;
using runtime::generated::ExpressionText;
using runtime::generated::IndexSpace;
using runtime::generated::KernelPlan;
using runtime::generated::Region;
using runtime::generated::RegionTensor;
using runtime::generated::RowStore;
using runtime::generated::Segment;

/// Fewer columns are not worth a loop of their own.
constexpr std::int64_t kFewestColumns = 8;

/// The most neighbors in memory for which every index of what is read is a sum of a start and a
/// multiple: no digit of the position changes within them but the last one. 0: all elements.
std::int64_t even_columns(const Region& region, const Segment& segment) {
  IndexSpace space;
  ExpressionText text(region, space);
  const std::uint32_t element = space.add("e", 0, segment.elements);
  text.block(1, [&] {
    for (const std::uint32_t tensor : segment.tensors)
      text.store(tensor, IndexSpace::value_of(element));
  });
  std::int64_t columns = 0;
  for (const auto& variable : space.variables()) {
    if (!variable.digit || variable.digit->of.coefficient(element) == 0) continue;
    if (variable.digit->of != IndexSpace::value_of(element)) return 1;
    const auto& [of, divisor, modulus] = *variable.digit;
    columns = std::gcd(columns, divisor > 1 ? divisor : modulus);
  }
  return columns;
}

class LoopWriter {
 public:
  explicit LoopWriter(const Region& region) : region_(region) {}

  LoopText write(const KernelPlan& plan) {
    if (plan.row_count > 0) write_rows(plan);
    for (const Segment& segment : plan.segments) write_segment(segment);
    std::string pointers;
    const auto add = [&](std::uint32_t tensor, const char* qualifier) {
      const RegionTensor& facts = region_.tensors[tensor];
      const std::string type =
          fmt::format("{}{}*", qualifier, runtime::generated::element_name(facts.data_type));
      pointers += fmt::format("{0} __restrict__ a{1} = ({0})tensors[{2}];\n", type, tensor,
                              result_.arguments.size());
      result_.arguments.push_back(facts.id);
    };
    for (const std::uint32_t tensor : region_.inputs) add(tensor, "const ");
    for (const std::uint32_t tensor : region_.outputs) add(tensor, "");
    result_.source = fmt::format(
        "extern \"C\" void @(void* const* tensors, long phase, long begin, long end) {{\n{}{}}}\n",
        pointers, body_);
    return std::move(result_);
  }

 private:
  /// A loop over rows, in which `body` writes what is computed for one.
  template <class Body>
  void add_phase(std::int64_t count, std::int64_t elements, ExpressionText& text, const Body& body,
                 const char* pragma = "") {
    const std::string lines = text.block(1, body);
    body_ += fmt::format(
        "if (phase == {})\n{}for (int row = (int)begin; row < (int)end; ++row) {{\n{}{}}}\n",
        result_.phases.size(), pragma, text.arrays(), lines);
    result_.phases.push_back({count, elements});
    result_.is_vectorized &= text.readings().is_even;
  }

  void write_rows(const KernelPlan& plan) {
    IndexSpace space;
    ExpressionText text(region_, space, {plan.rows.begin(), plan.rows.end()},
                        ColumnLoops::kVectors);
    text.keep_columns();
    const Affine row = IndexSpace::value_of(space.add("row", 0, plan.row_count));
    std::int64_t elements = 0;
    for (const RowStore& store : plan.stores) {
      elements += store.columns;
      if (store.columns > 1 && store.columns < kFewestColumns) result_.is_vectorized = false;
    }
    add_phase(plan.row_count, elements, text,
              [&] { runtime::generated::write_row(text, space, plan, row); });
  }

  void write_segment(const Segment& segment) {
    const std::int64_t even = even_columns(region_, segment);
    IndexSpace space;
    ExpressionText text(region_, space, {}, ColumnLoops::kVectors);
    if (even != 0 && even < kFewestColumns) result_.is_vectorized = false;
    if (even < kFewestColumns) return write_elements(segment, space, text);
    const std::int64_t rows = segment.elements / even;
    const Affine row = IndexSpace::value_of(space.add("row", 0, rows));
    add_phase(rows, even, text, [&] {
      text.over_columns(even, 1, 1, [&](const Affine& column) {
        Affine element = column;
        element.add(row, even);
        for (const std::uint32_t tensor : segment.tensors) text.store(tensor, element);
      });
    });
  }

  /// A loop over elements, whatever their positions are made of.
  void write_elements(const Segment& segment, IndexSpace& space, ExpressionText& text) {
    const Affine row = IndexSpace::value_of(space.add("row", 0, segment.elements));
    add_phase(
        segment.elements, 1, text,
        [&] {
          for (const std::uint32_t tensor : segment.tensors) text.store(tensor, row);
        },
        "#pragma omp simd\n");
  }

  const Region& region_;
  LoopText result_;
  std::string body_;
};

}  // namespace

KernelPlan plan_loops(const Region& region) {
  const auto plan = runtime::generated::plan_kernel(region, kLoopOptions);
  return plan ? *plan : runtime::generated::plan_map(region, kLoopOptions);
}

LoopText loop_text(const Region& region, const KernelPlan& plan) {
  return LoopWriter(region).write(plan);
}

}  // namespace soapstone::cpu
