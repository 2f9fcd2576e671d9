//! What must hold of an HDF5 file before `rust-hdf5` may open it: that all of its data is in it.
//!
//! HDF5 can say that data is elsewhere: in the bytes of any other file (external storage), behind a name in another
//! file (external link), or put together from parts of other files (virtual dataset). `rust-hdf5` follows all three, virtual
//! datasets as soon as it opens the file, so that whoever makes a file could have any other file of the reader read. Here the
//! object headers are looked through with the same decoders, and in the same order, before that. On the way it notes what
//! `rust-hdf5` does not give: the numbers of groups that are sparse matrices of MATLAB.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use rust_hdf5::format::btree_v1::{BTreeV1Config, BTreeV1Node};
use rust_hdf5::format::fractal_heap::{FractalHeapHeader, collect_managed_objects};
use rust_hdf5::format::local_heap::{LocalHeapHeader, local_heap_get_string};
use rust_hdf5::format::messages::attribute::AttributeMessage;
use rust_hdf5::format::messages::link::{LinkMessage, LinkTarget};
use rust_hdf5::format::messages::link_info::LinkInfoMessage;
use rust_hdf5::format::messages::superblock_ext::BtreeKMessage;
use rust_hdf5::format::object_header::{OHDR_SIGNATURE, ObjectHeader, ObjectHeaderMessage};
use rust_hdf5::format::superblock::{SuperblockV0V1, SuperblockV2V3, SymbolTableCache, detect_superblock_version};
use rust_hdf5::format::symbol_table::SymbolTableNode;
use rust_hdf5::format::{BlockReader, FormatContext, FormatError, FormatResult, UNDEF_ADDR};

use crate::Error;
use crate::error::excerpt;
use crate::source::contained;

/// The messages of an object header that matter here.
mod message {
    pub const LINK_INFO: u8 = 0x02;
    pub const LINK: u8 = 0x06;
    pub const EXTERNAL_FILES: u8 = 0x07;
    pub const LAYOUT: u8 = 0x08;
    pub const ATTRIBUTE: u8 = 0x0c;
    pub const CONTINUATION: u8 = 0x10;
    pub const SYMBOL_TABLE: u8 = 0x11;
    pub const BTREE_K: u8 = 0x13;
    /// The bit of a message that says that its body is elsewhere in the file.
    pub const SHARED: u8 = 0x02;
}

/// The class of a data layout that is put together from other datasets.
const VIRTUAL: u8 = 3;
/// As much of an object header as is read at first.
const HEADER: usize = 8192;
/// The most pieces of one object header, and the most bytes of all of them. Pieces may lie over each other, and a small file
/// could else be read again and again.
const MOST_PIECES: usize = 4096;
const MOST_BYTES: u64 = 1 << 26;

/// How many rows each sparse matrix of MATLAB has, by the place of its group.
pub(super) type SparseRows = HashMap<String, u64>;

/// Refuses a file that has data elsewhere, naming how.
pub(super) fn check(path: &Path, name: &str) -> Result<SparseRows, Error> {
    contained(name, "h5ad", || look_through(path, name))?
}

fn look_through(path: &Path, name: &str) -> Result<SparseRows, Error> {
    let file = File::open(path).map_err(|source| Error::Read { file: name.into(), source })?;
    let length = file.metadata().map_err(|source| Error::Read { file: name.into(), source })?.len();
    let outcome = Search::begin(Blocks { file, length }).and_then(Search::run);
    match outcome {
        Ok(rows) => Ok(rows),
        Err(Trouble::Elsewhere { what, place }) => Err(Error::unsupported(
            name,
            format!("'{}' is {what}: its data are not in this file", excerpt(place.as_bytes())),
            "save the data inside the file itself",
        )),
        Err(Trouble::Broken(problem) | Trouble::Absurd(problem)) => Err(Error::malformed(name, "h5ad", problem)),
    }
}

/// Why a file is refused.
enum Trouble {
    Elsewhere {
        what: &'static str,
        place: String,
    },
    /// Not to be read; `rust-hdf5` passes over an object that is so.
    Broken(String),
    /// What no program writes, and `rust-hdf5` may read otherwise than it is read here.
    Absurd(String),
}

impl From<FormatError> for Trouble {
    fn from(error: FormatError) -> Trouble {
        Trouble::Broken(error.to_string())
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Broken(error.to_string())
    }
}

/// The bytes of the file, by place.
struct Blocks {
    file: File,
    length: u64,
}

impl Blocks {
    /// So many bytes, or as many as there are.
    fn up_to(&mut self, start: u64, count: usize) -> io::Result<Vec<u8>> {
        let count = (count as u64).min(self.length.saturating_sub(start));
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(start))?;
        (&mut self.file).take(count).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Just so many bytes.
    fn exactly(&mut self, start: u64, count: usize) -> io::Result<Vec<u8>> {
        if start.checked_add(count as u64).is_none_or(|end| end > self.length) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ends too early"));
        }
        self.up_to(start, count)
    }
}

impl BlockReader for Blocks {
    fn read_block(&mut self, start: u64, count: usize) -> FormatResult<Vec<u8>> {
        self.exactly(start, count).map_err(|error| FormatError::InvalidData(error.to_string()))
    }
}

/// Where the names of an old group are: a tree, and a heap of texts.
type SymbolTable = (u64, u64);

/// The table, if it is somewhere.
fn defined(table: Option<SymbolTable>) -> Option<SymbolTable> {
    table.filter(|table| table.0 != UNDEF_ADDR && table.1 != UNDEF_ADDR)
}

/// A walk over all objects of the file.
struct Search {
    blocks: Blocks,
    sizes: FormatContext,
    ranks: BTreeV1Config,
    /// Objects that are still to be looked at, with the symbol table that the entry which names them has noted.
    open: Vec<(String, u64, Option<SymbolTable>)>,
    seen: HashSet<(u64, Option<SymbolTable>)>,
    sparse_rows: SparseRows,
}

impl Search {
    fn begin(mut blocks: Blocks) -> Result<Search, Trouble> {
        let head = blocks.up_to(0, 1024)?;
        let (sizes, ranks, extension, root, table) = match detect_superblock_version(&head)? {
            0 | 1 => {
                let block = SuperblockV0V1::decode(&head)?;
                let ranks = BTreeV1Config {
                    sym_leaf_k: block.sym_leaf_k,
                    snode_internal_k: block.btree_internal_k,
                    ..BTreeV1Config::default()
                };
                let root = &block.root_symbol_table_entry;
                let sizes = FormatContext { sizeof_addr: block.sizeof_offsets, sizeof_size: block.sizeof_lengths };
                let extension = block.superblock_extension_address;
                (sizes, ranks, extension, root.obj_header_addr, defined(root.cached_symbol_table()))
            }
            _ => {
                let block = SuperblockV2V3::decode(&head)?;
                let sizes = FormatContext { sizeof_addr: block.sizeof_offsets, sizeof_size: block.sizeof_lengths };
                let ranks = BTreeV1Config::default();
                let root = block.root_group_object_header_address;
                (sizes, ranks, block.superblock_extension_address, root, None)
            }
        };
        let open = vec![(String::new(), root, table)];
        let (seen, sparse_rows) = (HashSet::new(), SparseRows::new());
        let mut search = Search { blocks, sizes, ranks, open, seen, sparse_rows };
        if extension != UNDEF_ADDR && extension != 0 {
            search.read_ranks(extension)?;
        }
        Ok(search)
    }

    /// The extension of the superblock may say how large the nodes of trees are.
    fn read_ranks(&mut self, extension: u64) -> Result<(), Trouble> {
        for message in self.messages(extension)? {
            if message.msg_type == message::BTREE_K {
                let ranks = BtreeKMessage::decode(&message.data)?;
                self.ranks.sym_leaf_k = ranks.sym_leaf_k;
                self.ranks.snode_internal_k = ranks.snode_internal_k;
            }
        }
        Ok(())
    }

    fn run(mut self) -> Result<SparseRows, Trouble> {
        while let Some((place, address, table)) = self.open.pop() {
            if self.seen.insert((address, table)) {
                self.object(&place, address, table)?;
            }
        }
        Ok(self.sparse_rows)
    }

    /// Looks at one object, and notes those that it names.
    fn object(&mut self, place: &str, address: u64, noted: Option<SymbolTable>) -> Result<(), Trouble> {
        // An object that cannot be read is no object to `rust-hdf5` either; but its symbol table may be known without it.
        let messages = match self.messages(address) {
            Err(Trouble::Broken(_)) => Vec::new(),
            other => other?,
        };
        let elsewhere = |what, place: &str| Trouble::Elsewhere { what, place: place.into() };
        let mut table = noted;
        let mut has_links = false;
        for found in &messages {
            let matters = [message::LINK_INFO, message::LINK, message::LAYOUT, message::SYMBOL_TABLE];
            if found.flags & message::SHARED != 0 && matters.contains(&found.msg_type) {
                return Err(Trouble::Absurd(format!(
                    "'{}' shares data that must not be shared",
                    excerpt(place.as_bytes())
                )));
            }
            match found.msg_type {
                message::EXTERNAL_FILES => return Err(elsewhere("in external storage", place)),
                message::LAYOUT if found.data.get(1) == Some(&VIRTUAL) => {
                    return Err(elsewhere("a virtual dataset", place));
                }
                message::LINK => self.link(place, LinkMessage::decode(&found.data, &self.sizes)?.0)?,
                message::LINK_INFO => self.many_links(place, &found.data)?,
                message::SYMBOL_TABLE => table = table.or(self.table_of(&found.data)),
                message::ATTRIBUTE => {
                    self.sparse_rows.extend(self.rows_of(&found.data).map(|rows| (place.into(), rows)))
                }
                _ => {}
            }
            has_links |= [message::LINK, message::LINK_INFO].contains(&found.msg_type);
        }
        // A group that has come to the new way of links may still have the table of the old one noted.
        match table {
            Some(table) if !has_links => self.old_group(place, table),
            _ => Ok(()),
        }
    }

    /// The number of rows, if an attribute says that its group is a sparse matrix of MATLAB.
    fn rows_of(&self, attribute: &[u8]) -> Option<u64> {
        let (found, _) = AttributeMessage::decode(attribute, &self.sizes).ok()?;
        let bytes = <[u8; 8]>::try_from(&found.data[..]).ok()?;
        (found.name == "MATLAB_sparse").then(|| u64::from_le_bytes(bytes))
    }

    fn link(&mut self, place: &str, link: LinkMessage) -> Result<(), Trouble> {
        let place = joined(place, &link.name);
        match link.target {
            LinkTarget::Hard { address } => self.open.push((place, address, None)),
            LinkTarget::External { .. } => return Err(Trouble::Elsewhere { what: "an external link", place }),
            // A soft link names something in this file, which is looked at under its own name.
            _ => {}
        }
        Ok(())
    }

    /// The links of a group that has many: they are in a heap of their own.
    fn many_links(&mut self, place: &str, info: &[u8]) -> Result<(), Trouble> {
        let (info, _) = LinkInfoMessage::decode(info, &self.sizes)?;
        if info.fractal_heap_address == UNDEF_ADDR {
            return Ok(());
        }
        let head = self.blocks.up_to(info.fractal_heap_address, 512)?;
        let heap = FractalHeapHeader::decode(&head, &self.sizes)?;
        for objects in collect_managed_objects(&heap, &self.sizes, &mut self.blocks)? {
            let mut rest = &objects[..];
            // What follows the last link is free room.
            while rest.first() == Some(&1)
                && let Ok((link, length @ 1..)) = LinkMessage::decode(rest, &self.sizes)
            {
                self.link(place, link)?;
                rest = &rest[length.min(rest.len())..];
            }
        }
        Ok(())
    }

    fn table_of(&self, body: &[u8]) -> Option<SymbolTable> {
        let size = usize::from(self.sizes.sizeof_addr);
        let address = |bytes: &[u8]| {
            let value = bytes.iter().take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
            if bytes.iter().all(|&byte| byte == 0xff) { UNDEF_ADDR } else { value }
        };
        defined(Some((address(body.get(..size)?), address(body.get(size..2 * size)?))))
    }

    /// The links of a group in the way of HDF5 before 1.8.
    fn old_group(&mut self, place: &str, (tree, heap): SymbolTable) -> Result<(), Trouble> {
        let (address, length) = (usize::from(self.sizes.sizeof_addr), usize::from(self.sizes.sizeof_size));
        let heap = LocalHeapHeader::decode(&self.blocks.up_to(heap, 64)?, address, length)?;
        let size = usize::try_from(heap.data_size).unwrap_or(usize::MAX);
        let texts = self.blocks.exactly(heap.data_addr, size)?;
        let node_size = self.ranks.symbol_table_node_size(address, length);
        for leaf in self.leaves(tree)? {
            let bytes = self.blocks.up_to(leaf, node_size)?;
            let node = SymbolTableNode::decode(&bytes, address, length, self.ranks.sym_leaf_max_entries())?;
            for entry in node.entries {
                let name = local_heap_get_string(&texts, entry.name_offset)?;
                if !name.is_empty() && !matches!(entry.cache, SymbolTableCache::SoftLink { .. }) {
                    let table = defined(entry.cached_symbol_table());
                    self.open.push((joined(place, &name), entry.obj_header_addr, table));
                }
            }
        }
        Ok(())
    }

    /// The leaves of the tree of an old group.
    fn leaves(&mut self, root: u64) -> Result<Vec<u64>, Trouble> {
        let (address, length) = (usize::from(self.sizes.sizeof_addr), usize::from(self.sizes.sizeof_size));
        let node_size = self.ranks.snode_btree_node_size(address, length);
        let (mut open, mut seen, mut leaves) = (vec![root], HashSet::new(), Vec::new());
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            let bytes = self.blocks.up_to(at, node_size)?;
            let node = BTreeV1Node::decode(&bytes, address, length, self.ranks.snode_max_entries())?;
            if node.level == 0 { &mut leaves } else { &mut open }.extend(node.children);
        }
        leaves.sort_unstable();
        leaves.dedup();
        Ok(leaves)
    }

    /// The messages of an object header, of all its pieces.
    fn messages(&mut self, address: u64) -> Result<Vec<ObjectHeaderMessage>, Trouble> {
        let mut head = self.blocks.up_to(address, HEADER)?;
        if let Err(FormatError::BufferTooShort { needed, .. }) = ObjectHeader::decode_any(&head)
            && needed > head.len()
        {
            head = self.blocks.up_to(address, needed)?;
        }
        let (header, _) = ObjectHeader::decode_any(&head)?;
        let is_new = head.starts_with(&OHDR_SIGNATURE);
        let ordered = is_new && header.flags & 0x04 != 0;
        let mut messages = header.messages;
        let (mut looked_at, mut seen, mut bytes) = (0, HashSet::new(), 0u64);
        while looked_at < messages.len() {
            let next = self.continuation(&messages[looked_at]);
            looked_at += 1;
            let Some((start, length)) = next.filter(|next| seen.insert(next.0)) else { continue };
            bytes = bytes.saturating_add(length);
            if seen.len() > MOST_PIECES || bytes > MOST_BYTES && length <= self.blocks.length {
                return Err(Trouble::Absurd("an object header has too many pieces".into()));
            }
            let piece = self.blocks.exactly(start, usize::try_from(length).unwrap_or(usize::MAX))?;
            messages.extend(more_messages(&piece, is_new, ordered));
        }
        Ok(messages)
    }

    /// Where a header goes on, if the message says that it does.
    fn continuation(&self, found: &ObjectHeaderMessage) -> Option<(u64, u64)> {
        let (address, length) = (usize::from(self.sizes.sizeof_addr), usize::from(self.sizes.sizeof_size));
        let number = |bytes: &[u8]| bytes.iter().take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let body = &found.data;
        if found.msg_type != message::CONTINUATION || body.len() < address + length {
            return None;
        }
        let (start, length) = (number(&body[..address]), number(&body[address..address + length]));
        (start != UNDEF_ADDR && start != 0 && length != 0).then_some((start, length))
    }
}

/// The messages of a further piece of an object header.
fn more_messages(piece: &[u8], is_new: bool, ordered: bool) -> Vec<ObjectHeaderMessage> {
    // New pieces have a signature in front and a checksum behind; old messages have wider heads and are aligned.
    let (mut at, end, head) = match is_new {
        true => (4, piece.len().saturating_sub(4), if ordered { 6 } else { 4 }),
        false => (0, piece.len(), 8),
    };
    let mut messages = Vec::new();
    while at + head <= end {
        let (kind, size, flags) = match is_new {
            true => (piece[at], [piece[at + 1], piece[at + 2]], piece[at + 3]),
            false => (piece[at], [piece[at + 2], piece[at + 3]], piece[at + 4]),
        };
        at += head;
        let Some(data) = piece[..end].get(at..at + usize::from(u16::from_le_bytes(size))) else { break };
        messages.push(ObjectHeaderMessage { msg_type: kind, flags, creation_index: 0, data: data.to_vec() });
        at += data.len();
        if !is_new {
            at = at.next_multiple_of(8);
        }
    }
    messages
}

fn joined(place: &str, name: &str) -> String {
    if place.is_empty() { name.into() } else { format!("{place}/{name}") }
}
