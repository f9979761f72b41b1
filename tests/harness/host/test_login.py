"""Commands on a login node: on this machine, and over a real sshd."""

import pytest

from harness.host.login import Login, Said
from harness.run.transport import LinkDown


@pytest.mark.parametrize("alias", ["", "p1"])
def test_a_command_returns_its_output_and_exit_status(on_host, alias):
    on_host()
    login = Login(alias)
    said = login.run(["sh", "-c", "cat; echo 'to stderr' >&2; exit 3"], "a 'b\" $(id)\n")
    assert said == Said(3, "a 'b\" $(id)\n", "to stderr\n")
    assert login.run(["sh", "-c", "kill -0 $PPID; echo $0", "x; y"]).out == "x; y\n"
    login.close()


def test_an_open_command_ends_with_the_connection(tmp_path):
    """It reads the end of its stdin, whatever happens to this process."""
    login = Login("")
    channel = login.start(["sh", "-c", f"echo begun; cat > /dev/null; echo over > {tmp_path}/end"])
    assert channel.recv(6) == b"begun\n" and not (tmp_path / "end").exists()
    login.close()
    assert (tmp_path / "end").read_text() == "over\n"


def test_a_login_node_that_is_not_a_host(on_host):
    on_host()
    with pytest.raises(LinkDown) as error:
        Login("nowhere").run(["true"])
    assert str(error.value) == "job.login = 'nowhere': ssh_config has no such host\nfix: name the alias of a login node"
