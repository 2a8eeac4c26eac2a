//! The owner of the files: -d, -u and -g.

use std::fs;

use rustix::process::{Gid, Uid, chdir, getgid, getuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::options::Options;

/// Changes to the directory and becomes the user. Returns a message that names the user, if root chose one.
pub fn become_user(options: &Options) -> Result<Option<String>, String> {
    let is_root = getuid().is_root();
    if is_root && options.user.is_none() {
        return Err("root must name the owner of the files\n  try: -u root, or -u with another user".into());
    }
    let wanted = options.user.as_deref().map(user).transpose()?;
    let group = options.group.as_deref().map(group).transpose()?;
    chdir(&options.directory)
        .map_err(|e| format!("could not change to the directory '{}': {e}", options.directory.display()))?;
    let Some((uid, own_group)) = wanted else { return Ok(None) };
    let gid = group.unwrap_or(own_group);
    if (uid, gid) != (getuid().as_raw(), getgid().as_raw()) {
        let become_it = || {
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
            set_thread_groups(&[gid])?;
            set_thread_res_gid(gid, gid, gid)?;
            set_thread_res_uid(uid, uid, uid)
        };
        become_it().map_err(|e| format!("could not become user {uid} of group {gid}: {e}"))?;
    }
    Ok(Some(format!("Using uid:{uid}, gid:{gid}.")))
}

/// The numeric IDs of a user and of the user's group.
fn user(name: &str) -> Result<(u32, u32), String> {
    let known = lines("/etc/passwd").into_iter().find_map(|fields| {
        let [own, _, uid, gid, ..] = fields.as_slice() else { return None };
        let (uid, gid) = (uid.parse().ok()?, gid.parse().ok()?);
        (own == name || name.parse() == Ok(uid)).then_some((uid, gid))
    });
    known.ok_or_else(|| format!("-u: unknown user '{name}'"))
}

fn group(name: &str) -> Result<u32, String> {
    let known = lines("/etc/group").into_iter().find_map(|fields| {
        let [own, _, gid, ..] = fields.as_slice() else { return None };
        let gid = gid.parse().ok()?;
        (own == name || name.parse() == Ok(gid)).then_some(gid)
    });
    known.ok_or_else(|| format!("-g: unknown group '{name}'"))
}

fn lines(path: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| line.split(':').map(str::to_owned).collect()).collect()
}
