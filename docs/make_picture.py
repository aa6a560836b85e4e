"""
Take the pictures of README.md: pages of the demo in headless Chromium, of each example robot.

    environment/enter python docs/make_picture.py [names of robots]

Run by `make picture`; needs Chromium. The tendon arm is driven by the page's own sliders, with all
of the page; the others are commanded by a topic, or show themselves, and only the scene is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

from playwright.sync_api import Page, sync_playwright

from cosserat_ros.description.robot import load

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = ('chromium', 'chromium-browser', 'google-chrome')
SOFTWARE_WEBGL = ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader',
                  '--enable-unsafe-swiftshader']
DOMAIN = '86'   # of ROS: no demo that runs beside this one is heard
START = 60_000  # [ms] until the robot is there at the latest
SETTLED = 4000  # [ms] until the scene stands
SWUNG = 2000    # [ms] until the arm does; its trail is still to be seen then
PULLED = {0: 0.2, 1: 0.12}  # which sliders are moved, and to which part of their range
WHOLE, SCENE, PANEL = (1280, 800), (640, 480), 324  # width and height; its width [pixels]
# Commands, one after the other, and how long each is waited for [s].
MOVES: dict[str, list[tuple[dict[str, float], float]]] = {
    'mobile_arm': [({'tendon_1': 5.0, 'tendon_2': 4.0}, 3.0)],
    'dual_arm': [({'left_1': 6.0, 'right_1': 6.0, 'left_2': 5.0, 'right_4': 5.0}, 3.0)],
    'catheter': [({'insertion': 0.11}, 6.0)],
    'swimmer': [({'wave_amplitude': 1.5, 'wave_frequency': 1.0, 'wave_turn': 1.0}, 6.0)],
}
# Those that are in motion: simulated time of the picture, and until all is as it was [s].
STOPPED = {'frame': (2.6, 12.6), 'flapping_wing': (0.16, 0.04), 'gripper': (2.9, 10.0),
           'swimmer': (0.0, 1.0)}
# Names of pictures that are not the robots': papers.md has pictures of these names.
PICTURES = {'swimmer': 'swimming', 'flapping_wing': 'flapping'}


def pull(page: Page, number: int, part: float) -> None:
    """Move one of the actuators' sliders, by its number, to a part of its range."""
    name = page.locator('label', has_text=re.compile(r' \[N\]$')).nth(number)
    slider = page.locator(f'[id="{name.get_attribute("for")}"]')
    track, thumb = slider.bounding_box(), slider.get_by_role('slider').bounding_box()
    assert track is not None and thumb is not None
    height = thumb['y'] + thumb['height'] / 2.0
    page.mouse.move(thumb['x'] + thumb['width'] / 2.0, height)
    page.mouse.down()
    page.mouse.move(track['x'] + part * track['width'], height, steps=10)
    page.mouse.up()


def fit_view(page: Page) -> None:
    """Let the camera look at the robot as it is now."""
    page.get_by_text('View', exact=True).first.click()
    page.get_by_role('button', name='Fit view').click()
    page.get_by_text('Drive', exact=True).first.click()
    page.mouse.move(10, 10)  # off the sliders, which would explain themselves


def drive_by_sliders(page: Page) -> None:
    """Bend the tendon arm as a user of the page does."""
    for number, part in PULLED.items():
        pull(page, number, part)
    page.wait_for_timeout(SWUNG)
    page.get_by_label('Tip target', exact=True).click()


def drive_by_topic(page: Page, robot: str) -> None:
    """Begin from rest, and command a robot; look at it where it has got to."""
    names = list(load(ROOT / 'config' / f'{robot}.yaml').actuators)
    cosserat('call', '/simulator/reset', '{}')
    for commands, seconds in MOVES[robot]:
        told = [float(commands.get(name, 0.0)) for name in names]
        cosserat('pub', '/simulator/commands', f'{{data: {told}}}')
        page.wait_for_timeout(1e3 * seconds)


def stop_at(instant: float, period: float) -> None:
    """Stop a robot that moves, at an instant [s] or whole periods later."""
    cosserat('call', '/simulator/pause', '{data: true}')
    first, second = simulated_time(1), simulated_time(1)
    left = (instant - second) % period
    simulated_time(max(round(left / (second - first)), 1))


def simulated_time(steps: int) -> float:
    """Take steps; return the time after them [s]."""
    answer = cosserat('call', '/simulator/step', f'{{steps: {steps}}}')
    seconds, nanoseconds = map(int, re.findall(r'sec: (\d+)', answer))
    return seconds + 1e-9 * nanoseconds


def cosserat(*words: str) -> str:
    """Run a subcommand of the package; return what it prints."""
    return subprocess.run(
        ['cosserat', *words], check=True, stdout=subprocess.PIPE, text=True, timeout=60.0).stdout


@contextmanager
def demo(robot: str) -> Iterator[str]:
    """Start the demo of a robot; give the address of its page, stop it."""
    command = [sys.executable, str(ROOT / 'environment' / 'demo.py'), '--robot', robot]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            found = (re.search(r'http://\S+', line) for line in running.stdout)
            yield next(match.group() for match in found if match)
        finally:
            running.terminate()


def main() -> int:
    """Start a demo for each robot, drive it, take its picture."""
    browser_path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser_path is None:
        print(f'No Chromium found ({", ".join(CHROMIUM)}).', file=sys.stderr)
        return 1
    known = list(dict.fromkeys(['tendon_arm', *MOVES, *STOPPED]))
    unknown = set(sys.argv[1:]) - set(known)
    if unknown:
        print(f'{", ".join(sorted(unknown))}: pictures are taken of {", ".join(known)}',
              file=sys.stderr)
        return 2
    os.environ.setdefault('ROS_DOMAIN_ID', DOMAIN)
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    for robot in sys.argv[1:] or known:
        with demo(robot) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=SOFTWARE_WEBGL)
            bare, picture = robot != 'tendon_arm', (
                ROOT / 'docs' / f'{PICTURES.get(robot, robot)}.png')
            width, height = SCENE if bare else WHOLE
            page = browser.new_page(viewport={'width': width + bare * PANEL, 'height': height})
            page.goto(address)
            page.get_by_text('Drive', exact=True).first.wait_for(timeout=START)
            page.wait_for_timeout(SETTLED)
            if not bare:
                drive_by_sliders(page)
            if robot in MOVES:
                drive_by_topic(page, robot)
            if robot in STOPPED:
                stop_at(*STOPPED[robot])
            fit_view(page)
            # That there is no graphics card is no news of the robot.
            page.add_style_tag(content='.mantine-Notification-root { display: none }')
            page.wait_for_timeout(1000)
            page.screenshot(
                path=str(picture), clip={'x': 0, 'y': 0, 'width': width, 'height': height})
            browser.close()
        print(picture)
    return 0


if __name__ == '__main__':
    sys.exit(main())
