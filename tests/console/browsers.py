"""The browser for tests and screenshots of the screens: Debian's Chromium."""

import shutil

from playwright.sync_api import Browser, Playwright

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""The headless shell has no windows and needs a third of the time."""
MISSING = "chromium is not installed: see .ci/services"


def launched(playwright: Playwright) -> Browser:
    """Start the browser at `CHROMIUM`, which must be installed."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
