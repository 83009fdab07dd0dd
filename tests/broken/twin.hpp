// A broken twin: an algorithm of the catalogue with one line corrupted. The simulator must catch it.
#pragma once
#include <string>
#include <vector>

#include "catalogue/bind.hpp"
#include "catalogue/entry.hpp"
#include "catalogue/registers/bind.hpp"

namespace conclave::broken {

struct Twin {
  std::string name;
  std::string what;        // it does wrong
  catalogue::Entry entry;  // of the original, running the twin
};

template <class Setup>
Setup default_setup(const catalogue::Setting&) {
  return {};
}

template <Protocol P, typename P::Setup (*setup)(const catalogue::Setting&)>
Twin make_twin(const char* original, const char* name, const char* what) {
  Twin twin = {name, what, *catalogue::find(original)};
  catalogue::bind_world<P, setup>(twin.entry);
  return twin;
}

template <Program P, typename P::Setup (*setup)(const catalogue::Setting&)>
Twin make_twin(const char* original, const char* name, const char* what) {
  Twin twin = {name, what, *catalogue::find(original)};
  catalogue::bind_registers<P, setup>(twin.entry);
  return twin;
}

std::vector<Twin> all_twins();

}  // namespace conclave::broken
