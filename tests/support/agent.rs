//! A job handed to a real agent, without the run around it.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use fsderby::agent::channel::decode;
use fsderby::schema::event::Event;
use fsderby::schema::job::Job;

/// Its events; each line carries its number and checksum.
pub fn carry_out(job: &Job) -> Vec<Event> {
    let mut agent = super::fsderby()
        .arg("agent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the agent starts");
    let mut lifeline = agent.stdin.take().expect("its input");
    let line = serde_json::to_string(job).expect("a job is data");
    writeln!(lifeline, "{line}").expect("it reads its job");
    let lines = BufReader::new(agent.stdout.take().expect("its output")).lines();
    let decoded =
        |(line, n): (std::io::Result<String>, u64)| decode(&line.expect("text"), n).expect("an event");
    let events = lines.zip(0..).map(decoded).collect();
    assert!(agent.wait().expect("its end").success());
    events
}
