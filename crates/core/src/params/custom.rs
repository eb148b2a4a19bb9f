//! Components written outside this crate: the document declares them, and their settings are read,
//! checked and recorded as those of any other.

use super::{Code, Faults, Names, ParamType, Row, Table};
use serde_json::{Map, Value};
use shallows_units::{Bytes, Rate, Span};
use std::sync::Arc;

crate::choices! {
    /// Where a declared component can be chosen.
    pub enum Section {
        /// Congestion control.
        Cc = "transport.cc",
        /// Workload.
        Traffic = "traffic",
        /// Network.
        Topology = "topology",
    }
}

crate::choices! {
    /// The form of a declared setting's value.
    pub enum DeclaredKind {
        /// A number.
        Real = "real",
        /// A whole number.
        Count = "count",
        /// `true` or `false`.
        Flag = "flag",
        /// Text.
        Text = "text",
        /// One of several words.
        Choice = "choice",
        /// A time.
        Span = "span",
        /// A rate.
        Rate = "rate",
        /// An amount of data.
        Bytes = "bytes",
        /// Names of hosts.
        Names = "names",
    }
}

crate::params! {
    /// A declared setting.
    pub struct DeclaredParam {
        /// Key in the experiment file.
        name: String = required, "", "the class";
        /// The form of a value.
        kind: DeclaredKind = required, "", "the class";
        /// Default as JSON text; empty where the user must write a value.
        default: String = "", "", "the class";
        /// Interval of legal values, or empty.
        range: String = "", "", "the class";
        /// The words of a choice.
        choices: Vec<String> = [], "", "the class";
    }
}

crate::params! {
    /// A declared component.
    pub struct Declared {
        /// Where it can be chosen.
        section: Section = required, "", "the class";
        /// Its `kind` in the experiment file.
        name: String = required, "", "the class";
        /// Module that holds it.
        module: String = required, "", "the experiment file";
        /// Class or function in the module.
        class: String = required, "", "the module";
        /// Hash of the sources, so that no stored result outlives an edit.
        source_hash: String = required, "", "the module";
        /// Whether a congestion control needs each mark reported.
        ecn: bool = false, "", "the class";
        /// Its settings.
        params: Vec<Row<DeclaredParam>> = [], "", "the class";
    }
}

crate::params! {
    /// Algorithms, workloads and topologies written in Python.
    pub struct PythonSettings {
        /// Python files, relative to the experiment file; the components that they declare can be named as any built-in.
        modules: Names = [], "", "none";
        /// The components that the modules declare; filled in from them.
        components: Vec<Row<Declared>> = [], "", "the modules";
    }
}

/// The declarations of a document.
pub type Plugins = [Arc<Declared>];

/// The properties of a declared component beyond its settings.
pub trait Beyond {
    /// Reads it, where it stands in the file.
    fn read(_table: &mut Table<'_>) -> Option<Arc<Self>> {
        None
    }
    /// Adds it to the record.
    fn show(&self, _map: &mut Map<String, Value>) {}
}

/// A declared component with its settings. `made` is the object behind it, once there is one.
pub struct Custom<M: ?Sized> {
    declared: Arc<Declared>,
    /// Every setting, in canonical form.
    pub values: Map<String, Value>,
    /// The factory of its instances.
    pub made: Option<Arc<M>>,
}

impl<M: Beyond + ?Sized> Custom<M> {
    /// Reads the settings that `declared` lists.
    pub fn read<'a>(declared: &'a Arc<Declared>, table: &mut Table<'a>) -> Self {
        let mut values = Map::new();
        for Row(param) in &declared.params {
            values.insert(param.name.clone(), param.read(table));
        }
        Custom { declared: declared.clone(), values, made: M::read(table) }
    }

    /// Its `kind` in the experiment file.
    pub fn name(&self) -> &str {
        &self.declared.name
    }

    /// The declaration.
    pub fn declared(&self) -> &Arc<Declared> {
        &self.declared
    }

    /// Adds every setting, in canonical form, to `map`.
    pub fn show(&self, map: &mut Map<String, Value>) {
        map.extend(self.values.clone());
        if let Some(made) = &self.made {
            made.show(map);
        }
    }
}

impl<M: ?Sized> Clone for Custom<M> {
    fn clone(&self) -> Self {
        Custom { declared: self.declared.clone(), values: self.values.clone(), made: self.made.clone() }
    }
}

impl<M: ?Sized> PartialEq for Custom<M> {
    fn eq(&self, other: &Self) -> bool {
        self.declared == other.declared && self.values == other.values
    }
}

impl<M: ?Sized> std::fmt::Debug for Custom<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.declared.name, self.values)
    }
}

impl DeclaredParam {
    /// The checked value in canonical form: as written, else the default.
    fn read<'a>(&'a self, table: &mut Table<'a>) -> Value {
        match self.kind {
            DeclaredKind::Real => self.read_as::<f64>(table),
            DeclaredKind::Count => self.read_as::<u64>(table),
            DeclaredKind::Flag => self.read_as::<bool>(table),
            DeclaredKind::Text => self.read_as::<String>(table),
            DeclaredKind::Span => self.read_as::<Span>(table),
            DeclaredKind::Rate => self.read_as::<Rate>(table),
            DeclaredKind::Bytes => self.read_as::<Bytes>(table),
            DeclaredKind::Names => self.read_as::<Names>(table),
            DeclaredKind::Choice => {
                let word: String = table.get_at(&self.name, &self.default(), "");
                if !self.choices.contains(&word) && !word.is_empty() {
                    let words: Vec<&str> = self.choices.iter().map(String::as_str).collect();
                    let path = table.at(&self.name);
                    table.faults.unknown(&path, "choice", &word, &words);
                }
                word.into()
            }
        }
    }

    fn read_as<'a, T: ParamType>(&'a self, table: &mut Table<'a>) -> Value {
        table.get_at::<T>(&self.name, &self.default(), &self.range).show()
    }

    /// The default as a file would hold it; null where there is none.
    fn default(&self) -> Value {
        serde_json::from_str(&self.default).unwrap_or(Value::Null)
    }

    /// Holds the declaration itself against its kind.
    fn check(&self, path: &str, faults: &mut Faults) {
        let map = Map::new();
        let mut found = Faults::default();
        if !self.default.is_empty() {
            let written = Map::from_iter([(self.name.clone(), self.default())]);
            self.read(&mut Table::new("", &written, &mut found));
        } else {
            self.read(&mut Table::new("", &map, &mut found));
            found.0.retain(|fault| fault.code != Code::Missing);
        }
        for fault in found.0 {
            faults.add(&format!("{path}.default"), fault.into_rule(), &self.default());
        }
    }
}

impl PythonSettings {
    /// The declarations, each known by a name of its own in its section.
    pub fn plugins(&self, faults: &mut Faults) -> Vec<Arc<Declared>> {
        let mut plugins: Vec<Arc<Declared>> = vec![];
        for (i, Row(declared)) in self.components.iter().enumerate() {
            let path = format!("python.components.{i}");
            let taken = |d: &Arc<Declared>| d.section == declared.section && d.name == declared.name;
            if let Some(other) = plugins.iter().find(|d| taken(d)) {
                let rule =
                    format!("must not have the name of another component: {}:{}", other.module, other.class);
                faults.add(
                    &format!("{path}.name"),
                    Code::WrittenTwice.rule(rule),
                    &declared.name.as_str().into(),
                );
            }
            for (j, Row(param)) in declared.params.iter().enumerate() {
                param.check(&format!("{path}.params.{j}"), faults);
            }
            plugins.push(Arc::new(declared.clone()));
        }
        plugins
    }
}
