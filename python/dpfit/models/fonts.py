"""Fonts for names in any script: matplotlib's own font has no Chinese, Japanese or Korean."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["printable_labels", "with_glyphs"]

# Fonts of operating systems and of common packages that have what matplotlib's own lacks.
_OTHERS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans CJK TC",
    "Noto Sans CJK KR",
    "Source Han Sans",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "IPAexGothic",
    "IPAGothic",
    "TakaoGothic",
    "Hiragino Sans",
    "PingFang SC",
    "Apple SD Gothic Neo",
    "Yu Gothic",
    "MS Gothic",
    "Microsoft YaHei",
    "SimHei",
    "Malgun Gothic",
    "NanumGothic",
    "Noto Sans Devanagari",
    "Noto Sans Arabic",
    "Noto Sans Thai",
    "Unifont",
    "Arial Unicode MS",
)
# Stands for a character that no font has.
_MISSING = "\N{WHITE SQUARE}"


def with_glyphs(texts: Iterable[Any]) -> None:
    """Let text fall back to other fonts where its own has no glyph."""
    families = _families()
    if len(families) > 1:
        for text in texts:
            text.set_fontfamily(list(families))


def printable_labels(labels: Sequence[str]) -> list[str]:
    """Return labels with a square for each character that no font has.

    Matplotlib would warn and draw boxes. Labels that are no longer different are numbered.
    """
    known = _characters()
    shown = ["".join(c if ord(c) in known else _MISSING for c in label) for label in labels]
    return [
        f"{place + 1}: {text}" if text != label and shown.count(text) > 1 else text
        for place, (label, text) in enumerate(zip(labels, shown, strict=True))
    ]


def _families() -> tuple[str, ...]:
    """Return the default font and the others that are installed."""
    from matplotlib import rcParams

    return _installed(tuple(rcParams["font.family"]))


@functools.cache
def _installed(default: tuple[str, ...]) -> tuple[str, ...]:
    from matplotlib import font_manager

    names = set(font_manager.get_font_names())
    return (*default, *(name for name in _OTHERS if name in names))


def _characters() -> frozenset[int]:
    """Return the characters that the fonts have."""
    return _covered(_families())


@functools.cache
def _covered(families: tuple[str, ...]) -> frozenset[int]:
    from matplotlib import font_manager

    found: set[int] = set()
    for family in families:
        path = font_manager.findfont(font_manager.FontProperties(family=[family]))
        found |= font_manager.get_font(path).get_charmap().keys()
    return frozenset(found)
