"""Values of the OCI image and distribution specifications; original bytes and unknown fields survive."""
