"""Where a base image comes from: one module a scheme, all behind `composer.bases.base.Base`."""
