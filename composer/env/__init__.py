"""From an environment.yml to a portable prefix that carries its own Python and glibc."""
