"""The local content store: an OCI layout keyed by digest, safe between processes."""
