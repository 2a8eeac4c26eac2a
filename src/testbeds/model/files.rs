//! Data files: shipped ones, and a user's.

use std::fs;

/// Larger than any description of a disk or machine.
const LARGEST: u64 = 1 << 20;

/// The text of a file, by name in the table or by path.
///
/// # Errors
/// If name or file is wrong, with what to write.
pub fn text(what: &str, table: &[(&str, &str)], written: &str) -> Result<String, String> {
    if let Some((_, text)) = table.iter().find(|(name, _)| *name == written) {
        return Ok((*text).to_owned());
    }
    if !written.contains('/') {
        let known = table.iter().map(|(name, _)| *name);
        return Err(crate::text::names::unknown(what, written, known)
            + &format!(
                "; to name a file, write its path: ./{what}.toml in an option, /DIR/{what}.toml in a configuration"
            ));
    }
    match fs::metadata(written) {
        Ok(about) if about.is_file() && about.len() <= LARGEST => {}
        Ok(_) => return Err(format!("{written} is not a file that can describe a {what}")),
        Err(e) => return Err(format!("could not stat {written}: {e}")),
    }
    fs::read_to_string(written).map_err(|e| format!("could not read {written}: {e}"))
}
