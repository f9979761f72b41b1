"""The report page in Chromium, from a file and without a network: what a reader sees, hears and can reach by keys.

Modules tested here: harness/reporting/page_model.py.
"""

import base64
import fcntl
import json
import os
import subprocess
from dataclasses import replace

import pytest

from harness.reporting import page
from harness.reporting.page_model import BothCodes, Cell, Claim, Code, Column, Figure, Output, Past, Report, Run

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-pipe", "--hide-scrollbars", "--window-size=1280,900",
)  # fmt: skip
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
        "ArrowDown": 40}  # fmt: skip
HOSTILE = "<img src=x onerror=window.hostile=1></script><script>window.hostile=1</script>\u202e"


class Browser:
    """Chromium, spoken to through a pipe: one JSON message, one zero byte. One tab, whose events are kept."""

    def __init__(self, tool, profile):
        ours, theirs = self._pipe(), self._pipe()
        command = [tool, *FLAGS, f"--user-data-dir={profile}", "about:blank"]

        def hand_over():
            os.dup2(ours[0], 3)
            os.dup2(theirs[1], 4)

        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=hand_over, pass_fds=(3, 4))  # fmt: skip
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.back, self.count, self.events, self.rest = ours[1], theirs[0], 0, [], b""
        self.tab = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.tab = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility", "DOM"):
            self.call(f"{domain}.enable")

    @staticmethod
    def _pipe():
        """Above the two descriptors that Chromium wants."""
        ends = os.pipe()
        moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
        for end in ends:
            os.close(end)
        return moved

    def call(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.tab:
            message["sessionId"] = self.tab
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._read()
            if reply.get("id") == self.count:
                assert "error" not in reply, reply
                return reply["result"]
            self.events.append(reply)

    def _read(self):
        while b"\0" not in self.rest:
            data = os.read(self.back, 1 << 20)
            assert data, "Chromium is gone"
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def close(self):
        os.close(self.to)
        try:
            self.process.wait(timeout=600)
        finally:
            self.process.kill()
        os.close(self.back)

    def open(self, address):
        """Go there and wait until the page's script ran."""
        self.events.clear()
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.until("document.documentElement.dataset.ready === 'true'")

    def ask(self, expression):
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True,
                          userGesture=True)  # fmt: skip
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, expression):
        waiting = f"""new Promise((done) => {{
            const end = performance.now() + 15000;
            const look = () => {{
                let holds = false;
                try {{ holds = ({expression}); }} catch {{}}
                if (holds || performance.now() > end) done(Boolean(holds)); else setTimeout(look, 10);
            }};
            look();
        }})"""
        assert self.ask(waiting), f"never: {expression}"

    def press(self, key, *modifiers):
        about = {"key": key, "code": key, "modifiers": 8 if "Shift" in modifiers else 0}
        about |= {"windowsVirtualKeyCode": KEYS[key]} if key in KEYS else {"text": key}
        about |= {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **about)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def media(self, kind="", scheme="light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=kind, features=features)

    def focus(self):
        return self.ask("document.activeElement.closest('td, button, input, select, a, h2')?.textContent || ''").strip()

    def seen(self):
        return self.ask("document.body.innerText")


@pytest.fixture(scope="module")
def chromium(needs, tmp_path_factory):
    tool = needs("chromium", "chromium")
    browser = Browser(tool, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def run(name, date, **facts):
    return Run(name, date, tuple(facts.items()))


PTX = "\n".join([".entry k()", "{", *(f"\tadd.s32 %r{n + 1}, %r{n}, 1;" for n in range(20)), "\tret;", "}"])
GOOD = run("good-1", "2026-11-01T08:00:00Z", driver="575.51", gpu="H200", seed="0")
BAD = run("bad-7", "2026-11-20T12:00:00Z", driver="580.65", gpu="H200", seed="0")
REGRESSED = Cell(
    0, 1, "regressed", f"differs from the golden {HOSTILE}", BAD, GOOD, "last good", BAD, GOOD.date,
    (Past("good-1", GOOD.date, "pass", "", "q1"), Past("bad-7", BAD.date, "fail", HOSTILE, "q2")), 2,
    (Output("out", "differs in 24 of 32 elements", (0,) * 8 + (3,) * 24, (("[8]", "lane 8", "0x1 1", "0x0 0"),), 3),),
    (Code("PTX", "k", PTX, PTX.replace("%r9, 1", "%r9, 2")),
     Code("SASS", "k", "IADD R1, R2\nEXIT", "IADD R3, R2\nEXIT")),
    "uv run repro run repros/shuffle.py -p 'width=8' --host p1", "only the driver differs", ("77-1 passed",),
    (("uv run repro run repros/shuffle.py --host p2", "whether the driver is the cause"),),
    ((150, f"r = [0, 1] {HOSTILE}"), (50, "r = [1, 0]"), (0, "r = [1, 1]  (allowed)")),
    finding=f"repros/shuffle.py:3:5: RACE at repros/shuffle.py:2, {HOSTILE} PTX line 1, other.py:1, not line 9",
    source=f"one = 1\ntwo = '{HOSTILE}'\nthree = 3\n",
    first="2026-11-01", last="2026-11-20", changed="2026-11-20",
)  # fmt: skip


def made():
    """Four claims (the third and fourth cases of one repro) on an emulator and two hosts."""
    claims = (
        Claim("repros/shuffle.py", "width=8", f"A shuffle stays in its segment. {HOSTILE}"),
        Claim("repros/vote.py", "", "A vote counts lanes."),
        Claim("repros/loop.py", "trips=3", "A loop ends."),
        Claim("repros/loop.py", "trips=8", "A loop ends."),
    )
    columns = (
        Column("sm_90", "embedded", "ours", False),
        Column("sm_90", "p1", "ours", True, "NVIDIA H200", "580.65", "0.1.0", "2026-11-01", "2026-11-20"),
        Column("sm_100", "b200", "nvidia==4.6.3", True),
    )
    cells = [Cell(row, 0, "predicted", "no hardware has run it", GOOD, GOOD, rerun="uv run repro run x.py")
             for row in range(4)]  # fmt: skip
    cells += [REGRESSED]
    cells += [Cell(row, 1, "validated", "passed on H200", BAD, BAD, validated=BAD.date) for row in (1, 2)]
    cells += [Cell(3, 1, "stale", "the driver changed", GOOD, GOOD, validated=GOOD.date)]
    cells += [Cell(1, 2, "validated", "passed on B200", GOOD, GOOD, validated=GOOD.date)]
    figures = Figure("registers", 20, 12, True), Figure("instructions", 2, 2)
    codes = BothCodes("k", "NVIDIA's 4.8.1", "13.5", figures, "IADD R1, R2\nEXIT\n", "IADD R1, R3\nFADD R2, R2\n")
    missing = BothCodes("k", "NVIDIA's 4.8.1", problem=f"no `ptxas` {HOSTILE}")
    return Report("gpu-repro", claims, columns, tuple(cells), ((2, 0, codes), (3, 0, missing)))


@pytest.fixture
def opened(chromium, tmp_path):
    """`opened(fragment)`: the browser at the report, or at what the fragment names."""
    path = tmp_path / "report.html"
    path.write_text(page.render(made()))

    def opened(fragment=""):
        chromium.media()
        chromium.open(path.as_uri() + fragment)
        return chromium

    yield opened
    assert chromium.ask("window.hostile") is None
    asked = [e["params"]["request"]["url"] for e in chromium.events if e.get("method") == "Network.requestWillBeSent"]
    assert all(address.startswith((path.as_uri(), "data:")) or address == "about:blank" for address in asked), asked
    assert any(address.startswith(path.as_uri()) for address in asked)
    wrong = [e for e in chromium.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    assert not wrong, wrong


LINK = "#" + page.fragment(made().claims[0], made().columns[1])


def nodes(browser):
    """(role, name) of everything that a screen reader reads, in order."""
    found = browser.call("Accessibility.getFullAXTree")["nodes"]
    heard = [node for node in found if not node["ignored"]]
    return [(node["role"]["value"], node.get("name", {}).get("value", "").strip()) for node in heard]


@pytest.mark.slow
def test_the_matrix_as_a_screen_reader_hears_it(opened):
    heard = nodes(opened())
    roles = [role for role, _ in heard]
    assert [name for role, name in heard if role == "heading"] == ["gpu-repro", "States", "Needs attention", "Matrix"]
    assert {"banner", "main", "search", "table", "region"} <= set(roles)
    assert roles.count("columnheader") == 6 and roles.count("rowheader") == 4 and roles.count("cell") == 12
    assert ("table", "The state of each claim, by GPU architecture, host and compiler") in heard
    assert ("link", "regressed") in heard and ("searchbox", "Filter claims") in heard
    assert heard.count(("StaticText", "not run")) == 3


@pytest.mark.slow
def test_a_cell_page_as_a_screen_reader_hears_it(opened):
    browser = opened(LINK)
    browser.until("document.querySelector('#cell-title')")
    heard = nodes(browser)
    assert [name for role, name in heard if role == "heading"][1:] == [
        page.visible(made().claims[0].text), "Run it again", "Finding", "Differences",
        "Outcomes seen in 200 runs", "Cause", "Source", "Differences from the last good run", "PTX of k", "SASS of k", "History: 2 runs",
    ]  # fmt: skip
    assert ("image", "Lanes that differ: 8-31") in heard
    assert any(role == "button" and name.startswith("Copy the command uv run repro run") for role, name in heard)
    assert "changed:" in [name for role, name in heard if role == "StaticText"]


def test_text_of_a_cell_page(opened):
    browser = opened(LINK)
    browser.until("document.querySelector('#cell-title')")
    text = browser.seen()
    for said in ("▼ regressed: differs from the golden", "Last validated by hardware here 2026-11-01 08:00:00",
                 "2 wk before the newest run", "575.51", "580.65", "2 fields did not change", "only the driver differs",
                 "Filled: the lanes that differ, 8-31.", "1 line changed",
                 "0 lines changed, 1 only with other register",
                 "uv run repro run repros/shuffle.py -p 'width=8' --host p1", "\\u202e"):  # fmt: skip
        assert said in text, said
    assert browser.ask("[...document.querySelectorAll('.strip rect')].map((r) => r.getAttribute('class'))") == (
        [None] * 8 + ["d3"] * 24
    )
    assert browser.ask("[...document.querySelectorAll('del, ins')].map((one) => one.textContent)") == ["1", "2"]
    assert browser.ask("document.title").startswith("regressed: A shuffle")


def test_lines_in_a_finding_lead_to_the_source(opened):
    browser = opened(LINK)
    browser.until("document.querySelector('#cell-title')")
    links = "[...document.querySelectorAll('.finding a')].map((one) => [one.textContent, one.getAttribute('href')])"
    assert browser.ask(links) == [["3", LINK + ":3"], ["2", LINK + ":2"]]
    browser.ask("document.querySelector('.finding a').click()")
    browser.until("document.querySelector('.source .wanted')")
    assert browser.ask("document.activeElement.textContent") == "three = 3"
    browser = opened(LINK + ":2")
    browser.until("document.querySelector('.source .wanted')")
    assert browser.ask("document.activeElement.id") == "line-2"


def test_an_output_that_differs_leads_to_the_line_that_names_it(opened):
    browser = opened(LINK)
    browser.until("document.querySelector('#cell-title')")
    named = "[...document.querySelectorAll('article p a')].find((one) => one.textContent === '3')"
    assert browser.ask(f"{named}.parentElement.textContent").startswith("out (named at line 3): differs in 24 of")
    assert browser.ask(f"{named}.getAttribute('href')") == LINK + ":3"
    browser.ask(f"{named}.focus()")
    browser.press("Enter")
    browser.until("document.querySelector('.source .wanted')")
    assert browser.ask("document.activeElement.textContent") == "three = 3"
    browser.ask("history.back()")
    browser.until("!document.querySelector('.source .wanted')")


@pytest.mark.slow
def test_machine_code_of_both_compilers_on_the_page_of_a_claim(opened):
    browser = opened("#" + page.claim_fragment(made().claims[2]))
    browser.until("document.querySelector('#cell-title')")
    browser.ask("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    heard = [name for role, name in nodes(browser) if role == "heading"]
    assert heard[-3:] == ["Machine code of both compilers", "k trips=3 · sm_90", "k trips=8 · sm_90"]
    text = browser.seen()
    for said in ("ptxas 13.5", "registers\t20\t12\tabove the bar", "NVIDIA's 4.8.1", "SASS side by side",
                 "1 line changed, 1 only with other register", "No SASS: no `ptxas`"):  # fmt: skip
        assert said in text, said


def test_an_emulator_only_predicts(opened):
    browser = opened("#" + page.fragment(made().claims[1], made().columns[0]))
    browser.until("document.querySelector('#cell-title')")
    text = browser.seen()
    assert "This column is of an emulator: its verdicts are predictions, not validations." in text
    assert "Hardware has never passed it here." in text and "◇ predicted" in text


def test_a_link_to_nothing_is_reported(opened):
    browser = opened("#/repros/%3Cimg%20src=x%3E@a/b/c")
    browser.until("document.querySelector('#cell-title')")
    assert "This report has no such cell" in browser.seen() and "<img src=x>" in browser.seen()


SHOWN = "[...document.querySelectorAll('.matrix tbody tr')].flatMap((row) => row.hidden ? [] : [row.rowIndex - 2])"


def test_filters_by_words_and_states_and_keeps_them_in_the_address(opened):
    browser = opened()
    browser.press("/")
    browser.type("loop ends")
    assert browser.ask(SHOWN) == [2, 3] and "2 of 4 claims" in browser.seen()
    assert browser.ask("location.hash") == "#?q=loop%20ends"
    browser.ask("document.querySelector('button[data-state=stale]').click()")
    assert browser.ask(SHOWN) == [3] and browser.ask("location.hash") == "#?q=loop%20ends&state=stale"
    assert "A loop ends." in browser.seen().split("Matrix")[1]  # the first row shown of a repro names the claim
    browser.ask("document.querySelector('#clear').click()")
    assert browser.ask(SHOWN) == [0, 1, 2, 3] and browser.ask("location.hash") == ""
    browser = opened("#?q=vote&state=validated,regressed")
    assert browser.ask(SHOWN) == [1]
    assert browser.ask("document.querySelector('button[data-state=regressed]').ariaPressed") == "true"


def test_every_thing_is_reached_by_keys(opened):
    browser = opened()
    order = []
    for _ in range(30):
        browser.press("Tab")
        order.append(browser.focus())
        if order[-1] == "◇ predicted" and len(order) > 3:
            break
    assert order[0] == "Skip to the matrix" and order[1].startswith("system")
    assert [one.split()[1] for one in order[2:10]] == list(page.STATES)
    assert order[-1] == "◇ predicted" and len(order) == 10 + 1 + 1 + 1 + 1
    # what changed, the list of what is wrong, filter, one cell
    for key, now in (("ArrowRight", "▼ regressed"), ("ArrowRight", "▼ regressed"), ("ArrowDown", "✓ validated"),
                     ("End", "✓ validated"), ("Home", "◇ predicted"), ("ArrowUp", "◇ predicted"),
                     ("ArrowRight", "▼ regressed")):  # fmt: skip
        browser.press(key)
        assert browser.focus() == now, key
    browser.press("Enter")
    browser.until("document.activeElement.id === 'cell-title'")
    assert browser.ask("location.hash") == LINK
    browser.press("Escape")
    browser.until("document.activeElement.closest('td')")
    assert browser.focus() == "▼ regressed" and browser.ask("document.title") == "gpu-repro"


@pytest.fixture(params=[1280, 390])
def wide(request, chromium):
    """The browser's window, as wide as on a desk and as on a telephone."""
    size = {"width": request.param, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    chromium.call("Emulation.setDeviceMetricsOverride", **size)
    yield request.param
    chromium.call("Emulation.clearDeviceMetricsOverride")


# How far what has the focus sticks out of the window: left, right, above, below.
OUTSIDE = """(() => { const box = document.activeElement.getBoundingClientRect();
    return [-box.left, box.right - innerWidth, -box.top, box.bottom - innerHeight].map((far) => Math.max(far, 0)); })()"""


def test_search_and_arrows_lead_to_a_cell_and_to_its_claim(opened, wide):
    browser = opened()
    browser.press("/")
    assert browser.ask("document.activeElement.id") == "query"
    browser.type("shuffle")
    assert browser.ask(SHOWN) == [0] and "1 of 4 claims" in browser.seen()
    browser.press("Tab")  # the button that clears
    browser.press("Tab")
    assert browser.focus() == "◇ predicted"
    browser.press("ArrowRight")
    assert (browser.focus(), browser.ask(OUTSIDE)) == ("▼ regressed", [0, 0, 0, 0])
    browser.press("Enter")
    browser.until("document.activeElement.id === 'cell-title'")
    assert browser.ask("location.hash") == LINK and "it ends so since 2026-11-20" in browser.seen()
    browser.press("Escape")
    browser.until("document.activeElement.closest('td')")
    assert browser.ask("location.hash") == "#?q=shuffle" and browser.ask(SHOWN) == [0]
    for _ in range(2):
        browser.press("ArrowLeft")
    assert browser.focus().startswith("A shuffle stays in its segment.")
    browser.press("Enter")
    browser.until("document.activeElement.id === 'cell-title'")
    assert browser.ask("location.hash") == "#/repros/shuffle.py" and "2026-11-01 to 2026-11-20" in browser.seen()
    browser.press("Escape")
    browser.until("document.activeElement.closest('th')")
    assert browser.ask("document.documentElement.scrollWidth") == wide


def test_the_page_of_a_claim_has_a_strip_for_each_cell(opened, wide):
    browser = opened("#/repros/shuffle.py")
    browser.until("document.querySelector('.timeline')")
    assert browser.ask("[...document.querySelectorAll('.timeline')].map((one) => one.childElementCount)") == [0, 2]
    rects = browser.ask("[...document.querySelectorAll('.timeline rect')].map((one) => [one.getAttribute('class'), "
                        "Number(one.getAttribute('x')), one.textContent])")  # fmt: skip
    assert [row[0] for row in rects] == ["pass", "fail"] and rects[0][1] == 0 < rects[1][1]
    assert rects[0][2] == "2026-11-01: pass, 1 run" and rects[1][2].startswith("2026-11-20: fail: ")
    heard = nodes(browser)
    images = [name for role, name in heard if role == "image"]
    assert images[0] == "History of sm_90 · embedded · ours width=8: none"
    assert images[1].startswith("History of sm_90 · p1 · ours width=8: 2026-11-01: pass, 1 run; 2026-11-20: fail: ")
    assert "2026-11-01 to 2026-11-20" in browser.seen() and "changed 2026-11-20" in browser.seen()
    browser.ask("document.querySelector('.claims a.regressed').click()")
    browser.until("document.querySelector('.verdict')")
    assert browser.ask("location.hash") == LINK
    assert browser.ask("document.documentElement.scrollWidth") == wide


def test_columns_and_the_list_of_what_is_wrong_show_where_and_when(opened):
    browser = opened()
    heads = browser.ask(
        "[...document.querySelectorAll('.hosts th')].map((one) => [...one.children].map((part) => part.textContent))"
    )
    assert heads[1] == ["p1", "hardware", "compiled by ours 0.1.0", "NVIDIA H200", "driver 580.65",
                        "2026-11-01 to 2026-11-20"]  # fmt: skip
    assert "repros/shuffle.py sm_90 · p1 · ours" in browser.ask("document.querySelector('.attention').innerText")
    cell = "document.querySelector('td.regressed')"
    assert browser.ask(f"{cell}.title") == "seen 2026-11-01 to 2026-11-20, so since 2026-11-20"
    assert browser.ask(f"{cell}.innerText").split("\n")[-1] == "since 2026-11-20"


def test_the_skip_link_leads_to_the_matrix(opened):
    browser = opened()
    browser.press("Tab")
    browser.press("Enter")
    assert browser.ask("document.activeElement.id") == "matrix" and browser.ask("location.hash") == ""


def test_back_and_forward(opened):
    browser = opened("#?q=shuffle")
    browser.ask("document.querySelector('td.regressed a').click()")
    browser.until("document.querySelector('#cell-title')")
    browser.ask("history.back()")
    browser.until("!document.querySelector('#overview').hidden")
    assert browser.ask("location.hash") == "#?q=shuffle" and browser.ask(SHOWN) == [0]
    browser.ask("history.forward()")
    browser.until("!document.querySelector('#cell').hidden")
    assert browser.ask("location.hash") == LINK


def test_the_command_is_copied(opened):
    browser = opened(LINK)
    browser.until("document.querySelector('.command button')")
    browser.ask("document.querySelector('.command button').click()")
    browser.until("document.querySelector('#said').textContent")
    assert "The command is" in browser.ask("document.querySelector('#said').textContent")
    browser.ask("{const box = document.createElement('textarea'); box.id = 'box'; document.body.append(box);"
                " box.focus()}")  # fmt: skip
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="v", code="KeyV", modifiers=2, commands=["paste"])
    browser.until("document.querySelector('#box').value")
    assert browser.ask("document.querySelector('#box').value") == REGRESSED.rerun


CONTRAST = """(() => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
    const rgb = (color, under) => {
        canvas.fillStyle = under || "white"; canvas.fillRect(0, 0, 1, 1);
        canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (color) => color.map((c) => c / 255).map((c) => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
        .reduce((sum, c, at) => sum + c * [.2126, .7152, .0722][at], 0);
    const ground = (element) => {
        const own = getComputedStyle(element).backgroundColor;
        const under = element.parentElement ? ground(element.parentElement) : "white";
        return `rgb(${rgb(own, under)})`;
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("script, svg")) continue;
        const [a, b] = [getComputedStyle(element).color, ground(element)].map((color) => light(rgb(color)));
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        const name = `${element.tagName}.${element.className}`;
        if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${name}: ${walker.currentNode.data}`);
    }
    return found;
})()"""


@pytest.mark.parametrize("fragment", ["", LINK])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(opened, scheme, fragment):
    browser = opened(fragment)
    if fragment:
        browser.until("document.querySelector('#cell-title')")
    browser.media(scheme=scheme)
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    assert browser.ask(CONTRAST) == []


def test_the_theme_is_chosen_and_kept(opened):
    dark = "getComputedStyle(document.body).backgroundColor !== 'rgb(255, 255, 255)'"
    choose = "{const theme = document.querySelector('#theme'); theme.value = '%s';" \
             " theme.dispatchEvent(new Event('change'))}"  # fmt: skip
    browser = opened()
    browser.ask(choose % "dark")
    assert browser.ask(dark)
    browser = opened()
    assert browser.ask(dark)
    browser.ask(choose % "")
    assert not browser.ask(dark)


def test_it_prints_without_what_only_a_screen_can_use(opened):
    browser = opened()
    browser.ask("document.documentElement.dataset.theme = 'dark'")
    browser.media("print", "dark")
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.ask("['.filter', '.theme', '.skip'].every((one) => !document.querySelector(one).checkVisibility())")
    whole = "(({scrollHeight, clientHeight}) => scrollHeight <= clientHeight)(document.querySelector('.scroll'))"
    assert browser.ask(whole)
    browser.call("Emulation.setDeviceMetricsOverride", width=1030, height=730, deviceScaleFactor=1, mobile=False)
    assert browser.ask("document.documentElement.scrollWidth") == 1030  # A4 on its side
    browser.call("Emulation.clearDeviceMetricsOverride")
    pdf = base64.b64decode(browser.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert pdf.startswith(b"%PDF")


@pytest.mark.parametrize("fragment", ["", LINK])
def test_a_narrow_page_scrolls_only_inside(opened, fragment):
    browser = opened(fragment)
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=False)
    try:
        if fragment:
            browser.until("document.querySelector('#cell-title')")
        wide = "[...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > 390" \
               " && !one.closest('.scroll, .wide')).map((one) => one.outerHTML.slice(0, 80))"  # fmt: skip
        assert browser.ask(wide) == [] and browser.ask("document.documentElement.scrollWidth") == 390
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


def test_without_scripts_the_matrix_is_whole(opened, chromium, tmp_path):
    browser = opened()
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.call("Page.reload")
        heard = []
        for _ in range(200):
            heard = nodes(browser)
            if sum(role == "cell" for role, _ in heard) == 12:
                break
        assert ("link", "regressed") in heard and ("searchbox", "Filter claims") not in heard
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


@pytest.fixture
def in_folders(chromium, tmp_path):
    """The browser at a report whose repros are in two folders, opened at a fragment."""
    whole, path = made(), tmp_path / "folders.html"
    claims = tuple(
        replace(claim, repro=claim.repro.replace("repros/", f"repros/{folder}/"))
        for claim, folder in zip(whole.claims, ("warp", "warp", "loops", "loops"), strict=True)
    )
    path.write_text(page.render(replace(whole, claims=claims)))

    def opened(fragment=""):
        chromium.media()
        chromium.open(path.as_uri() + fragment)
        return chromium

    return opened


def test_folders_have_a_header_that_goes_when_nothing_in_them_fits(in_folders):
    browser = in_folders()
    headers = "[...document.querySelectorAll('.matrix .folder')].flatMap((one) => one.hidden ? [] : [one.textContent])"
    assert browser.ask(headers) == [
        "repros/warp 2 claims ▼regressed 1 ◇predicted 2 ✓validated 2",
        "repros/loops 1 claim ↺stale 1 ◇predicted 2 ✓validated 1",
    ]
    assert browser.ask("document.querySelector('.matrix .folder .file').offsetWidth") > 40
    browser.press("/")
    browser.type("loop ends")
    assert [text.split()[0] for text in browser.ask(headers)] == ["repros/loops"]
    assert "2 of 4 claims" in browser.seen()


def test_folders_fold_and_a_search_looks_into_folded_ones(in_folders, wide):
    browser = in_folders()
    shown = "[...document.querySelectorAll('.matrix tbody:not(.folder) tr')].filter((row) => row.offsetParent).length"
    assert browser.ask(shown) == 4
    browser.ask("document.querySelector('.folder button').focus()")
    browser.press("Enter")
    assert browser.ask("document.activeElement.ariaExpanded") == "false" and browser.ask(shown) == 2
    assert "repros/warp 2 claims" in browser.ask("document.querySelector('.folder').textContent")
    browser.press("/")
    browser.type("vote")
    assert browser.ask(shown) == 1
    browser.ask("document.querySelector('#clear').click()")
    assert browser.ask(shown) == 2
    browser.ask("document.querySelector('#fold').click()")
    assert browser.ask(shown) == 0 and "Unfold all" in browser.seen()
    browser.ask("document.querySelector('#fold').click()")
    assert browser.ask(shown) == 4


def test_a_link_of_before_a_repro_moved_opens_its_claim(in_folders):
    browser = in_folders("#/repros/shuffle.py")
    browser.until("document.querySelector('.timeline')")
    assert "repros/warp/shuffle.py · 2 cells" in browser.seen()


def test_a_link_of_before_a_repro_moved_opens_its_cell(in_folders):
    browser = in_folders(LINK)
    browser.until("document.querySelector('#cell-title')")
    assert "▼ regressed: differs from the golden" in browser.seen()
    assert browser.ask("location.hash").startswith("#/repros/warp/shuffle.py/")
