"""What the scripts with the real Python library share."""

import yt.wrapper as yt

try:
    import yt_yson_bindings  # noqa: F401

    HAS_BINDINGS = True
except ImportError:
    HAS_BINDINGS = False

# Without the bindings the library has rows in JSON only.
ROWS = None if HAS_BINDINGS else yt.JsonFormat()

# In JSON a `$` at the start of a name is doubled (it marks attributes), and the library leaves it so.
DOLLAR = "$" if HAS_BINDINGS else "$$"


def equal(actual, expected):
    assert actual == expected, "got {!r}, not {!r}".format(actual, expected)


def rows(iterator):
    return [dict(row) for row in iterator]
