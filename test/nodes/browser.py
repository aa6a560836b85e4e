"""The viewer's page in a real browser, as its users meet it."""

from contextlib import contextmanager
import io
import re
import shutil
import time

import numpy as np
import pytest

CHROMIUM = next(filter(None, map(shutil.which, (
    'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'))), None)
FLAGS = (
    '--no-sandbox --use-gl=angle --use-angle=swiftshader --disable-gpu-sandbox --no-first-run '
    '--disable-background-networking --disable-component-update --disable-sync').split()
HANDLE = (255, 32, 96)  # red, green, blue of the target's handle along x


@contextmanager
def open_browser():
    """Give a headless browser that draws in software, or skip the test."""
    if CHROMIUM is None:
        pytest.skip('no Chromium or Chrome on this machine to open the page in')
    api = pytest.importorskip('playwright.sync_api', reason='playwright is not installed')
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def address(viewer, timeout=20.0):
    """Wait until a viewer says where it is; return its address and port."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        found = re.search(r'http://127\.0\.0\.1:(\d+)$', viewer.output(), re.M)
        if found:
            return found[0], int(found[1])
        assert viewer.process.poll() is None, viewer.output()
        time.sleep(0.05)
    raise AssertionError(f'no address after {timeout} s: {viewer.output()}')


class Page:
    """The viewer's page, as a user sees it."""

    def __init__(self, browser, url, width=700, height=400):
        self.page = browser.new_page(viewport={'width': width, 'height': height})
        self.page.set_default_timeout(60_000)
        self.problems = []
        self.page.on('pageerror', lambda error: self.problems.append(str(error)))
        self.page.goto(url)

    def status(self, number=0):
        """Return the first line of the panel, or of a robot in it."""
        return self.page.get_by_role('status').nth(number).inner_text().splitlines()[0]

    def text(self):
        """Return all that is to be read."""
        return self.page.locator('body').inner_text()

    def wait_for(self, condition, timeout=60.0):
        """Wait until a condition holds; tell whether it does."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.page.wait_for_timeout(200)
        return True

    def open_tab(self, name):
        """Turn to another part of the panel."""
        self.page.get_by_text(name, exact=True).first.click()

    def picture(self):
        """Return what is to be seen: red, green and blue of (height, width) pixels."""
        from PIL import Image
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert('RGB')
        return np.moveaxis(np.asarray(picture, int), 2, 0)

    def magenta(self):
        """Count the pixels of the markers' color."""
        red, green, blue = self.picture()
        return int(((red > 100) & (blue > 100) & (green < 60)).sum())

    # --- Controls ---

    def slider(self, label, number=0):
        """Return a slider's track, by its label; of several such sliders, one by its number."""
        owner = self.page.locator('label', has_text=label).nth(number).get_attribute('for')
        return self.page.locator(f'[id="{owner}"]')

    def slider_value(self, label, number=0):
        """Return where a slider stands."""
        thumb = self.slider(label, number).get_by_role('slider')
        return float(thumb.get_attribute('aria-valuenow'))

    def drag_slider(self, label, part, number=0):
        """Drag a slider to a part of its range, with the mouse."""
        track = self.slider(label, number)
        track.scroll_into_view_if_needed()
        thumb, box = track.get_by_role('slider').bounding_box(), track.bounding_box()
        y = thumb['y'] + thumb['height'] / 2.0
        self._drag(thumb['x'] + thumb['width'] / 2.0, y, box['x'] + part * box['width'], y)

    def drag_target(self, distance):
        """Drag the target of a tip along its x axis, some pixels to the right."""
        red, green, blue = self.picture()
        r, g, b = HANDLE
        ys, xs = np.nonzero((abs(red - r) < 40) & (abs(green - g) < 40) & (abs(blue - b) < 40))
        assert len(xs), 'the target has no handle to be seen'
        right = xs >= xs.max() - 12
        x, y = float(np.median(xs[right])), float(np.median(ys[right]))
        self._drag(x, y, x + distance, y)

    def _drag(self, x, y, to_x, to_y):
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        for part in np.linspace(0.1, 1.0, 10):
            mouse.move(x + part * (to_x - x), y + part * (to_y - y))
            self.page.wait_for_timeout(30)
        mouse.up()
