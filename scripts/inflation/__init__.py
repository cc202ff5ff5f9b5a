"""Makes weights of a larger model that compute the same function as small ones: models of any cost, whose text is
known.
"""

from shared.telemetry import switch_off

switch_off()
