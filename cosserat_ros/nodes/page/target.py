"""A target for the tip, to be dragged about in the scene."""

from __future__ import annotations

from collections.abc import Callable
import itertools
from typing import Any, Optional

import numpy as np

from .geometry import quaternions
from .words import remark

SIZE = 0.22        # of the handles, as a part of the robot's length
BALL = 0.018       # radius of the target itself, likewise
COLOUR = (230, 119, 0)
NUMBERS = itertools.count()  # for names in the scene


class TipTarget:
    """
    Handles in the scene, and their switches in the folder that is open.

    They hang on a node that stands where the robot's base_link is, so that the target is always
    seen from there.

    Parameters
    ----------
    server : viser.ViserServer
    length : float
        Of the robot [m].
    moved : callable
        Called when a user has moved the target or wants another kind of it.
    fetch : callable
        Called when a user wants the target to be where the tip is.

    """

    def __init__(
        self, server: Any, length: float, moved: Callable[[], None], fetch: Callable[[], None],
    ) -> None:
        gui, scene = server.gui, server.scene
        self._switch = gui.add_checkbox(
            'Tip target', False, hint='Drag it: the tip moves there, or as near as possible')
        self._oriented = gui.add_checkbox(
            'with direction', False, visible=False,
            hint='The tip also takes the orientation of the target')
        button = gui.add_button('Target to tip', visible=False)
        self._said = gui.add_html('')
        self._base = scene.add_frame(
            f'/targets/{next(NUMBERS)}', show_axes=False, visible=False)
        self._handles = scene.add_transform_controls(
            f'{self._base.name}/handles', scale=SIZE * length, line_width=3.0, depth_test=False,
            disable_rotations=True)
        scene.add_icosphere(f'{self._handles.name}/ball', radius=BALL * length, color=COLOUR)

        @self._handles.on_update
        async def _(event: Any) -> None:  # awaited, so that moves keep their order
            if event.phase != 'start':
                moved()

        @self._switch.on_update
        def _(_: Any) -> None:
            self._base.visible = button.visible = self._oriented.visible = self.is_shown
            self.say('')
            if self.is_shown:
                fetch()

        @self._oriented.on_update
        def _(_: Any) -> None:
            self._handles.disable_rotations = not self._oriented.value
            moved()

        button.on_click(lambda _: fetch())

    @property
    def is_shown(self) -> bool:
        """Tell whether there is a target."""
        return self._switch.value

    def pose(self) -> tuple[np.ndarray, Optional[np.ndarray]]:
        """Position [m] and, if it counts, quaternion w x y z, seen from base_link."""
        wxyz = np.array(self._handles.wxyz, float)
        return np.array(self._handles.position, float), wxyz if self._oriented.value else None

    def place(self, pose: np.ndarray) -> None:
        """Put the target to a (4, 4) pose seen from base_link [-, m]."""
        self._handles.position = pose[:3, 3]
        self._handles.wxyz = quaternions(pose[None, :3, :3])[0]

    def set_base(self, pose: np.ndarray) -> None:
        """Say where base_link is: a (4, 4) pose in the fixed frame [-, m]."""
        wxyz = quaternions(pose[None, :3, :3])[0]
        if not np.array_equal(self._base.position, pose[:3, 3]):
            self._base.position = pose[:3, 3]
        if not np.array_equal(self._base.wxyz, wxyz):
            self._base.wxyz = wxyz

    def say(self, text: str, good: bool = True) -> None:
        """Say how far the target is met."""
        self._said.content = remark(text, good)

    def remove(self) -> None:
        """Take the handles out of the scene; the switches go with their folder."""
        self._base.remove()
