"""Formulas in fences called `math`: MathML, which browsers draw without a script or a font."""

from typing import Any

from latex2mathml.converter import convert


def on_config(config: Any) -> Any:
    """Teach the fence."""
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {})
    fence = {"name": "math", "class": "formula", "format": formula}
    fences["custom_fences"] = [*fences.get("custom_fences", []), fence]
    return config


def formula(source: str, _language: str, css_class: str, *_: Any, **__: Any) -> str:
    """One formula a line."""
    lines = [convert(line, display="block") for line in source.splitlines() if line.strip()]
    return f'<div class="{css_class}">{"".join(lines)}</div>'
