// Asks for a line of memory that will be needed soon.
#pragma once

namespace conclave {

// g++ takes a function that does nothing but __builtin_prefetch for one without effects, and drops the calls.
inline void prefetch(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address);
#endif
}

}  // namespace conclave
