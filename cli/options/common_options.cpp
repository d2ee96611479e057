// See common_options.h.
#include "cli/common_options.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "core/base/memory_limit.h"

namespace soapstone::cli {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;

core::Error usage(std::string message, std::string hint) {
  return {core::ErrorCode::kUsage, std::move(message), {}, std::move(hint)};
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// CLI11 wants an empty text for a good value and a message for a bad one.
template <class Parse>
CLI::Validator validator(Parse parse, std::string type_name) {
  CLI::Validator check(
      [parse](std::string& text) {
        const auto parsed = parse(text);
        return parsed ? std::string() : parsed.error().to_string();
      },
      std::move(type_name));
  return check;
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

void add_common_options(CLI::App& app, CommonOptions& options) {
  app.add_option("--json", options.json,
                 "Write the report as JSON; - writes it to stdout in place of the text")
      ->type_name("FILE");
  auto* quiet = app.add_flag("-q,--quiet", options.quiet, "No progress, no warnings");
  app.add_flag("-v,--verbose", options.verbose, "Say more")->excludes(quiet);
  app.add_option("--max-memory", options.max_memory_gib,
                 fmt::format("GiB of memory that the command may take; 0: half of what there is, "
                             "{:.1f} here",
                             static_cast<double>(core::default_memory_limit()) / (1 << 30)))
      ->type_name("GIB")
      ->check(number_between(0, 1 << 20));
  app.set_version_flag("--version", "soapstone " SOAPSTONE_VERSION);
}

void add_shape_option(CLI::App& app, std::vector<std::string>& shapes) {
  app.add_option("--shape", shapes,
                 "Sizes of an input that its file leaves open, or of a named dimension (batch=4); "
                 "may be repeated")
      ->type_name("NAME=1x3x224x224")
      ->allow_extra_args(false)
      ->check(validator(parse_shape, ""));
}

void add_seed_option(CLI::App& app, std::uint64_t& seed) {
  app.add_option("--seed", seed, "Seed of everything that is random")
      ->type_name("N")
      ->capture_default_str();
}

void add_jobs_option(CLI::App& app, int& jobs) {
  app.add_option("-j,--jobs", jobs, "Threads; 0 is one for each core. Results do not depend on it")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""))
      ->capture_default_str();
}

void set_examples(CLI::App& app, const std::string& examples) {
  app.footer(
      "Examples:\n" + examples +
      "\n\nExit codes: 0 fine, 1 internal error, 2 wrong usage, 3 invalid input, 4 unsupported,\n"
      "5 requirement not met, 6 not equivalent, 7 memory, device, disk or cost data not "
      "available,\n"
      "130 interrupted");
}

CLI::Validator not_negative() {
  return CLI::Validator(
      [](std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value >= 0) return std::string();
        return fmt::format("'{}' is not a number of at least 0", text);
      },
      "");
}

CLI::Validator number_between(double least, double most) {
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most)
          return std::string();
        return fmt::format("'{}' is not a number from {:g} to {:g}", text, least, most);
      },
      "");
}

core::Result<std::pair<std::string, core::Dims>> parse_shape(const std::string& text) {
  const char* const form = "write NAME=1x3x224x224, or DIMENSION=4";
  const std::size_t equals = text.rfind('=');
  if (equals == 0 || equals == std::string::npos) {
    return usage(fmt::format("'{}' gives no sizes", text), form);
  }
  core::Dims dims;
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("x,", begin), text.size());
    const std::string_view digits = std::string_view(text).substr(begin, end - begin);
    const auto size = parse_number(digits);
    if (!size || *size < 0 || *size > kLargestSize) {
      return usage(fmt::format("'{}' is not a size, in '{}'", digits, text), form);
    }
    dims.push_back(*size);
    begin = end + 1;
  }
  if (!core::checked_element_count(dims)) {
    return usage(fmt::format("'{}' has too many elements", text), "");
  }
  return std::pair(text.substr(0, equals), std::move(dims));
}

core::Result<std::pair<std::string, std::int64_t>> parse_assignment(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const auto number =
      equals == std::string::npos ? std::nullopt : parse_number(text.c_str() + equals + 1);
  if (equals == 0 || !number) {
    return usage(fmt::format("'{}' sets nothing", text), "write KEY=NUMBER");
  }
  return std::pair(text.substr(0, equals), *number);
}

}  // namespace soapstone::cli
