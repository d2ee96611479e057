// See build_id.h. The program's notes lie in its memory.
// Source: elf(5), "Notes (Nhdr)".
#include "jobs/rules/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace soapstone::jobs {
namespace {

constexpr std::size_t kAlignment = 4;
std::size_t aligned(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

/// Looks for the note in one segment.
std::string id_in(const unsigned char* notes, std::size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name = sizeof note, content = name + aligned(note.n_namesz);
    const std::size_t end = content + aligned(note.n_descsz);
    if (end > size) break;
    const bool gnu = note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID) {
      std::string id;
      for (std::size_t k = 0; k < note.n_descsz; ++k)
        for (const int shift : {4, 0}) id += "0123456789abcdef"[notes[content + k] >> shift & 0xf];
      return id;
    }
    notes += end;
    size -= end;
  }
  return {};
}

/// The first object is the program itself.
int visit(dl_phdr_info* object, std::size_t, void* result) {
  std::string& id = *static_cast<std::string*>(result);
  for (int k = 0; k < object->dlpi_phnum && id.empty(); ++k) {
    const auto& segment = object->dlpi_phdr[k];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader states addresses as numbers
    id = id_in(reinterpret_cast<const unsigned char*>(object->dlpi_addr + segment.p_vaddr),
               segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id;
  dl_iterate_phdr(visit, &id);
  return id;
}

}  // namespace soapstone::jobs
