//! `recover`: an administrator's steps after a power cut: repair and mount.

use super::{Around, Now, StageKind, power_cut, without_argument};
use crate::schema::description::Description;
use crate::schema::job::Step;

pub struct Recover;

impl StageKind for Recover {
    fn name(&self) -> &'static str {
        "recover"
    }

    fn usage(&self) -> &'static str {
        "\"recover\""
    }

    fn description(&self) -> Description {
        Description {
            what: "Repairs the filesystem if it needs a repair before the mount, mounts it, creates a first \
                   new file, and syncs file and directory. The time of these steps together is the recovery \
                   time.",
            origin: "Runs the commands that an administrator runs after a crash; `fsderby explain KIND` \
                     lists them.",
            limits: "Possible only right after a power cut.",
        }
    }

    fn stands(&self, argument: Option<&str>, around: &Around<'_>) -> Result<(), String> {
        without_argument(self.name(), argument)?;
        match around.comes_right_after(power_cut::NAME) {
            true => Ok(()),
            false => Err(format!("this stage must directly follow {}", power_cut::NAME)),
        }
    }

    fn steps(&self, _argument: Option<&str>, now: &Now<'_>) -> Vec<Step> {
        let repair = now.kind.into_iter().flat_map(|kind| kind.recover().repair);
        let mut steps: Vec<Step> = repair.map(|check| Step::Repair { check }).collect();
        steps.extend(now.mount().map(|mount| Step::MountAgain { mount }));
        steps.push(Step::FirstFile);
        steps
    }
}
