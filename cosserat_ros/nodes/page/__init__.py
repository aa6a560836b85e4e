"""The viewer's web page: a scene of markers and frames, and a panel that drives the robots."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread

from .charts import Charts, Lines
from .guard import Guard, Unguarded
from .panel import Panel
from .ranges import SliderRange
from .robot_controls import Orders, RobotControls
from .scene import Scene
from .trail import Trail


class Page:
    """
    The page and the server that gives it out.

    Parameters
    ----------
    host : str
        Address to listen on.
    port : int
        Port to listen on; 0 for any that is free.
    show_frames : bool
        Whether axes are drawn at first.
    guard : Guard
        Who decides who is answered.

    Raises
    ------
    Unguarded
        If everybody would be answered.

    """

    def __init__(self, host: str, port: int, show_frames: bool, guard: Guard) -> None:
        import rich
        import viser  # takes half a second to import
        rich.get_console().quiet = True  # viser's banner; the node says in its own log where it is
        with guard.posted():
            self.server = viser.ViserServer(host=host, port=port, label='viewer', verbose=False)
        try:
            guard.check(host, self.port)
        except Unguarded:
            self.close()
            raise
        self.scene = Scene(self.server)
        self.panel = Panel(self.server, self.scene, show_frames)

    @property
    def port(self) -> int:
        """Port that is listened on."""
        return self.server.get_port()

    @property
    def watched(self) -> bool:
        """Tell whether anybody looks."""
        return bool(self.server.get_clients())

    def add_controls(
        self, title: str, sliders: Sequence[SliderRange], length: float, orders: Orders,
    ) -> RobotControls:
        """Make a place from which a robot of some length [m] is driven."""
        return RobotControls(
            self.server, self.panel.drive, title, sliders, length, orders)

    def add_charts(self, title: str, charts: Sequence[Lines]) -> Charts:
        """Make a place for a robot's charts."""
        return Charts(self.server.gui, self.panel.charts, title, charts)

    def add_trail(self, length: float) -> Trail:
        """Make a trail for the tip of a robot of some length [m]."""
        return Trail(self.server.scene, length)

    def close(self, patience: float = 1.0) -> None:
        """Stop serving, without waiting [s] for browsers that do not say goodbye."""
        stopping = Thread(target=self.server.stop, daemon=True)
        stopping.start()
        stopping.join(patience)
