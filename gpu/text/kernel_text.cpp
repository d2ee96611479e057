// See kernel_text.h.
#include "gpu/text/kernel_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/generated/element_types.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::Affine;
using runtime::generated::dividing;
using runtime::generated::element_name;
using runtime::generated::ExpressionText;
using runtime::generated::IndexSpace;
using runtime::generated::RegionTensor;
using runtime::generated::Segment;

/// The statements of a kernel.
struct KernelDraft {
  std::string body;
  std::int64_t blocks = 0;
};

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Each segment has blocks of its own.
KernelDraft draft_map(const Region& region, const KernelPlan& plan) {
  KernelDraft draft;
  IndexSpace space;
  ExpressionText text(region, space);
  for (const Segment& segment : plan.segments) {
    const std::int64_t width = dividing(plan.width, segment.elements);
    const std::int64_t chunk = plan.threads * width;
    const std::int64_t last = draft.blocks + ceil_divide(segment.elements, chunk);
    const std::string start = text.fresh("e");
    const std::string block =
        draft.blocks == 0 ? "(int)blockIdx.x" : fmt::format("((int)blockIdx.x - {})", draft.blocks);
    const std::string thread =
        width == 1 ? "(int)threadIdx.x" : fmt::format("(int)threadIdx.x * {}", width);
    const std::string lines = text.block(1, [&] {
      text.line(fmt::format("const int {} = {} * {} + {};", start, block, chunk, thread));
      text.one_chunk(start, segment.elements, width, [&](const Affine& element) {
        for (std::uint32_t tensor : segment.tensors) text.store(tensor, element);
      });
    });
    const bool is_only = plan.segments.size() == 1;
    draft.body += is_only ? lines
                          : fmt::format("if (blockIdx.x >= {} && blockIdx.x < {}) {{\n{}}}\n",
                                        draft.blocks, last, lines);
    draft.blocks = last;
  }
  return draft;
}

KernelDraft draft_rows(const Region& region, const KernelPlan& plan) {
  KernelDraft draft;
  IndexSpace space;
  const std::int64_t rows_of_block = plan.threads / plan.lanes;
  draft.blocks = ceil_divide(plan.row_count, rows_of_block);
  const Affine row = IndexSpace::value_of(space.add("row", 0, plan.row_count));
  ExpressionText text(region, space, {plan.rows.begin(), plan.rows.end()});
  const std::string lines = text.block(static_cast<double>(plan.row_count), [&] {
    text.line(fmt::format("const int row = (int)blockIdx.x * {} + (int)threadIdx.x / {};",
                          rows_of_block, plan.lanes));
    if (plan.lanes > 1) text.line(fmt::format("const int lane = threadIdx.x % {};", plan.lanes));
    text.line(fmt::format("if (row >= {}) return;", plan.row_count));
    runtime::generated::write_row(text, space, plan, row);
  });
  draft.body = lines;
  return draft;
}

/// Two spaces for every open brace.
std::string indented(const std::string& lines) {
  std::string result;
  std::size_t depth = 1;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    const std::string line = lines.substr(at, end - at);
    if (line[0] == '}') --depth;
    result += std::string(2 * depth, ' ') + line + "\n";
    if (line.back() == '{') ++depth;
    at = end + 1;
  }
  return result;
}

}  // namespace

KernelText kernel_text(const Region& region, const KernelPlan& plan, const std::string& name) {
  KernelText text;
  text.name = name;
  const KernelDraft draft = plan.row_count > 0 ? draft_rows(region, plan) : draft_map(region, plan);
  std::string list;
  const auto add = [&](std::uint32_t tensor, const char* qualifier) {
    const RegionTensor& facts = region.tensors[tensor];
    text.arguments.push_back(facts.id);
    text.parameters.push_back(fmt::format("{}{}*", qualifier, element_name(facts.data_type)));
    list += fmt::format("{}{} __restrict__ a{}", list.empty() ? "" : ", ", text.parameters.back(),
                        tensor);
  };
  for (std::uint32_t tensor : region.inputs) add(tensor, "const ");
  for (std::uint32_t tensor : region.outputs) add(tensor, "");
  text.blocks = draft.blocks;
  text.threads = plan.threads;
  text.has_barriers = plan.lanes > 1;
  text.source = fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n{}}}\n",
                            plan.threads, name, list, indented(draft.body));
  return text;
}

}  // namespace soapstone::gpu
