//! The page's charts, as SVG that is drawn here. Positions along them are in percent and sizes in pixels, so that they
//! are as wide as their place while text and lines keep their size.

use std::io::{self, Write};

use indicatif::{HumanBytes, HumanCount};

use super::figures::{Axis, counted, duration, per_second, percent, rate, share};
use super::{Interval, Record, Status, Tally};

/// Below this share, in percent, a part of a bar would not be seen.
const THINNEST: f64 = 1.5;

/// Frames and bytes by verdict: two bars, each with its counts below.
pub(super) fn verdicts(record: &Record, to: &mut impl Write) -> io::Result<()> {
    let frames = HumanCount(record.frames()).to_string();
    bar(record, "Frames", "frames", &frames, |tally| tally.frames, |number| HumanCount(number).to_string(), to)?;
    let bytes = HumanBytes(record.bytes()).to_string();
    bar(record, "Bytes", "bytes", &bytes, |tally| tally.bytes, |number| HumanBytes(number).to_string(), to)
}

fn bar(
    record: &Record,
    title: &str,
    unit: &str,
    total: &str,
    number: impl Fn(Tally) -> u64,
    shown: impl Fn(u64) -> String,
    to: &mut impl Write,
) -> io::Result<()> {
    let whole = record.sum(|tally| number(*tally));
    let counted = Status::ALL.map(|status| (status, number(record.tally(status))));
    // Frames with findings are among the ok ones: in the bar they take their part of these.
    let with_findings = number(record.tally(Status::Finding));
    let parts = counted.map(|(status, number)| match status {
        Status::Ok => number.saturating_sub(with_findings),
        _ => number,
    });
    let label: Vec<_> = counted
        .iter()
        .filter(|(_, number)| *number > 0)
        .map(|(status, number)| format!("{} {} ({})", shown(*number), status.as_str(), share(*number, whole)))
        .collect();
    let label = if label.is_empty() { "none".into() } else { label.join(", ") };

    writeln!(to, r#"<figure class="bar"><figcaption>{title} <b>{total}</b></figcaption>"#)?;
    writeln!(to, r#"<svg class="stack" role="img" aria-label="{title} by verdict: {label}">"#)?;
    if whole == 0 {
        writeln!(to, r#"<rect class="nothing" width="100%" height="100%"/>"#)?;
    }
    let (widths, widened) = widths(parts.map(|part| percent(part, whole)));
    let mut start = 0.0;
    for ((status, number), width) in counted.iter().zip(widths).filter(|(_, width)| *width > 0.0) {
        let status = status.as_str();
        writeln!(
            to,
            r#"<rect x="{start:.3}%" width="{width:.3}%" height="100%" fill="url(#{status})"><title>{status}: {}</title></rect>"#,
            shown(*number)
        )?;
        start += width;
    }
    writeln!(to, r#"</svg><ul class="key">"#)?;
    for (status, number) in counted {
        if status == Status::Finding && !record.findings_asked_for() {
            continue;
        }
        let (empty, share) = match number {
            0 => (r#" class="zero""#, String::new()),
            _ => ("", share(number, whole)),
        };
        let name = match status {
            Status::Finding => "of these with findings",
            other => other.as_str(),
        };
        writeln!(
            to,
            r#"<li{empty}><svg class="swatch" aria-hidden="true" focusable="false"><rect width="100%" height="100%" fill="url(#{status})"/></svg>{name} <b data-verdict="{status}" data-unit="{unit}" data-value="{number}">{}</b> <span class="share">{share}</span></li>"#,
            shown(number),
            status = status.as_str(),
        )?;
    }
    writeln!(to, "</ul>")?;
    if widened {
        writeln!(to, r#"<p class="remark">Parts too thin to be seen are drawn wider than they are.</p>"#)?;
    }
    writeln!(to, "</figure>")
}

/// The parts as they are drawn: what is not nothing can be seen, at the cost of the widest. And whether that was needed.
fn widths<const N: usize>(parts: [f64; N]) -> ([f64; N], bool) {
    let mut widths = parts.map(|part| if part > 0.0 { part.max(THINNEST) } else { 0.0 });
    let excess = widths.iter().sum::<f64>() - parts.iter().sum::<f64>();
    if let Some(widest) = widths.iter_mut().max_by(|one, other| one.total_cmp(other)) {
        *widest -= excess;
    }
    (widths, excess > 1e-6)
}

/// Bytes per second over the run; intervals with failures are marked.
pub(super) fn throughput(record: &Record, to: &mut impl Write) -> io::Result<()> {
    let steps = steps(&record.rates);
    let Some(last) = steps.last() else {
        return writeln!(to, r#"<p class="none">The run was too short to say.</p>"#);
    };
    let highest = steps.iter().map(|step| step.rate).fold(0.0, f64::max);
    let mean = record.mean_rate();
    let times = Axis::of_times(last.interval.seconds);
    let rates = Axis::of_rates(highest.max(mean));
    let failing = steps.iter().filter(|step| step.interval.failures > 0).count() as u64;

    writeln!(to, r#"<figure class="throughput" id="throughput">"#)?;
    write!(to, r#"<div class="plot" id="plot"><svg role="img" aria-label="Throughput over {}: "#, duration(times.end))?;
    write!(to, "mean {}, highest {}; failures in ", rate(mean), rate(highest))?;
    writeln!(to, r#"{failing} of {}">"#, counted(steps.len() as u64, "interval"))?;
    curve(&steps, &times, &rates, to)?;
    writeln!(to, r#"<line class="axis" y1="100%" x2="100%" y2="100%"/>"#)?;
    for step in steps.iter().filter(|step| step.interval.failures > 0) {
        let x = times.percent((step.start + step.interval.seconds) / 2.0);
        writeln!(
            to,
            r#"<line class="failing" x1="{x:.3}%" x2="{x:.3}%" y2="100%"/><svg x="{x:.3}%" y="100%"><path class="failing" d="M0 -9l5 9h-10z"/></svg>"#
        )?;
    }
    let y = 100.0 - rates.percent(mean);
    writeln!(to, r#"<line class="mean" y1="{y:.3}%" x2="100%" y2="{y:.3}%"/>"#)?;
    for (value, label) in &rates.ticks {
        let y = 100.0 - rates.percent(*value);
        writeln!(to, r#"<line class="grid" y1="{y:.3}%" x2="100%" y2="{y:.3}%"/>"#)?;
        writeln!(to, r#"<text y="{y:.3}%" dy="-4">{label}</text>"#)?;
    }
    for (value, label) in [(0.0, "0")].into_iter().chain(times.ticks.iter().map(|(value, label)| (*value, &**label))) {
        let x = times.percent(value);
        // Labels at the edges stay inside.
        let anchor = if x < 3.0 {
            "start"
        } else if x > 95.0 {
            "end"
        } else {
            "middle"
        };
        writeln!(to, r#"<text class="time" x="{x:.3}%" y="100%" dy="18" text-anchor="{anchor}">{label}</text>"#)?;
    }
    writeln!(to, r#"<line class="cursor" id="cursor" y2="100%"/></svg></div>"#)?;
    write!(
        to,
        r#"<figcaption><span id="reading">Mean (dashed) <b data-rate="mean" data-value="{mean}">{}</b>, "#,
        rate(mean)
    )?;
    write!(to, r#"highest <b data-rate="highest" data-value="{highest}">{}</b>."#, rate(highest))?;
    if failing > 0 {
        write!(
            to,
            r#" <svg class="mark" aria-hidden="true" focusable="false"><path class="failing" d="M6 1l5 9h-10z"/></svg> marks intervals with failures."#
        )?;
    }
    writeln!(to, "</span></figcaption>")?;
    table(&steps, to)?;
    writeln!(to, "</figure>")
}

/// An interval with its start and its rate in bytes per second.
pub(super) struct Step {
    start: f64,
    pub(super) interval: Interval,
    rate: f64,
}

/// Intervals in which no time passed show nowhere.
pub(super) fn steps(rates: &[Interval]) -> Vec<Step> {
    let mut start = 0.0;
    let mut steps = Vec::with_capacity(rates.len());
    for interval in rates.iter().copied().filter(|interval| interval.seconds.is_finite()) {
        let seconds = interval.seconds - start;
        if seconds > 0.0 {
            steps.push(Step { start, interval, rate: per_second(interval.bytes, seconds) });
            start = interval.seconds;
        }
    }
    steps
}

/// The rate as steps, since each is the mean of its interval.
fn curve(steps: &[Step], times: &Axis, rates: &Axis, to: &mut impl Write) -> io::Result<()> {
    // In tenths of a percent of the plot's width and height.
    let mut line = String::new();
    for Step { start, interval, rate } in steps {
        let y = 1000.0 - 10.0 * rates.percent(*rate);
        let (from, to) = (10.0 * times.percent(*start), 10.0 * times.percent(interval.seconds));
        let go = if line.is_empty() { 'M' } else { 'L' };
        line.push_str(&format!("{go}{from:.1} {y:.1}H{to:.1}"));
    }
    writeln!(to, r#"<svg width="100%" height="100%" viewBox="0 0 1000 1000" preserveAspectRatio="none">"#)?;
    writeln!(to, r#"<path class="area" d="{line}V1000H0z"/><path class="line" d="{line}"/></svg>"#)
}

fn table(steps: &[Step], to: &mut impl Write) -> io::Result<()> {
    writeln!(to, r#"<details><summary>As a table</summary><table class="intervals" id="intervals"><thead><tr>"#)?;
    for column in ["Until", "Rate", "Read", "Frames", "Failures"] {
        write!(to, r#"<th scope="col" class="number">{column}</th>"#)?;
    }
    writeln!(to, "</tr></thead><tbody>")?;
    for Step { interval: Interval { seconds, bytes, frames, failures }, rate: exact, .. } in steps {
        write!(to, r#"<tr data-seconds="{seconds}" data-rate="{exact}" data-bytes="{bytes}" data-frames="{frames}" "#)?;
        write!(to, r#"data-failures="{failures}"><td>{}</td><td>{}</td>"#, duration(*seconds), rate(*exact))?;
        let (read, frames, failures) = (HumanBytes(*bytes), HumanCount(*frames), HumanCount(*failures));
        writeln!(to, "<td>{read}</td><td>{frames}</td><td>{failures}</td></tr>")?;
    }
    writeln!(to, "</tbody></table></details>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_nothing_can_be_seen() {
        assert_eq!(widths([50.0, 0.0, 50.0]), ([50.0, 0.0, 50.0], false));
        assert_eq!(widths([99.9, 0.0, 0.1]), ([98.5, 0.0, 1.5], true));
        assert_eq!(widths([0.0, 0.0]), ([0.0, 0.0], false));
    }

    #[test]
    fn steps_skip_intervals_without_time() {
        let interval = |seconds, bytes| Interval { seconds, bytes, frames: 1, failures: 0 };
        let steps = steps(&[interval(2.0, 10), interval(2.0, 5), interval(f64::NAN, 1), interval(4.0, 8)]);
        let shown: Vec<_> = steps.iter().map(|step| (step.start, step.interval.seconds, step.rate)).collect();
        assert_eq!(shown, [(0.0, 2.0, 5.0), (2.0, 4.0, 4.0)]);
    }
}
