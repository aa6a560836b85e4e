"""What the page says in words and tables, as HTML. Whatever comes from elsewhere is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

GOOD, BAD, QUIET = '#2f9e44', '#e8590c', '#868e96'
TEXT = 'font-size:0.85em;padding:0.3em 0.6em;line-height:1.45;overflow-wrap:anywhere'


def status(good: bool, lines: Sequence[str]) -> str:
    """Say in one line how it goes, in the others what else there is to know."""
    notes = ''.join(f'<div style="color:{QUIET}">{escape(line)}</div>' for line in lines[1:])
    return (
        f'<div role="status" style="{TEXT}"><span style="color:{GOOD if good else BAD}">&#9679;'
        f'</span> {escape(lines[0])}{notes}</div>')


def remark(text: str, good: bool = True) -> str:
    """Say something beside a control; nothing at all takes no room."""
    if not text:
        return ''
    return f'<div role="note" style="{TEXT};color:{QUIET if good else BAD}">{escape(text)}</div>'


def joint_table(topic: str, rows: Sequence[tuple[str, str, str, str]]) -> str:
    """Show (name, position, velocity, effort) of one topic's joints."""
    cell = 'padding:0.1em 0.35em;text-align:right;white-space:nowrap'
    name = 'padding:0.1em 0.35em;text-align:left;overflow-wrap:anywhere'
    head = ''.join(
        f'<th style="{style};font-weight:600">{title}</th>' for title, style in (
            ('joint', name), ('position', cell), ('velocity', cell), ('effort', cell)))
    body = ''.join(
        f'<tr style="border-top:1px solid #e9ecef"><td style="{name}">{escape(row[0])}</td>'
        + ''.join(f'<td style="{cell}">{escape(value)}</td>' for value in row[1:]) + '</tr>'
        for row in rows)
    return (
        '<div style="padding:0.2em 0.3em;font-size:0.75em;overflow-x:auto">'
        f'<div style="color:{QUIET};padding:0 0.35em">{escape(topic)}</div>'
        '<table style="width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums">'
        f'<tr>{head}</tr>{body}</table></div>')
