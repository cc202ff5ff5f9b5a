"""Where the layout changes. The style sheet knows the classes, the code this one width."""

PANEL_COLUMNS = 100
"""From this width on, the conversations stand beside the transcript."""

BY_WIDTH = [(0, "-narrow"), (60, "-medium"), (PANEL_COLUMNS, "-wide")]
BY_HEIGHT = [(0, "-tiny"), (12, "-low"), (22, "-tall")]
"""From so many columns or rows on, a screen has this class."""
