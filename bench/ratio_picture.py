"""A picture of ratios of times, as SVG."""
import math


def ratio_picture(bars, caption):
    """A bar for each (name, ratio) on a logarithmic axis, 1 in the middle: to the left we are faster."""
    left, width, row = 330, 420, 20
    height = row * len(bars) + 40
    at = lambda ratio: left + width * min(1, max(0, (math.log2(ratio) + 3) / 6))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{height}" '
             'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for tick in (0.125, 0.25, 0.5, 1, 2, 4, 8):
        x = at(tick)
        parts.append(f'<line x1="{x:.1f}" y1="20" x2="{x:.1f}" y2="{height - 16}" stroke="{"black" if tick == 1 else "#ddd"}"/>')
        parts.append(f'<text x="{x:.1f}" y="14" text-anchor="middle">{tick:g}</text>')
    for i, (name, ratio) in enumerate(bars):
        y, x, middle = 24 + row * i, at(ratio), at(1)
        colour = "#2a7f62" if ratio < 1 else "#b5523b"
        parts.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{name}</text>')
        parts.append(f'<rect x="{min(x, middle):.1f}" y="{y + 2}" width="{abs(x - middle):.1f}" height="{row - 6}" fill="{colour}"/>')
        parts.append(f'<text x="{max(x, middle) + 4:.1f}" y="{y + 12}">{ratio:.2f}</text>')
    parts.append(f'<text x="{left}" y="{height - 3}">{caption}; left of 1 we are faster</text></svg>')
    return "\n".join(parts) + "\n"
