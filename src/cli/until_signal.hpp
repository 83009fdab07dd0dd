// Runs a loop until it is out of work, is stopped, or somebody wants the process to end.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>

namespace conclave::cli {

inline void run_until_signal(boost::asio::io_context& loop) {
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  signals.async_wait([&loop](const boost::system::error_code& error, int) {
    if (!error) loop.stop();
  });
  loop.run();
}

}  // namespace conclave::cli
