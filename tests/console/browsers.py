"""The browser that screens are tested and drawn in: Debian's own Chromium."""

import shutil

from playwright.sync_api import Browser, Playwright

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""The headless shell, which has no windows, needs a third of the time."""
MISSING = "chromium is not installed: see .ci/services"


def launched(playwright: Playwright) -> Browser:
    """Start the browser, which must be installed (`CHROMIUM`)."""
    return playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
