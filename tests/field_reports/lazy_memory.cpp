#include "field_reports/lazy_memory.h"

#include <sys/mman.h>

#include "base/check.h"

namespace tilewright::cases {

LazyMemory::LazyMemory(std::size_t bytes)
    : data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
      bytes_(bytes) {
  TILEWRIGHT_CHECK(data_ != MAP_FAILED);
}

LazyMemory::~LazyMemory() { ::munmap(data_, bytes_); }

}  // namespace tilewright::cases
