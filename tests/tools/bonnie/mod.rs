//! Bonnie++ against the original where it is installed, system call by system call; the command by itself; and the engine as a trial
//! uses it.

mod command;
mod oracle;
mod trial;
