"""The browser that screens are tested and drawn in: Debian's own Chromium."""

import shutil

from playwright.sync_api import Browser, Playwright

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""The shell without the browser's own windows does the same in a third of the time."""
MISSING = "chromium is not installed: see .ci/services"


def launched(playwright: Playwright) -> Browser:
    """Start the browser; `CHROMIUM` says that it is installed."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
