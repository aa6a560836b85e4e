"""The panel beside the scene: how it goes, what drives the robots, charts, and what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .scene import Scene
from .words import joint_table, remark, status

# On a phone viser's panel covers the lower part of the scene; leave the robot the greater part of
# the screen, and let the panel be as wide as that.
PHONE = """<style>@media (max-width: 36em) {
  .mantine-Paper-root[style*="max-height: 60%"] {
    max-height: 42% !important; width: 100% !important; }
  .mantine-Paper-root[style*="max-height: 60%"] [style*="width: 20em"] { width: 100% !important; }
}</style>"""
NO_ROBOT = ('No robot to drive yet: a robot appears here as soon as its simulator publishes its '
            'description (cosserat_ros/msg/RobotInfo).')


class Panel:
    """
    What stands beside the scene.

    Parameters
    ----------
    server : viser.ViserServer
    scene : Scene
    show_frames : bool
        Whether the switch for frames is on at first.

    """

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
        tabs = gui.add_tab_group(order=1)
        self.drive = tabs.add_tab('Drive')
        self.charts = tabs.add_tab('Charts')
        self.view = tabs.add_tab('View')
        with self.drive:
            self._nobody = gui.add_html(remark(NO_ROBOT))
        with self.charts:
            self.draw_charts = gui.add_checkbox(
                'Draw charts', True, hint='The last ten seconds; takes some computing time')
        with self.view:
            self._add_view(show_frames)

    def _add_view(self, show_frames: bool) -> None:
        gui = self._gui
        fit = gui.add_button('Fit view')
        self.frames = gui.add_checkbox(
            'Frames', show_frames, hint='Axes of every frame: x red, y green, z blue')
        self.names = gui.add_checkbox('Frame names', False)
        self.size = gui.add_slider(
            'Axis size [%]', 1.0, 30.0, 0.5, 6.0, hint="Of the scene's radius")
        self.trail = gui.add_checkbox(            'Tip trail', True, hint='Past path of the tip')
        self.trail_length = gui.add_slider('Trail [s]', 1.0, 60.0, 1.0, 5.0)
        self._joints_folder = gui.add_folder('Joint states', order=1e9, visible=False)
        with self._joints_folder:
            self._joints = gui.add_html('')

        @fit.on_click
        def _(event: Any) -> None:
            if event.client is not None:
                self._scene.fit(event.client)

    def set_title(self, title: str) -> None:
        """Name the page."""
        if title != self._title:
            self._title = title
            self._gui.set_panel_label(title)

    def set_status(self, good: bool, lines: Sequence[str]) -> None:
        """Say in one line how it goes, in the others what else there is to know."""
        self._status.content = status(good, lines)

    def set_robots(self, number: int) -> None:
        """Say how many robots there are to drive."""
        self._nobody.visible = number == 0

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
            with self.view:
                self._folders[topic] = self._gui.add_folder(topic)
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
