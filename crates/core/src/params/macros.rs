//! The declarations: `params!`, `choices!`, `components!`.

/// Declares a component's settings: `name: Type = default, "range", "source";`.
///
/// The default is written as in a file (`"65pkt"`, `0.0625`, `true`), or `required`. The range is
/// an interval (`"[0, 1)"`, either end may be left out) or empty.
///
/// `pub struct Name, with field: Ends { .. }` takes the settings of `Ends` in front of its own, which several components
/// share. `facts { example: ".." }` behind the settings states what other places know of the component ([`Facts`](crate::params::Facts)).
///
/// `pub struct Name, patch Patch` also makes a patch: the same settings, each `Some` only where it was written.
/// Patches of one thing merge setting by setting, each over those before it.
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident, patch $patch:ident {
            $( $(#[doc = $fdoc:literal])* $field:ident : $ty:ty = $default:tt, $range:literal, $source:literal; )*
        }
    ) => {
        $crate::params! {
            $(#[doc = $doc])*
            pub struct $name {
                $( $(#[doc = $fdoc])* $field : $ty = $default, $range, $source; )*
            }
        }

        #[doc = concat!("The settings of [`", stringify!($name), "`] that were written.")]
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $patch { $( $(#[doc = $fdoc])* pub $field: Option<$ty>, )* }

        impl $patch {
            /// Applies the written settings; all others stay.
            pub fn apply(&self, settings: &mut $name) {
                $( if let Some(value) = &self.$field { settings.$field = value.clone(); } )*
            }
        }

        impl $crate::params::Params for $patch {
            const DOC: &'static str = <$name as $crate::params::Params>::DOC;
            fn declared() -> &'static [$crate::params::Param] {
                <$name as $crate::params::Params>::declared()
            }
            fn read(table: &mut $crate::params::Table<'_>) -> Self {
                let mut list = Self::declared().iter();
                $patch { $( $field: table.written::<$ty>(list.next().expect("one declaration a field")) ),* }
            }
            fn show(&self, map: &mut serde_json::Map<String, serde_json::Value>) {
                $( if let Some(value) = &self.$field {
                    map.insert(stringify!($field).into(), $crate::params::ParamType::show(value));
                } )*
            }
        }
    };
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident $(, with $shared:ident : $shared_ty:ty)? {
            $( $(#[doc = $fdoc:literal])* $field:ident : $ty:ty = $default:tt, $range:literal, $source:literal; )*
        }
        $( facts { $( $fact:ident : $value:expr ),* $(,)? } )?
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)] // a component without settings has an empty struct
        pub struct $name { $( pub $shared: $shared_ty, )? $( $(#[doc = $fdoc])* pub $field: $ty, )* }

        impl $crate::params::Params for $name {
            const DOC: &'static str = concat!($($doc, "\n"),*);
            $( const FACTS: $crate::params::Facts = $crate::params::Facts { $( $fact: $value, )* ..$crate::params::Facts::NONE }; )?
            fn declared() -> &'static [$crate::params::Param] {
                static DECLARED: std::sync::LazyLock<Vec<$crate::params::Param>> = std::sync::LazyLock::new(|| {
                    #[allow(unused_mut)]
                    let mut list: Vec<$crate::params::Param> = vec![];
                    $( list.extend(<$shared_ty as $crate::params::Params>::list()); )?
                    list.extend(vec![ $( $crate::params::Param {
                        name: stringify!($field),
                        doc: concat!($($fdoc, "\n"),*),
                        kind: <$ty as $crate::params::ParamType>::kind(),
                        default: $crate::param_default!($default),
                        range: $range,
                        source: $source,
                    } ),* ]);
                    list
                });
                &DECLARED
            }
            #[allow(unused_variables, unused_mut)]
            fn read(table: &mut $crate::params::Table<'_>) -> Self {
                let mut list = Self::declared().iter();
                $name { $( $shared: {
                    let shared = <$shared_ty as $crate::params::Params>::read(table);
                    list.nth(<$shared_ty as $crate::params::Params>::declared().len() - 1);
                    shared
                }, )? $( $field: table.get::<$ty>(list.next().expect("one declaration a field")) ),* }
            }
            #[allow(unused_variables)]
            fn show(&self, map: &mut serde_json::Map<String, serde_json::Value>) {
                $( $crate::params::Params::show(&self.$shared, map); )?
                $( map.insert(stringify!($field).into(), $crate::params::ParamType::show(&self.$field)); )*
            }
        }
    };
}

/// The default of a parameter as a file would hold it.
#[macro_export]
#[doc(hidden)]
macro_rules! param_default {
    (required) => {
        serde_json::Value::Null
    };
    ($value:tt) => {
        serde_json::json!($value)
    };
}

/// Declares an enumeration that a file spells as one of several words.
#[macro_export]
macro_rules! choices {
    ( $(#[$meta:meta])* pub enum $name:ident { $( $(#[$vmeta:meta])* $variant:ident = $word:literal ),* $(,)? } ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
        pub enum $name { $( $(#[$vmeta])* $variant ),* }

        impl $name {
            /// Every choice, in the order of the declaration.
            #[allow(dead_code)] // tests go through them
            pub const ALL: [Self; [$( $word ),*].len()] = [$( $name::$variant ),*];
        }

        impl $crate::params::ParamType for $name {
            fn kind() -> $crate::params::Kind { $crate::params::Kind::Choice(&[$($word),*]) }
            fn parse(value: &serde_json::Value) -> Result<Self, $crate::params::Rule> {
                match value.as_str() {
                    $( Some($word) => Ok($name::$variant), )*
                    _ => Err($crate::params::Code::WrongType.rule(format!("must be {}", Self::kind()))),
                }
            }
            fn show(&self) -> serde_json::Value {
                match self { $( $name::$variant => $word.into() ),* }
            }
            fn stand_in() -> Self { Self::ALL[0] }
            /// Words have no range.
            fn within(&self, _: &str) -> Result<(), $crate::params::Rule> { Ok(()) }
        }
    };
}

/// Declares the list of components of one kind: an enum over their settings, read by `kind`.
///
/// A bare word may stand for a component with all its defaults: `cc = "dctcp"`. `open Section(type)`
/// adds the components that documents declare, `type` standing behind them. `on "backend"` behind one says that
/// this backend alone runs it.
#[macro_export]
macro_rules! components {
    (
        $(#[$meta:meta])*
        pub enum $name:ident, $what:literal $(, open $section:ident($made:ty))?
        { $( $word:literal => $variant:ident($params:ty) $(on $backend:literal)? ),* $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum $name {
            $( $variant($params), )*
            $( /// Declared by the document.
            Custom($crate::params::Custom<$made>), )?
        }

        impl $name {
            /// All components, with every setting.
            pub fn all() -> &'static [$crate::params::Component] {
                static ALL: std::sync::LazyLock<Vec<$crate::params::Component>> = std::sync::LazyLock::new(|| vec![
                    $( $crate::params::Component {
                        backend: [$( Some($backend), )? None][0],
                        ..$crate::params::Component::of::<$params>($word)
                    } ),*
                ]);
                &ALL
            }

            /// A copy of all components.
            pub fn list() -> Vec<$crate::params::Component> {
                Self::all().to_vec()
            }

            /// The backend that alone runs it, if it is one alone.
            pub fn backend(&self) -> Option<&'static str> {
                match self {
                    $( $name::$variant(_) => [$( Some($backend), )? None][0], )*
                    #[allow(unreachable_patterns)] // where a list is not open
                    _ => None,
                }
            }

            /// The name in the file.
            pub fn kind(&self) -> &str {
                match self {
                    $( $name::$variant(_) => $word, )*
                    $( $name::Custom(custom) => <$crate::params::Custom<$made>>::name(custom), )?
                }
            }

            /// Reads the component that `table.kind` names; the caller finishes the table.
            pub fn read(table: &mut $crate::params::Table<'_>) -> Option<Self> {
                #[allow(unused_mut)]
                let mut known = vec![$($word),*];
                $( known.extend(table.plugins.iter()
                    .filter(|d| d.section == $crate::params::custom::Section::$section).map(|d| d.name.as_str())); )?
                let path = table.at("kind");
                let written = table.raw("kind");
                $(
                    // The document's own override the list, so that a file keeps its meaning
                    // when the list grows.
                    if let Some(serde_json::Value::String(s)) = written
                        && let Some(declared) = table.declared($crate::params::custom::Section::$section, s)
                    {
                        return Some($name::Custom($crate::params::Custom::read(declared, table)));
                    }
                )?
                match written {
                    $( Some(serde_json::Value::String(s)) if s == $word => {
                        table.renamed = <$params as $crate::params::Params>::FACTS.renamed;
                        Some($name::$variant(<$params as $crate::params::Params>::read(table)))
                    } )*
                    Some(serde_json::Value::String(s)) => {
                        let rule = $crate::params::unknown($crate::params::Code::UnknownWord, $what, s, &known);
                        let rule = match $crate::params::by_name(Self::all(), s) {
                            Some(meant) => rule.hint(meant),
                            None => rule,
                        };
                        table.faults.add(&path, rule, &s.as_str().into());
                        None
                    }
                    other => {
                        let code = match other {
                            None => $crate::params::Code::Missing,
                            Some(_) => $crate::params::Code::WrongType,
                        };
                        let rule = code.rule(format!("must name a {}: {}", $what, known.join(", ")));
                        table.faults.add(&path, rule, other.unwrap_or(&serde_json::Value::Null));
                        None
                    }
                }
            }

            /// The component with every setting, in canonical form.
            pub fn show(&self) -> serde_json::Map<String, serde_json::Value> {
                let mut map = serde_json::Map::new();
                map.insert("kind".into(), self.kind().into());
                match self {
                    $( $name::$variant(p) => $crate::params::Params::show(p, &mut map), )*
                    $( $name::Custom(custom) => <$crate::params::Custom<$made>>::show(custom, &mut map), )?
                }
                map
            }

            /// The declaration of one that the document declares.
            pub fn declared(&self) -> Option<&std::sync::Arc<$crate::params::custom::Declared>> {
                match self {
                    $( $name::Custom(custom) => Some(<$crate::params::Custom<$made>>::declared(custom)), )?
                    #[allow(unreachable_patterns)]
                    _ => None,
                }
            }
        }
    };
}

/// Makes a list of components, each with settings, the value of a single setting: a table in the file. Besides, it takes an
/// example component, for where a list of settings wants one, and the rule for a value that is not a table. The type has a
/// method `check(&self, path, faults)` for rules beyond the range of one setting.
#[macro_export]
macro_rules! nested {
    ($name:ident, $stand_in:expr, $rule:literal) => {
        impl PartialOrd for $name {
            fn partial_cmp(&self, _: &Self) -> Option<std::cmp::Ordering> {
                None
            }
        }

        impl $crate::params::ParamType for $name {
            fn kind() -> $crate::params::Kind {
                $crate::params::Kind::Table
            }
            fn parse(value: &serde_json::Value) -> Result<Self, $crate::params::Rule> {
                let read = <Self as $crate::params::ParamType>::read;
                read(value, "", &mut $crate::params::Faults::default()).ok_or_else(|| {
                    $crate::params::Code::WrongType.rule(format!("must be {}", $crate::params::Kind::Table))
                })
            }
            fn show(&self) -> serde_json::Value {
                serde_json::Value::Object($name::show(self))
            }
            fn stand_in() -> Self {
                $stand_in
            }
            fn read(
                value: &serde_json::Value,
                path: &str,
                faults: &mut $crate::params::Faults,
            ) -> Option<Self> {
                let Some(map) = value.as_object() else {
                    faults.add(path, $crate::params::Code::WrongType.rule($rule), value);
                    return None;
                };
                let before = faults.0.len();
                let mut table = $crate::params::Table::new(path, map, faults);
                let read = $name::read(&mut table)?;
                table.finish();
                if faults.0.len() == before {
                    read.check(path, faults);
                }
                (faults.0.len() == before).then_some(read)
            }
        }
    };
}
