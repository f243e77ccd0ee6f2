"""`theworld router`: decisions explained."""

import json


def test_a_decision_is_explained(cli):
    done = cli("router", "explain", "how are A and B connected?")
    assert done.code == 0
    assert done.out.startswith("graph ")
    assert "because relation words" in done.out
    assert json.loads(cli("router", "explain", "谢谢", "--json").out)["path"] == "none"
    assert cli("router", "explain", "x", "--now", "yesterday").code == 2
    assert cli("router", "explain", "?").code == 2
