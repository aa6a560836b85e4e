"""What drives one robot: sliders, the target of its tip, and buttons for time and reset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import time
from typing import Any, NamedTuple

from .ranges import SliderRange
from .target import TipTarget
from .words import remark, status

TOUCHED = 1.0  # [s] that a slider is left alone after a user has moved it


class Orders(NamedTuple):
    """What a user may ask of a robot. Called from the page's threads; each returns at once."""

    set_command: Callable[[int, float], None]  # actuator, and its command in the command's unit
    release: Callable[[], None]                # all actuators to rest
    pause: Callable[[bool], None]              # or go on
    step: Callable[[int], None]                # so many time steps
    reset: Callable[[bool], None]              # to equilibrium, or else to rest
    solve: Callable[[], None]                  # for the target, which has moved
    fetch_target: Callable[[], None]           # put the target to where the tip is


class RobotControls:
    """
    A folder of the panel for one robot.

    Parameters
    ----------
    server : viser.ViserServer
    tab : viser.GuiTabHandle
        Where the folder goes.
    title : str
        Of the folder.
    sliders : sequence of SliderRange
        One per actuator.
    length : float
        Of the robot [m].
    orders : Orders

    """

    def __init__(
        self, server: Any, tab: Any, title: str, sliders: Sequence[SliderRange], length: float,
        orders: Orders,
    ) -> None:
        self._gui = server.gui
        self._ranges = list(sliders)
        self._touched = [0.0] * len(self._ranges)
        with tab:
            self._folder = self._gui.add_folder(title)
        with self._folder:
            self._state = self._gui.add_html('')
            self._add_sliders(orders)
            self.target = TipTarget(server, length, orders.solve, orders.fetch_target)
            self._add_time(orders)
            self._said = self._gui.add_html('')

    def _add_sliders(self, orders: Orders) -> None:
        self._sliders = [
            self._add_slider(index, one, orders) for index, one in enumerate(self._ranges)]
        if not self._ranges:
            self._gui.add_html(remark('This robot has no actuators.'))
            return
        remarks = '; '.join(one.remark for one in self._ranges if one.remark)
        if remarks:
            self._gui.add_html(remark(remarks))
        release = self._gui.add_button('Release all', hint='Every actuator to its rest value')
        release.on_click(lambda _: orders.release())

    def _add_slider(self, index: int, one: SliderRange, orders: Orders) -> Any:
        slider = self._gui.add_slider(
            f'{one.name} [{one.unit}]', one.low, one.high, one.step, one.rest,
            marks=((one.low, f'{one.low:g}'), (one.high, f'{one.high:g}')))

        @slider.on_update
        async def _(event: Any) -> None:  # awaited, so that moves keep their order
            if event.client is not None:  # else it was moved by `set_commands`
                self._touched[index] = time.monotonic()
                orders.set_command(index, one.command(slider.value))

        return slider

    def _add_time(self, orders: Orders) -> None:
        run = self._gui.add_button_group('Time', ('Pause', 'Run', 'Step'))
        self._steps = self._gui.add_number(
            'Steps', 1, min=1, max=100_000, step=1, hint='Number of time steps for "Step"')
        reset = self._gui.add_button_group(
            'Reset to', ('Rest', 'Equilibrium'),
            hint='The unloaded shape, or the static equilibrium of the present commands')

        @run.on_click
        def _(event: Any) -> None:
            if event.target.value == 'Step':
                orders.step(int(self._steps.value))
            else:
                orders.pause(event.target.value == 'Pause')

        reset.on_click(lambda event: orders.reset(event.target.value == 'Equilibrium'))

    def set_commands(self, commands: Sequence[float]) -> None:
        """Put the sliders to where the commands are, but for those that a user is moving."""
        now = time.monotonic()
        for slider, one, touched, command in zip(
                self._sliders, self._ranges, self._touched, commands):
            shown = one.shown(command)
            if now - touched > TOUCHED and abs(shown - slider.value) > 1e-9 * (one.high - one.low):
                slider.value = shown

    def set_state(self, good: bool, lines: Sequence[str]) -> None:
        """Say how the robot is."""
        self._state.content = status(good, lines)

    def say(self, text: str, good: bool = True) -> None:
        """Say what became of an order."""
        self._said.content = remark(text, good)

    def remove(self) -> None:
        """Take the folder and the target away."""
        self.target.remove()
        self._folder.remove()
