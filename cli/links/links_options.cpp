// See links_options.h.
#include "cli/links/links_options.h"

namespace soapstone::cli {

void add_links_options(CommandLine& line, LinksOptions& options) {
  line.add("-o,--output", options.output,
           "The topology to write, as plan-graph --topology reads it")
      .type("FILE.json")
      .required()
      .writes();
  line.add("--virtual", options.virtual_ranks,
           "Measure so many threads of this process, instead of the processes that mpirun started")
      .type("R")
      .between(std::uint64_t{2}, std::uint64_t{64});
  line.add("--largest", options.request.largest_bytes,
           "Bytes of the largest tensor; sizes double from 8 bytes on")
      .type("BYTES")
      .between(std::uint64_t{8}, std::uint64_t{1} << 32)
      .shows_default();
  line.add("--time", options.request.time_s, "Seconds for all together, roughly")
      .type("S")
      .positive()
      .shows_default();
  add_common_options(line, options);
  set_examples(line,
               "  $ mpirun -n 2 measure-links -o local.json\n"
               "  $ measure-links --virtual 4 --largest 1048576 -o threads.json\n"
               "  $ plan-graph bert_base --topology local.json --costs measured -o plan.json");
}

}  // namespace soapstone::cli
