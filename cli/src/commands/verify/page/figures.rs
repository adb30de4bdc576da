//! How the page words figures: counts, bytes, times, and the scales of its charts.

use indicatif::{HumanBytes, HumanCount};

/// `1 frame`, `1,234 frames`.
pub(super) fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", HumanCount(number), if number == 1 { "" } else { "s" })
}

/// `0.42 s`, `12.3 s`, `3 min 25 s`, `2 h 3 min`.
pub(super) fn duration(seconds: f64) -> String {
    // As `as` does it, what is not a number counts as 0.
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds < 9.995 => format!("{:.2} s", seconds.max(0.0)),
        _ if seconds < 59.95 => format!("{seconds:.1} s"),
        0..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", HumanCount(whole / 3600), whole / 60 % 60),
    }
}

/// Bytes per second; 0 where no time passed.
pub(super) fn per_second(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 }
}

/// `643.29 MiB/s`
pub(super) fn rate(bytes_per_second: f64) -> String {
    format!("{}/s", HumanBytes(bytes_per_second as u64))
}

/// `98.2 %`. What is not all is never said to be 100 %, nor what is not nothing 0 %.
pub(super) fn share(part: u64, whole: u64) -> String {
    let percent = percent(part, whole);
    match part {
        0 => "0 %".into(),
        _ if part == whole => "100 %".into(),
        _ if percent < 0.1 => "< 0.1 %".into(),
        _ if percent > 99.9 => "> 99.9 %".into(),
        _ => format!("{percent:.1} %"),
    }
}

pub(super) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// The ticks of an axis that starts at 0.
#[derive(Debug, PartialEq)]
pub(super) struct Axis {
    /// Where the axis ends, in its quantity's base unit.
    pub(super) end: f64,
    /// Value and label of each tick above 0.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// For rates up to `highest` bytes per second; ends on a tick.
    pub(super) fn of_rates(highest: f64) -> Self {
        const UNITS: [&str; 7] = ["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s", "EiB/s"];
        let highest = highest.max(1.0);
        let (mut unit, mut scale) = (0, 1.0);
        while highest >= 1024.0 * scale && unit + 1 < UNITS.len() {
            (unit, scale) = (unit + 1, 1024.0 * scale);
        }
        let step = round_step(highest / scale / 5.0);
        let number = (highest / scale / step).ceil();
        let label = |tick: f64| format!("{} {}", decimal(tick, step), UNITS[unit]);
        let ticks = (1..=number as u32).map(|tick| f64::from(tick) * step).map(|tick| (tick * scale, label(tick)));
        Self { end: number * step * scale, ticks: ticks.collect() }
    }

    /// For times up to `seconds`, where it ends.
    pub(super) fn of_times(seconds: f64) -> Self {
        const STEPS: [f64; 14] =
            [10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10_800.0, 21_600.0, 43_200.0];
        const TICKS: f64 = 6.0;
        let at_least = seconds / TICKS;
        let step = if at_least <= 5.0 {
            round_step(at_least)
        } else {
            STEPS.into_iter().find(|step| *step >= at_least).unwrap_or_else(|| 3600.0 * round_step(at_least / 3600.0))
        };
        let (unit, scale) = match step {
            3600.0.. => ("h", 3600.0),
            60.0.. => ("min", 60.0),
            _ => ("s", 1.0),
        };
        let label = |tick: f64| format!("{} {unit}", decimal(tick / scale, step / scale));
        let number = (seconds / step + 1e-9).floor() as u32;
        let ticks = (1..=number).map(|tick| f64::from(tick) * step).map(|tick| (tick, label(tick)));
        Self { end: seconds, ticks: ticks.collect() }
    }

    /// How far along the axis, in percent.
    pub(super) fn percent(&self, value: f64) -> f64 {
        if self.end > 0.0 { (100.0 * value / self.end).clamp(0.0, 100.0) } else { 0.0 }
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least this.
fn round_step(at_least: f64) -> f64 {
    let power = 10_f64.powf(at_least.max(1e-6).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= at_least).unwrap_or(10.0 * power)
}

/// With as many decimals as multiples of the step need.
fn decimal(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_worded_for_people() {
        assert_eq!(counted(0, "frame"), "0 frames");
        assert_eq!(counted(1, "frame"), "1 frame");
        assert_eq!(counted(1_234_567, "frame"), "1,234,567 frames");
        let durations = [0.0, 0.4213, 9.99, 9.999, 59.94, 59.96, 205.2, 3599.7, 7380.0, f64::NAN].map(duration);
        assert_eq!(
            durations,
            [
                "0.00 s",
                "0.42 s",
                "9.99 s",
                "10.0 s",
                "59.9 s",
                "1 min 0 s",
                "3 min 25 s",
                "1 h 0 min",
                "2 h 3 min",
                "0 min 0 s"
            ]
        );
        assert_eq!(rate(per_second(3 << 20, 2.0)), "1.50 MiB/s");
        assert_eq!(rate(per_second(3 << 20, 0.0)), "0 B/s");
    }

    #[test]
    fn shares_do_not_round_a_failure_away() {
        assert_eq!(share(999_999, 1_000_000), "> 99.9 %");
        assert_eq!(share(1, 1_000_000), "< 0.1 %");
        assert_eq!(share(1, 3), "33.3 %");
        assert_eq!(share(3, 3), "100 %");
        assert_eq!(share(0, 3), "0 %");
        assert_eq!(share(0, 0), "0 %");
    }

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn rates_have_round_ticks() {
        let mebibyte = f64::from(1 << 20);
        let axis = Axis::of_rates(643.0 * mebibyte);
        assert_eq!(labels(&axis), ["200 MiB/s", "400 MiB/s", "600 MiB/s", "800 MiB/s"]);
        assert_eq!(axis.end, 800.0 * mebibyte);
        assert_eq!(axis.percent(400.0 * mebibyte), 50.0);
        assert_eq!(labels(&Axis::of_rates(1.4 * 1024.0 * mebibyte)), ["0.5 GiB/s", "1.0 GiB/s", "1.5 GiB/s"]);
        assert_eq!(labels(&Axis::of_rates(0.0)), ["0.2 B/s", "0.4 B/s", "0.6 B/s", "0.8 B/s", "1.0 B/s"]);
        assert_eq!(labels(&Axis::of_rates(1e30)).len(), 5);
    }

    #[test]
    fn times_have_ticks_of_clocks() {
        assert_eq!(labels(&Axis::of_times(0.05)), ["0.01 s", "0.02 s", "0.03 s", "0.04 s", "0.05 s"]);
        assert_eq!(labels(&Axis::of_times(30.0)), ["5 s", "10 s", "15 s", "20 s", "25 s", "30 s"]);
        assert_eq!(labels(&Axis::of_times(200.0)), ["1 min", "2 min", "3 min"]);
        assert_eq!(labels(&Axis::of_times(9000.0)), ["30 min", "60 min", "90 min", "120 min", "150 min"]);
        assert_eq!(labels(&Axis::of_times(400_000.0)), ["20 h", "40 h", "60 h", "80 h", "100 h"]);
        assert_eq!(labels(&Axis::of_times(0.0)), [""; 0]);
        assert_eq!(Axis::of_times(0.0).percent(1.0), 0.0);
    }
}
