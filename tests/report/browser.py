"""A real browser for tests: Chromium without a window, driven through its DevTools pipe.

Messages are JSON, ended by a zero byte, on file descriptors 3 and 4 of the browser. No further
package is needed.
"""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PATIENCE = 120.0


def find():
    """Return the path of a browser; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A running browser, to be used in a ``with`` statement."""

    def __init__(self, folder):
        command = [
            find(),
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            f"--user-data-dir={folder}",
            "about:blank",
        ]
        into, self._out = os.pipe()
        self._in, out = os.pipe()

        def place():
            # Copies first: either may be 3 or 4 itself.
            a, b = os.dup(into), os.dup(out)
            a, b = os.dup2(a, 20), os.dup2(b, 21)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self._process = subprocess.Popen(
            command,
            preexec_fn=place,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(into)
        os.close(out)
        self._rest, self._number = b"", 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError, AssertionError):
            self._send("Browser.close", {}, None)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def page(self, path, *, width=1400, height=900, dark=False):
        """Open a file in a page of its own."""
        return Page(self, path, width, height, dark)

    def call(self, method, session=None, **parameters):
        """Return the answer to a command; events that come before it are kept."""
        number = self._send(method, parameters, session)
        while True:
            message = self._receive()
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self.events.append(message)

    def wait_for(self, method, session):
        """Read until an event comes, unless it has come already."""
        while not any(e.get("method") == method and e["sessionId"] == session for e in self.events):
            self.events.append(self._receive())

    def _send(self, method, parameters, session):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._number

    def _receive(self):
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._rest:
            assert time.monotonic() < end, "the browser does not answer"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)


class Page:
    """A page, with everything that it asked for and complained about."""

    def __init__(self, browser, path, width, height, dark):
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call(
            "Target.attachToTarget", targetId=target, flatten=True
        )["sessionId"]  # fmt: skip
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = "dark" if dark else "light"
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.call("Page.navigate", url=path.resolve().as_uri())
        browser.wait_for("Page.loadEventFired", self._session)

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def evaluate(self, expression):
        """Return the value of an expression of JavaScript; the page's policy does not apply."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def _events(self, method):
        return [
            event["params"]
            for event in self._browser.events
            if event.get("method") == method and event.get("sessionId") == self._session
        ]

    @property
    def requests(self):
        """The addresses that the page loaded, or tried to."""
        return [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]

    @property
    def complaints(self):
        """Messages of the console and of the browser."""
        return [
            *self._events("Runtime.consoleAPICalled"),
            *self._events("Runtime.exceptionThrown"),
            *self._events("Log.entryAdded"),
        ]

    def screenshot(self):
        """Return the whole page as PNG."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        return base64.b64decode(data)

    def pdf(self):
        """Return the printed page."""
        found = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        return base64.b64decode(found["data"])
