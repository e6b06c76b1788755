"""Where a plan's image goes: one module a destination, all behind `composer.sinks.sink.Sink`."""
