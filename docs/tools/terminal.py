"""A terminal with what a command printed, as SVG that plays: the lines appear one after another, then stay."""

from __future__ import annotations

from xml.sax.saxutils import escape

WIDTH_OF_LETTER, HEIGHT_OF_LINE, MARGIN = 8.4, 19, 16
#: Lines that are seen at once, and how long the recording takes (it ends with all of its last lines in view).
VISIBLE, SECONDS = 30, 20


def svg(command: str, text: str) -> str:
    """The recording. Where a reader wants no motion, the last lines stand still."""
    lines = text.rstrip("\n").splitlines()
    columns = max(80, *(len(line) for line in lines))
    width, height = columns * WIDTH_OF_LETTER + 2 * MARGIN, (VISIBLE + 1) * HEIGHT_OF_LINE + 2 * MARGIN + 24
    rows = [f"<tspan class='prompt'>$</tspan> {escape(command)}", *(escape(line) for line in lines)]
    drawn = "\n".join(
        f'<text class="line" x="{MARGIN}" y="{(at + 1) * HEIGHT_OF_LINE}" style="animation-delay:{_appears(at, len(rows)):.2f}s">{row}</text>'
        for at, row in enumerate(rows)
    )
    over = max(0, len(rows) - VISIBLE)
    # It begins to scroll when the window is full.
    full = _appears(VISIBLE, len(rows)) if over else SECONDS
    scroll = over * HEIGHT_OF_LINE
    title = escape(f"What `{command}` prints")
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" aria-label="{title}">
<title>{title}</title>
<style>
.line {{ font: 14px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #e6e6e6; white-space: pre; animation: appear .01s both; }}
.prompt {{ fill: #7ec699; }}
.all {{ animation: scroll {max(SECONDS - full, 0.01):.2f}s linear {full:.2f}s both; }}
@keyframes appear {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}
@keyframes scroll {{ from {{ transform: translateY(0); }} to {{ transform: translateY(-{scroll}px); }} }}
@media (prefers-reduced-motion: reduce) {{ .line {{ animation: none; }} .all {{ animation: none; transform: translateY(-{scroll}px); }} }}
</style>
<rect width="100%" height="100%" rx="8" fill="#1d2330"/>
<circle cx="20" cy="18" r="5" fill="#f27b6a"/><circle cx="38" cy="18" r="5" fill="#f2c46a"/><circle cx="56" cy="18" r="5" fill="#7ec699"/>
<svg x="0" y="32" width="{width:.0f}" height="{height - 40}" overflow="hidden"><g class="all">
{drawn}
</g></svg>
</svg>
"""


def _appears(at: int, rows: int) -> float:
    """When a line appears: the command at once, then the rest, evenly."""
    return 0.0 if at == 0 else 1.0 + (SECONDS - 1.5) * (at - 1) / max(rows - 1, 1)
