// Processes that this one starts, each another run of the same program unless another is named, and that do
// not outlive it.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace conclave::live {

struct Departure {
  bool exited = false;  // by itself
  int status = 0;       // of the exit; else the signal
};

class Children {
 public:
  Children() = default;
  ~Children();  // kills and buries whoever is left
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Starts this very program, or another that is installed, with these arguments; its output goes to the file
  // `said`.
  std::expected<void, std::string> start(const std::vector<std::string>& arguments, const std::string& said,
                                         const std::string& program = {});

  std::size_t size() const { return children_.size(); }
  // Kills the nth that was started, and waits for its end.
  void kill(std::size_t nth);
  // It stands still, and goes on as if no time had passed.
  void pause(std::size_t nth);
  void resume(std::size_t nth);
  // How the nth ended; none while it runs.
  std::optional<Departure> departure(std::size_t nth);

  // Waits until all are gone, in the order of starting. Who is still there after `patience`, or `grace` after
  // somebody failed, is killed; `spared` may die without that being a failure.
  std::vector<Departure> wait(std::chrono::milliseconds patience, std::chrono::milliseconds grace,
                              std::size_t spared);
  static constexpr std::size_t nobody = static_cast<std::size_t>(-1);

 private:
  struct Child {
    pid_t id;
    bool gone = false;
    Departure departure = {};
  };
  bool collect(std::size_t spared);
  void kill_all();
  std::vector<Child> children_;
};

// Ports of 127.0.0.1 that nobody listens on at the moment, no two alike.
std::expected<std::vector<std::uint16_t>, std::string> free_ports(std::size_t count);

}  // namespace conclave::live
