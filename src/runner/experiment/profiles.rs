//! Shipped needs by name: the requirements of a type of server or machine, for any experiment.

use serde::Deserialize;

use crate::schema::needs::Needs;
use crate::text::names;

/// The shipped profiles by name.
pub static TABLE: &[(&str, &str)] = &[
    // One row a line.
    ("mail-server", include_str!("../../../profiles/mail-server.toml")),
    ("file-server", include_str!("../../../profiles/file-server.toml")),
    ("desktop", include_str!("../../../profiles/desktop.toml")),
    ("backup", include_str!("../../../profiles/backup.toml")),
    ("old-hardware", include_str!("../../../profiles/old-hardware.toml")),
];

/// The content of a profile. It weighs no workload by label, since labels belong to experiments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Whose needs these are, and the reason for the weights.
    pub story: String,
    pub source: String,
    pub needs: Needs,
}

/// The profile of that name; blanks are allowed: `mail server`.
///
/// # Errors
/// Names the nearest one.
pub fn find(name: &str) -> Result<Profile, String> {
    let plain = name.trim().replace(' ', "-");
    let found = TABLE.iter().find(|(known, _)| *known == plain);
    let (known, text) = found
        .ok_or_else(|| names::unknown("profile of needs", name, TABLE.iter().map(|(known, _)| *known)))?;
    let mut profile: Profile = toml::from_str(text).map_err(|e| format!("the profile {known}: {e}"))?;
    profile.needs.profile = Some((*known).to_owned());
    Ok(profile)
}

/// The name of the shipped profile that these needs are.
pub fn equal_to(needs: &Needs) -> Option<&str> {
    let name = needs.profile.as_deref()?;
    find(name).is_ok_and(|profile| profile.needs == *needs).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_says_whose_needs_it_has_and_weighs_something() {
        for (name, _) in TABLE {
            let Profile { story, source, needs } = find(name).unwrap();
            assert!(story.len() > 60 && !source.is_empty(), "{name}");
            assert!(needs.weights().iter().any(|(_, weight)| *weight > 0.0), "{name}");
            assert!(needs.workload.is_empty(), "{name} names a workload");
        }
    }

    #[test]
    fn a_profile_is_found_as_people_write_it() {
        assert_eq!(find("mail server").unwrap().needs.profile.as_deref(), Some("mail-server"));
        let error = find("mial-server").unwrap_err();
        assert!(error.contains("did you mean 'mail-server'?"), "{error}");
    }
}
