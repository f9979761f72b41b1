"""A real Slurm of one node in a temporary folder: munged, slurmctld and slurmd, with two fake GPUs."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("sbatch", "srun", "squeue", "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged")
INSTALL = "apt-get install -y --no-install-recommends slurm-wlm munge"
CONF = """
ClusterName=test
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort={ctld}
SlurmdPort={slurmd}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
ReturnToService=2
MpiDefault=none
KillWait=1
CompleteWait=0
GresTypes=gpu
NodeName={name} NodeAddr=127.0.0.1 CPUs=2 Gres=gpu:fake:2 Features=fast State=UNKNOWN
PartitionName=gpu Nodes={name} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
PartitionName=urgent Nodes={name} PriorityTier=10 PreemptMode=OFF State=UP OverSubscribe=FORCE:8
PartitionName=short Nodes={name} MaxTime=1 State=UP OverSubscribe=FORCE:8
"""


class Cluster:
    """Slurm's programs find it by `variables`. Its node does not see the files in `login_only`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.variables = folder, {"SLURM_CONF": str(folder / "slurm.conf")}
        self._path = os.environ["PATH"]
        for name in ("state", "spool"):
            (folder / name).mkdir()
        for name in ("g0", "g1"):  # must be devices: a plain file is none, and CUDA_VISIBLE_DEVICES stays empty
            subprocess.run(["mknod", folder / name, "c", "1", "3"], check=True)
        name = socket.gethostname().partition(".")[0]
        (folder / "slurm.conf").write_text(CONF.format(name=name, folder=folder, ctld=_port(), slurmd=_port()))
        (folder / "gres.conf").write_text(f"NodeName={name} Name=gpu Type=fake File={folder}/g[0-1]\n")
        self._start_munge()
        self.login_only = folder / "login_only"
        self.login_only.mkdir()
        self.start_controller()
        node = f"mount -t tmpfs tmpfs {self.login_only} && exec /usr/sbin/slurmd -f {folder}/slurm.conf"
        subprocess.run(["unshare", "--mount", "sh", "-c", node], check=True, env=self._environment())
        self.wait_for_node()

    def start_controller(self) -> None:
        conf = self.folder / "slurm.conf"
        subprocess.run(["/usr/sbin/slurmctld", "-f", conf], check=True, env=self._environment())

    def wait_for_node(self) -> None:
        """Until its daemon has reported to the controller: Slurm starts no step in a job that begins before."""
        self._wait(lambda: self.run("sinfo", "-h", "-o", "%T %O").strip()[-3:] not in ("", "N/A"))

    def stop_controller(self) -> None:
        pid = int((self.folder / "slurmctld.pid").read_text())
        os.kill(pid, signal.SIGTERM)
        self._wait(lambda: not Path(f"/proc/{pid}").exists())

    def set_node(self, *changes: str) -> None:
        """As in `set_node("state=drain", "reason=disk")`."""
        self.run("scontrol", "update", f"nodename={socket.gethostname().partition('.')[0]}", *changes)

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        paths = {"socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log", "seed-file": "munge.seed"}
        options = [f"--{name}={self.folder / file}" for name, file in paths.items()]
        subprocess.run(["/usr/sbin/munged", "--force", f"--key-file={key}", *options], check=True, capture_output=True)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.variables, "PATH": self._path}

    def run(self, *argv: str) -> str:
        """The output of a Slurm program."""
        return subprocess.run(argv, capture_output=True, text=True, env=self._environment()).stdout

    def jobs(self) -> list[str]:
        """States of the jobs that wait or run."""
        return self.run("squeue", "-h", "-r", "-o", "%T").split()

    def _wait(self, condition, patience_s: float = 600.0) -> None:
        end = time.monotonic() + patience_s
        while not condition():
            if time.monotonic() > end:
                logs = [path.read_text(errors="replace")[-2000:] for path in sorted(self.folder.glob("*.log"))]
                raise AssertionError("the cluster did not come up:\n" + "\n".join(logs))
            time.sleep(0.1)

    def stop(self) -> None:
        self.run("scancel", "--user=root")
        for name in ("slurmd.pid", "slurmctld.pid", "munge.pid"):
            try:
                os.kill(int((self.folder / name).read_text()), signal.SIGTERM)
            except (OSError, ValueError):
                continue


def missing() -> list[str]:
    return [name for name in PROGRAMS if not shutil.which(name)]


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
