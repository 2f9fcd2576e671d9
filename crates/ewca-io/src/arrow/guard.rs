//! What must hold of an Arrow IPC file before `arrow-ipc` may see it.
//!
//! That crate takes the places and sizes of blocks and buffers on trust, panics when they lie outside
//! the file, and makes room for whatever a compressed buffer claims to hold. So all of them are checked
//! first; the contents of the buffers it checks itself.

use arrow_ipc::{Message, RecordBatch, root_as_footer, root_as_message};

const CONTINUATION: [u8; 4] = [0xff; 4];
/// `ARROW1` and two bytes of padding at the start; a length and `ARROW1` at the end.
const FILE_START: usize = 8;
const FILE_END: usize = 10;

/// Checks a file; no buffer may claim to hold more than `limit` bytes. Gives the number of rows.
pub(super) fn check_file(bytes: &[u8], limit: u64) -> Result<usize, String> {
    let mut rows = 0usize;
    let end = bytes.len().checked_sub(FILE_END).filter(|&end| end >= FILE_START).ok_or("it is too short")?;
    if bytes[end + 4..] != *b"ARROW1" {
        return Err("its end is missing".into());
    }
    let length = read_u32(bytes, end).unwrap_or(0) as usize;
    let start = end.checked_sub(length).filter(|&start| start >= FILE_START).ok_or("its footer is too long")?;
    let footer = root_as_footer(&bytes[start..end]).map_err(|error| format!("its footer is damaged ({error})"))?;
    let blocks = footer.dictionaries().into_iter().flatten().chain(footer.recordBatches().into_iter().flatten());
    for block in blocks {
        let outside = "a batch lies outside the file";
        let offset = usize::try_from(block.offset()).map_err(|_| outside)?;
        let metadata = usize::try_from(block.metaDataLength()).map_err(|_| outside)?;
        let body = usize::try_from(block.bodyLength()).map_err(|_| outside)?;
        let rest = bytes.get(offset..).ok_or(outside)?;
        let (metadata, rest) = rest.split_at_checked(metadata).ok_or(outside)?;
        let body = rest.get(..body).ok_or(outside)?;
        let skipped = if metadata.starts_with(&CONTINUATION) { 8 } else { 4 };
        rows = rows.saturating_add(check_message(parse(metadata.get(skipped..).ok_or(outside)?)?, body, limit)?);
    }
    Ok(rows)
}

/// Checks a stream of messages. Gives the number of rows.
pub(super) fn check_stream(bytes: &[u8], limit: u64) -> Result<usize, String> {
    let (mut at, mut rows) = (0, 0usize);
    while at < bytes.len() {
        let outside = "it ends in the middle of a message";
        if bytes[at..].starts_with(&CONTINUATION) {
            at += 4;
        }
        let length = read_u32(bytes, at).ok_or(outside)? as usize;
        at += 4;
        if length == 0 {
            return Ok(rows);
        }
        let metadata = bytes[at..].get(..length).ok_or(outside)?;
        at += length;
        let message = parse(metadata)?;
        let body_length = usize::try_from(message.bodyLength()).map_err(|_| outside)?;
        let body = bytes[at..].get(..body_length).ok_or(outside)?;
        at += body_length;
        rows = rows.saturating_add(check_message(message, body, limit)?);
    }
    Ok(rows)
}

fn parse(metadata: &[u8]) -> Result<Message<'_>, String> {
    root_as_message(metadata).map_err(|error| format!("a message is damaged ({error})"))
}

/// Gives the number of rows that the message brings.
fn check_message(message: Message, body: &[u8], limit: u64) -> Result<usize, String> {
    if let Some(dictionary) = message.header_as_dictionary_batch().and_then(|batch| batch.data()) {
        check_batch(dictionary, body, limit)?;
    }
    let Some(batch) = message.header_as_record_batch() else { return Ok(0) };
    check_batch(batch, body, limit)?;
    Ok(usize::try_from(batch.length()).unwrap_or(0))
}

/// A batch is decoded as a whole, so all of its buffers together must keep to the limit.
fn check_batch(batch: RecordBatch, body: &[u8], limit: u64) -> Result<(), String> {
    let mut held = 0u64;
    let lengths = batch.nodes().into_iter().flatten().flat_map(|node| [node.length(), node.null_count()]);
    for length in lengths.chain([batch.length()]) {
        if u64::try_from(length).map_or(true, |length| length > limit) {
            return Err(format!("a column claims {length} values"));
        }
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let outside = "a buffer lies outside its batch";
        let start = usize::try_from(buffer.offset()).map_err(|_| outside)?;
        let length = usize::try_from(buffer.length()).map_err(|_| outside)?;
        let bytes = body.get(start..).and_then(|rest| rest.get(..length)).ok_or(outside)?;
        if batch.compression().is_none() || bytes.is_empty() {
            continue;
        }
        // A compressed buffer starts with the number of bytes inside, or -1 if it is not compressed.
        let claimed = bytes.first_chunk().map(|claimed| i64::from_le_bytes(*claimed));
        if !claimed.is_some_and(|claimed| claimed == -1 || u64::try_from(claimed).is_ok_and(|size| size <= limit)) {
            return Err("a compressed buffer claims an impossible size".into());
        }
        held = held.saturating_add(claimed.map_or(0, |claimed| u64::try_from(claimed).unwrap_or(0)));
        if held > limit {
            return Err(format!("the buffers of a batch claim {held} bytes in total"));
        }
    }
    Ok(())
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}
