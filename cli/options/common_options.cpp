// See common_options.h.
#include "cli/options/common_options.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "core/base/memory_limit.h"
#include "jobs/base/usage_error.h"

namespace soapstone::cli {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Verbosity CommonOptions::verbosity() const {
  if (quiet || is_silent) return Verbosity::kQuiet;
  return verbose ? Verbosity::kDebug : Verbosity::kNormal;
}

std::uint64_t CommonOptions::max_memory_bytes() const {
  if (max_memory_gib <= 0) return core::default_memory_limit();
  return static_cast<std::uint64_t>(max_memory_gib * (1 << 30));
}

void add_common_options(CommandLine& line, CommonOptions& options) {
  line.add("--json", options.json,
           "Write the report as JSON; - writes it to stdout in place of the text")
      .type("FILE")
      .writes();
  const auto quiet = line.add_flag("-q,--quiet", options.quiet, "No progress, no warnings");
  line.add_flag("-v,--verbose", options.verbose, "Say more").excludes(quiet);
  line.add("--max-memory", options.max_memory_gib,
           fmt::format("GiB of memory that the command may take; 0: half of what there is, "
                       "{:.1f} here",
                       static_cast<double>(core::default_memory_limit()) / (1 << 30)))
      .type("GIB")
      .between(0.0, 1048576.0);
  line.set_version("soapstone " SOAPSTONE_VERSION);
}

void add_shape_option(CommandLine& line, std::map<std::string, core::Dims>& shapes) {
  const auto wrong = [](const std::string& text) {
    const auto parsed = parse_shape(text);
    return parsed ? std::string() : parsed.error().to_string();
  };
  const auto take = [&shapes](const std::string& text) {
    if (auto shape = parse_shape(text))
      shapes.insert_or_assign(std::move(shape->first), std::move(shape->second));
  };
  line.add_each("--shape",
                "Sizes of an input that its file leaves open, or of a named dimension (batch=4); "
                "may be repeated",
                take)
      .type("NAME=1x3x224x224")
      .one_each()
      .check(wrong);
}

void add_seed_option(CommandLine& line, std::uint64_t& seed) {
  line.add("--seed", seed, "Seed of everything that is random").type("N").shows_default();
}

void add_jobs_option(CommandLine& line, int& jobs) {
  line.add("-j,--jobs", jobs, "Threads; 0 is one for each core. Results do not depend on it")
      .type("N")
      .between(0, 4096)
      .shows_default();
}

void set_examples(CommandLine& line, const std::string& examples) {
  line.set_footer(
      "Examples:\n" + examples +
      "\n\nExit codes: 0 fine, 1 internal error, 2 wrong usage, 3 invalid input, 4 unsupported,\n"
      "5 requirement not met, 6 not equivalent, 7 memory, device, disk or cost data not "
      "available,\n"
      "8 not decided, 130 interrupted");
}

core::Result<std::pair<std::string, core::Dims>> parse_shape(const std::string& text) {
  const char* const form = "write NAME=1x3x224x224, or DIMENSION=4";
  const std::size_t equals = text.rfind('=');
  if (equals == 0 || equals == std::string::npos) {
    return jobs::usage_error(fmt::format("'{}' gives no sizes", text), form);
  }
  core::Dims dims;
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("x,", begin), text.size());
    const std::string_view digits = std::string_view(text).substr(begin, end - begin);
    const auto size = parse_number(digits);
    if (!size || *size < 0 || *size > kLargestSize) {
      return jobs::usage_error(fmt::format("'{}' is not a size, in '{}'", digits, text), form);
    }
    dims.push_back(*size);
    begin = end + 1;
  }
  if (!core::checked_element_count(dims)) {
    return jobs::usage_error(fmt::format("'{}' has too many elements", text), "");
  }
  return std::pair(text.substr(0, equals), std::move(dims));
}

core::Result<std::pair<std::string, std::int64_t>> parse_assignment(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const auto number =
      equals == std::string::npos ? std::nullopt : parse_number(text.c_str() + equals + 1);
  if (equals == 0 || !number) {
    return jobs::usage_error(fmt::format("'{}' sets nothing", text), "write KEY=NUMBER");
  }
  return std::pair(text.substr(0, equals), *number);
}

}  // namespace soapstone::cli
