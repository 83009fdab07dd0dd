// A real etcd for tests: one member on loopback, its data in a directory that goes with it.
#pragma once
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <boost/asio/ip/tcp.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace conclave {

inline std::uint16_t free_port() {
  boost::asio::io_context loop;
  return boost::asio::ip::tcp::acceptor(loop, {boost::asio::ip::make_address("127.0.0.1"), 0})
      .local_endpoint()
      .port();
}

class Etcd {
 public:
  Etcd() {
    std::string name = testing::TempDir() + "etcd_XXXXXX";
    directory_ = mkdtemp(name.data());
    start();
  }
  ~Etcd() {
    kill();
    std::filesystem::remove_all(directory_);
  }
  Etcd(const Etcd&) = delete;
  Etcd& operator=(const Etcd&) = delete;

  void start() {
    const std::string client = "http://" + endpoint();
    const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int log = open((directory_ + "/log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(log, 1);
    dup2(log, 2);
    execlp("etcd", "etcd", "--data-dir", (directory_ + "/data").c_str(), "--listen-client-urls",
           client.c_str(), "--advertise-client-urls", client.c_str(), "--listen-peer-urls", peer.c_str(),
           "--initial-advertise-peer-urls", peer.c_str(), "--initial-cluster", ("default=" + peer).c_str(),
           nullptr);
    _exit(127);
  }
  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port); }

  const std::uint16_t port = free_port();

 private:
  const std::uint16_t peer_port_ = free_port();
  std::string directory_;
  pid_t pid_ = 0;
};

}  // namespace conclave
