// See nccl.h.
#include "gpu/collectives/nccl.h"

#include <fmt/format.h>

#include "gpu/driver/dynamic_library.h"

namespace soapstone::gpu {

core::Result<std::shared_ptr<const Nccl>> load_nccl(const std::string& name) {
  SOAPSTONE_ASSIGN_OR_RETURN(const DynamicLibrary library, DynamicLibrary::open(name));
  auto nccl = std::make_shared<Nccl>();
  if (!library.find("ncclGetVersion", nccl->version) ||
      !library.find("ncclGetErrorString", nccl->error_text) ||
      !library.find("ncclGetUniqueId", nccl->make_id) ||
      !library.find("ncclCommInitRankConfig", nccl->init_rank) ||
      !library.find("ncclCommGetAsyncError", nccl->async_error) ||
      !library.find("ncclCommFinalize", nccl->finalize) ||
      !library.find("ncclCommDestroy", nccl->destroy) ||
      !library.find("ncclCommAbort", nccl->abort) ||
      !library.find("ncclAllReduce", nccl->all_reduce) ||
      !library.find("ncclReduceScatter", nccl->reduce_scatter) ||
      !library.find("ncclAllGather", nccl->all_gather) ||
      !library.find("ncclBroadcast", nccl->broadcast) || !library.find("ncclSend", nccl->send) ||
      !library.find("ncclRecv", nccl->receive) ||
      !library.find("ncclGroupStart", nccl->begin_group) ||
      !library.find("ncclGroupEnd", nccl->end_group))
    return core::unavailable(name + " is no NCCL");
  return std::shared_ptr<const Nccl>(std::move(nccl));
}

core::Result<NcclId> make_nccl_id(const Nccl& nccl) {
  NcclId id;
  if (const int result = nccl.make_id(&id); result != Nccl::kSuccess)
    return core::unavailable(fmt::format("ncclGetUniqueId: {}", nccl.error_text(result)));
  return id;
}

}  // namespace soapstone::gpu
