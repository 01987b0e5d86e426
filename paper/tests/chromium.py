# SPDX-License-Identifier: MIT
"""Debian's Chromium without a window, driven over two pipes by its DevTools protocol. Nothing has to be installed for
it but the browser: it reads commands, each ended by a zero byte, from descriptor 3 and answers on descriptor 4."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

PROGRAM = shutil.which("chromium")
LIMIT_S = 120
"""For one answer. A picture may take long beside other work."""
ABOVE = 10
"""Descriptors that are none of 3 and 4."""


class Browser:
    """One page in a browser of its own. `trouble` is every error on the console and all that was thrown; `asked` is
    every address that was loaded."""

    def __init__(self, folder: Path, width: int = 1500, height: int = 1000) -> None:
        """`folder` is where the browser keeps its own files."""
        (child_in, ours_out), (ours_in, child_out) = os.pipe(), os.pipe()
        high = [fcntl.fcntl(one, fcntl.F_DUPFD, ABOVE) for one in (child_in, child_out)]
        os.close(child_in)
        os.close(child_out)

        def arrange() -> None:
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", f"--user-data-dir={folder}",
             "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-dev-shm-usage",
             "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-unsafe-swiftshader", "--hide-scrollbars",
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=arrange,
            pass_fds=(3, 4),
        )  # fmt: skip
        for one in high:
            os.close(one)
        self.to, self.of = ours_out, ours_in
        self.rest, self.count, self.session = b"", 0, None
        self.trouble: list[str] = []
        self.asked: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_) -> None:
        self.process.terminate()
        self.process.wait(timeout=LIMIT_S)
        os.close(self.to)
        os.close(self.of)

    def heard(self) -> dict:
        """The next message."""
        until = time.monotonic() + LIMIT_S
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.of], [], [], max(until - time.monotonic(), 0))
            read = os.read(self.of, 1 << 20) if ready else b""
            assert read, f"Chromium says nothing (status {self.process.poll()})"
            self.rest += read
        line, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(line)
        given = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.trouble.append(json.dumps(given["exceptionDetails"])[:2000])
            case "Runtime.consoleAPICalled" if given["type"] in ("error", "assert"):
                self.trouble.append(json.dumps(given["args"])[:2000])
            case "Log.entryAdded" if given["entry"]["level"] == "error":
                self.trouble.append(f"{given['entry']['text']} {given['entry'].get('url', '')}")
            case "Network.requestWillBeSent":
                self.asked.append(given["request"]["url"])
        return message

    def call(self, method: str, **given) -> dict:
        """A command's answer."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": given}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.heard()
            if answer.get("id") == self.count:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def run(self, expression: str):
        """The value of an expression in the page; of a promise, what it resolves to."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, f"{expression}: {found['exceptionDetails']}"
        return found["result"].get("value")

    def wait(self, expression: str, what: str) -> None:
        """Until an expression is true."""
        until = time.monotonic() + LIMIT_S
        while not self.run(f"Boolean({expression})"):
            assert time.monotonic() < until, f"waited {LIMIT_S} s for {what}: {self.trouble}"
            time.sleep(0.1)

    def open(self, path: Path, way: str = "") -> None:
        """A page from a folder, and what stands behind the # of its address."""
        self.call("Page.navigate", url=f"{path.resolve().as_uri()}{way}")
        self.wait(f"location.href.startsWith({json.dumps(path.resolve().as_uri())})", "the page")
        self.wait("document.readyState === 'complete'", "the page")

    def click(self, selector: str) -> None:
        """A click with the mouse in the middle of the first element that fits, which is brought into view."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.wait(element, selector)
        self.run(f"{element}.scrollIntoView({{block: 'center', inline: 'center', behavior: 'instant'}})")
        x, y = self.run(f"(() => {{ const r = {element}.getBoundingClientRect();"
                        "return [r.x + r.width / 2, r.y + r.height / 2]; })()")  # fmt: skip
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drag(self, selector: str, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag the mouse between two places of an element, each a share of its width and height."""
        box = self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                       "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
                       "return [r.x, r.y, r.width, r.height]; })()")  # fmt: skip
        course = (("mouseMoved", begin), ("mousePressed", begin), ("mouseMoved", end), ("mouseReleased", end))
        for kind, (x, y) in course:
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0] + x * box[2], y=box[1] + y * box[3],
                      button="left", buttons=1, clickCount=1)  # fmt: skip

    def picture(self, path: Path, whole: bool = False) -> None:
        """A PNG of what is seen, or of the whole page."""
        made = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(made["data"]))
