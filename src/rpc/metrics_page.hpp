// What /metrics says: numbers with their names and a sentence each, in the format of Prometheus.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace conclave::rpc {

class MetricsPage {
 public:
  void gauge(std::string_view name, std::string_view help, std::uint64_t value) {
    add("gauge", name, help, value);
  }
  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    add("counter", name, help, value);
  }
  std::string text = {};

 private:
  void add(std::string_view type, std::string_view name, std::string_view help, std::uint64_t value) {
    text += fmt::format("# HELP conclave_{0} {1}\n# TYPE conclave_{0} {2}\nconclave_{0} {3}\n", name, help,
                        type, value);
  }
};

}  // namespace conclave::rpc
