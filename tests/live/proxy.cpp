// Stands between members and does to their connections what networks do. One process forwards many routes.
//
//   proxy NAME=PORT:TARGET …      listens on 127.0.0.1:PORT, forwards to 127.0.0.1:TARGET
//
// Commands on stdin, a line each; ROUTE is a name or `all`. Forth is from who dialled to who was dialled.
//   close ROUTE            ends every connection in order (FIN)
//   reset ROUTE            ends every connection at once (RST)
//   half ROUTE forth|back  ends one direction (FIN) and goes on with the other
//   cut ROUTE both|forth|back   holds everything back, also that of connections to come
//   heal ROUTE
//   delay ROUTE MS         everything arrives that much later
//   lose ROUTE BYTES       once so many more bytes have gone forth, the connection is reset
//   flip ROUTE             the next bytes of each direction arrive with one bit changed
//   replay ROUTE           the next bytes of each direction arrive twice
//   skip ROUTE             the next bytes of each direction do not arrive, those after them do
//   swap ROUTE             the next bytes of each direction arrive after those after them
//   altered ROUTE          is answered with how often any of these four has happened
//   quit
// Answers each other command with a line: how many connections it was done to.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <list>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t most_held = 1 << 20;  // in one direction; beyond it the sender is not read

// What becomes of the next bytes.
enum class Lie { none, flipped, repeated, skipped, swapped };

// Bytes on their way in one direction.
struct Flow {
  struct Piece {
    Clock::time_point due;
    std::string bytes;
  };
  std::deque<Piece> pieces = {};
  std::size_t held = 0;
  bool source_ended = false;
  bool target_told = false;  // that it ended
  Lie lie = Lie::none;
  std::string behind = {};  // what comes after the next bytes
};

struct Route {
  std::uint16_t port = 0;
  std::uint16_t target = 0;
  int listener = -1;
  bool cut_forth = false;
  bool cut_back = false;
  milliseconds delay = {};
  std::optional<std::size_t> lose_after = {};
  std::size_t altered = 0;
};

struct Pair {
  Route* route;
  int near;  // who dialled
  int far;   // who was dialled
  Flow forth = {};
  Flow back = {};
  bool over = false;
};

[[noreturn]] void die(const std::string& why) {
  std::cerr << "proxy: " << why << '\n';
  std::exit(2);
}

sockaddr_in local(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void prepare(int socket) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int listen_on(std::uint16_t port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = local(port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 64) != 0)
    die("cannot listen on port " + std::to_string(port));
  prepare(listener);
  return listener;
}

class Proxy {
 public:
  explicit Proxy(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) add_route(argument);
  }

  void run() {
    while (!quit_) turn();
  }

 private:
  void add_route(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::size_t colon = text.find(':', equals);
    if (equals == std::string::npos || colon == std::string::npos)
      die("'" + text + "' is no NAME=PORT:TARGET");
    Route& route = routes_[text.substr(0, equals)];
    route.port = static_cast<std::uint16_t>(std::stoul(text.substr(equals + 1)));
    route.target = static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1)));
    route.listener = listen_on(route.port);
  }

  void turn() {
    std::vector<pollfd> polled = {{0, POLLIN, 0}};
    for (auto& [name, route] : routes_) polled.push_back({route.listener, POLLIN, 0});
    for (Pair& pair : pairs_) {
      polled.push_back({pair.near, events(pair.forth, cut(pair, true), pair.back, cut(pair, false)), 0});
      polled.push_back({pair.far, events(pair.back, cut(pair, false), pair.forth, cut(pair, true)), 0});
    }
    poll(polled.data(), polled.size(), 2);
    if (polled[0].revents) read_commands();
    std::size_t door = 0;  // there may be a hundred, and hardly anybody knocks
    for (auto& [name, route] : routes_)
      if (polled[++door].revents) accept_from(route);
    for (Pair& pair : pairs_) {
      move(pair, pair.near, pair.far, pair.forth, true);
      move(pair, pair.far, pair.near, pair.back, false);
      if (pair.forth.target_told && pair.back.target_told) end(pair, false);
    }
    pairs_.remove_if([](const Pair& pair) { return pair.over; });
  }

  static bool cut(const Pair& pair, bool forth) {
    return forth ? pair.route->cut_forth : pair.route->cut_back;
  }

  static short events(const Flow& in, bool in_cut, const Flow& out, bool out_cut) {
    const bool reads = !in_cut && !in.source_ended && in.held < most_held;
    const bool writes = !out_cut && !out.pieces.empty() && out.pieces.front().due <= Clock::now();
    return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
  }

  void accept_from(Route& route) {
    const int near = accept4(route.listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (near < 0) return;
    const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = local(route.target);
    if (connect(far, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close(near);
      close(far);
      return;
    }
    prepare(near);
    prepare(far);
    pairs_.push_back({&route, near, far});
  }

  static void take(Route& route, Flow& flow, std::string bytes) {
    const Lie lie = std::exchange(flow.lie, Lie::none);
    if (lie != Lie::none) ++route.altered;
    if (lie == Lie::flipped) bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
    if (lie == Lie::skipped) return;
    if (lie == Lie::swapped) {
      flow.behind = std::move(bytes);
      return;
    }
    bytes += std::exchange(flow.behind, {});
    for (int times = lie == Lie::repeated ? 2 : 1; times > 0; --times) {
      flow.held += bytes.size();
      flow.pieces.push_back({Clock::now() + route.delay, bytes});
    }
  }

  void move(Pair& pair, int source, int target, Flow& flow, bool forth) {
    if (pair.over || cut(pair, forth)) return;
    char buffer[65536];
    while (!flow.source_ended && flow.held < most_held) {
      const ssize_t got = read(source, buffer, sizeof buffer);
      if (got < 0 && errno != EAGAIN) return end(pair, true);
      if (got < 0) break;
      if (got == 0)
        flow.source_ended = true;
      else
        take(*pair.route, flow, {buffer, static_cast<std::size_t>(got)});
    }
    while (!flow.pieces.empty() && flow.pieces.front().due <= Clock::now()) {
      std::string& bytes = flow.pieces.front().bytes;
      std::size_t most = bytes.size();
      if (forth && pair.route->lose_after) most = std::min(most, *pair.route->lose_after);
      const ssize_t put = most == 0 ? 0 : send(target, bytes.data(), most, MSG_NOSIGNAL);
      if (put < 0 && errno != EAGAIN) return end(pair, true);
      if (put < 0) break;
      flow.held -= static_cast<std::size_t>(put);
      if (forth && pair.route->lose_after &&
          (*pair.route->lose_after -= static_cast<std::size_t>(put)) == 0) {
        pair.route->lose_after.reset();
        return end(pair, true);
      }
      bytes.erase(0, static_cast<std::size_t>(put));
      if (bytes.empty()) flow.pieces.pop_front();
    }
    if (flow.source_ended && flow.pieces.empty() && !flow.target_told) {
      shutdown(target, SHUT_WR);
      flow.target_told = true;
    }
  }

  void end(Pair& pair, bool reset) {
    if (pair.over) return;
    const linger at_once = {1, 0};
    for (const int socket : {pair.near, pair.far}) {
      if (reset) setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      close(socket);
    }
    pair.over = true;
  }

  void read_commands() {
    char buffer[4096];
    const ssize_t got = read(0, buffer, sizeof buffer);
    if (got <= 0) {
      quit_ = true;
      return;
    }
    input_.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
      obey(input_.substr(0, end));
      input_.erase(0, end + 1);
    }
  }

  void obey(const std::string& line) {
    std::istringstream in(line);
    std::string verb;
    std::string name;
    std::string rest;
    in >> verb >> name >> rest;
    if (verb == "quit") {
      quit_ = true;
      return;
    }
    std::size_t done = 0;
    for (auto& [route_name, route] : routes_) {
      if (name != "all" && name != route_name) continue;
      treat(route, verb, rest);
      if (verb == "altered") done += route.altered;
      for (Pair& pair : pairs_) {
        if (pair.route == &route && !pair.over) done += treat(pair, verb, rest) ? 1 : 0;
      }
    }
    std::cout << done << std::endl;
  }

  static void treat(Route& route, const std::string& verb, const std::string& rest) {
    if (verb == "cut") {
      route.cut_forth = rest != "back";
      route.cut_back = rest != "forth";
    } else if (verb == "heal") {
      route.cut_forth = route.cut_back = false;
    } else if (verb == "delay") {
      route.delay = milliseconds(std::stoul(rest));
    } else if (verb == "lose") {
      route.lose_after = std::stoul(rest);
    }
  }

  bool treat(Pair& pair, const std::string& verb, const std::string& rest) {
    if (verb == "close" || verb == "reset") end(pair, verb == "reset");
    if (verb == "half") shutdown(rest == "forth" ? pair.far : pair.near, SHUT_WR);
    if (verb == "flip") pair.forth.lie = pair.back.lie = Lie::flipped;
    if (verb == "replay") pair.forth.lie = pair.back.lie = Lie::repeated;
    if (verb == "skip") pair.forth.lie = pair.back.lie = Lie::skipped;
    if (verb == "swap") pair.forth.lie = pair.back.lie = Lie::swapped;
    return verb != "altered";
  }

  std::map<std::string, Route> routes_;
  std::list<Pair> pairs_;
  std::string input_;
  bool quit_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  Proxy proxy({argv + 1, argv + argc});
  proxy.run();
}
