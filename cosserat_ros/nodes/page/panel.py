"""The panel beside the scene: status, switches, joint states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from .scene import Scene

# On a phone viser's panel covers the lower part of the scene; leave the robot most of it.
PHONE = """<style>@media (max-width: 36em) {
  .mantine-Paper-root[style*="max-height: 60%"] { max-height: 32% !important; }
}</style>"""


class Panel:
    """What stands beside the scene: status, switches, joint states."""

    def __init__(self, server: Any, scene: Scene, show_frames: bool) -> None:
        self._gui = gui = server.gui
        self._scene = scene
        self._folders: dict[str, Any] = {}
        self._switches: dict[tuple[str, str], Any] = {}
        self._title = ''
        gui.configure_theme(
            control_width='medium', show_logo=False, show_share_button=False,
            brand_color=(62, 98, 138))
        gui.main_panel.dock_right()  # beside the scene, not over it
        gui.add_html(PHONE, order=-1)
        self._status = gui.add_html('', order=0)
        with gui.add_folder('View', order=1):
            fit = gui.add_button('Fit view')
            self.frames = gui.add_checkbox(
                'Frames', show_frames, hint='Axes of every frame: x red, y green, z blue')
            self.names = gui.add_checkbox('Frame names', False)
            self.size = gui.add_slider(
                'Axis size [%]', 1.0, 30.0, 0.5, 6.0, hint="Of the scene's radius")
        self._joints_folder = gui.add_folder('Joint states', order=3, visible=False)
        with self._joints_folder:
            self._joints = gui.add_html('')

        @fit.on_click
        def _(event: Any) -> None:
            if event.client is not None:
                scene.fit(event.client)

    def set_title(self, title: str) -> None:
        """Name the page."""
        if title != self._title:
            self._title = title
            self._gui.set_panel_label(title)

    def set_status(self, good: bool, lines: Sequence[str]) -> None:
        """Say in one line how it goes, in the others what else there is to know."""
        dot = '#2f9e44' if good else '#e8590c'
        notes = ''.join(f'<div style="color:#868e96">{escape(line)}</div>' for line in lines[1:])
        self._status.content = (
            '<div role="status" style="font-size:0.85em;padding:0.3em 0.6em;line-height:1.45;'
            f'overflow-wrap:anywhere"><span style="color:{dot}">&#9679;</span> '
            f'{escape(lines[0])}{notes}</div>')

    def set_groups(self, groups: Iterable[tuple[str, str]]) -> None:
        """Offer a switch for every (topic, namespace)."""
        groups = list(groups)
        topics = {topic for topic, _ in groups}
        for topic in self._folders.keys() - topics:
            self._folders.pop(topic).remove()
        self._switches = {
            group: switch for group, switch in self._switches.items() if group[0] in topics}
        for group in groups:
            if group not in self._switches:
                self._switches[group] = self._add_switch(*group)

    def _add_switch(self, topic: str, namespace: str) -> Any:
        if topic not in self._folders:
            self._folders[topic] = self._gui.add_folder(topic, order=2)
        group = topic, namespace
        with self._folders[topic]:
            switch = self._gui.add_checkbox(
                namespace or '(no namespace)', self._scene.is_visible(group))
        switch.on_update(lambda _: self._scene.set_visible(group, switch.value))
        return switch

    def set_joints(self, topics: Mapping[str, Sequence[tuple[str, str, str, str]]]) -> None:
        """Show (name, position, velocity, effort) of every joint on every topic."""
        self._joints_folder.visible = bool(topics)
        self._joints.content = ''.join(
            joint_table(topic, rows) for topic, rows in topics.items())


def joint_table(topic: str, rows: Sequence[tuple[str, str, str, str]]) -> str:
    """HTML of one topic's joints."""
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
        f'<div style="color:#868e96;padding:0 0.35em">{escape(topic)}</div>'
        '<table style="width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums">'
        f'<tr>{head}</tr>{body}</table></div>')
