//! A real Slurm of two nodes on this machine: its controller and its daemons in the foreground, on ports that are free, without
//! systemd, cgroups or accounting. Both nodes have one kernel and one disk, so it shows how jobs are ordered, ended and requeued,
//! and nothing of a network's filesystem.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fsderby::host::programs;
use rustix::process::{Pid, Signal, kill_process};

use super::{is_root, skipped};

const PROGRAMS: [&str; 6] = ["munged", "slurmctld", "slurmd", "sinfo", "sbatch", "scontrol"];
pub const NODES: [&str; 2] = ["n0", "n1"];

/// Ended with its value.
pub struct Cluster {
    folder: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Cluster {
    /// `None` where a package is missing, which is said.
    pub fn start(what: &str) -> Option<Self> {
        if let Some(missing) = PROGRAMS.iter().find(|program| programs::find(program).is_none()) {
            skipped(
                what,
                &format!("there is no {missing} (apt-get install slurmctld slurmd slurm-client munge)"),
            );
            return None;
        }
        if !is_root() {
            skipped(what, "Slurm's daemons need root");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("slurm-").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut cluster = Cluster { folder, daemons: Vec::new() };
        cluster.configure();
        let at = |name: &str| cluster.path(name).display().to_string();
        let munge = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            format!("--key-file={}", at("munge.key")),
            format!("--socket={}", at("munge.sock")),
            format!("--pid-file={}", at("munge.pid")),
            format!("--log-file={}", at("munge.log")),
            format!("--seed-file={}", at("munge.seed")),
        ];
        cluster.daemon("munged", &munge.each_ref().map(String::as_str));
        cluster.wait("munge's socket", |cluster| cluster.path("munge.sock").exists());
        cluster.daemon("slurmctld", &["-D"]);
        NODES.into_iter().for_each(|node| cluster.daemon("slurmd", &["-D", "-N", node]));
        cluster.wait("two idle nodes", |cluster| {
            let said =
                cluster.command("sinfo").args(["--noheader", "--Node", "--format=%T"]).output().unwrap();
            String::from_utf8_lossy(&said.stdout).lines().filter(|state| *state == "idle").count()
                == NODES.len()
        });
        Some(cluster)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program that speaks to this cluster.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(programs::find(program).unwrap_or_else(|| program.into()));
        command.env("SLURM_CONF", self.path("slurm.conf")).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// Waits until it is so; shows the daemons' logs where that takes too long.
    pub fn wait(&self, what: &str, is: impl Fn(&Self) -> bool) {
        let begin = Instant::now();
        while !is(self) {
            if begin.elapsed() > Duration::from_secs(300) {
                let logs = ["slurmctld.log", "slurmd.n0.log", "slurmd.n1.log"];
                let logs = logs.map(|log| fs::read_to_string(self.path(log)).unwrap_or_default());
                panic!("no {what} after five minutes\n{}", logs.join("\n"));
            }
            sleep(Duration::from_millis(100));
        }
    }

    fn configure(&self) {
        let ports = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [control, n0, n1] = ports.map(|port| port.local_addr().unwrap().port());
        let folder = self.folder.path().display();
        ["state", "spool.n0", "spool.n1"]
            .into_iter()
            .for_each(|name| fs::create_dir(self.path(name)).unwrap());
        let node = |name: &str, port: u16| {
            format!(
                "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=8000 State=UNKNOWN"
            )
        };
        // A requeued job waits until its credential has expired.
        let text = format!(
            "ClusterName=tests\nSlurmctldHost=localhost\nAuthType=auth/munge\nAuthInfo=socket={folder}/munge.sock,cred_expire=5\n\
             CryptoType=crypto/munge\nMpiDefault=none\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             ReturnToService=2\nSlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd.%n.pid\n\
             SlurmdSpoolDir={folder}/spool.%n\nStateSaveLocation={folder}/state\nSlurmctldLogFile={folder}/slurmctld.log\n\
             SlurmdLogFile={folder}/slurmd.%n.log\nSlurmUser=root\nSlurmdUser=root\nSlurmctldPort={control}\n\
             SchedulerType=sched/builtin\nSchedulerParameters=sched_interval=2,batch_sched_delay=0\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nAccountingStorageType=accounting_storage/none\n\
             JobAcctGatherType=jobacct_gather/none\nSlurmdParameters=config_overrides\nMinJobAge=2\n{}\n{}\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            node("n0", n0),
            node("n1", n1)
        );
        fs::write(self.path("slurm.conf"), text).unwrap();
        let key: Vec<u8> = (0..1024).map(|_| fsderby::host::random::bits().unwrap() as u8).collect();
        fs::write(self.path("munge.key"), key).unwrap();
        fs::set_permissions(self.path("munge.key"), fs::Permissions::from_mode(0o400)).unwrap();
    }

    fn daemon(&mut self, program: &str, arguments: &[&str]) {
        let mut command = self.command(program);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().unwrap());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.command("scancel").args(["--quiet", "--me"]).output();
        let begin = Instant::now();
        let is_empty = |cluster: &Self| {
            let said = cluster.command("squeue").args(["--noheader", "--me"]).output();
            said.is_ok_and(|said| said.stdout.is_empty())
        };
        while !is_empty(self) && begin.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(200));
        }
        for daemon in self.daemons.iter_mut().rev() {
            let _ = kill_process(Pid::from_child(daemon), Signal::TERM);
            let _ = daemon.wait();
        }
    }
}

/// The process of this program that carries out a shard of the campaign in this folder.
pub fn process_of(campaign: &Path, shard: &str) -> Option<Pid> {
    let is_it = |process: &procfs::process::Process| {
        let words = process.cmdline().unwrap_or_default();
        let has = |word: &str| words.iter().any(|own| own == word);
        has("run") && has(shard) && process.cwd().is_ok_and(|cwd| cwd == campaign)
    };
    let all = procfs::process::all_processes().ok()?;
    let found = all.flatten().find(is_it)?;
    Pid::from_raw(found.pid)
}
