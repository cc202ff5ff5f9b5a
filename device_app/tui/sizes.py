"""The widths and heights where the layout changes. The style sheet uses the classes, the code this one width."""

PANEL_COLUMNS = 100
"""From this width on, the list of conversations is shown beside the transcript."""

BY_WIDTH = [(0, "-narrow"), (60, "-medium"), (PANEL_COLUMNS, "-wide")]
BY_HEIGHT = [(0, "-tiny"), (12, "-low"), (22, "-tall")]
"""The class of a screen from this number of columns or rows on."""
