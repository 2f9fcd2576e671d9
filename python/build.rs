//! Lets a plain `cargo build` link the extension module on macOS; elsewhere there is nothing to do.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
