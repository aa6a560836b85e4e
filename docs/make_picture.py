"""
Take the picture of README.md: the demo's page in headless Chromium, its arm bent by two tendons.

Run by `make picture`; needs Chromium.
"""

from __future__ import annotations

from pathlib import Path
import re
import shutil
import subprocess
import sys

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / 'docs' / 'tendon_arm.png'
CHROMIUM = ('chromium', 'chromium-browser', 'google-chrome')
SOFTWARE_WEBGL = ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader',
                  '--enable-unsafe-swiftshader']
START = 60_000  # [ms] until the robot is there at the latest
SETTLED = 4000  # [ms] until the scene stands
SWUNG = 2000    # [ms] until the arm does; its trail is still to be seen then
PULLED = {0: 0.2, 1: 0.12}  # which sliders are moved, and to which part of their range


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


def main() -> int:
    """Start the demo, drive its arm from the page, take the picture, stop it."""
    browser_path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser_path is None:
        print(f'No Chromium found ({", ".join(CHROMIUM)}).', file=sys.stderr)
        return 1
    command = [sys.executable, str(ROOT / 'environment' / 'demo.py'), '--robot', 'tendon_arm']
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        try:
            assert demo.stdout is not None
            found = (re.search(r'http://\S+', line) for line in demo.stdout)
            address = next(match.group() for match in found if match)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=browser_path, args=SOFTWARE_WEBGL)
                page = browser.new_page(viewport={'width': 1280, 'height': 800})
                page.goto(address)
                page.get_by_role('button', name='Release all').wait_for(timeout=START)
                page.wait_for_timeout(SETTLED)
                for number, part in PULLED.items():
                    pull(page, number, part)
                page.wait_for_timeout(SWUNG)
                page.get_by_label('Tip target', exact=True).click()
                page.get_by_text('View', exact=True).first.click()
                page.get_by_role('button', name='Fit view').click()
                page.get_by_text('Drive', exact=True).first.click()
                page.mouse.move(10, 10)  # off the sliders, which would explain themselves
                # That there is no graphics card is no news of the robot.
                page.add_style_tag(content='.mantine-Notification-root { display: none }')
                page.wait_for_timeout(500)
                page.screenshot(path=str(PICTURE))
                browser.close()
        finally:
            demo.terminate()
    print(PICTURE)
    return 0


if __name__ == '__main__':
    sys.exit(main())
