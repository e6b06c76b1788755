"""The wire protocol: header, bodies, error codes, authentication. Standard library and msgpack only."""
