//! Where a source file can be changed, and into what.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, GenericArgument, PathArguments, ReturnType, Signature, Type, UnOp};

/// A place in a source file that can be changed, in one way or another.
#[derive(Debug, Clone)]
pub struct Site {
    /// The bytes that are replaced. Empty for the beginning of a function's body.
    pub range: Range<usize>,
    pub kind: Kind,
    pub mutants: Vec<Mutant>,
    /// The function it is in.
    pub function: String,
    pub line: usize,
}

#[derive(Debug, Clone)]
pub enum Kind {
    /// `left operator right`, also with an assignment.
    Binary { left: Range<usize>, operator: String, right: Range<usize> },
    /// `operator operand`: the operator is left out.
    Unary { operator: char, operand: Range<usize> },
    /// The guard of a match arm.
    Guard,
    /// The function returns at once.
    Body,
}

/// One change.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The number that switches it on.
    pub id: u32,
    /// The other operator, or the value that is returned.
    pub replacement: String,
}

/// What a source file offers.
#[derive(Debug)]
pub struct Found {
    pub sites: Vec<Site>,
    /// The text without its tests: what results depend on.
    pub code: String,
}

/// All sites of `source`, ordered as `render` wants them; numbers go on from `next`.
pub fn find(source: &str, next: &mut u32) -> Result<Found, String> {
    let file = syn::parse_file(source).map_err(|error| format!("line {}: {error}", error.span().start().line))?;
    let mut finder = Finder { source, sites: Vec::new(), tests: Vec::new(), path: Vec::new(), in_default: false };
    finder.visit_file(&file);
    let mut sites = finder.sites;
    // Outer ones before inner ones; a body's beginning before what begins there.
    sites.sort_by_key(|site| (site.range.start, !matches!(site.kind, Kind::Body), usize::MAX - site.range.end));
    for mutant in sites.iter_mut().flat_map(|site| &mut site.mutants) {
        mutant.id = *next;
        *next += 1;
    }
    let mut code = source.to_string();
    finder.tests.sort_by_key(|range| range.start);
    finder.tests.iter().rev().for_each(|range| code.replace_range(range.clone(), ""));
    Ok(Found { sites, code: code.trim_end().to_string() })
}

struct Finder<'a> {
    source: &'a str,
    sites: Vec<Site>,
    tests: Vec<Range<usize>>,
    /// The names of the functions and types around.
    path: Vec<String>,
    in_default: bool,
}

impl Finder<'_> {
    fn add(&mut self, range: Range<usize>, kind: Kind, replacements: Vec<String>) {
        if replacements.is_empty() {
            return;
        }
        let mutants = replacements.into_iter().map(|replacement| Mutant { id: 0, replacement }).collect();
        let line = self.source[..range.start].matches('\n').count() + 1;
        self.sites.push(Site { range, kind, mutants, function: self.path.join("::"), line });
    }

    fn function(&mut self, signature: &Signature, block: &Block, inside: impl FnOnce(&mut Self)) {
        if signature.constness.is_some() {
            return;
        }
        self.path.push(signature.ident.to_string());
        let body = bytes(block);
        let text = self.source[body.start + 1..body.end - 1].trim();
        if !text.is_empty() && !self.in_default && signature.unsafety.is_none() {
            let values = match &signature.output {
                ReturnType::Default => vec![String::new()],
                ReturnType::Type(_, kind) => values(kind),
            };
            let values = values.into_iter().filter(|value| value != text).collect();
            self.add(body.start + 1..body.start + 1, Kind::Body, values);
        }
        inside(self);
        self.path.pop();
    }

    /// Whether these attributes mark tests; if so their bytes are remembered.
    fn is_test(&mut self, attributes: &[syn::Attribute], item: &impl Spanned) -> bool {
        let test = attributes.iter().any(|attribute| {
            let path = attribute.path();
            path.is_ident("test")
                || path.is_ident("cfg")
                    && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
        });
        if test {
            self.tests.push(bytes(item));
        }
        test
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Trait(item) => &item.attrs,
            _ => return,
        };
        if !self.is_test(attributes, item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block, |finder| finder.visit_block(&item.block));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !self.is_test(&item.attrs, item) {
            self.function(&item.sig, &item.block, |finder| finder.visit_block(&item.block));
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block, |finder| finder.visit_block(block));
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of_trait = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
        self.in_default = of_trait.is_some_and(|segment| segment.ident == "Default");
        self.path.push(type_name(&item.self_ty));
        item.items.iter().for_each(|inner| self.visit_impl_item(inner));
        self.path.pop();
        self.in_default = false;
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.path.push(item.ident.to_string());
        item.items.iter().for_each(|inner| self.visit_trait_item(inner));
        self.path.pop();
    }

    // Constants are made before a mutant can be chosen; types, patterns and attributes are no code.
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast GenericArgument) {}

    fn visit_expr_repeat(&mut self, expression: &'ast syn::ExprRepeat) {
        self.visit_expr(&expression.expr);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.add(bytes(&**guard), Kind::Guard, vec!["true".into(), "false".into()]);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        if !has_let(&expression.left) && !has_let(&expression.right) {
            let (left, right) = (bytes(&*expression.left), bytes(&*expression.right));
            let operator = self.source[bytes(&expression.op)].to_string();
            let others = others(&expression.op).iter().map(|other| other.to_string()).collect();
            self.add(left.start..right.end, Kind::Binary { left, operator, right }, others);
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast syn::ExprUnary) {
        let operator = match expression.op {
            UnOp::Neg(_) => Some('-'),
            UnOp::Not(_) => Some('!'),
            _ => None,
        };
        if let Some(operator) = operator {
            let operand = bytes(&*expression.expr);
            self.add(
                bytes(&expression.op).start..operand.end,
                Kind::Unary { operator, operand },
                vec!["left out".into()],
            );
        }
        visit::visit_expr_unary(self, expression);
    }
}

/// A chain of conditions with `let` cannot stand in parentheses.
fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

fn bytes(tokens: &impl Spanned) -> Range<usize> {
    tokens.span().byte_range()
}

/// What an operator is changed to: the choice of cargo-mutants.
fn others(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Le(_) => &[">"],
        BinOp::Ge(_) => &["<"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::RemAssign(_) => &["/=", "+="],
        BinOp::BitAndAssign(_) => &["|="],
        BinOp::BitOrAssign(_) => &["&="],
        BinOp::BitXorAssign(_) => &["|=", "&="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        _ => &[],
    }
}

/// Values that a function of this type could return: guesses, which need not compile.
fn values(kind: &Type) -> Vec<String> {
    let list = |values: &[&str]| values.iter().map(|value| value.to_string()).collect::<Vec<_>>();
    match kind {
        Type::Never(_) | Type::ImplTrait(_) => Vec::new(),
        Type::Paren(inner) => values(&inner.elem),
        Type::Tuple(tuple) => {
            let mut all = vec![String::new()];
            for element in &tuple.elems {
                let some: Vec<String> = values(element).into_iter().take(2).collect();
                all = all.iter().flat_map(|begun| some.iter().map(move |value| format!("{begun}{value}, "))).collect();
            }
            all.into_iter().take(4).map(|value| format!("({value})")).collect()
        }
        Type::Reference(reference) if reference.mutability.is_none() => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => list(&["\"\"", "\"xyzzy\""]),
            Type::Slice(slice) => {
                let filled = values(&slice.elem).into_iter().map(|value| format!("vec![{value}].leak()"));
                std::iter::once("&[]".to_string()).chain(filled).collect()
            }
            _ => list(&["Box::leak(Box::default())"]),
        },
        Type::Path(path) => {
            let Some(segment) = path.path.segments.last() else { return Vec::new() };
            let inner = || match &segment.arguments {
                PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
                    Some(GenericArgument::Type(inner)) => values(inner),
                    _ => Vec::new(),
                },
                _ => vec!["()".to_string()],
            };
            match segment.ident.to_string().as_str() {
                "bool" => list(&["true", "false"]),
                "f64" | "f32" => list(&["0.0", "1.0", "-1.0"]),
                "usize" | "u8" | "u16" | "u32" | "u64" | "u128" => list(&["0", "1"]),
                "isize" | "i8" | "i16" | "i32" | "i64" | "i128" => list(&["0", "1", "-1"]),
                "String" => list(&["String::new()", "\"xyzzy\".into()"]),
                "Option" => {
                    std::iter::once("None".to_string()).chain(inner().iter().map(|v| format!("Some({v})"))).collect()
                }
                "Result" => inner().iter().map(|v| format!("Ok({v})")).collect(),
                "Vec" => {
                    std::iter::once("vec![]".to_string()).chain(inner().iter().map(|v| format!("vec![{v}]"))).collect()
                }
                _ => list(&["Default::default()"]),
            }
        }
        _ => list(&["Default::default()"]),
    }
}

fn type_name(kind: &Type) -> String {
    match kind {
        Type::Path(path) => path.path.segments.last().map_or_else(String::new, |segment| segment.ident.to_string()),
        Type::Reference(reference) => type_name(&reference.elem),
        _ => String::new(),
    }
}
