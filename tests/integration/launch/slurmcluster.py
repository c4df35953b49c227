"""A cluster of Slurm for tests: a controller and nodes on 127.0.0.1, on ports that are free, as the user that runs it.

The daemons are installed, or unpacked in BUILD/slurm (quickstart does that). A node is a slurmd with a name of its own.
"""
import glob
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time

PATIENCE = 60
PROCESSORS = 8  # of a node, as Slurm counts
# For jobs on hosts in namespaces: the kernel is one, and UCX would copy from process to process. On one host MPICH's end then
# hangs now and then, with and without mpit.
BETWEEN_HOSTS = "export UCX_NET_DEVICES=eth0 UCX_TLS=tcp,self"
CONFIGURATION = """\
ClusterName=mpit
SlurmctldHost={host}({address})
SlurmctldPort={controller_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
CommunicationParameters=NoInAddrAny
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
SlurmctldPidFile={home}/controller.pid
SlurmdPidFile={private}/node-%n.pid
StateSaveLocation={home}/state
SlurmdSpoolDir={private}/{spool}
TmpFS={private}/tmp
PluginDir={plugins}
"""


def until(condition, what, patience=PATIENCE):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not in {patience} s")
        time.sleep(0.05)


def output_of(*words):
    return subprocess.run(words, capture_output=True, text=True).stdout


def program_of(build, name):
    """Debian calls a daemon NAME-wlm, and has a link from NAME only where it is installed."""
    for place in (f"{build}/slurm/usr/sbin", f"{build}/slurm/usr/bin", "/usr/sbin", "/usr/bin"):
        for suffix in ("-wlm", ""):
            if os.access(f"{place}/{name}{suffix}", os.X_OK):
                return f"{place}/{name}{suffix}"
    return None


def is_there(build):
    return all(program_of(build, name) for name in ("slurmctld", "slurmd", "slurmstepd", "srun"))


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Node:
    """Where a slurmd runs: its name, that of its host, its address, and the words in front of a command that runs there."""

    def __init__(self, name=None, host=None, address="127.0.0.1", inside=()):
        self.host = host or socket.gethostname().split(".")[0]
        self.name, self.address, self.inside = name or self.host, address, list(inside)


def two_nodes():
    """On hosts of their own if slurmhosts.sh has made them, else both on this host."""
    hosts = [host.split("=") for host in os.environ.get("SLURM_TEST_HOSTS", "").split()]
    return [Node(name, name, address, ("nsenter", "-t", pid, "-n", "-m", "-u", "-i")) for name, pid, address in hosts] or \
        [Node("mpit-a"), Node("mpit-b")]


class Cluster:
    """A controller, which runs on the first node, and a slurmd for each node. MORE are lines of slurm.conf."""

    def __init__(self, build, directory, nodes=(), more=()):
        self.build, self.home, self.nodes, self.daemons = build, f"{directory}/cluster", list(nodes) or [Node()], []
        os.makedirs(f"{self.home}/state")
        os.makedirs(f"{self.home}/tmp")
        unpacked = f"{build}/slurm" if os.path.isdir(f"{build}/slurm") else ""
        plugins = os.path.dirname(glob.glob(f"{unpacked}/usr/lib/*/slurm-wlm/auth_none.so")[0])
        private = os.environ.get("SLURM_TEST_PRIVATE", self.home)  # plugins find each other's files by one path on all nodes
        controller_port, *ports = free_ports(1 + len(self.nodes))
        lines = [CONFIGURATION.format(host=self.nodes[0].host, address=self.nodes[0].address, home=self.home, private=private,
                                      spool="spool" if self.nodes[0].inside else "spool-%n", plugins=plugins,
                                      controller_port=controller_port,
                                      user=pwd.getpwuid(os.getuid()).pw_name), *more]
        lines += [f"NodeName={node.name} NodeAddr={node.address} NodeHostname={node.host} Port={port} CPUs={PROCESSORS} Boards=1 SocketsPerBoard=1 "
                  f"CoresPerSocket={PROCESSORS} ThreadsPerCore=1 State=UNKNOWN" for node, port in zip(self.nodes, ports)]
        lines.append(f"PartitionName=test Nodes={','.join(node.name for node in self.nodes)} Default=YES MaxTime=INFINITE "
                     "State=UP OverSubscribe=FORCE:8")
        with open(f"{self.home}/slurm.conf", "w") as file:
            file.write("\n".join([*lines, ""]))
        os.environ["SLURM_CONF"] = f"{self.home}/slurm.conf"
        os.environ["LD_LIBRARY_PATH"] = plugins
        os.environ["PATH"] = f"{build}/bin:{unpacked}/usr/bin:{os.environ['PATH']}"

    def daemon(self, node, name, *words):
        with open(f"{self.home}/{name}-{node.name}.log", "w") as log:
            self.daemons.append(subprocess.Popen([*node.inside, program_of(self.build, name), "-D", *words], stdout=log, stderr=log,
                                                 start_new_session=True))

    def begin(self):
        self.daemon(self.nodes[0], "slurmctld")
        for node in self.nodes:
            if not node.inside:
                os.makedirs(f"{self.home}/spool-{node.name}")
            self.daemon(node, "slurmd", "-N", node.name, "-d", program_of(self.build, "slurmstepd"))
        until(lambda: output_of("sinfo", "-h", "-N", "-o", "%t").split() == ["idle"] * len(self.nodes), "Slurm has its nodes")

    def end(self):
        """The jobs first: the programs of a deadlock never end, and would take the processors of the tests that follow."""
        subprocess.run(["scancel", "--full", "--signal=KILL", "--state=RUNNING"], capture_output=True, timeout=PATIENCE)
        until(lambda: not output_of("squeue", "-h"), "the jobs have ended")
        for daemon in reversed(self.daemons):
            try:
                os.killpg(daemon.pid, signal.SIGTERM)
                daemon.wait(10)
                os.killpg(daemon.pid, signal.SIGKILL)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass


def installed_site(build, where):
    """share/site as it is installed, without the rest. -> its folder slurm"""
    folder = f"{where}/share/mpit/site/slurm"
    os.makedirs(folder)
    for script in ("task-prolog", "epilog"):
        shutil.copy(f"{build}/share/site/{script}", folder)
    with open(f"{folder}/task-prolog") as file:
        library = re.search(r'dirname "\$0"\)/([^"]*)/libmpit', file.read()).group(1)
    with open(f"{folder}/epilog") as file:
        tools = re.search(r'dirname "\$0"\)/(\S*)/mpit-collect', file.read()).group(1)
    for path, real in ((library, f"{build}/lib"), (tools, f"{build}/bin")):
        link = os.path.normpath(f"{folder}/{path}")
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(real, link)
    return folder


def always_on(build, where, output, more=()):
    """mpit for all jobs: the site's file, and its TaskProlog and Epilog in slurm.conf. -> lines of slurm.conf"""
    scripts = installed_site(build, f"{where}/prefix")
    with open(f"{where}/mpit.conf", "w") as file:
        file.write("\n".join([f"output = {output}", *more, ""]))
    for name, lines in (("prolog", [f"echo export MPIT_CONF={where}/mpit.conf", f"exec {scripts}/task-prolog"]),
                        ("epilog", [f"MPIT_CONF={where}/mpit.conf exec {scripts}/epilog"])):
        with open(f"{where}/{name}", "w") as file:
            file.write("\n".join(["#!/bin/sh", *lines, ""]))
        os.chmod(f"{where}/{name}", 0o755)
    return [f"TaskProlog={where}/prolog", f"Epilog={where}/epilog"]
