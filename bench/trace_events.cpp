// Writes a log of vector clocks in ShiViz's form, for measuring how fast such logs are read:
//   trace_events EVENTS HOSTS [joined] > FILE
// Hosts act in random order. One event in three receives a message that another sent a little while ago, one
// in three sends, the rest is internal. `joined` writes the log of one host after the other, as if each had
// written its own file.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace {

struct Host {
  std::vector<std::uint32_t> clock;
  std::deque<std::vector<std::uint32_t>> arriving;
};

void append_event(std::string& out, std::size_t self, const Host& host, const char* words) {
  out += 'h';
  out += std::to_string(self);
  out += " {";
  bool first = true;
  for (std::size_t i = 0; i < host.clock.size(); ++i) {
    if (host.clock[i] == 0) continue;
    if (!first) out += ", ";
    first = false;
    out += "\"h";
    out += std::to_string(i);
    out += "\":";
    out += std::to_string(host.clock[i]);
  }
  out += "}\n";
  out += words;
  out += '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: trace_events EVENTS HOSTS [joined]\n");
    return 2;
  }
  const std::uint64_t events = std::strtoull(argv[1], nullptr, 10);
  const std::size_t hosts = std::strtoull(argv[2], nullptr, 10);
  const bool joined = argc > 3 && std::strcmp(argv[3], "joined") == 0;
  if (hosts == 0) return 2;
  std::mt19937_64 random(1);
  std::vector<Host> all(hosts, Host{std::vector<std::uint32_t>(hosts), {}});
  std::vector<std::string> outputs(joined ? hosts : 1);
  for (std::uint64_t i = 0; i < events; ++i) {
    const std::size_t self = random() % hosts;
    Host& host = all[self];
    const std::uint64_t what = random() % 3;
    const char* words = "works";
    if (what == 0 && !host.arriving.empty()) {
      for (std::size_t j = 0; j < hosts; ++j)
        host.clock[j] = std::max(host.clock[j], host.arriving.front()[j]);
      host.arriving.pop_front();
      words = "receives a message";
    }
    ++host.clock[self];
    if (what == 1 && hosts > 1) {
      const std::size_t to = (self + 1 + random() % (hosts - 1)) % hosts;
      if (all[to].arriving.size() < 64) all[to].arriving.push_back(host.clock);
      words = "sends a message";
    }
    std::string& out = outputs[joined ? self : 0];
    append_event(out, self, host, words);
    if (!joined && out.size() > 1 << 16) {
      std::fwrite(out.data(), 1, out.size(), stdout);
      out.clear();
    }
  }
  for (const std::string& out : outputs) std::fwrite(out.data(), 1, out.size(), stdout);
}
