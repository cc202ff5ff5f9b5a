"""The simulated phone has the properties that its tests rely on."""

import json
import subprocess

import pytest

from tests.termux import Phone, Wrong, python

LOOK = """
import json, os, shutil, sys
import psutil
def denied(call):
    try:
        call()
    except PermissionError:
        return True
print(json.dumps({
    "platform": sys.platform,
    "link": hasattr(os, "link"),
    "load": hasattr(os, "getloadavg"),
    "processor times": denied(psutil.cpu_times),
    "compilers": [name for name in ("cc", "gcc", "clang", "g++") if shutil.which(name)],
}))
"""


def test_a_process_sees_androids_python(phone: Phone) -> None:
    done = subprocess.run([python(), "-c", LOOK], env=phone.environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {
        "platform": "android",
        "link": False,
        "load": False,
        "processor times": True,
        "compilers": [],
    }


def test_a_phone_begins_with_a_smaller_context(phone: Phone) -> None:
    assert phone.json("config", "get", "model.context")["value"] == 2048


@pytest.mark.parametrize("how", Wrong)
def test_a_termux_command_answers_or_goes_wrong(phone: Phone, how: Wrong) -> None:
    name = "termux-sms-list"
    command = [str(phone.bin / name), "-l", "a b"]
    assert json.loads(phone.shell(command).stdout)[0]["sender"] == "Anna Lindqvist"
    assert phone.calls(name) == [[name, "-l", "a b"]]
    phone.goes_wrong(how, name)
    if how is Wrong.HANGS:
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run(command, env=phone.environment, capture_output=True, timeout=0.2, check=False)
    elif how is Wrong.MISSING:
        assert not (phone.bin / name).exists()
    elif how is Wrong.NONSENSE:
        printed = subprocess.run(command, env=phone.environment, capture_output=True, check=True).stdout
        with pytest.raises(ValueError, match=r"decode|Expecting"):
            json.loads(printed)
    else:
        done = phone.shell(command)
        assert ("error" in done.stdout, done.returncode) == ((True, 0) if how is Wrong.DENIES else (False, 1))
