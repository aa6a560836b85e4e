"""
Take the picture of README.md: the demo's page in headless Chromium.

Run by `make picture`; needs Chromium.
"""

from __future__ import annotations

from pathlib import Path
import re
import shutil
import subprocess
import sys

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / 'docs' / 'tendon_arm.png'
CHROMIUM = ('chromium', 'chromium-browser', 'google-chrome')
SOFTWARE_WEBGL = ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader',
                  '--enable-unsafe-swiftshader']
SETTLED = 6000  # [ms] until the scene stands


def main() -> int:
    """Start the demo, look at its page, stop it."""
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
                page = browser.new_page(viewport={'width': 1200, 'height': 720})
                page.goto(address)
                page.wait_for_timeout(SETTLED)
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
