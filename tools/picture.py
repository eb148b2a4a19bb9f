"""Draws the picture of the live page that README.md shows: `make picture`. Needs Chromium and Playwright."""

from pathlib import Path

from chromium import DONE, opened

PLACE = Path(__file__).parents[1] / "docs/images/web.png"
SIZE = {"width": 1280, "height": 860}

SLOW = """() => {
    const { player } = shallows;
    player.controls.speed.value = 5;
    player.controls.setSpeed();
    player.follow = false;
    player.seek(3.07e9);
}"""
CLOSE = "() => shallows.player.close[0]?.at_ps === Math.round(shallows.player.view)"


def main() -> None:
    """Opens the first experiment of the gallery, and takes the picture at 3.07 ms."""
    with opened(SIZE, color_scheme="light") as (url, page):
        page.goto(url)
        page.wait_for_function(DONE)
        page.wait_for_timeout(1500)  # the charts draw a little later
        page.evaluate(SLOW)
        page.wait_for_function(CLOSE)
        page.wait_for_timeout(500)
        page.screenshot(path=PLACE)
    print(PLACE)


if __name__ == "__main__":
    main()
