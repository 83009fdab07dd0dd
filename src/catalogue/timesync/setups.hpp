// What the rows of the clock synchronisation family make of their parameters. Templates, because broken twins
// have parameters of their own type.
#pragma once
#include "catalogue/entry.hpp"
#include "protocols/timesync/software_clock.hpp"

namespace conclave::catalogue {

// One tick is one microsecond: a message between two machines of a local network.
inline constexpr sim::Delay timesync_delay = {sim::Delay::Shape::uniform, 300, 900};

inline timesync::Correction correction_of(const Entry& row, const Setting& setting) {
  if (setting.variant == "steps-back") return timesync::Correction::jump;
  return row.number(setting, "jump-forward") != 0 ? timesync::Correction::jump_forward
                                                  : timesync::Correction::slew;
}

inline Ticks ticks_of(const Entry& row, const Setting& setting, std::string_view parameter) {
  return {static_cast<std::uint64_t>(row.number(setting, parameter))};
}

template <class Setup>
Setup cristian_setup(const Setting& setting) {
  const Entry& row = *find("cristian");
  const std::int64_t least_delay = row.number(setting, "min");
  const std::int64_t drift_ppb = row.number(setting, "drift-ppb");
  const std::int64_t accuracy = row.number(setting, "accuracy");
  return {.period = ticks_of(row, setting, "period"),
          .timeout = ticks_of(row, setting, "timeout"),
          .samples = static_cast<std::uint32_t>(row.number(setting, "samples")),
          .attempts = static_cast<std::uint32_t>(row.number(setting, "attempts")),
          .least_delay = least_delay,
          .longest_round_trip =
              accuracy == 0 ? 0 : timesync::longest_round_trip(accuracy, least_delay, drift_ppb),
          .drift_ppb = drift_ppb,
          .slew = row.number(setting, "slew"),
          .correction = correction_of(row, setting),
          .first_approximation = setting.variant == "first-approximation"};
}

template <class Setup>
Setup berkeley_setup(const Setting& setting) {
  const Entry& row = *find("berkeley");
  return {.master = setting.coordinator,
          .period = ticks_of(row, setting, "period"),
          .longest_round_trip = row.number(setting, "round-trip"),
          .attempts = static_cast<std::uint32_t>(row.number(setting, "attempts")),
          // Further apart than any two clocks: everybody counts.
          .gamma = setting.variant == "all-count" ? INT64_MAX : row.number(setting, "gamma"),
          .least_delay = row.number(setting, "min"),
          .drift_ppb = row.number(setting, "drift-ppb"),
          .slew = row.number(setting, "slew"),
          .correction = correction_of(row, setting)};
}

}  // namespace conclave::catalogue
