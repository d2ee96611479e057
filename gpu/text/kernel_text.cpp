// See kernel_text.h.
#include "gpu/text/kernel_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/text/tile_text.h"
#include "runtime/generated/element_types.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::Affine;
using runtime::generated::dividing;
using runtime::generated::element_name;
using runtime::generated::ExpressionText;
using runtime::generated::IndexSpace;
using runtime::generated::RegionTensor;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Threads along the elements of a segment.
KernelDraft draft_segment(const Region& region, const KernelPlan& plan, const Segment& segment,
                          const std::string& block) {
  const std::int64_t width = dividing(plan.width, segment.elements);
  const std::int64_t chunk = plan.threads * width;
  const std::string start = width == 1 ? "e" : "es";
  const std::string thread =
      width == 1 ? "(int)threadIdx.x" : fmt::format("(int)threadIdx.x * {}", width);
  IndexSpace space;
  const std::uint32_t element = space.add("e", 0, segment.elements);
  ExpressionText text(region, space);
  KernelDraft draft;
  draft.blocks = ceil_divide(segment.elements, chunk);
  draft.body = text.block(1, [&] {
    text.line(fmt::format("const int {} = {} * {} + {};", start, block, chunk, thread));
    text.one_chunk(start, {element, width}, [&](const Affine& at) {
      for (std::uint32_t tensor : segment.tensors) text.store(tensor, at);
    });
  });
  return draft;
}

/// Each segment has blocks of its own.
KernelDraft draft_map(const Region& region, const KernelPlan& plan) {
  KernelDraft draft;
  for (const Segment& segment : plan.segments) {
    const std::string block =
        draft.blocks == 0 ? "(int)blockIdx.x" : fmt::format("((int)blockIdx.x - {})", draft.blocks);
    const KernelDraft own = segment.tile ? draft_tiles(region, segment, plan, block)
                                         : draft_segment(region, plan, segment, block);
    const std::int64_t last = draft.blocks + own.blocks;
    const bool is_only = plan.segments.size() == 1;
    draft.body += is_only ? own.body
                          : fmt::format("if (blockIdx.x >= {} && blockIdx.x < {}) {{\n{}}}\n",
                                        draft.blocks, last, own.body);
    draft.blocks = last;
    draft.has_barriers |= own.has_barriers;
    draft.shared_bytes += own.shared_bytes;
  }
  return draft;
}

KernelDraft draft_rows(const Region& region, const KernelPlan& plan) {
  KernelDraft draft;
  draft.has_barriers = plan.lanes > 1;
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
  draft.body = text.arrays() + lines;
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
  text.has_barriers = draft.has_barriers;
  text.shared_bytes = draft.shared_bytes;
  text.source = fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n{}}}\n",
                            plan.threads, name, list, indented(draft.body));
  return text;
}

}  // namespace soapstone::gpu
