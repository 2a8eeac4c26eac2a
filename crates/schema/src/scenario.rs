//! The stages of a trial.
//!
//! ```toml
//! [[scenario]]
//! label = "deliver, lose the power, deliver"
//! stages = [{ work = "deliver", measured = false }, { power-cut = "50%" }, "recover", "read-back", { work = "deliver" }]
//! ```

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use toml::{Table, Value};

/// The stages of a trial, with a label that is part of the trial's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub label: String,
    pub stages: Vec<Stage>,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// `{ work = "deliver", measured = false }`
    Work(WorkStage),
    /// `"remount"`, `{ power-cut = "50%" }`: a row of the table of stages, with its argument.
    Other(OtherStage),
}

/// A workload of the experiment, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkStage {
    /// The workload's label.
    pub work: String,
    /// One of the engine's named parts; absent: the engine's whole scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Whether the stage's figures count. An unmeasured stage is executed and recorded, but gives no metric.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub measured: bool,
    /// Number of concurrent client processes; absent: the workload's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct OtherStage {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
}

impl Scenario {
    /// A scenario with this work only.
    pub fn of_work(label: &str) -> Self {
        Scenario { label: label.to_owned(), stages: vec![Stage::work(label)] }
    }

    pub fn works(&self) -> impl Iterator<Item = &WorkStage> {
        self.stages.iter().filter_map(|stage| if let Stage::Work(work) = stage { Some(work) } else { None })
    }

    /// Works that follow one another with no stage between, by their labels.
    pub fn joined(&self) -> impl Iterator<Item = (&str, &str)> {
        self.stages.windows(2).filter_map(|pair| match pair {
            [Stage::Work(first), Stage::Work(next)] => Some((first.work.as_str(), next.work.as_str())),
            _ => None,
        })
    }

    pub fn others(&self) -> impl Iterator<Item = &OtherStage> {
        self.stages
            .iter()
            .filter_map(|stage| if let Stage::Other(other) = stage { Some(other) } else { None })
    }
}

impl Stage {
    /// The whole of a workload, measured.
    pub fn work(label: &str) -> Self {
        Stage::Work(WorkStage { work: label.to_owned(), part: None, measured: true, clients: None })
    }

    pub fn other(name: &str, argument: Option<String>) -> Self {
        Stage::Other(OtherStage { name: name.to_owned(), argument })
    }
}

/// The name in messages: `power-cut 50%`, `work deliver`.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Work(WorkStage { work, part: Some(part), .. }) => write!(f, "work {work}, part {part}"),
            Stage::Work(WorkStage { work, .. }) => write!(f, "work {work}"),
            Stage::Other(OtherStage { name, argument: Some(argument) }) => write!(f, "{name} {argument}"),
            Stage::Other(OtherStage { name, .. }) => f.write_str(name),
        }
    }
}

impl Serialize for Stage {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Stage::Work(work) => work.serialize(to),
            Stage::Other(OtherStage { name, argument: None }) => to.serialize_str(name),
            Stage::Other(OtherStage { name, argument: Some(argument) }) => {
                Table::from_iter([(name.clone(), Value::String(argument.clone()))]).serialize(to)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Stage {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::String(name) => Ok(Stage::Other(OtherStage { name, argument: None })),
            Value::Table(table) if table.contains_key("work") => {
                Value::Table(table).try_into().map(Stage::Work).map_err(de::Error::custom)
            }
            Value::Table(table) if table.len() == 1 => {
                let (name, argument) =
                    table.into_iter().next().unwrap_or((String::new(), Value::Boolean(true)));
                let argument = argument.as_str().map_or_else(|| argument.to_string(), str::to_owned);
                Ok(Stage::Other(OtherStage { name, argument: Some(argument) }))
            }
            other => Err(de::Error::custom(format!(
                "{other} is no stage of a scenario; write {{ work = \"LABEL\" }}, \"remount\", {{ power-cut = \"50%\" }}"
            ))),
        }
    }
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// A name, a name with its argument, or a work.
impl schemars::JsonSchema for Stage {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Stage".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let work = generator.subschema_for::<WorkStage>();
        let other = schemars::json_schema!({
            "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": { "type": "string" },
            "not": { "required": ["work"] }
        });
        schemars::json_schema!({ "anyOf": [{ "type": "string" }, work, other] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"label = "x"
stages = [{ work = "a", measured = false }, "remount", { work = "b", part = "walk" }, { power-cut = "50%" }, "recover"]
"#;

    #[test]
    fn stages_are_read_as_they_are_written() {
        let scenario: Scenario = toml::from_str(TEXT).expect("it is read");
        let shown: Vec<String> = scenario.stages.iter().map(Stage::to_string).collect();
        assert_eq!(shown, ["work a", "remount", "work b, part walk", "power-cut 50%", "recover"]);
        assert!(!scenario.works().next().expect("a work").measured);
        let toml = toml::to_string(&scenario).expect("it is written");
        assert_eq!(toml::from_str::<Scenario>(&toml).expect("it is read"), scenario);
        let json = serde_json::to_string(&scenario).expect("it is written");
        assert_eq!(serde_json::from_str::<Scenario>(&json).expect("it is read"), scenario);
    }

    #[test]
    fn works_are_joined_if_no_stage_is_between() {
        let joined = |stages: &str| {
            let scenario: Scenario =
                toml::from_str(&format!("label = 'x'\nstages = {stages}")).expect("it is read");
            scenario.joined().map(|(a, b)| format!("{a} {b}")).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(joined("[{ work = 'a' }, { work = 'b' }, 'sync', { work = 'c' }]"), "a b");
        assert_eq!(joined("[{ work = 'a' }, 'remount', { work = 'b' }]"), "");
        assert_eq!(joined("[{ work = 'a' }, { work = 'a' }, { work = 'b', part = 'walk' }]"), "a a, a b");
    }

    #[test]
    fn what_is_no_stage_is_refused_with_words() {
        for text in ["3", "{ work = 'a', colour = 'red' }", "{ a = 1, b = 2 }", "[]"] {
            let error = toml::from_str::<Scenario>(&format!("label = 'x'\nstages = [{text}]")).unwrap_err();
            assert!(error.to_string().contains("stage") || error.to_string().contains("colour"), "{error}");
        }
        let number: Scenario =
            toml::from_str("label = 'x'\nstages = [{ power-cut = 700 }]").expect("a number");
        assert_eq!(number.stages[0].to_string(), "power-cut 700");
    }
}
