"""A picture of a simulation: what each of the settings writes against what it has reads merge, as SVG.

A number stands for each row of the report. Filled: no others are as good in everything. The line joins those that no
others beat in these two; between them there is only a choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 20, 52
_TICKS = 5
_COLOR = "#3b82c4"


@dataclass(frozen=True, slots=True)
class Spot:
    """A setting. `written`: for each byte that came; `runs`: that a read merges; `is_best`: in everything."""

    text: str
    written: float
    runs: float
    is_best: bool


@dataclass(frozen=True, slots=True)
class _Axis:
    """From values to places. `low`, `high`: values at `start` and `end`."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(cls, values: Sequence[float], start: float, end: float) -> "_Axis":
        low, high = min(values), max(values)
        room = (high - low) * 0.08 or max(0.1, high * 0.08)
        return cls(max(0.0, low - room), high + room, start, end)

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, float]]:
        """Values with their places."""
        step = (self.high - self.low) / _TICKS
        return [(value, self.at(value)) for value in (self.low + step * number for number in range(_TICKS + 1))]


def front_of(spots: Sequence[Spot]) -> list[int]:
    """Which ones no others beat in writes and reads, those that write least first."""
    found: list[int] = []
    for at in sorted(range(len(spots)), key=lambda at: (spots[at].written, spots[at].runs)):
        if not found or spots[at].runs < spots[found[-1]].runs:
            found.append(at)
    return found


def svg_of(table: str, settings: Sequence[Spot]) -> str:
    """The picture, which needs nothing beside it. Text has the colour of what is around it."""
    across = _Axis.of([each.written for each in settings], _LEFT, WIDTH - _RIGHT)
    up = _Axis.of([each.runs for each in settings], HEIGHT - _BOTTOM, _TOP)
    title = f"Settings of {table}: write amplification and read amplification"
    look = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" fill="currentColor"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {look} role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
    ]
    for value, at in across.ticks():
        lines.append(_line(at, _TOP, at, HEIGHT - _BOTTOM))
        lines.append(f'<text x="{at:.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{value:.2f}</text>')
    for value, at in up.ticks():
        lines.append(_line(_LEFT, at, WIDTH - _RIGHT, at))
        lines.append(f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    middle = (_TOP + HEIGHT - _BOTTOM) / 2
    lines.append(
        f'<text x="{(_LEFT + WIDTH - _RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">'
        "bytes written for each byte that arrived</text>"
    )
    place = f'transform="translate(16 {middle}) rotate(-90)"'
    lines.append(f'<text {place} text-anchor="middle">sorted runs that a read merges</text>')
    spots = [(across.at(each.written), up.at(each.runs)) for each in settings]
    path = " ".join(f"{spots[at][0]:.1f},{spots[at][1]:.1f}" for at in front_of(settings))
    lines.append(f'<polyline points="{path}" fill="none" stroke="{_COLOR}" stroke-width="1.5"/>')
    labels: dict[tuple[str, str], list[str]] = {}
    for number, (each, (x, y)) in enumerate(zip(settings, spots, strict=True)):
        fill = _COLOR if each.is_best else "none"
        said = f"{number}: {each.text}. Written {each.written:.2f} times, {each.runs:.2f} runs to read"
        lines.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{_COLOR}" stroke-width="1.5">'
            f"<title>{escape(said)}</title></circle>"
        )
        labels.setdefault((f"{x + 8:.1f}", f"{y - 6:.1f}"), []).append(str(number))
    # Settings that cost the same have one place.
    lines += [f'<text x="{x}" y="{y}">{", ".join(numbers)}</text>' for (x, y), numbers in labels.items()]
    return "\n".join([*lines, "</svg>", ""])


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="currentColor" stroke-opacity="0.15"/>'
