"""The page on a run."""

import re
from html.parser import HTMLParser

import pytest

from gambol.quality.charts import HEIGHT, WIDTH, loss_charts
from gambol.quality.page import MetricRow, metric_table, scale_bar
from gambol.quality.run_page import Page, html_of

EVIL = "<script>alert('\"&')</script>"


def page_of(**changes):
    usual = {
        "title": "a fox is walking",
        "character": "fox",
        "verdict": "good: the prior recognises it",
        "clip": "clip.glb",
        "clip_name": "walk",
        "movie": "preview.mp4",
        "sheet": b"\x89PNG",
        "rows": [("length", "0.7 s", "loops")],
        "losses": rows({"total": 1.0}, {"total": 0.5}),
        "warnings": [],
        "facts": [("prior", "pocket")],
        "settings": "{}",
    }
    return Page(**{**usual, **changes})


def rows(*losses, number=0, act="fitting"):
    return [
        {"act": act, "number": number, "step": step, "steps": 9, "losses": some, "trouble": ""}
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
    evil = page_of(
        title=EVIL,
        character=EVIL,
        verdict=EVIL,
        clip_name=EVIL,
        rows=[(EVIL, EVIL, EVIL)],
        losses=rows({EVIL: 1.0}, {EVIL: 2.0}, act=EVIL),
        warnings=[EVIL],
        facts=[(EVIL, EVIL)],
        settings=EVIL,
    )
    read = Reader(html_of(evil))
    assert "script" not in read.tags and not read.open
    assert "".join(read.texts).count(EVIL) >= 12


def test_nothing_is_fetched_from_elsewhere():
    text = html_of(page_of())
    links = Reader(text).links
    assert sorted(link.split(",")[0] for link in links) == ["clip.glb", "data:image/png;base64", "preview.mp4"]
    assert "//" not in re.sub(r"<pre>.*?</pre>", "", text, flags=re.DOTALL)
    assert "@import" not in text and "url(" not in text


def test_what_is_missing_is_left_out():
    read = Reader(html_of(page_of(movie=None, sheet=None, losses=[], rows=[], facts=[("memory", "")])))
    assert not {"video", "img", "svg", "table"} & set(read.tags)
    assert "Warnings" not in "".join(read.texts)
    assert "doubtful" in html_of(page_of(verdict="doubtful: feet slide")).split("</style>")[1]
    assert "doubtful" not in html_of(page_of()).split("</style>")[1]


def test_a_player_takes_the_place_of_the_movie():
    text = html_of(page_of(player='<div id="player"></div>', figures=[(EVIL, "<svg></svg>"), ("empty", "")]))
    read = Reader(text)
    assert "video" not in read.tags and "img" in read.tags and not read.open
    assert text.index('id="player"') < text.index("<img") < text.index("<svg>")
    assert "script" not in read.tags and "empty" not in "".join(read.texts)


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
    charts = loss_charts(many + rows({}, {}, number=1) + rows({"slide": 1.0}, number=2, act="footing"))
    assert charts.count("<svg") == 2, "an act without losses has none"
    curve = re.findall(r'points="([^"]+)"', charts)[0].split()
    assert len(curve) <= 300
    heights = [float(point.split(",")[1]) for point in curve]
    assert heights == sorted(heights), "what falls goes down"
    assert loss_charts([]) == ""
