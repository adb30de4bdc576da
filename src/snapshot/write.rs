//! From a [`Snapshot`] to JSON text.

use std::io::{self, Write};

use super::{Member, ServerCounters, Snapshot};
use crate::format::SCHEMA_VERSION;

impl Snapshot {
    /// The JSON text (specification, section 4): every field, and the keys without a meaning as they were read.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::new();
        // Writing to a Vec cannot fail.
        let _ = self.write_json(&mut json);
        json
    }

    /// Writes the JSON text (specification, section 4), in many small pieces: `out` had better be buffered.
    ///
    /// Cost: a sort of as many numbers as a map of shards has entries.
    ///
    /// # Errors
    /// Only those of `out`.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{{\"schema_version\":{SCHEMA_VERSION},\"cluster_epoch\":{},\"captured_at\":", self.cluster_epoch)?;
        serde_json::to_writer(&mut *out, &self.captured_at.as_unix_seconds())?;
        out.write_all(b",\"membership\":[")?;
        for (index, member) in self.membership.iter().enumerate() {
            if index > 0 {
                out.write_all(b",")?;
            }
            write_member(member, out)?;
        }
        out.write_all(b"],\"shards\":")?;
        self.shards.write(out)?;
        let ServerCounters { request_count, error_count, unknown } = &self.server;
        write!(out, ",\"server\":{{\"request_count\":{request_count},\"error_count\":{error_count}")?;
        unknown.write(out)?;
        out.write_all(b"}")?;
        self.unknown.write(out)?;
        out.write_all(b"}")
    }
}

fn write_member(member: &Member, out: &mut impl Write) -> io::Result<()> {
    let Member { node_id, host, port, cluster_epoch, healthy, suspect, missed_heartbeats, unknown } = member;
    out.write_all(b"{\"node_id\":")?;
    serde_json::to_writer(&mut *out, node_id.as_str())?;
    out.write_all(b",\"host\":")?;
    serde_json::to_writer(&mut *out, host)?;
    write!(
        out,
        ",\"port\":{port},\"cluster_epoch\":{cluster_epoch},\"healthy\":{healthy},\"suspect\":{suspect},\
         \"missed_heartbeats\":{missed_heartbeats}"
    )?;
    unknown.write(out)?;
    out.write_all(b"}")
}
