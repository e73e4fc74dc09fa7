// Memory from malloc, and std::bad_alloc where there is none left. Debian's mimalloc brings operators new of its own; it is built as C, and
// they abort then, whatever handler is set. Its operators delete, which free, stay.
#include <cstdlib>
#include <new>

namespace {

void* memory_or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// aligned_alloc wants whole multiples.
void* aligned_memory(std::size_t bytes, std::align_val_t alignment) {
  const auto a = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(a, (bytes + a - 1) / a * a);
}

}  // namespace

void* operator new(std::size_t bytes) { return memory_or_throw(std::malloc(bytes)); }
void* operator new[](std::size_t bytes) { return memory_or_throw(std::malloc(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return memory_or_throw(aligned_memory(bytes, alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return memory_or_throw(aligned_memory(bytes, alignment)); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return aligned_memory(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return aligned_memory(bytes, alignment);
}
