"""`python -m scripts.fuzzing TARGET [libFuzzer's options]`; needs atheris."""

import sys
from importlib import import_module

atheris = import_module("atheris")
with atheris.instrument_imports(include=["shared"]):
    from scripts.fuzzing import protocol

TARGETS = {target.__name__: target for target in protocol.TARGETS}

if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
    print(f"Usage: scripts/fuzz {{{','.join(TARGETS)}}} [-max_total_time=60 …]", file=sys.stderr)
    raise SystemExit(2)
atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[sys.argv[1]])
atheris.Fuzz()
