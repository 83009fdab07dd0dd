#include "check/patient_barrier.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace conclave::check {
namespace {

// Nobody is ever a round ahead of another.
TEST(PatientBarrier, HoldsEverybodyUntilAllAreThere) {
  for (const std::uint32_t workers : {1u, 2u, 5u}) {
    PatientBarrier barrier(workers);
    std::vector<std::atomic<int>> rounds(workers);
    std::atomic<bool> ahead = false;
    std::vector<std::thread> threads;
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
      threads.emplace_back([&, worker] {
        for (int round = 1; round <= 100; ++round) {
          rounds[worker] = round;
          barrier.arrive_and_wait();
          for (const auto& other : rounds) ahead = ahead || other < round;
          barrier.arrive_and_wait();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_FALSE(ahead) << workers;
  }
}

TEST(PatientBarrier, TheLastDoesSomethingAlone) {
  PatientBarrier barrier(3);
  int sum = 0;  // not atomic: nobody else is there to see it
  std::atomic<bool> early = false;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 3; ++worker) {
    threads.emplace_back([&] {
      for (int round = 1; round <= 100; ++round) {
        barrier.arrive_and_wait([&] { ++sum; });
        early = early || sum != round;
        barrier.arrive_and_wait();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(early);
}

}  // namespace
}  // namespace conclave::check
