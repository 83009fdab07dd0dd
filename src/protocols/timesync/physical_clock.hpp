// What is known of physical clocks: how fast they go wrong, and how good the sources of time are.
#pragma once
#include <array>
#include <string_view>

#include "protocols/timesync/rational.hpp"

namespace conclave::timesync {

// Relative to true time.
inline constexpr Rational quartz_drift = {1, 1'000'000};
inline constexpr Rational caesium_drift = {1, 10'000'000'000'000};

// The second, since 1967.
inline constexpr std::int64_t caesium_oscillations_per_second = 9'192'631'770;

inline constexpr std::int64_t seconds_per_day = 86'400;
inline constexpr std::int64_t seconds_per_year = 31'557'600;  // of 365.25 days

// How long a clock of that drift runs until it is one second off.
inline Rational seconds_per_second_of_error(const Rational& drift) { return Rational{1} / drift; }

struct TimeSource {
  std::string_view name;
  Rational accuracy_ms;
};

inline constexpr std::array<TimeSource, 3> time_sources = {{
    {"wwv_nominal", {1, 1}},     // a short-wave station's pulse at each second
    {"wwv_practical", {10, 1}},  // the same through a real atmosphere
    {"geos", {1, 2}},            // a satellite
}};

}  // namespace conclave::timesync
