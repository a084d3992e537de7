"""The page of a clip, and of a run."""

import re
from functools import cache
from html import escape
from html.parser import HTMLParser

import pytest
from motion.strides import stride

from gambol.quality.charts import HEIGHT, WIDTH, loss_charts
from gambol.quality.html import MetricRow, metric_table, scale_bar
from gambol.quality.page import RunDetails, report_page, run_page
from gambol.quality.report import report

EVIL = "<script>alert('\"&')</script>"


def run_of(**changes):
    usual = {
        "prompt": "a fox is walking",
        "character": "fox",
        "clip": "clip.glb",
        "clip_name": "walk",
        "movie": "preview.mp4",
        "sheet": b"\x89PNG",
        "losses": rows({"total": 1.0}, {"total": 0.5}),
        "warnings": [],
        "facts": [("prior", "pixels")],
        "settings": "{}",
    }
    return RunDetails(**{**usual, **changes})


@cache
def walk():
    made = stride("dog", "walk")
    return report(made.character, made.clip, made.anatomy)


def rows(*losses, number=0, stage="fitting"):
    return [
        {"stage": stage, "number": number, "step": step, "steps": 9, "losses": some, "trouble": ""}
        for step, some in enumerate(losses, 1)
    ]


class Reader(HTMLParser):
    """Tags, what they refer to, and whether all are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links, self.texts = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "img", "line", "polyline"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_everything_is_escaped():
    evil = run_of(
        prompt=EVIL,
        character=EVIL,
        clip_name=EVIL,
        losses=rows({EVIL: 1.0}, {EVIL: 2.0}, stage=EVIL),
        warnings=[EVIL],
        facts=[(EVIL, EVIL)],
        settings=EVIL,
    )
    read = Reader(run_page(evil, None))
    assert "script" not in read.tags and not read.open
    assert "".join(read.texts).count(EVIL) >= 9


def test_nothing_is_fetched_from_elsewhere():
    text = run_page(run_of(), None)
    links = Reader(text).links
    assert sorted(link.split(",")[0] for link in links) == ["clip.glb", "data:image/png;base64", "preview.mp4"]
    assert "//" not in re.sub(r"<pre>.*?</pre>", "", text, flags=re.DOTALL)
    assert "@import" not in text and "url(" not in text


def test_what_is_missing_is_left_out():
    read = Reader(run_page(run_of(movie=None, sheet=None, losses=[], facts=[("memory", "")]), None))
    assert not {"video", "img", "svg", "table"} & set(read.tags)
    assert "Warnings" not in "".join(read.texts)


def test_a_clip_that_could_not_be_measured_says_so():
    text = run_page(run_of(warnings=["no number"]), None)
    assert '<p class="verdict doubtful">the clip could not be measured</p>' in text
    assert "gambol-player" not in text and "no number" in text and "<video" in text


def test_the_page_of_a_run_is_the_report_of_its_clip_and_how_it_was_made():
    text = run_page(run_of(), walk())
    assert f">{escape(walk().summary)}</p>" in text and "gambol-player" in text
    assert "<video" not in text, "the player takes its place"
    assert text.index("gambol-player") < text.index("data:image/png") < text.index("Feet and ground")
    alone = report_page(walk())
    for words in ("Feet and ground", "Trunk, arms, head and tail", "Gait: walk", "Joints that turn most"):
        assert words in text and words in alone
    assert "How to use it" in text and "How to use it" not in alone


def test_a_scale_shows_the_place_among_others():
    bars = [scale_bar(rank, EVIL) for rank in (0.0, 0.02, 0.5, 1.0)]
    assert [float(re.search(r"left:([0-9.]+)%", bar)[1]) for bar in bars] == [0, 2, 50, 100]
    assert ["low" in bar for bar in bars] == [True, True, False, False]
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="from 0 to 1"):
            scale_bar(wrong, "")
    table = Reader(metric_table([MetricRow(EVIL, EVIL, "", 0.8, EVIL), MetricRow(EVIL, EVIL, "", None, EVIL)]))
    assert not table.open and table.tags.count("tr") == 2 and table.tags.count("i") == 1
    assert table.texts.count(EVIL) == 6 and "script" not in table.tags
    assert metric_table([]) == ""


@pytest.mark.parametrize(
    "losses",
    [
        [{"total": 1.0}],
        [{"total": 0.0}, {"total": 0.0}],
        [{}, {"total": 1e-9}, {"total": 1e9}],
        [{"total": -3.0}, {"total": -1.0, "smooth": 0.5}],
        [{"total": None}, {"total": 1.0}, {"total": 0.0}],
        [{"total": 5.0}] * 2,
        [{"total": 1e-30}, {"total": 1e-31}],
    ],
)
def test_curves_stay_in_their_chart(losses):
    chart = loss_charts(rows(*losses))
    points = re.findall(r'points="([^"]+)"', chart)
    assert points
    for x, y in (pair.split(",") for pair in " ".join(points).split()):
        assert 0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT


def test_one_chart_for_each_act_and_no_more_points_than_pixels():
    many = rows(*({"total": 1000.0 - step} for step in range(1000)))
    charts = loss_charts(many + rows({}, {}, number=1) + rows({"slide": 1.0}, number=2, stage="footing"))
    assert charts.count("<svg") == 2, "a stage without losses has none"
    curve = re.findall(r'points="([^"]+)"', charts)[0].split()
    assert len(curve) <= 300
    heights = [float(point.split(",")[1]) for point in curve]
    assert heights == sorted(heights), "what falls goes down"
    assert loss_charts([]) == ""
