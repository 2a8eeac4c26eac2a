//! The configuration's part of an experiment: what it leaves open.

use super::Experiment;
use crate::config::{Config, Key, wrong};
use crate::exit::Failure;
use crate::schema::units::Percent;
use crate::testbeds::{AUTO, Usual};

/// What the configuration says of testbeds that leave it open.
pub fn usual(config: &Config) -> Usual {
    Usual { images: config.text(Key::Images), machine: config.text(Key::Machine) }
}

impl Experiment {
    /// Takes from the configuration what the experiment's file does not state, before the options of the command line. A stored
    /// plan states everything.
    ///
    /// # Errors
    /// If a value is not possible.
    pub fn take_configured(&mut self, config: &Config) -> Result<(), Failure> {
        if self.is_stored() {
            return Ok(());
        }
        self.usual = usual(config);
        let is_open = self.on.as_deref().is_none_or(|on| on == AUTO) && self.cross.on.is_empty();
        if let Some(on) = config.text(Key::On).filter(|_| is_open) {
            self.on = Some(self.usual.on_machine(&on));
        }
        if let Some(margin) = config.get(Key::Margin).filter(|_| self.margin.is_none()) {
            let of_text = |why: String| wrong("margin", &margin.from, &why);
            self.margin = Some(margin.text.parse::<Percent>().map_err(of_text)?);
        }
        Ok(())
    }
}
