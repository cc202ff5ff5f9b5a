"""`python -m scripts.fuzzing server [--frames N --engine fake|real --seed S --json]` fuzzes a running server.

`python -m scripts.fuzzing TARGET [libFuzzer's options]` fuzzes the parser of the target; needs atheris.
"""

import argparse
import json
import sys
from importlib import import_module


def server(arguments: list[str]) -> int:
    """Fuzz a server in a process of its own. Return exit code 1 if the server misbehaved."""
    from scripts.fuzzing.campaign import fuzz

    parser = argparse.ArgumentParser(prog="scripts/fuzz server", description=fuzz.__doc__)
    parser.add_argument("--frames", type=int, default=20_000, help="number of frames to send (default: %(default)s)")
    parser.add_argument(
        "--engine", choices=("fake", "real"), default="fake", help="engine that writes the server's answers"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed that determines the frames (default: %(default)s)")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object as the last line")
    given = parser.parse_args(arguments)
    result = fuzz(given.engine, given.frames, given.seed)
    print(json.dumps(result) if given.as_json else json.dumps(result["figures"], indent=2))
    return int(bool(result["figures"]["wrong"]))


def target(name: str, options: list[str]) -> None:
    """Run libFuzzer on one of the targets."""
    atheris = import_module("atheris")
    with atheris.instrument_imports(include=["shared"]):
        from scripts.fuzzing import protocol
    targets = {target.__name__: target for target in protocol.TARGETS}
    if name not in targets:
        print(f"Usage: scripts/fuzz {{server,{','.join(targets)}}} [options]", file=sys.stderr)
        raise SystemExit(2)
    atheris.Setup([sys.argv[0], *options], targets[name])
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == ["server"]:
        sys.exit(server(sys.argv[2:]))
    target((sys.argv[1:2] or [""])[0], sys.argv[2:])
