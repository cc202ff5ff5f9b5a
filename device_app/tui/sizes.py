"""The widths and heights at which the layout changes. The style sheet uses the classes; code uses `PANEL_COLUMNS`."""

PANEL_COLUMNS = 100
"""The width in columns from which on the list of conversations is shown beside the transcript."""

BY_WIDTH = [(0, "-narrow"), (60, "-medium"), (PANEL_COLUMNS, "-wide")]
BY_HEIGHT = [(0, "-tiny"), (12, "-low"), (22, "-tall")]
"""The style classes of a screen by its size: each applies from that number of columns or rows on."""
